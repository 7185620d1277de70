//! Decisions that depend on the cluster: guards, other webhooks, and the mesh.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::{ClusterView, NodeShape, Nodes, Quota};
use trainmesh_core::dra::{ClaimFacts, ClaimSpec, ClaimSpecs};
use trainmesh_core::mutate::RuleId;
use trainmesh_testing::marks::changes_more_than_marks;

use super::{Scenario, decision, fabric, patched, pod, with};

const LOCK: &str = "securityContext: {capabilities: {add: [IPC_LOCK]}}";
const HOST: &str = "volumes: {hostPaths: [{hostPath: /a, mountPath: /a}]}";
const SHM: &str = "volumes: {shm: {}}";
const SIDECAR: &str = "sidecars: [{ref: d, image: i}]";

#[rstest]
#[case::privileged("privileged", LOCK, "applied FabricAdded")]
#[case::capability("baseline", LOCK, "refused FabricGuarded")]
#[case::host_path("baseline", HOST, "refused FabricGuarded")]
#[case::host_network("baseline", "pod: {hostNetwork: true}", "refused FabricGuarded")]
#[case::memory("restricted", SHM, "applied FabricAdded")]
#[case::sidecar("baseline", SIDECAR, "applied FabricAdded")]
#[case::sidecar_unconfined("restricted", SIDECAR, "refused FabricGuarded")]
#[case::unknown_level("strict", LOCK, "refused FabricGuarded")]
#[case::warned(
    "baseline",
    "securityContext: {capabilities: {add: [IPC_LOCK]}}\nguards: {psa: warn}",
    "applied FabricAdded"
)]
fn guards_pod_security_of_the_namespace(#[case] level: &str, #[case] profile: &str, #[case] expected: &str) {
    let scenario =
        Scenario::new(&format!("transport: ib\n{profile}")).label("pod-security.kubernetes.io/enforce", level);
    let outcome = scenario.run(&pod());
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    let warns = expected.starts_with("refused") || profile.contains("warn");
    assert_eq!(
        outcome.warnings.iter().any(|warning| warning.contains("Pod Security")),
        warns,
        "{:?}",
        outcome.warnings
    );
    assert!(!changes_more_than_marks(&outcome.patch) || !expected.starts_with("refused"));
}

#[rstest]
#[case::unknown("unknown", LOCK, "applied FabricAdded")]
#[case::privileged("privileged", LOCK, "applied FabricAdded")]
#[case::baseline("baseline", LOCK, "refused FabricGuarded")]
#[case::restricted("restricted", LOCK, "refused FabricGuarded")]
#[case::host_path("baseline", "volumes: {hostPaths: [{hostPath: /a, mountPath: /b}]}", "refused FabricGuarded")]
#[case::allowed_by_baseline_only(
    "restricted",
    "securityContext: {capabilities: {add: [CHOWN]}, memlock: nodeUnlimited}",
    "refused FabricGuarded"
)]
#[case::not_by_baseline(
    "baseline",
    "securityContext: {capabilities: {add: [CHOWN]}, memlock: nodeUnlimited}",
    "applied FabricAdded"
)]
fn guards_the_default_pod_security_of_the_cluster(#[case] level: &str, #[case] profile: &str, #[case] expected: &str) {
    let scenario = Scenario::with(&format!("podSecurityDefault: {level}"), &format!("transport: ib\n{profile}"));
    let outcome = scenario.run(&pod());
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    let warned = outcome
        .warnings
        .iter()
        .any(|warning| warning.contains(&format!("the cluster's Pod Security default {level} forbids")));
    assert_eq!(warned, expected.starts_with("refused"), "{:?}", outcome.warnings);
    // The namespace's own label takes precedence.
    for (own, expected) in [("privileged", "applied FabricAdded"), ("restricted", "refused FabricGuarded")] {
        let scenario = Scenario::with(&format!("podSecurityDefault: {level}"), &format!("transport: ib\n{LOCK}"));
        let scenario = scenario.label("pod-security.kubernetes.io/enforce", own);
        assert_eq!(decision(&scenario.run(&pod())), expected, "{own}");
    }
}

#[rstest]
#[case::locked_memory(LOCK, "forbids capability IPC_LOCK: follow docs/fabric.md#pod-security")]
#[case::more(
    "securityContext: {capabilities: {add: [IPC_LOCK, SYS_NICE]}}",
    "forbids capability IPC_LOCK: set a less restrictive level"
)]
fn the_fix_keeps_the_level_if_possible(#[case] profile: &str, #[case] expected: &str) {
    let scenario =
        Scenario::new(&format!("transport: ib\n{profile}")).label("pod-security.kubernetes.io/enforce", "baseline");
    let warnings = scenario.run(&pod()).warnings;
    assert!(warnings.iter().any(|warning| warning.contains(expected)), "{warnings:?}");
}

#[test]
fn pod_security_guards_only_added_fields() {
    let scenario =
        Scenario::new(&format!("transport: ib\n{LOCK}")).label("pod-security.kubernetes.io/enforce", "baseline");
    let own = with(pod(), "/spec/containers/0/securityContext/capabilities/add", json!(["IPC_LOCK"]));
    assert_eq!(decision(&scenario.run(&own)), "applied FabricAdded");
}

#[rstest]
#[case::non_root_pod("/spec/securityContext", json!({"runAsNonRoot": true}), true)]
#[case::non_root_container("/spec/containers/0/securityContext", json!({"runAsUser": 1000}), true)]
#[case::root("/spec/containers/0/securityContext", json!({"runAsUser": 0}), false)]
#[case::unset("/spec/securityContext", json!({}), false)]
fn warns_when_a_non_root_user_cannot_lock_memory(#[case] pointer: &str, #[case] security: Value, #[case] warns: bool) {
    let pod = with(pod(), pointer, security);
    let warned = Scenario::new(&format!("transport: ib\n{LOCK}")).run(&pod);
    assert_eq!(decision(&warned), "applied FabricAdded");
    assert_eq!(
        warned.warnings.iter().any(|warning| warning.contains("does not run as root")),
        warns,
        "{:?}",
        warned.warnings
    );
    let refused = Scenario::new(&format!("transport: ib\n{LOCK}\nguards: {{nonRoot: skip}}")).run(&pod);
    assert_eq!(decision(&refused).starts_with("refused"), warns);
}

#[rstest]
#[case::fits(8, "applied FabricAdded")]
#[case::too_much(7, "refused FabricGuarded")]
fn guards_quota(#[case] left: u64, #[case] expected: &str) {
    let scenario = Scenario::new("transport: ib\nresources: [{name: rdma/ib, mode: perGpu}]");
    let quota = Quota { name: "team".to_owned(), remaining: BTreeMap::from([("requests.rdma/ib".to_owned(), left)]) };
    let quotas = Some(&[quota][..]);
    let outcome = scenario.run_at(&pod(), ClusterView { quotas, ..ClusterView::default() });
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    // Devices that the user requests are not checked.
    let own = with(pod(), "/spec/containers/0/resources/limits/rdma~1ib", json!("8"));
    assert_eq!(
        decision(&scenario.run_at(&own, ClusterView { quotas, ..ClusterView::default() })),
        "applied FabricAdded"
    );
}

#[rstest]
#[case::fits(8, "applied FabricAdded")]
#[case::too_many_devices(7, "refused FabricGuarded")]
fn guards_the_quota_of_a_class(#[case] left: u64, #[case] expected: &str) {
    let scenario =
        Scenario::new("transport: ib\nresources: [{name: deviceclass.resource.kubernetes.io/nic, mode: perGpu}]");
    let remaining = BTreeMap::from([("nic.deviceclass.resource.k8s.io/devices".to_owned(), left)]);
    let quotas = [Quota { name: "team".to_owned(), remaining }];
    let cluster = ClusterView { quotas: Some(&quotas), ..ClusterView::default() };
    let outcome = scenario.run_at(&pod(), cluster);
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
}

#[rstest]
#[case::enough(8, "warn", "applied FabricAdded", "")]
#[case::too_few(4, "warn", "applied FabricAdded", "no node has 8 rdma/ib")]
#[case::none(0, "warn", "applied FabricAdded", "no node offers rdma/ib")]
#[case::refused(0, "skip", "refused FabricGuarded", "no node offers rdma/ib")]
fn guards_node_capacity(#[case] devices: u64, #[case] guard: &str, #[case] expected: &str, #[case] warns: &str) {
    let profile =
        format!("transport: ib\nresources: [{{name: rdma/ib, mode: perGpu}}]\nguards: {{nodeCapacity: {guard}}}");
    let allocatable = BTreeMap::from([("rdma/ib".to_owned(), devices)]);
    let nodes = Nodes { shapes: vec![NodeShape { instance_type: None, allocatable, adapter_detected: None }] };
    let outcome = Scenario::new(&profile).run_at(&pod(), ClusterView { nodes: Some(&nodes), ..ClusterView::default() });
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    let warnings = outcome.warnings.join("\n");
    assert!(warnings.contains(warns) && warnings.is_empty() == warns.is_empty(), "{warnings}");
    // Anyone who can create pods can trigger warnings for any namespace: they must not reveal numbers.
    assert!(!warnings.contains('4'), "reveals a number of devices: {warnings}");
}

#[test]
fn a_claim_requires_its_template() {
    let scenario = Scenario::new("transport: ib\ndra: {claims: [{name: a, resourceClaimTemplateName: t}]}");
    let known = |name: &str| {
        let mut templates = ClaimSpecs::of_all_namespaces();
        templates.insert("team-a", name, Arc::new(ClaimSpec::channel()));
        ClaimFacts { templates: Arc::new(templates), ..ClaimFacts::default() }
    };
    for (facts, expected) in [
        (known("t"), "applied FabricAdded"),
        (known("other"), "refused FabricGuarded"),
        (ClaimFacts::default(), "applied FabricAdded"),
    ] {
        let cluster = ClusterView { claims: facts.view("team-a"), ..ClusterView::default() };
        assert_eq!(decision(&scenario.run_at(&pod(), cluster)), expected);
    }
}

#[rstest]
#[case::of_a_class("deviceclass.resource.kubernetes.io/efa", "")]
#[case::of_a_device_plugin("rdma/ib", "no node offers rdma/ib")]
fn nodes_do_not_report_devices_of_a_class(#[case] resource: &str, #[case] warns: &str) {
    let nodes =
        Nodes { shapes: vec![NodeShape { instance_type: None, allocatable: BTreeMap::new(), adapter_detected: None }] };
    let scenario = Scenario::new(&format!("transport: ib\nresources: [{{name: {resource}, mode: perGpu}}]"));
    let outcome = scenario.run_at(&pod(), ClusterView { nodes: Some(&nodes), ..ClusterView::default() });
    let warnings = outcome.warnings.join("\n");
    assert!(warnings.contains(warns) && warnings.is_empty() == warns.is_empty(), "{warnings}");
}

#[test]
fn a_missing_config_map_is_left_out_with_variables_that_point_into_it() {
    let scenario = Scenario::new(
        "transport: ib\nenv: [{name: NCCL_TOPO_FILE, value: /t/topo.xml}, {name: NCCL_IB_SL, value: \"1\"}]\nvolumes: {configMaps: [{name: t, mountPath: /t, mustExist: true}]}",
    );
    let absent = BTreeSet::new();
    let after =
        patched(&scenario.run_at(&pod(), ClusterView { config_maps: Some(&absent), ..ClusterView::default() }), &pod());
    assert_eq!(after["spec"]["volumes"], Value::Null);
    assert_eq!(after["spec"]["containers"][0]["env"], json!([{"name": "NCCL_IB_SL", "value": "1"}]));
    let unknown = patched(&scenario.run(&pod()), &pod());
    assert_eq!(unknown["spec"]["containers"][0]["env"][0]["name"], "NCCL_TOPO_FILE");
    assert_eq!(unknown["spec"]["volumes"][0]["configMap"]["optional"], true);
}

#[test]
fn devices_are_left_to_the_network_resources_injector() {
    let scenario = Scenario::new(
        "transport: ib\nresources: [{name: rdma/ib, mode: perGpu, ratio: 1/4}]\nnetworks: {multus: {attach: [{name: nad, count: perResource}]}}",
    );
    let cluster = ClusterView { network_resources_injector: true, ..ClusterView::default() };
    let outcome = scenario.run_at(&pod(), cluster);
    let mut after = patched(&outcome, &pod());
    assert_eq!(after["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "nad,nad");
    assert_eq!(after["spec"]["containers"][0]["resources"], pod()["spec"]["containers"][0]["resources"]);
    assert!(fabric(&outcome).message.contains("network-resources-injector"));
    // Devices added by the injector do not count as set by the user.
    after["spec"]["containers"][0]["resources"]["limits"]["openshift.io/mlnx_rdma"] = json!("2");
    assert!(scenario.run_at(&after, cluster).patch.is_empty());
}

#[rstest]
#[case::interfaces("istio: excludeInterfaces, interfaces: [net1]", None, json!({"traffic.sidecar.istio.io/excludeInterfaces": "net1"}))]
#[case::capture("istio: disableCapture", None, json!({"traffic.sidecar.istio.io/includeInboundPorts": "", "traffic.sidecar.istio.io/includeOutboundIPRanges": ""}))]
#[case::injection("istio: disableInjection", None, json!({"sidecar.istio.io/inject": "false"}))]
#[case::label_overrides("istio: disableCapture", Some("leave"), json!({}))]
#[case::label_overrides_interfaces("istio: excludeInterfaces, interfaces: [net1]", Some("disableInjection"), json!({"sidecar.istio.io/inject": "false"}))]
fn adds_mesh_exclusions(#[case] mesh: &str, #[case] label: Option<&str>, #[case] expected: Value) {
    let mut scenario = Scenario::new(&format!("transport: ib\nmesh: {{{mesh}}}")).label("istio-injection", "enabled");
    if let Some(label) = label {
        scenario = scenario.label("trainmesh.dev/mesh-traffic", label);
    }
    let job = json!({"training.kubeflow.org/job-name": "a", "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"});
    let pod = with(pod(), "/metadata/labels", job);
    let outcome = scenario.run(&pod);
    let after = patched(&outcome, &pod);
    let mut written = serde_json::Map::new();
    for map in ["annotations", "labels"] {
        let entries = after["metadata"][map].as_object().unwrap().iter();
        written.extend(
            entries
                .filter(|(key, _)| key.contains("sidecar.istio.io"))
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    assert_eq!(Value::Object(written), expected);
    assert!(!outcome.warnings.iter().any(|warning| warning.contains("FP021")), "{:?}", outcome.warnings);
    assert!(scenario.run(&after).patch.is_empty(), "{:#?}", scenario.run(&after).patch);
}

#[rstest]
#[case::cluster_interface("=eth0", true)]
#[case::all_others("^lo", true)]
#[case::excluded_interface("=net1", false)]
#[case::other_than_the_cluster_interface("^lo,eth0", false)]
fn excluded_interfaces_are_those_of_nccl(#[case] interfaces: &str, #[case] expected: bool) {
    let profile = "transport: ib\nmesh: {istio: excludeInterfaces, interfaces: [net1]}";
    let profile = format!("{profile}\nenv: [{{name: NCCL_SOCKET_IFNAME, value: {interfaces:?}}}]");
    let scenario = Scenario::new(&profile).label("istio-injection", "enabled");
    let job = json!({"training.kubeflow.org/job-name": "a", "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"});
    let pod = with(pod(), "/metadata/labels", job);
    let outcome = scenario.run(&pod);
    let warning =
        "FP021: NCCL or Gloo hangs behind Envoy: a *_SOCKET_IFNAME allows eth0, which excludeInterfaces does not list";
    assert_eq!(outcome.warnings.iter().any(|found| found == warning), expected, "{:?}", outcome.warnings);
    let again = scenario.run(&patched(&outcome, &pod));
    assert_eq!(again.warnings.iter().filter(|found| *found == warning).count(), usize::from(expected));
}

#[test]
fn sidecars_and_fabric_share_the_managed_label() {
    let scenario = Scenario::new("transport: ib");
    let pod = with(
        with(pod(), "/spec/restartPolicy", json!("Never")),
        "/spec/containers/-",
        json!({"name": "daprd", "image": "i"}),
    );
    let outcome = scenario.run(&pod);
    let managed = outcome.rules.iter().find(|rule| rule.rule == RuleId::TerminationManaged).unwrap();
    assert_eq!(managed.reason.code(), "SidecarNotTerminated");
    let labels =
        outcome.patch.operations().iter().filter(|operation| operation.path().to_string().ends_with("managed"));
    assert_eq!(labels.count(), 1);
    assert_eq!(patched(&outcome, &pod)["metadata"]["annotations"]["trainmesh.dev/applied"], "fabric=f");
}
