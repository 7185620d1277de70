//! Table of fields and values that the apiserver accepts or rejects.

use std::sync::Arc;

use json_patch::jsonptr::PointerBuf;
use rstest::rstest;
use serde_json::json;

use super::*;

const LIMIT: &[&str] = &["spec", "containers", "0", "resources", "limits", "rdma/ib"];
const ANTI_AFFINITY: &[&str] =
    &["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

/// A sidecar container with every field that rules write.
fn sidecar(capability: &str) -> Value {
    json!({"name": "a", "image": "i", "restartPolicy": "Always", "command": ["a"], "args": ["b"],
        "env": [{"name": "A", "value": ""}], "volumeMounts": [{"name": "a", "mountPath": "/a"}],
        "securityContext": {"capabilities": {"add": [capability]}}})
}

#[rstest]
#[case::annotation(Set, &["metadata", "annotations", "a"], json!("x"), true)]
#[case::annotation_key(Set, &["metadata", "annotations", "-a"], json!("x"), false)]
#[case::label(Set, &["metadata", "labels", "a"], json!("x"), true)]
#[case::label_value(Set, &["metadata", "labels", "a"], json!("a b"), false)]
#[case::unknown_field(Set, &["spec", "nodeName"], json!("a"), false)]
#[case::unknown_root(Set, &["status", "phase"], json!("a"), false)]
#[case::host_network(Set, &["spec", "hostNetwork"], json!(true), true)]
#[case::dns(Set, &["spec", "dnsPolicy"], json!("ClusterFirstWithHostNet"), true)]
#[case::unknown_dns_policy(Set, &["spec", "dnsPolicy"], json!("Unknown"), false)]
#[case::selector(Set, &["spec", "nodeSelector", "a/b"], json!("c"), true)]
#[case::pod_claim(Append, &["spec", "resourceClaims"], json!({"name": "a", "resourceClaimTemplateName": "b.c"}), true)]
#[case::pod_claim_template(Append, &["spec", "resourceClaims"], json!({"name": "a", "resourceClaimTemplateName": "B"}), false)]
#[case::anti_affinity(Append, ANTI_AFFINITY, json!({"topologyKey": "a/b", "labelSelector": {"matchLabels": {"c": "d"}}}), true)]
#[case::spread_label(Append, ANTI_AFFINITY, json!({"topologyKey": "a/b", "labelSelector": {"matchLabels": {"c": "d e"}}}), false)]
#[case::toleration(Append, &["spec", "tolerations"], json!({"key": "a", "operator": "Exists"}), true)]
#[case::toleration_of_a_value(Append, &["spec", "tolerations"], json!({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}), true)]
#[case::toleration_value(Append, &["spec", "tolerations"], json!({"key": "a", "operator": "Equal", "value": "b c"}), false)]
#[case::toleration_effect(Append, &["spec", "tolerations"], json!({"key": "a", "operator": "Exists", "effect": "Some"}), false)]
#[case::toleration_operator(Append, &["spec", "tolerations"], json!({"key": "a", "operator": "Some"}), false)]
#[case::toleration_is_not_set(Set, &["spec", "tolerations"], json!([]), false)]
#[case::volume(Append, &["spec", "volumes"], json!({"name": "a", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}), true)]
#[case::volume_limit(Append, &["spec", "volumes"], json!({"name": "a", "emptyDir": {"medium": "Memory", "sizeLimit": "lots"}}), false)]
#[case::volume_name(Append, &["spec", "volumes"], json!({"name": "a.b", "emptyDir": {"medium": "Memory"}}), false)]
#[case::volume_kind(Append, &["spec", "volumes"], json!({"name": "a", "nfs": {}}), false)]
#[case::host_path(Append, &["spec", "volumes"], json!({"name": "a", "hostPath": {"path": "/dev/a", "type": "CharDevice"}}), true)]
#[case::host_path_type(Append, &["spec", "volumes"], json!({"name": "a", "hostPath": {"path": "/dev/a", "type": "Device"}}), false)]
#[case::config_map(Append, &["spec", "volumes"], json!({"name": "a", "configMap": {"name": "a.b", "optional": true}}), true)]
#[case::config_map_name(Append, &["spec", "volumes"], json!({"name": "a", "configMap": {"name": "A"}}), false)]
#[case::downward(Append, &["spec", "volumes"], json!({"name": "a", "downwardAPI": {"items": [
    {"path": "f", "fieldRef": {"fieldPath": "metadata.annotations['a/b']"}}]}}), true)]
#[case::downward_of_another_field(Append, &["spec", "volumes"], json!({"name": "a", "downwardAPI": {"items": [
    {"path": "f", "fieldRef": {"fieldPath": "spec.nodeName"}}]}}), false)]
#[case::sidecar(Append, &["spec", "initContainers"], json!({"name": "a", "image": "i", "restartPolicy": "Always"}), true)]
#[case::plain_init(Append, &["spec", "initContainers"], json!({"name": "a", "image": "i"}), false)]
#[case::complete_sidecar(Append, &["spec", "initContainers"], sidecar("IPC_LOCK"), true)]
#[case::sidecar_capability(Append, &["spec", "initContainers"], sidecar("CAP_IPC_LOCK"), false)]
#[case::sidecar_command(Append, &["spec", "initContainers"], json!({"name": "a", "image": "i", "restartPolicy": "Always", "command": []}), false)]
#[case::env(Append, &["spec", "containers", "0", "env"], json!({"name": "A", "value": ""}), true)]
#[case::env_name(Append, &["spec", "containers", "0", "env"], json!({"name": "A B", "value": ""}), false)]
#[case::env_number(Append, &["spec", "containers", "0", "env"], json!({"name": "A", "value": 1}), false)]
#[case::env_of_ephemeral(Append, &["spec", "ephemeralContainers", "0", "env"], json!({"name": "A", "value": ""}), false)]
#[case::mount(Append, &["spec", "containers", "0", "volumeMounts"], json!({"name": "a", "mountPath": "/a"}), true)]
#[case::mount_with_sub_path(Append, &["spec", "containers", "0", "volumeMounts"], json!({"name": "a", "mountPath": "/a", "subPath": "b/c", "readOnly": true}), true)]
#[case::mount_path(Append, &["spec", "containers", "0", "volumeMounts"], json!({"name": "a", "mountPath": "/a:b"}), false)]
#[case::mount_sub_path(Append, &["spec", "containers", "0", "volumeMounts"], json!({"name": "a", "mountPath": "/a", "subPath": "../b"}), false)]
#[case::devices(Set, LIMIT, json!("8"), true)]
#[case::devices_as_a_number(Set, LIMIT, json!(8), false)]
#[case::no_devices(Set, LIMIT, json!("0"), false)]
#[case::half_a_device(Set, LIMIT, json!("500m"), false)]
#[case::huge_pages(Set, &["spec", "containers", "0", "resources", "limits", "hugepages-2Mi"], json!("5120Mi"), true)]
#[case::cpu(Set, &["spec", "containers", "0", "resources", "limits", "cpu"], json!("1"), false)]
#[case::claim(Append, &["spec", "containers", "0", "resources", "claims"], json!({"name": "a"}), true)]
#[case::claim_name(Append, &["spec", "containers", "0", "resources", "claims"], json!({"name": "a.b"}), false)]
#[case::privileged(Set, &["spec", "containers", "0", "securityContext", "privileged"], json!(true), true)]
#[case::hook(Set, &["spec", "containers", "0", "lifecycle", "preStop", "exec", "command"], json!(["a"]), true)]
#[case::hook_of_an_init_container(Set, &["spec", "initContainers", "0", "lifecycle", "preStop", "exec", "command"], json!(["a"]), false)]
#[case::hook_command(Set, &["spec", "containers", "0", "lifecycle", "preStop", "exec", "command"], json!([1]), false)]
#[case::capability(Append, &["spec", "containers", "0", "securityContext", "capabilities", "add"], json!("IPC_LOCK"), true)]
#[case::capability_with_prefix(Append, &["spec", "containers", "0", "securityContext", "capabilities", "add"], json!("CAP_IPC_LOCK"), false)]
#[case::index(Append, &["spec", "containers", "-", "env"], json!({"name": "A", "value": ""}), false)]
fn fields(#[case] kind: WriteKind, #[case] path: &[&str], #[case] value: Value, #[case] expected: bool) {
    let path = PointerBuf::from_tokens(path.iter().copied());
    let write = Write { kind, path, value: Arc::new(value) };
    assert_eq!(is_well_formed(&write), expected);
}
