//! Test fixtures for the frameworks.

use serde_json::{Value, json};

use super::{API_VERSION, Framework};

/// Returns a job `j` with this `spec` and these roles, whose pods have the framework's container and a sidecar.
pub(in crate::workload::kinds) fn job(framework: &Framework, spec: &Value, roles: &[(&str, u64)]) -> Value {
    let template = json!({"spec": {"containers": [{"name": framework.container}, {"name": "sidecar"}]}});
    let specs: Value =
        roles.iter().map(|(role, count)| (*role, json!({"replicas": count, "template": template}))).collect();
    let mut job = json!({"apiVersion": API_VERSION, "kind": framework.kind, "metadata": {"name": "j"}, "spec": spec});
    job["spec"][framework.specs] = specs;
    job
}
