//! The hostile tenant: an account with the `ClusterRole` `edit` in its own namespace.

use std::fmt::Display;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use trainmesh_testing::cluster::{Cluster, KubectlOutput, Namespace, list, server};

const ACCOUNT: &str = "tenant";

/// An account with its namespace.
#[derive(Debug)]
pub struct Tenant {
    pub namespace: Namespace,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Tenant {
    /// Creates a tenant with a namespace with these labels, which the tenant cannot change.
    pub fn new(labels: &[(&str, &str)]) -> Self {
        let namespace = Cluster::get().namespace(labels);
        let group = "rbac.authorization.k8s.io";
        let objects = [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": ACCOUNT},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "edit"},
                "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace.name}]}),
        ];
        let _ = namespace.create(&list(objects)).success();
        let user = format!("system:serviceaccount:{}:{ACCOUNT}", namespace.name);
        Cluster::get().wait_until_allowed(&user, ["create", "pods"], &namespace.name);
        let token = namespace.kubectl(&["create", "token", ACCOUNT], "").success().stdout;
        let mut config = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
        config["users"][0]["user"] = json!({"token": token.trim()});
        let folder = server::temp_folder();
        let kubeconfig = server::write_file(folder.path(), "kubeconfig", &config.to_string());
        Self { namespace, kubeconfig, _folder: folder }
    }

    /// Runs `kubectl` as the tenant.
    pub fn kubectl(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> KubectlOutput {
        let kubeconfig = self.kubeconfig.to_str().expect("a path of text");
        self.namespace.kubectl(&[&["--kubeconfig", kubeconfig], arguments].concat(), input)
    }

    /// Creates objects in one call.
    pub fn create(&self, objects: impl IntoIterator<Item = serde_json::Value>) {
        // kubectl's validation of 10 MB takes longer than the creation.
        let _ = self.kubectl(&["create", "--validate=false", "-f", "-"], &list(objects)).success();
    }
}
