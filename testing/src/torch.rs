//! Containers that run Debian's torch, torchrun and etcd, from packages on the node.

use std::path::Path;

use serde_json::{Value, json};

/// Python, with torch.
pub const PYTHON: &str = "/usr/bin/python3";
/// The only interface of a pod, beside loopback.
const INTERFACE: &str = "eth0";
/// Directories of libraries to which scripts of their packages create links; these scripts do not run.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu/blas:/usr/lib/x86_64-linux-gnu/lapack";
/// Name of the volume with the packages.
const PACKAGES: &str = "packages";

/// Adds image, variables and mount to a container.
pub fn add_torch(container: &mut Value) {
    container["image"] = "trainmesh.test/torch:1".into();
    container["imagePullPolicy"] = "Never".into();
    container["volumeMounts"] = json!([{"name": PACKAGES, "mountPath": "/usr", "readOnly": true}]);
    let variables = [("GLOO_SOCKET_IFNAME", INTERFACE), ("OMP_NUM_THREADS", "1"), ("LD_LIBRARY_PATH", LIBRARIES)];
    let variables = variables.map(|(name, value)| json!({"name": name, "value": value}));
    if !container["env"].is_array() {
        container["env"] = json!([]);
    }
    container["env"].as_array_mut().expect("a list").extend(variables);
}

/// Returns the volumes of a pod with such containers. `packages` is the directory that `Cluster::torch` returns.
pub fn volumes(packages: &Path) -> Value {
    json!([{"name": PACKAGES, "hostPath": {"path": packages.join("usr")}}])
}
