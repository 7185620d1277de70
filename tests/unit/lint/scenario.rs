//! A pod and its context, for the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use trainmesh_core::cluster_facts::{ClusterView, NodeShape, Nodes, Quota};
use trainmesh_core::config::{Configuration, LintSettings, Profile, ProfileEntry};
use trainmesh_core::dra::{ClaimFacts, ClaimObjects};
use trainmesh_core::fabric::ComputeDomain;
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::gang::pins::Pin;
use trainmesh_core::lint::{JobContext, LintInput, PatchedRole, WorkloadFacts, lint_selected, warning_line};
use trainmesh_core::mesh_objects::{MeshObjects, MeshView};
use trainmesh_core::mutate::{Reason, RuleId, RuleOutcome, Verdict};
use trainmesh_core::pod::{Pod, predict_injection};
use trainmesh_core::workload;
use trainmesh_core::yaml;

/// A pod with its context; empty unless a case sets it.
#[derive(Default)]
pub struct Scenario {
    pod: Value,
    original: Option<Value>,
    labels: BTreeMap<String, String>,
    labels_assumed: bool,
    profile: Option<Profile>,
    nodes: Option<Nodes>,
    quotas: Option<Vec<Quota>>,
    pin: Option<&'static str>,
    replicas: Option<u64>,
    /// Other roles of the job; `None` without a job.
    others: Option<Vec<Value>>,
    claims: ClaimObjects,
    compute_domains: Vec<ComputeDomain>,
    /// Services and objects of Istio; `None` if they are unknown.
    mesh: Option<MeshObjects>,
    /// Kind of the workload, if it is in a queue of Kueue.
    queued: Option<&'static str>,
    rules: Vec<RuleOutcome>,
    invalid: Vec<(String, Severity, String)>,
    generic: bool,
}

/// Returns a pod with one container, `train`, that has these fields (YAML flow style).
pub fn train(fields: &str) -> Scenario {
    pod(&format!("{{spec: {{containers: [{{name: train, {fields}}}]}}}}"))
}

/// Like [`train`], with environment variables.
pub fn env(variables: &[(&str, &str)]) -> Scenario {
    with_env("", variables)
}

/// Like [`env()`], with resource limits.
pub fn with_env(limits: &str, variables: &[(&str, &str)]) -> Scenario {
    let entries: Vec<String> =
        variables.iter().map(|(name, value)| format!("{{name: {name}, value: {value:?}}}")).collect();
    train(&format!("resources: {{limits: {{{limits}}}}}, env: [{}]", entries.join(", ")))
}

/// Parses a pod from YAML.
pub fn pod(text: &str) -> Scenario {
    Scenario { pod: yaml::parse(text).unwrap_or_else(|error| panic!("{error}: {text}")), ..Scenario::default() }
}

/// A kind of node: its machine type, its allocatable resources, and whether Node Feature Discovery reported an adapter.
pub type Shape = (&'static str, &'static [(&'static str, u64)], Option<bool>);

impl Scenario {
    /// Adds a field with the wrong type.
    pub fn invalid(mut self, field: &str, problem: &str) -> Self {
        self.invalid.push((field.to_owned(), Severity::Error, problem.to_owned()));
        self
    }

    pub fn original(self, text: &str) -> Self {
        Self { original: Some(yaml::parse(text).unwrap()), ..self }
    }

    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Marks the pod as rejected by Istio because of what the last rule refuses.
    pub fn rejected_by_istio(mut self) -> Self {
        self.rules.last_mut().unwrap().is_rejected_by_istio = true;
        self
    }

    /// Marks the labels of the namespace as assumed.
    pub fn assumed(self) -> Self {
        Self { labels_assumed: true, ..self }
    }

    pub fn profile(self, text: &str) -> Self {
        let entry =
            ProfileEntry::parse(&format!("name: site\n{text}")).unwrap_or_else(|problems| panic!("{problems:?}"));
        Self { profile: Some(entry.profile), ..self }
    }

    pub fn nodes(self, shapes: &[Shape]) -> Self {
        let shapes = shapes.iter().map(|(instance_type, allocatable, adapter_detected)| NodeShape {
            instance_type: Some((*instance_type).to_owned()),
            allocatable: allocatable.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            adapter_detected: *adapter_detected,
        });
        Self { nodes: Some(Nodes { shapes: shapes.collect() }), ..self }
    }

    pub fn quota(self, remaining: &[(&str, u64)]) -> Self {
        let remaining = remaining.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Self { quotas: Some(vec![Quota { name: "team".to_owned(), remaining }]), ..self }
    }

    /// Sets the revision that live pods of the job carry.
    pub fn pinned(self, revision: &'static str) -> Self {
        Self { pin: Some(revision), ..self }
    }

    /// Sets the number of pods of the role.
    pub fn replicas(self, count: u64) -> Self {
        Self { replicas: Some(count), ..self }
    }

    /// Adds another role to the pod's job, with one pod.
    pub fn beside(self, text: &str) -> Self {
        Self { others: Some(vec![yaml::parse(text).unwrap()]), ..self }
    }

    /// Adds objects of dynamic resource allocation to the pod's namespace.
    pub fn objects(mut self, objects: &[&str]) -> Self {
        for text in objects {
            self.claims.add(&yaml::parse(text).unwrap(), "team-a");
        }
        Self { others: self.others.or(Some(Vec::new())), ..self }
    }

    /// Adds a `ComputeDomain` with the claim template `channel` to the input.
    pub fn compute_domain(mut self, nodes: u64) -> Self {
        self.claims.add_channel_template("team-a", "channel");
        let domain = ComputeDomain { name: "domain".to_owned(), nodes, template: "channel".to_owned(), field: None };
        Self { compute_domains: vec![domain], others: self.others.or(Some(Vec::new())), ..self }
    }

    /// Adds Services and objects of Istio, by default in the pod's namespace.
    pub fn mesh(mut self, objects: &[&str]) -> Self {
        let mesh = self.mesh.get_or_insert_default();
        for text in objects {
            assert!(mesh.add(&yaml::parse(text).unwrap_or_else(|error| panic!("{error}: {text}")), "team-a"), "{text}");
        }
        self
    }

    /// Puts the workload, which is of this kind, into a queue of Kueue.
    pub fn queued(self, kind: &'static str) -> Self {
        Self { queued: Some(kind), others: self.others.or(Some(Vec::new())), ..self }
    }

    /// Adds a rule that was refused.
    pub fn refused(self, rule: RuleId, reason: Reason, message: &str) -> Self {
        self.decided(rule, Verdict::Refused, reason, message)
    }

    /// Like [`Self::refused`], for the field at `pointer`.
    pub fn refused_at(self, rule: RuleId, reason: Reason, message: &str, pointer: &str) -> Self {
        let mut scenario = self.refused(rule, reason, message);
        scenario.rules.last_mut().unwrap().field = Some(pointer.to_owned());
        scenario
    }

    /// Adds the decision of a rule.
    pub fn decided(mut self, rule: RuleId, outcome: Verdict, reason: Reason, message: &str) -> Self {
        let message = message.to_owned();
        self.rules.push(RuleOutcome {
            rule,
            outcome,
            reason,
            message,
            field: None,
            notes: Vec::new(),
            is_rejected_by_istio: false,
        });
        self
    }

    /// Adds the decision of a rule that was applied, with a note.
    pub fn decided_with(mut self, rule: RuleId, reason: Reason, note: &str) -> Self {
        let notes = vec![note.to_owned().into()];
        let (outcome, message) = (Verdict::Applied, reason.text().to_owned());
        self.rules.push(RuleOutcome {
            rule,
            outcome,
            reason,
            message,
            field: None,
            notes,
            is_rejected_by_istio: false,
        });
        self
    }

    /// Marks the kind of the pod's workload as not supported.
    pub fn generic(self) -> Self {
        Self { generic: true, ..self }
    }

    pub fn lint(&self, settings: &LintSettings) -> Vec<Finding> {
        let pod = Pod::new(&self.pod);
        let claims = self.claims.facts(&ClaimFacts::default());
        let cluster = ClusterView {
            nodes: self.nodes.as_ref(),
            quotas: self.quotas.as_deref(),
            pin: self.pin.map(|revision| Pin { profile: "site", revision, body: None }),
            claims: claims.view("team-a"),
            mesh: MeshView { objects: self.mesh.as_ref(), namespace: "team-a" },
            ..ClusterView::default()
        };
        let others = self.others.as_ref().map(|others| others.iter().map(|other| (Pod::new(other), Some(1))));
        let role = (pod, self.replicas.or(Some(1)));
        let job = others.map(|others| {
            let facts = WorkloadFacts::from_pods([role].into_iter().chain(others), cluster.claims);
            JobContext::new(Arc::new(facts), 0)
        });
        let labels = json!({"kueue.x-k8s.io/queue-name": "queue"});
        let workload =
            self.queued.map(|kind| json!({"kind": kind, "metadata": {"labels": labels}})).unwrap_or_default();
        let patched_role = |(name, pod)| {
            let pod = Pod::new(pod);
            let injection = predict_injection(pod, "team-a", &self.labels);
            PatchedRole { name, replicas: Some(1), original: pod, pod, injection }
        };
        let roles = [("own", &self.pod)].into_iter().chain(self.others.iter().flatten().map(|other| ("other", other)));
        let roles: Vec<PatchedRole<'_>> = roles.map(patched_role).collect();
        let job = job.map(|job| {
            let job = job.with_workload(&workload).with_mesh(roles.iter().copied(), cluster.mesh);
            job.with_traffic(roles.iter().copied(), cluster.mesh)
        });
        let configuration = Configuration::embedded();
        let input = LintInput {
            pod,
            original: self.original.as_ref().map_or(pod, Pod::new),
            labels: &self.labels,
            labels_assumed: self.labels_assumed,
            profile: self.profile.as_ref(),
            profiles: Some(&configuration.fabric.profiles),
            cluster,
            member: workload::identify(pod),
            role: Some("own"),
            replicas: self.replicas,
            job: job.as_ref(),
            workload: None,
            compute_domains: &self.compute_domains,
            rules: &self.rules,
            invalid: &self.invalid,
            generic: self.generic,
            injection: predict_injection(pod, "team-a", &self.labels),
        };
        lint_selected(&input, settings, |_| true)
    }

    /// Returns the ids of all checks with a finding.
    pub fn ids(&self) -> BTreeSet<String> {
        self.lint(&LintSettings::default()).iter().map(|finding| finding.code.to_string()).collect()
    }
}

/// Lints a pod and compares the first message of check `id`. Every finding must point at an existing field, or at one
/// whose parent exists.
pub fn check(id: &str, scenario: Scenario, expected: Option<&str>) {
    let findings = scenario.lint(&LintSettings::default());
    let found = findings.iter().find(|finding| finding.code == id);
    assert_eq!(found.map(|finding| &*finding.message), expected, "{findings:#?}");
    for finding in &findings {
        let line = warning_line(finding);
        assert!(line.len() <= 120 && !line.ends_with('…'), "{line}");
        assert!(finding.subject.starts_with('/'), "{finding:?}");
        let (parent, _) = finding.subject.rsplit_once('/').unwrap();
        let allowed = ["/metadata", "/metadata/annotations", "/spec"];
        assert!(scenario.pod.pointer(parent).is_some() || allowed.contains(&parent), "{finding:?}");
    }
}
