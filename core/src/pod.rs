//! A read-only view of a raw pod: what the rules ask of it, and nothing that changes it.
//!
//! The pod stays the [`serde_json::Value`] that came in, so that fields newer than our Kubernetes types survive.
//! A malformed part (a string where a list belongs) reads as absent: the apiserver is its judge, not we.

mod accelerator;
mod container;
mod injection;
mod proxy;
mod status;

use serde_json::{Map, Value};

pub use accelerator::{Accelerators, is_accelerator};
pub use container::{Container, ContainerKind, RestartPolicy};
pub use injection::{Injection, NotInjected, injection};
pub use proxy::{Proxy, ProxyKind};

/// A borrowed pod. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    raw: &'a Value,
}

/// The reference of a pod to the object that controls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller<'a> {
    /// `group/version`, or `v1` for the core group.
    pub api_version: &'a str,
    /// Kind of the controlling object.
    pub kind: &'a str,
    /// Name of the controlling object.
    pub name: &'a str,
    /// Its uid; absent in a manifest that no cluster has seen.
    pub uid: Option<&'a str>,
}

impl<'a> Pod<'a> {
    /// Looks at `raw`, the JSON of a whole pod.
    #[must_use]
    pub fn new(raw: &'a Value) -> Self {
        Self { raw }
    }

    /// The JSON below the view.
    #[must_use]
    pub fn raw(self) -> &'a Value {
        self.raw
    }

    /// `metadata`, when it is an object.
    #[must_use]
    pub fn metadata(self) -> Option<&'a Map<String, Value>> {
        self.raw.get("metadata")?.as_object()
    }

    /// `spec`, when it is an object.
    #[must_use]
    pub fn spec(self) -> Option<&'a Map<String, Value>> {
        self.raw.get("spec")?.as_object()
    }

    /// The text of annotation `key`.
    #[must_use]
    pub fn annotation(self, key: &str) -> Option<&'a str> {
        self.metadata()?.get("annotations")?.get(key)?.as_str()
    }

    /// The text of label `key`.
    #[must_use]
    pub fn label(self, key: &str) -> Option<&'a str> {
        self.metadata()?.get("labels")?.get(key)?.as_str()
    }

    /// The keys of all annotations.
    pub fn annotation_keys(self) -> impl Iterator<Item = &'a str> {
        self.metadata()
            .and_then(|metadata| metadata.get("annotations"))
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|annotations| annotations.keys().map(String::as_str))
    }

    /// `metadata.name`; absent while the apiserver has not made one from `generateName`.
    #[must_use]
    pub fn name(self) -> Option<&'a str> {
        self.metadata()?.get("name")?.as_str().filter(|name| !name.is_empty())
    }

    /// `metadata.generateName`.
    #[must_use]
    pub fn generate_name(self) -> Option<&'a str> {
        self.metadata()?.get("generateName")?.as_str().filter(|name| !name.is_empty())
    }

    /// The owner that controls this pod. There may be other owners; only this one makes and replaces the pod.
    #[must_use]
    pub fn controller(self) -> Option<Controller<'a>> {
        let owners = self.metadata()?.get("ownerReferences")?.as_array()?;
        let owner = owners.iter().find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))?;
        Some(Controller {
            api_version: owner.get("apiVersion")?.as_str()?,
            kind: owner.get("kind")?.as_str()?,
            name: owner.get("name")?.as_str()?,
            uid: owner.get("uid").and_then(Value::as_str),
        })
    }

    /// Whether the pod shares the network of its node.
    #[must_use]
    pub fn host_network(self) -> bool {
        self.spec().and_then(|spec| spec.get("hostNetwork")).and_then(Value::as_bool) == Some(true)
    }

    /// Whether the pod asks for a Windows node, by `spec.os` or by the well-known node label.
    #[must_use]
    pub fn windows(self) -> bool {
        let Some(spec) = self.spec() else { return false };
        let os = spec.get("os").and_then(|os| os.get("name"));
        let node = spec.get("nodeSelector").and_then(|selector| selector.get("kubernetes.io/os"));
        os.or(node).and_then(Value::as_str) == Some("windows")
    }

    /// Whether the pod is being deleted.
    #[must_use]
    pub fn being_deleted(self) -> bool {
        self.metadata().and_then(|metadata| metadata.get("deletionTimestamp")).is_some_and(|time| !time.is_null())
    }

    /// `spec.restartPolicy`; the apiserver's default is `Always`.
    #[must_use]
    pub fn restart_policy(self) -> RestartPolicy {
        self.spec()
            .and_then(|spec| spec.get("restartPolicy"))
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
    fn a_malformed_pod_reads_as_an_empty_one(#[case] raw: Value) {
        let pod = Pod::new(&raw);
        assert_eq!(pod.annotation("a"), None);
        assert_eq!(pod.label("a"), None);
        assert_eq!(pod.name(), None);
        assert_eq!(pod.controller(), None);
        assert_eq!(pod.containers().count(), 0);
        assert_eq!(pod.restart_policy(), RestartPolicy::Always);
        assert!(!pod.host_network() && !pod.windows() && !pod.being_deleted());
        assert!(pod.proxy().is_none());
    }

    #[test]
    fn the_controlling_owner_is_found_among_others() {
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
    #[case::os_beats_the_selector(json!({"os": {"name": "linux"}, "nodeSelector": {"kubernetes.io/os": "windows"}}), false)]
    #[case::silent(json!({}), false)]
    fn windows_pods_are_recognised(#[case] spec: Value, #[case] windows: bool) {
        assert_eq!(Pod::new(&json!({"spec": spec})).windows(), windows);
    }
}
