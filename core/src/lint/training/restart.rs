//! Restart of a rank that fails: TR002 and the part of TR006 about restart policies.

use serde_json::Value;

use super::{RolePods, WorkloadManifest};
use crate::finding::Severity;
use crate::json;
use crate::lint::context::CheckContext;
use crate::lint::sink::FindingSink;
use crate::pod::RestartPolicy;

/// Group of the kinds whose replica specs have a restart policy, which replaces that of the pod template.
const KUBEFLOW: &str = "kubeflow.org/";
/// Start of the actions of a Volcano Job that create pods again.
const RESTART: &str = "Restart";

/// TR002: nothing restarts a rank that fails, although the job writes checkpoints.
pub(crate) fn never_restarted(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    if !role.is_rank() || workload.is_recreated() {
        return;
    }
    let (Some(path), Some((field, reason))) = (role.checkpoints(), final_failure(workload, role)) else { return };
    let message = format!("{reason}: the job fails with its first rank, although it writes checkpoints to {path}");
    match field {
        Some(pointer) => findings.push_at(Severity::Warning, workload.field(&pointer), message),
        None => findings.push("/spec/restartPolicy", message),
    }
}

/// TR006: the restart policy of a pod template, which that of the replica spec replaces.
pub(crate) fn overridden_policy(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let Some((pointer, replica)) = replica_spec(workload, role) else { return };
    let template = replica.get("template").and_then(|template| json::text(template.get("spec")?, "restartPolicy"));
    let policy = role.original.spec().and_then(|spec| spec.get("restartPolicy")?.as_str()).unwrap_or_default();
    if let Some(own) = template.filter(|own| *own != policy) {
        let message = format!("restartPolicy: {own} of the pod template has no effect: the pods get {policy}");
        let field = workload.field(&format!("{pointer}/template/spec/restartPolicy"));
        findings.push_at(Severity::Warning, field, message);
    }
}

/// Returns the setting by which the first failure of a rank fails the job, and its JSON pointer in the job unless it is the restart
/// policy of the pod.
fn final_failure(workload: &WorkloadManifest<'_>, role: &RolePods<'_>) -> Option<(Option<String>, String)> {
    let spec = workload.value().get("spec")?;
    let is_never = role.original.restart_policy() == RestartPolicy::Never;
    if let Some((pointer, replica)) = replica_spec(workload, role) {
        let policy = json::text(replica, "restartPolicy");
        let field = policy.map(|_| format!("{pointer}/restartPolicy"));
        return (is_never && policy != Some("ExitCode")).then(|| (field, "restartPolicy: Never".to_owned()));
    }
    let has_no_retries = |job: &Value| job.get("backoffLimit").and_then(Value::as_u64) == Some(0);
    match (workload.kind(), json::text(workload.value(), "apiVersion")?) {
        ("Job", "batch/v1") => {
            has_no_retries(spec).then(|| (Some("/spec/backoffLimit".to_owned()), "backoffLimit: 0".to_owned()))
        }
        ("JobSet", _) => {
            let mut jobs = json::items(spec, "replicatedJobs").enumerate();
            let (index, job) = jobs.find(|(_, job)| json::text(job, "name") == Some(role.name))?;
            let has_restarts = spec.get("failurePolicy").is_some_and(Value::is_object);
            let is_final = !has_restarts && job.pointer("/template/spec").is_some_and(has_no_retries);
            let field = format!("/spec/replicatedJobs/{index}/template/spec/backoffLimit");
            is_final.then(|| (Some(field), "backoffLimit: 0 without a failurePolicy".to_owned()))
        }
        ("Job", api_version) if api_version.starts_with("batch.volcano.sh/") => {
            let task = json::items(spec, "tasks").find(|task| json::text(task, "name") == Some(role.name));
            let mut policies =
                [Some(spec), task].into_iter().flatten().flat_map(|value| json::items(value, "policies"));
            let restarts =
                policies.any(|policy| json::text(policy, "action").is_some_and(|it| it.starts_with(RESTART)));
            (is_never && !restarts).then(|| (None, "restartPolicy: Never without a policy that restarts".to_owned()))
        }
        _ => None,
    }
}

/// Returns the replica spec of `role` in a job of Kubeflow, with its JSON pointer.
fn replica_spec<'a>(workload: &WorkloadManifest<'a>, role: &RolePods<'_>) -> Option<(String, &'a Value)> {
    json::text(workload.value(), "apiVersion").filter(|version| version.starts_with(KUBEFLOW))?;
    let spec = workload.value().get("spec")?.as_object()?;
    let (key, specs) = spec.iter().find(|(key, _)| key.ends_with("ReplicaSpecs"))?;
    let mut roles = specs.as_object()?.iter();
    let (name, spec) = roles.find(|(name, _)| name.eq_ignore_ascii_case(role.name))?;
    Some((format!("/spec/{key}/{name}"), spec))
}
