//! The workload that a user selects: `KIND/NAME`, or the name of a pod.

use thiserror::Error;

use super::context::Context;
use super::job::Job;
use super::snapshot::pod::PodRecord;
use super::snapshot::reference::ObjectKey;
use crate::hint::nearest;
use crate::names::join_names;
use crate::workload::{KINDS, WorkloadKind, kind_qualifier, kinds_named};

/// Short name of the Jobs of Volcano.
const VOLCANO_JOB: &str = "vcjob";
/// Short names in kubectl of kinds, which have an API group if their name is not unique.
const SHORT_NAMES: [(&str, &str); 9] = [
    ("cj", "cronjob"),
    ("deploy", "deployment"),
    ("ds", "daemonset"),
    ("lws", "leaderworkerset"),
    ("rc", "replicationcontroller"),
    ("rs", "replicaset"),
    ("sts", "statefulset"),
    (VOLCANO_JOB, "job.batch.volcano.sh"),
    ("vj", "job.batch.volcano.sh"),
];

/// A workload or pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Kind of a workload; `None` for a pod. A kind that is not supported is in lower case, possibly in the plural.
    kind: Option<String>,
    /// Qualifier of a kind with an API group, which distinguishes it from others of its name.
    qualifier: Option<&'static str>,
    /// Name of the workload or pod.
    pub name: String,
}

/// The workloads to diagnose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Workload or pod; `None` for all.
    pub target: Option<Target>,
    /// Namespace; `None` for all.
    pub namespace: Option<String>,
}

/// Error of an argument that is neither.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// The text is not `KIND/NAME` or `POD`.
    #[error("expected KIND/NAME, KIND NAME or the name of a pod, found {0:?}")]
    Malformed(String),
    /// The kind is misspelled.
    #[error("unknown kind {0:?}: {1}")]
    UnknownKind(String, String),
}

impl Target {
    /// Returns kind and name, with the API group of a kind that several have.
    #[must_use]
    pub fn title(&self) -> String {
        let title = format!("{} {}", self.kind.as_deref().unwrap_or("pod"), self.name);
        match self.qualifier {
            None | Some("") => title,
            Some(group) => format!("{title} of {group}"),
        }
    }

    /// Returns why an object or pod that exists is not selected.
    fn exclusion(&self, context: &Context<'_>, selection: &Selection) -> Option<String> {
        let snapshot = context.snapshot;
        let mut workloads = snapshot.workloads.iter().filter(|object| selection.selects_namespace(&object.namespace));
        let workload = workloads.find(|object| self.is(object.key()));
        let key = workload.map(|object| context.jobs.outermost(object.key()));
        let mut pods = snapshot.pods.iter().filter(|pod| selection.selects_namespace(&pod.namespace));
        let is_pod = |pod: &&PodRecord| match &pod.owner {
            Some(owner) if self.kind.is_some() => self.is(owner.key(&pod.namespace)),
            _ => self.kind.is_none() && *pod.name == *self.name,
        };
        let key = key.or_else(|| Some(context.jobs.key_of(pods.find(is_pod)?)))?;
        let owner = context.jobs.iter().find(|job| job.key == key);
        Some(match owner {
            Some(owner) => format!("it belongs to {}", owner.workload_name()),
            None => "it belongs to no training job and requests no accelerators".to_owned(),
        })
    }

    /// Returns true if the target is a workload of this kind.
    fn has_kind(&self, kind: &str) -> bool {
        let is_kind = |own: &str| own.eq_ignore_ascii_case(kind);
        self.kind.as_deref().is_some_and(|own| is_kind(own) || own.strip_suffix('s').is_some_and(is_kind))
    }

    /// Returns true if the target is the workload `key`.
    fn is(&self, key: ObjectKey<'_>) -> bool {
        let has_group = self.qualifier.is_none_or(|qualifier| qualifier == key.qualifier);
        self.has_kind(key.kind) && has_group && key.name == self.name
    }

    /// Parses `KIND/NAME` or the name of a pod. The kind may be in the plural and in any case, and have an API group. That of any
    /// owner of pods is possible, unless it is similar to a known one.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (Some(kind.to_ascii_lowercase()), name),
            None => (None, text),
        };
        let is_malformed = name.is_empty() || name.contains('/') || kind.as_deref() == Some("");
        if is_malformed || name.len() > 253 {
            return Err(TargetError::Malformed(text.chars().take(300).collect()));
        }
        let kind = kind.as_deref();
        let long = SHORT_NAMES.iter().find(|(short, _)| kind == Some(short)).map(|(_, long)| *long);
        let (kind, group) = match long.or(kind) {
            Some(kind) => kind.split_once('.').map_or((Some(kind), ""), |(kind, group)| (Some(kind), group)),
            None => (None, ""),
        };
        let kind = match kind {
            None | Some("pod" | "pods" | "po") => None,
            Some(kind) => match (known_kind(kind), similar_kind(kind)) {
                (Some(known), _) => Some(known.kind.to_owned()),
                (None, Some(similar)) => {
                    let hint = format!("did you mean {similar}?");
                    return Err(TargetError::UnknownKind(kind.chars().take(300).collect(), hint));
                }
                (None, None) => Some(kind.chars().take(300).collect()),
            },
        };
        let qualifier = kind.as_deref().and_then(|kind| qualifier(kind, group));
        Ok(Self { kind, qualifier, name: name.to_owned() })
    }
}

/// Returns the qualifier of a kind with an API group, which a version may precede: `v1.batch`.
fn qualifier(kind: &str, group: &str) -> Option<&'static str> {
    let is_own = |own: &str| group == own || group.strip_suffix(own).is_some_and(|version| version.ends_with('.'));
    let named = kinds_named(kind).find(|known| is_own(known.group));
    named.map(|known| kind_qualifier(known.group, known.kind))
}

/// Returns the kind with this name, in the singular or plural.
fn known_kind(name: &str) -> Option<&'static WorkloadKind> {
    KINDS.iter().copied().find(|known| known.kind.eq_ignore_ascii_case(name) || known.resource == name)
}

/// Returns true if `name` is that of a kind, in the singular or plural, or its short name.
fn is_kind(name: &str) -> bool {
    SHORT_NAMES.iter().any(|(short, _)| *short == name) || known_kind(name).is_some()
}

/// Returns all known kinds, in lower case.
fn known_kinds() -> Vec<String> {
    let mut kinds: Vec<String> = KINDS.iter().map(|kind| kind.kind.to_ascii_lowercase()).collect();
    // The kind of Volcano has the name of another one.
    kinds.push(VOLCANO_JOB.to_owned());
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Returns the kind that is probably meant.
fn similar_kind(unknown: &str) -> Option<String> {
    let kinds = known_kinds();
    let names: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let longer = || names.iter().copied().find(|kind| unknown.len() > 2 && kind.starts_with(unknown));
    nearest(unknown, &names).or_else(longer).map(str::to_owned)
}

impl Selection {
    /// Returns a text about the workloads that exist, for a selection without any: a lowercase clause.
    pub(super) fn hint(&self, context: &Context<'_>) -> Option<String> {
        let jobs = &context.jobs;
        let Some(target @ Target { name, .. }) = &self.target else {
            let mut namespaces: Vec<&str> = jobs.iter().map(|job| job.namespace).collect();
            namespaces.sort_unstable();
            namespaces.dedup();
            let names = join_names(&namespaces);
            return (!namespaces.is_empty()).then(|| format!("there are workloads in {names}"));
        };
        if let Some(exclusion) = target.exclusion(context, self) {
            return Some(exclusion);
        }
        let of_name = |name: &str| {
            let has_name = |job: &&Job<'_>| job.name == name || job.pods.iter().any(|pod| &*pod.name == name);
            jobs.iter().find(has_name).map(Job::workload_name)
        };
        let is_known = |kind: &str| KINDS.iter().any(|known| known.kind == kind);
        let unknown = target.kind.as_deref().filter(|kind| !is_known(kind));
        if let Some(kind) = unknown.filter(|_| !jobs.iter().any(|job| target.has_kind(job.kind))) {
            return Some(format!("unknown kind {kind:?}: use one of {}", known_kinds().join(", ")));
        }
        if let Some(other) = of_name(name) {
            let group = other.qualifier;
            return Some(if group.is_empty() {
                format!("{other} exists")
            } else {
                format!("{other} of {group} exists")
            });
        }
        if target.kind.is_none() && is_kind(name) {
            return Some(format!("a kind needs a name: {name}/NAME"));
        }
        let names = jobs.iter().flat_map(|job| job.pods.iter().map(|pod| &*pod.name).chain([job.name]));
        let near = nearest(name, &names.collect::<Vec<_>>())?;
        Some(format!("did you mean {near} ({})?", of_name(near)?))
    }

    /// Returns true if `job` is the workload, or contains the pod or the pods of the owner.
    pub(super) fn selects(&self, job: &Job<'_>) -> bool {
        let is_target = |target: &Target| match target.kind {
            Some(_) => {
                // The pods of a CronJob or JobSet, for example, belong to Jobs, which alerts name.
                let owners = job.pods.iter().filter_map(|pod| Some(pod.owner.as_ref()?.key(&pod.namespace)));
                owners.chain([job.key]).any(|key| target.is(key))
            }
            None => job.pods.iter().any(|pod| *pod.name == *target.name),
        };
        self.selects_namespace(job.namespace) && self.target.as_ref().is_none_or(is_target)
    }

    pub(super) fn selects_namespace(&self, namespace: &str) -> bool {
        self.namespace.as_deref().is_none_or(|selected| selected == namespace)
    }
}
