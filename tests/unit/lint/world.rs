//! A pod and what is known around it, for the checks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trainmesh_core::cluster_facts::{ClusterView, NodeShape, Nodes, Quota};
use trainmesh_core::config::{Entry, LintSettings, Profile};
use trainmesh_core::finding::Finding;
use trainmesh_core::gang::pins::Pin;
use trainmesh_core::lint::{Subject, line, lint};
use trainmesh_core::pod::{Pod, injection};
use trainmesh_core::workload;
use trainmesh_core::yaml;

/// A pod, as YAML, and what is known around it: nothing unless a case says so.
#[derive(Default)]
pub struct World {
    pod: Value,
    original: Option<Value>,
    labels: BTreeMap<String, String>,
    profile: Option<Profile>,
    nodes: Option<Nodes>,
    quotas: Option<Vec<Quota>>,
    pin: Option<&'static str>,
}

/// A pod whose one container is called `train` and has these fields, as YAML in flow style.
pub fn train(fields: &str) -> World {
    pod(&format!("{{spec: {{containers: [{{name: train, {fields}}}]}}}}"))
}

/// The same with these environment variables.
pub fn env(variables: &[(&str, &str)]) -> World {
    with_env("", variables)
}

/// The same with a container that asks for these resources.
pub fn with_env(limits: &str, variables: &[(&str, &str)]) -> World {
    let entries: Vec<String> =
        variables.iter().map(|(name, value)| format!("{{name: {name}, value: {value:?}}}")).collect();
    train(&format!("resources: {{limits: {{{limits}}}}}, env: [{}]", entries.join(", ")))
}

/// A pod, as YAML.
pub fn pod(text: &str) -> World {
    World { pod: yaml::parse(text).unwrap_or_else(|error| panic!("{error}: {text}")), ..World::default() }
}

/// A kind of node: its machine, what it offers, and whether Node Feature Discovery saw an adapter.
pub type Shape = (&'static str, &'static [(&'static str, u64)], Option<bool>);

impl World {
    pub fn original(self, text: &str) -> Self {
        Self { original: Some(yaml::parse(text).unwrap()), ..self }
    }

    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    pub fn profile(self, text: &str) -> Self {
        let entry = Entry::parse(&format!("name: site\n{text}")).unwrap_or_else(|problems| panic!("{problems:?}"));
        Self { profile: Some(entry.profile), ..self }
    }

    pub fn nodes(self, shapes: &[Shape]) -> Self {
        let shapes = shapes.iter().map(|(machine, offers, seen)| NodeShape {
            machine: Some((*machine).to_owned()),
            allocatable: offers.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            adapter_seen: *seen,
        });
        Self { nodes: Some(Nodes { shapes: shapes.collect() }), ..self }
    }

    pub fn quota(self, left: &[(&str, u64)]) -> Self {
        let left = left.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Self { quotas: Some(vec![Quota { name: "team".to_owned(), left }]), ..self }
    }

    /// Living pods of the job carry this revision.
    pub fn pinned(self, revision: &'static str) -> Self {
        Self { pin: Some(revision), ..self }
    }

    pub fn lint(&self, settings: &LintSettings) -> Vec<Finding> {
        let pod = Pod::new(&self.pod);
        let cluster = ClusterView {
            nodes: self.nodes.as_ref(),
            quotas: self.quotas.as_deref(),
            pin: self.pin.map(|revision| Pin { profile: "site", revision, body: None }),
            ..ClusterView::default()
        };
        let subject = Subject {
            pod,
            original: self.original.as_ref().map_or(pod, Pod::new),
            labels: &self.labels,
            profile: self.profile.as_ref(),
            cluster,
            member: workload::identify(pod),
            replicas: None,
            injection: injection(pod, "team-a", &self.labels),
        };
        lint(&subject, settings)
    }

    /// The ids of all checks that find something.
    pub fn ids(&self) -> BTreeSet<String> {
        self.lint(&LintSettings::default()).iter().map(|finding| finding.code.to_string()).collect()
    }
}

/// Lints a case's pod: check `id` says `expected` (of the first thing that it finds), or nothing. Whatever is found
/// points at a field that is there, or would be in an object or a list that is.
pub fn check(id: &str, world: World, expected: Option<&str>) {
    let findings = world.lint(&LintSettings::default());
    let found = findings.iter().find(|finding| finding.code == id);
    assert_eq!(found.map(|finding| &*finding.message), expected, "{findings:#?}");
    for finding in &findings {
        let line = line(finding);
        assert!(line.len() <= 120 && !line.ends_with('…'), "{line}");
        assert!(finding.subject.starts_with('/'), "{finding:?}");
        let (parent, _) = finding.subject.rsplit_once('/').unwrap();
        let known = ["/metadata", "/metadata/annotations", "/spec"];
        assert!(world.pod.pointer(parent).is_some() || known.contains(&parent), "{finding:?}");
    }
}
