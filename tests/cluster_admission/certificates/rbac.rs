//! RBAC: the granted permissions suffice, and all are used.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET};

use super::continuity::DEFAULT_LIFETIMES;
use super::installation::Installation;
use super::leader::Leader;
use super::replica::Replica;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually, list};

/// Verbs of the controller on its Secrets and its webhook configuration, by resource name.
const CONTROLLER: [&str; 4] = ["get", "list", "watch", "patch"];
/// Verbs of the webhook on its Secret.
const WEBHOOK: [&str; 3] = ["get", "list", "watch"];

/// Creates an account with these verbs on these Secrets, and returns its kubeconfig.
fn account(installation: &Installation, name: &str, verbs: &[&str], secrets: &[&str], folder: &TempDir) -> PathBuf {
    let home = &installation.home.name;
    let subject = json!([{"kind": "ServiceAccount", "name": name, "namespace": home}]);
    let group = "rbac.authorization.k8s.io";
    let objects = [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": verbs}]}),
        json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name}, "subjects": subject}),
    ];
    let _ = installation.home.apply(&list(objects)).success();
    let token = installation.home.kubectl(&["create", "token", name], "").success().stdout;
    let kubeconfig = fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let mut kubeconfig: Value = trainmesh_core::yaml::parse(&kubeconfig).unwrap();
    for user in kubeconfig["users"].as_array_mut().unwrap() {
        user["user"] = json!({"token": token.trim()});
    }
    let path = folder.path().join(name);
    fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

/// Returns a `ClusterRole` and its binding for the webhook configuration, which is cluster-scoped.
fn webhook_configuration_rbac(installation: &Installation, name: &str) -> String {
    let unique = format!("{}-{name}", installation.home.name);
    let group = "rbac.authorization.k8s.io";
    list([
        json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": unique},
            "rules": [{"apiGroups": ["admissionregistration.k8s.io"], "verbs": CONTROLLER,
                "resources": ["mutatingwebhookconfigurations"],
                "resourceNames": [installation.configuration.name]}]}),
        json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": unique},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": unique},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": installation.home.name}]}),
    ])
}

#[test]
fn no_permission_is_missing_or_unused() {
    let installation = Installation::new(0);
    let audit = Cluster::get().audit_from_now();
    let folder = tempfile::tempdir().unwrap();
    let controller = account(&installation, "controller", &CONTROLLER, &[CA_SECRET, SERVING_SECRET], &folder);
    let webhook = account(&installation, "webhook", &WEBHOOK, &[SERVING_SECRET], &folder);
    let cluster_wide = webhook_configuration_rbac(&installation, "controller");
    let _ = Cluster::get().apply(&cluster_wide).success();

    let home = &installation.home.name;
    let account_of = |name: &str| format!("system:serviceaccount:{home}:{name}");
    let ca_secret = format!("secrets/{CA_SECRET}");
    let serving_secret = format!("secrets/{SERVING_SECRET}");
    let configuration = format!("mutatingwebhookconfigurations/{}", installation.configuration.name);
    for (name, resource) in [("controller", &ca_secret), ("controller", &configuration), ("webhook", &serving_secret)] {
        Cluster::get().wait_until_allowed(&account_of(name), ["get", resource], home);
    }

    let leader = Leader::with_kubeconfig(&installation, DEFAULT_LIFETIMES, &controller);
    let replica = Replica::with_kubeconfig(&installation.home.name, Some(&webhook));
    eventually(TIMEOUT, "the webhook has a certificate", || {
        let unmet = replica.readiness();
        if unmet.contains("certificate") { Err(unmet) } else { Ok(()) }
    });
    installation.wait_bundles(3);
    for (name, verbs, resources) in [
        ("controller", CONTROLLER.as_slice(), ["secrets", "mutatingwebhookconfigurations"].as_slice()),
        ("webhook", &WEBHOOK, &["secrets"]),
    ] {
        let account = format!("system:serviceaccount:{}:{name}", installation.home.name);
        let pairs = |verb: &'static str| resources.iter().map(move |resource| format!("{verb} {resource}"));
        let granted: BTreeSet<String> = verbs.iter().copied().flat_map(pairs).collect();
        eventually(TIMEOUT, "every permission was used", || {
            let events = audit.started_events(&account, |event| event["user"]["username"] == *account);
            let denied: Vec<&Value> = events.iter().filter(|event| event["responseStatus"]["code"] == 403).collect();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let pair = |event: &Value| format!("{} {}", text(&event["verb"]), text(&event["objectRef"]["resource"]));
            let used = events.iter().filter(|event| !event["objectRef"]["name"].is_null()).map(pair);
            let used: BTreeSet<String> = used.filter(|pair| granted.contains(pair)).collect();
            let others = || denied.iter().map(|event| text(&event["requestURI"])).collect::<Vec<_>>();
            // Denials of the webhook's other requests (namespaces, configuration) are not part of this test.
            let denied_of_these = others().iter().any(|uri| resources.iter().any(|resource| uri.contains(resource)));
            assert!(!denied_of_these, "{name} was denied {:?}", others());
            if used == granted { Ok(()) } else { Err(format!("{name} has done {used:?} of {granted:?}")) }
        });
    }
    drop((leader, replica));
    let _ = Cluster::get().kubectl(&["delete", "-f", "-"], &cluster_wide).success();
}
