//! A `ServiceAccount` with its own permissions, to run a controller with.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::{Cluster, Namespace, list, server};

/// A service account with a `ClusterRole`; deleted when it is dropped.
#[derive(Debug)]
pub struct ServiceAccount {
    /// Kubeconfig with the account's token.
    pub kubeconfig: PathBuf,
    /// User name in the audit log.
    pub user: String,
    name: String,
}

impl ServiceAccount {
    /// Creates an account in `namespace` with these rules of a `ClusterRole`, and its kubeconfig in `folder`.
    pub fn new(namespace: &Namespace, name: &str, rules: &Value, folder: &TempDir) -> Self {
        let group = "rbac.authorization.k8s.io";
        let metadata = json!({"name": name});
        let objects = [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace.name}}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace.name}]}),
        ];
        let _ = Cluster::get().create(&list(objects)).success();
        let token = namespace.kubectl(&["create", "token", name], "").success().stdout;
        let mut config = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
        config["users"][0]["user"] = json!({"token": token.trim()});
        let kubeconfig = server::write_file(folder.path(), &format!("kubeconfig-{name}"), &config.to_string());
        let user = format!("system:serviceaccount:{}:{name}", namespace.name);
        let [verb, resource] =
            [&rules[0]["verbs"][0], &rules[0]["resources"][0]].map(|text| text.as_str().expect("a rule"));
        Cluster::get().wait_until_allowed(&user, [verb, resource], &namespace.name);
        Self { kubeconfig, user, name: name.to_owned() }
    }

    /// Replaces the rules of the `ClusterRole`.
    pub fn set_rules(&self, rules: &Value) {
        let patch = json!({"rules": rules}).to_string();
        let _ =
            Cluster::get().kubectl(&["patch", "clusterrole", &self.name, "--type=merge", "-p", &patch], "").success();
    }
}

impl Drop for ServiceAccount {
    fn drop(&mut self) {
        // An error here must not replace the failure of the test.
        let objects = [format!("clusterrole/{}", self.name), format!("clusterrolebinding/{}", self.name)];
        let _ = Cluster::get().kubectl(&["delete", &objects[0], &objects[1], "--wait=false"], "");
    }
}
