//! A `ServiceAccount` with rights of its own, to run a controller as.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::{Cluster, Namespace, list, server};

/// An account of its own, until it is dropped.
#[derive(Debug)]
pub struct Account {
    /// How to be it.
    pub kubeconfig: PathBuf,
    /// Its name in the audit log.
    pub user: String,
    name: String,
}

impl Account {
    pub(super) fn new(home: &Namespace, name: &str, rules: &Value, folder: &TempDir) -> Self {
        let group = "rbac.authorization.k8s.io";
        let metadata = json!({"name": name});
        let objects = [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": home.name}}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": home.name}]}),
        ];
        let _ = Cluster::get().create(&list(objects)).success();
        let token = home.kubectl(&["create", "token", name], "").success().stdout;
        let mut config = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
        config["users"][0]["user"] = json!({"token": token.trim()});
        let kubeconfig = server::file(folder.path(), &format!("kubeconfig-{name}"), &config.to_string());
        let user = format!("system:serviceaccount:{}:{name}", home.name);
        Self { kubeconfig, user, name: name.to_owned() }
    }

    /// Gives it other rights.
    pub fn may(&self, rules: &Value) {
        let patch = json!({"rules": rules}).to_string();
        let _ =
            Cluster::get().kubectl(&["patch", "clusterrole", &self.name, "--type=merge", "-p", &patch], "").success();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // A test that fails must say why, not that its account could not be deleted.
        let objects = [format!("clusterrole/{}", self.name), format!("clusterrolebinding/{}", self.name)];
        let _ = Cluster::get().kubectl(&["delete", &objects[0], &objects[1], "--wait=false"], "");
    }
}
