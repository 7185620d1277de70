//! Read-only view of a pod in JSON.
//!
//! The pod remains a [`serde_json::Value`], so that fields that are newer than the Kubernetes types are preserved.
//! A malformed field, such as a string in place of a list, is treated as absent: the apiserver validates the pod.

mod accelerator;
mod container;
mod etcd;
mod expansion;
mod injection;
pub(crate) mod machines;
pub(crate) mod networks;
mod proxy;
mod rendezvous;
mod requests;
mod status;

use serde_json::{Map, Value};

use crate::json;

pub(crate) use accelerator::{ACCELERATORS, misspelled_accelerator, uses_nccl};
pub use accelerator::{Accelerators, is_accelerator};
pub use container::{Container, ContainerKind, ContainerPort, RestartPolicy};
pub(crate) use expansion::Expansion;
pub use injection::{Injection, NotInjected, predict_injection};
pub use proxy::{Proxy, ProxyKind};
pub(crate) use rendezvous::{MAX_CLUSTER, Rendezvous, is_loopback, node_range, parse_cluster, trailing_port};
pub use requests::Requests;

/// A borrowed pod. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    raw: &'a Value,
}

/// Reference from a pod to the object that controls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller<'a> {
    /// `group/version`, or `v1` for the core group.
    pub api_version: &'a str,
    /// Kind of the controlling object.
    pub kind: &'a str,
    /// Name of the controlling object.
    pub name: &'a str,
    /// UID of the controlling object. `None` in manifests that were never created in a cluster.
    pub uid: Option<&'a str>,
}

impl<'a> Pod<'a> {
    /// Creates a view of `raw`, the JSON of a pod.
    #[must_use]
    pub fn new(raw: &'a Value) -> Self {
        Self { raw }
    }

    /// Returns the JSON of the pod.
    #[must_use]
    pub fn raw(self) -> &'a Value {
        self.raw
    }

    /// Returns `metadata`, if it is an object.
    #[must_use]
    pub fn metadata(self) -> Option<&'a Map<String, Value>> {
        json::get(self.raw, "metadata")?.as_object()
    }

    /// Returns `spec`, if it is an object.
    #[must_use]
    pub fn spec(self) -> Option<&'a Map<String, Value>> {
        json::get(self.raw, "spec")?.as_object()
    }

    /// Returns the value of annotation `key`.
    #[must_use]
    pub fn annotation(self, key: &str) -> Option<&'a str> {
        json::text(json::field(self.metadata()?, "annotations")?, key)
    }

    /// Returns the value of label `key`.
    #[must_use]
    pub fn label(self, key: &str) -> Option<&'a str> {
        json::text(json::field(self.metadata()?, "labels")?, key)
    }

    /// Returns the keys of all annotations.
    pub fn annotation_keys(self) -> impl Iterator<Item = &'a str> {
        self.metadata()
            .and_then(|metadata| json::field(metadata, "annotations"))
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|annotations| annotations.keys().map(String::as_str))
    }

    /// Returns `metadata.name`. `None` until the apiserver has generated it from `generateName`.
    #[must_use]
    pub fn name(self) -> Option<&'a str> {
        json::field(self.metadata()?, "name")?.as_str().filter(|name| !name.is_empty())
    }

    /// Returns `metadata.generateName`.
    #[must_use]
    pub fn generate_name(self) -> Option<&'a str> {
        json::field(self.metadata()?, "generateName")?.as_str().filter(|name| !name.is_empty())
    }

    /// Returns the owner with `controller: true`, which creates and replaces the pod. Ignores other owners.
    #[must_use]
    pub fn controller(self) -> Option<Controller<'a>> {
        let owners = json::field(self.metadata()?, "ownerReferences")?.as_array()?;
        let owner =
            owners.iter().find(|owner| json::get(owner, "controller").and_then(Value::as_bool) == Some(true))?;
        Some(Controller {
            api_version: json::text(owner, "apiVersion")?,
            kind: json::text(owner, "kind")?,
            name: json::text(owner, "name")?,
            uid: json::text(owner, "uid"),
        })
    }

    /// Returns true if the pod uses the network of its node.
    #[must_use]
    pub fn host_network(self) -> bool {
        self.spec().and_then(|spec| json::field(spec, "hostNetwork")).and_then(Value::as_bool) == Some(true)
    }

    /// Returns true if the pod requires a Windows node, by `spec.os` or by the well-known node label.
    #[must_use]
    pub fn is_windows(self) -> bool {
        let Some(spec) = self.spec() else { return false };
        let os = spec.get("os").and_then(|os| os.get("name"));
        let node = spec.get("nodeSelector").and_then(|selector| selector.get("kubernetes.io/os"));
        os.or(node).and_then(Value::as_str) == Some("windows")
    }

    /// Returns true if the pod has a deletion timestamp.
    #[must_use]
    pub fn is_being_deleted(self) -> bool {
        self.metadata().and_then(|metadata| metadata.get("deletionTimestamp")).is_some_and(|time| !time.is_null())
    }

    /// Returns `spec.restartPolicy`. Defaults to `Always`, as in the apiserver.
    #[must_use]
    pub fn restart_policy(self) -> RestartPolicy {
        self.spec()
            .and_then(|spec| json::field(spec, "restartPolicy"))
            .and_then(RestartPolicy::parse)
            .unwrap_or(RestartPolicy::Always)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::null(Value::Null)]
    #[case::string(json!("pod"))]
    #[case::metadata_is_a_list(json!({"metadata": [], "spec": "x"}))]
    #[case::maps_are_strings(json!({"metadata": {"labels": "a", "annotations": 1, "ownerReferences": {}}, "spec": {"containers": null, "os": []}}))]
    #[case::scalars_in_lists(json!({"spec": {"containers": ["a", 1], "initContainers": [null], "ephemeralContainers": {}}}))]
    fn malformed_fields_are_treated_as_absent(#[case] raw: Value) {
        let pod = Pod::new(&raw);
        assert_eq!(pod.annotation("a"), None);
        assert_eq!(pod.label("a"), None);
        assert_eq!(pod.name(), None);
        assert_eq!(pod.controller(), None);
        assert_eq!(pod.containers().count(), 0);
        assert_eq!(pod.restart_policy(), RestartPolicy::Always);
        assert!(!pod.host_network() && !pod.is_windows() && !pod.is_being_deleted());
        assert!(pod.proxy().is_none());
    }

    #[test]
    fn the_controlling_owner_is_selected() {
        let raw = json!({"metadata": {"ownerReferences": [
            {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": "g", "uid": "1"},
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "2", "controller": true},
        ]}});
        let controller = Pod::new(&raw).controller();
        assert_eq!(controller, Some(Controller { api_version: "batch/v1", kind: "Job", name: "j", uid: Some("2") }));
    }

    #[rstest]
    #[case::by_os(json!({"os": {"name": "windows"}}), true)]
    #[case::by_node_label(json!({"nodeSelector": {"kubernetes.io/os": "windows"}}), true)]
    #[case::os_takes_precedence(json!({"os": {"name": "linux"}, "nodeSelector": {"kubernetes.io/os": "windows"}}), false)]
    #[case::unset(json!({}), false)]
    fn windows_pods_are_recognized(#[case] spec: Value, #[case] windows: bool) {
        assert_eq!(Pod::new(&json!({"spec": spec})).is_windows(), windows);
    }
}
