//! The gangs of a workload as its object defines them: roles, their sizes, and which of them start together.

use serde_json::{Map, Value, json};

use super::super::template::{Field, append};
use super::GangTemplate;
use crate::pod::{Pod, Requests};

/// Fields of a pod's spec that select nodes.
pub const PLACEMENT_FIELDS: [&str; 4] = ["nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"];

/// Gangs of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangShape {
    /// Roles with at least one pod, in the order of the object.
    pub roles: Vec<GangRole>,
    /// Number of pods that the workload needs to run, if its object or its operator allows fewer than all.
    pub min_members: Option<u64>,
    /// Number of independent groups, each with these roles. 1 except for a `LeaderWorkerSet`.
    pub groups: u64,
    /// True if the object is suspended: its pods are deleted or not created yet.
    pub suspended: bool,
    /// Reason why the pods cannot wait for each other, if the operator creates some only after others have a node.
    pub conflict: Option<&'static str>,
}

/// A role of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangRole {
    /// Name of the role, as [`PodIdentity::role`](crate::workload::PodIdentity::role) returns it for its pods;
    /// [`SOLE_ROLE`](crate::workload::SOLE_ROLE) if they have none.
    pub name: String,
    /// Number of its pods in a group.
    pub size: u64,
    /// Roles of the same stage start together. Pods of a later stage are created only when those of an earlier one are
    /// ready or complete, so that one gang must not contain both.
    pub stage: usize,
    /// Requests of one pod, by the pod template.
    pub requests: Requests,
    /// Requests of one pod as the operator creates it.
    pub created: Requests,
    /// Name of the container that the operator adds to the template, if it has requests.
    pub added: Option<&'static str>,
    /// The fields of the pod template that select nodes ([`PLACEMENT_FIELDS`]).
    pub placement: Map<String, Value>,
    /// Fields of the pod template by which its pods join a gang or not.
    pub template: GangTemplate,
}

impl GangShape {
    /// Creates the shape of a workload whose `roles` form one group.
    #[must_use]
    pub fn new(roles: Vec<GangRole>) -> Self {
        let roles = roles.into_iter().filter(|role| role.size > 0).collect();
        Self { roles, min_members: None, groups: 1, suspended: false, conflict: None }
    }
}

impl GangRole {
    /// Creates a role of the first stage with the requests of `template`.
    pub(in crate::workload) fn new(name: impl Into<String>, size: u64, template: &Field<'_>) -> Self {
        let spec = template.get("spec");
        let requests = spec.value().map(Requests::from_pod_spec).unwrap_or_default();
        Self {
            name: name.into(),
            size,
            stage: 0,
            created: requests.clone(),
            requests,
            added: None,
            placement: spec.value().map(placement).unwrap_or_default(),
            template: template.value().map(|pod| GangTemplate::read(Pod::new(pod))).unwrap_or_default(),
        }
    }

    /// Adds labels that the operator sets in addition to those of the template, which they override.
    pub(in crate::workload) fn add_labels(&mut self, labels: &Field<'_>) {
        let pod = json!({"metadata": {"labels": labels.value()}});
        self.template = self.template.with_labels(Pod::new(&pod));
    }

    /// Returns the role in `stage`.
    pub(in crate::workload) fn in_stage(self, stage: usize) -> Self {
        Self { stage, ..self }
    }

    /// Adds a container, by its name and resources, that the operator appends to `list` of the role's `template`.
    pub(in crate::workload) fn add_container(
        &mut self,
        template: &Field<'_>,
        list: &str,
        (name, resources): (&'static str, Value),
    ) {
        let mut spec = template.get("spec").value().and_then(Value::as_object).cloned().unwrap_or_default();
        append(&mut spec, list, [json!({"name": name, "resources": resources})]);
        self.created = Requests::from_pod_spec(&Value::Object(spec));
        self.added = Some(name);
    }
}

/// Returns the fields of a pod's `spec` that select nodes.
#[must_use]
pub fn placement(spec: &Value) -> Map<String, Value> {
    let field = |name: &str| Some((name.to_owned(), spec.get(name).filter(|value| !value.is_null())?.clone()));
    PLACEMENT_FIELDS.into_iter().filter_map(field).collect()
}
