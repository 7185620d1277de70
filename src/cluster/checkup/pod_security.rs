//! Whether namespaces without a Pod Security label admit what fabric profiles add: one dry run for each.
//!
//! No API shows the level that the apiserver's `AdmissionConfiguration` sets for the whole cluster. So a pod that the level
//! `baseline` forbids is created as a dry run, with the rights of the person who calls. Only a denial by Pod Security, or
//! by the security context constraints of `OpenShift`, says something; every other answer leaves the matter unknown.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::super::request::{RequestError, send};
use super::Namespaces;
use trainmesh_core::config::{Fabric, PodSecurityDefault};
use trainmesh_core::doctor::{Admission, PodSecurityProbe, Readable};
use trainmesh_core::keys;
use trainmesh_core::scope::{self, Installation, Mode};

/// How many namespaces are probed: the level is the same everywhere, and exemptions by namespace are few.
const MOST: usize = 50;
/// How many dry runs are under way at once: each passes all admission plugins and webhooks of the cluster.
const AT_ONCE: usize = 4;
/// The name of the pod that is never created.
const PROBE: &str = "trainmesh-doctor-probe";

/// Probes the namespaces in which the default of the cluster decides about pods with a fabric.
pub(super) async fn probe(
    client: &Client,
    fabric: &Fabric,
    namespaces: &Readable<Namespaces>,
    installation: &Installation,
) -> Readable<PodSecurityProbe> {
    let all = match namespaces {
        Readable::Known(all) => all,
        Readable::Forbidden(question) => return Readable::Forbidden(question.clone()),
    };
    let concerned = all.iter().filter(|(name, labels)| fabric.enabled && is_concerned(name, labels, installation));
    let concerned: Vec<&String> = concerned.map(|(name, _)| name).collect();
    let probed =
        concerned.iter().take(MOST).map(|name| async move { ((*name).clone(), admission(client, name).await) });
    let namespaces: BTreeMap<String, Admission> = stream::iter(probed).buffer_unordered(AT_ONCE).collect().await;
    let omitted = concerned.len() - namespaces.len();
    Readable::Known(PodSecurityProbe { configured: fabric.pod_security_default, namespaces, omitted })
}

/// Whether pods of the namespace may get a fabric, and no label of its own says what it enforces.
fn is_concerned(namespace: &str, labels: &BTreeMap<String, String>, installation: &Installation) -> bool {
    let mode = installation.namespace_mode(namespace, labels);
    matches!(mode, Ok(Mode::Enabled | Mode::Audit)) && !labels.contains_key(keys::POD_SECURITY)
}

async fn admission(client: &Client, namespace: &str) -> Admission {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let Ok(pod) = serde_json::from_value(pod()) else { return Admission::Unknown };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match send(&format!("create a pod in namespace {namespace} as a dry run"), api.create(&dry_run, &pod)).await {
        Ok(_) => Admission::Admitted,
        Err(RequestError::Failed { source, .. }) => match *source {
            kube::Error::Api(status) if status.is_forbidden() => denial(&status.message),
            _ => Admission::Unknown,
        },
        Err(RequestError::TimedOut(_) | RequestError::Malformed(_)) => Admission::Unknown,
    }
}

/// A pod that Pod Security admits at level `privileged` alone. Neither this webhook nor Istio's is called for it, and it
/// states resources, so that a quota that requires them does not reject it.
fn pod() -> serde_json::Value {
    let few = json!({"cpu": "1m", "memory": "1Mi"});
    json!({
        "metadata": {"name": PROBE, "labels": {keys::INJECT: scope::DISABLED, keys::SIDECAR_INJECT: "false"}},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "probe",
                "image": "trainmesh.invalid/probe",
                "resources": {"requests": few, "limits": few},
                "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
            }],
        },
    })
}

/// What a denial says. It begins with the name of the pod where a built-in plugin denies, and with the words `admission
/// webhook` where a webhook does, whose text is its author's.
fn denial(message: &str) -> Admission {
    let Some(why) = message.strip_prefix(&format!("pods \"{PROBE}\" is forbidden: ")) else {
        return Admission::Unknown;
    };
    if why.starts_with("unable to validate against any security context constraint") {
        return Admission::SecurityContextConstraints;
    }
    let level = why.strip_prefix("violates PodSecurity \"").and_then(|rest| rest.split([':', '"']).next());
    match level {
        Some("baseline") => Admission::PodSecurity(PodSecurityDefault::Baseline),
        Some("restricted") => Admission::PodSecurity(PodSecurityDefault::Restricted),
        _ => Admission::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::baseline(
        r#"pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities (container "probe" must not include "IPC_LOCK" in securityContext.capabilities.add)"#,
        Admission::PodSecurity(PodSecurityDefault::Baseline)
    )]
    #[case::restricted(
        r#"pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "restricted:v1.36": allowPrivilegeEscalation != false"#,
        Admission::PodSecurity(PodSecurityDefault::Restricted)
    )]
    #[case::scc(
        r#"pods "trainmesh-doctor-probe" is forbidden: unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]"#,
        Admission::SecurityContextConstraints
    )]
    #[case::rbac(
        r#"pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "a""#,
        Admission::Unknown
    )]
    #[case::quota(r#"pods "trainmesh-doctor-probe" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#, Admission::Unknown)]
    #[case::webhook(
        r#"admission webhook "w.example.com" denied the request: pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "baseline:latest""#,
        Admission::Unknown
    )]
    #[case::another_level(
        r#"pods "trainmesh-doctor-probe" is forbidden: violates PodSecurity "odd:latest": x"#,
        Admission::Unknown
    )]
    #[case::nothing("", Admission::Unknown)]
    fn only_pod_security_and_security_context_constraints_decide(#[case] message: &str, #[case] expected: Admission) {
        assert_eq!(denial(message), expected);
    }

    #[rstest]
    #[case::enabled(json!({"trainmesh.dev/inject": "enabled"}), true)]
    #[case::audit(json!({"trainmesh.dev/inject": "audit"}), true)]
    #[case::own_level(json!({"trainmesh.dev/inject": "enabled", "pod-security.kubernetes.io/enforce": "baseline"}), false)]
    #[case::istio_aux(json!({"io.datastrophic/istio-aux": "enabled"}), false)]
    #[case::not_opted_in(json!({}), false)]
    fn namespaces_where_the_default_decides(#[case] labels: serde_json::Value, #[case] expected: bool) {
        let labels = serde_json::from_value(labels).unwrap();
        let installation = Installation::from("home".to_owned());
        assert_eq!(is_concerned("a", &labels, &installation), expected);
        assert!(!is_concerned("home", &labels, &installation));
    }
}
