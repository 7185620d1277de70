//! Probes, with one dry run per namespace, whether namespaces without a Pod Security label admit what fabric profiles
//! add.
//!
//! No API exposes the cluster-wide default in the apiserver's `AdmissionConfiguration`. So `doctor` sends a dry run
//! with the user's permissions: it creates a pod that level `baseline` forbids. Only a denial by Pod Security or by the
//! security context constraints of `OpenShift` is conclusive; any other response leaves the level unknown.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::super::request::{RequestError, send};
use super::LabelsByNamespace;
use trainmesh_core::config::{Fabric, PodSecurityDefault};
use trainmesh_core::doctor::{PodSecurityProbe, ProbeResult, Readable};
use trainmesh_core::keys;
use trainmesh_core::scope::{self, Installation, Mode};

/// Maximum number of probed namespaces: the level is the same everywhere, and exemptions by namespace are few.
const MAX_NAMESPACES: usize = 50;
/// Maximum number of concurrent dry runs: each passes all admission plugins and webhooks of the cluster.
const CONCURRENCY: usize = 4;
/// Name of the pod, which is never created.
const PROBE: &str = "trainmesh-doctor-probe";

/// Probes the namespaces in which the cluster's default applies to pods with a fabric.
pub(super) async fn probe(
    client: &Client,
    fabric: &Fabric,
    namespaces: &Readable<LabelsByNamespace>,
    installation: &Installation,
) -> Readable<PodSecurityProbe> {
    let Some(all) = namespaces.known() else {
        return namespaces.as_ref().map(|_| PodSecurityProbe {
            configured: fabric.pod_security_default,
            namespaces: BTreeMap::new(),
            omitted: 0,
        });
    };
    let affected = all.iter().filter(|(name, labels)| fabric.enabled && is_affected(name, labels, installation));
    let affected: Vec<&String> = affected.map(|(name, _)| name).collect();
    let probed = affected
        .iter()
        .take(MAX_NAMESPACES)
        .map(|name| async move { ((*name).clone(), admission(client, name).await) });
    let namespaces: BTreeMap<String, ProbeResult> = stream::iter(probed).buffer_unordered(CONCURRENCY).collect().await;
    let omitted = affected.len() - namespaces.len();
    Readable::Known(PodSecurityProbe { configured: fabric.pod_security_default, namespaces, omitted })
}

/// Returns true if pods of the namespace can get a fabric and none of its labels sets the enforced level.
fn is_affected(namespace: &str, labels: &BTreeMap<String, String>, installation: &Installation) -> bool {
    let mode = installation.namespace_mode(namespace, labels);
    matches!(mode, Ok(Mode::Enabled | Mode::Audit)) && !labels.contains_key(keys::POD_SECURITY)
}

async fn admission(client: &Client, namespace: &str) -> ProbeResult {
    // The complete type of a pod would add to the size of the binary.
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Pod>(&()));
    let Ok(pod) = serde_json::from_value(pod()) else { return ProbeResult::Unknown };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match send(&format!("create a pod in namespace {namespace} as a dry run"), api.create(&dry_run, &pod)).await {
        Ok(_) => ProbeResult::Admitted,
        Err(RequestError::Failed { source, .. }) => match *source {
            kube::Error::Api(status) if status.is_forbidden() => denial(&status.message),
            _ => ProbeResult::Unknown,
        },
        Err(RequestError::TimedOut(_) | RequestError::Malformed(_) | RequestError::TooLarge(_)) => ProbeResult::Unknown,
    }
}

/// Returns a pod that only level `privileged` admits. Neither trainmesh's nor Istio's webhook is called for it, and it
/// sets resources, so that a quota that requires them does not reject it.
fn pod() -> serde_json::Value {
    let resources = json!({"cpu": "1m", "memory": "1Mi"});
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": PROBE, "labels": {keys::INJECT: scope::DISABLED, keys::SIDECAR_INJECT: "false"}},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "probe",
                "image": "trainmesh.invalid/probe",
                "resources": {"requests": resources, "limits": resources},
                "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
            }],
        },
    })
}

/// Interprets a denial. The message of a built-in plugin starts with `pods "NAME" is forbidden`. The message of a
/// webhook starts with `admission webhook`, and the rest is arbitrary.
fn denial(message: &str) -> ProbeResult {
    let Some(reason) = message.strip_prefix(&format!("pods \"{PROBE}\" is forbidden: ")) else {
        return ProbeResult::Unknown;
    };
    if reason.starts_with("unable to validate against any security context constraint") {
        return ProbeResult::SecurityContextConstraints;
    }
    let level = reason.strip_prefix("violates PodSecurity \"").and_then(|rest| rest.split([':', '"']).next());
    match level {
        Some("baseline") => ProbeResult::PodSecurity(PodSecurityDefault::Baseline),
        Some("restricted") => ProbeResult::PodSecurity(PodSecurityDefault::Restricted),
        _ => ProbeResult::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::baseline(
        r#"pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities (container "probe" must not include "IPC_LOCK" in securityContext.capabilities.add)"#,
        ProbeResult::PodSecurity(PodSecurityDefault::Baseline)
    )]
    #[case::restricted(
        r#"pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "restricted:v1.36": allowPrivilegeEscalation != false"#,
        ProbeResult::PodSecurity(PodSecurityDefault::Restricted)
    )]
    #[case::scc(
        r#"pods "trainmesh-doctor-probe" is forbidden: unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]"#,
        ProbeResult::SecurityContextConstraints
    )]
    #[case::rbac(
        r#"pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "a""#,
        ProbeResult::Unknown
    )]
    #[case::quota(r#"pods "trainmesh-doctor-probe" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#, ProbeResult::Unknown)]
    #[case::webhook(
        r#"admission webhook "w.example.com" denied the request: pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "baseline:latest""#,
        ProbeResult::Unknown
    )]
    #[case::another_level(
        r#"pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "odd:latest": x"#,
        ProbeResult::Unknown
    )]
    #[case::nothing("", ProbeResult::Unknown)]
    fn only_pod_security_and_security_context_constraints_decide(#[case] message: &str, #[case] expected: ProbeResult) {
        assert_eq!(denial(message), expected);
    }

    #[rstest]
    #[case::enabled(json!({"trainmesh.dev/inject": "enabled"}), true)]
    #[case::audit(json!({"trainmesh.dev/inject": "audit"}), true)]
    #[case::own_level(json!({"trainmesh.dev/inject": "enabled", "pod-security.kubernetes.io/enforce": "baseline"}), false)]
    #[case::istio_aux(json!({"io.datastrophic/istio-aux": "enabled"}), false)]
    #[case::not_opted_in(json!({}), false)]
    fn namespaces_without_their_own_level_are_affected(#[case] labels: serde_json::Value, #[case] expected: bool) {
        let labels = serde_json::from_value(labels).unwrap();
        let installation = Installation::from("namespace".to_owned());
        assert_eq!(is_affected("a", &labels, &installation), expected);
        assert!(!is_affected("namespace", &labels, &installation));
    }
}
