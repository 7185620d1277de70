//! What is known of the cluster: guards, what other webhooks do, and the mesh.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::{ClusterView, NodeShape, Nodes, Quota};
use trainmesh_core::mutate::RuleId;

use super::{World, fabric, patched, pod, said, with};

const LOCK: &str = "securityContext: {capabilities: {add: [IPC_LOCK]}}";
const HOST: &str = "volumes: {hostPaths: [{hostPath: /a, mountPath: /a}]}";
const SHM: &str = "volumes: {shm: {}}";
const SIDE: &str = "sidecars: [{ref: d, image: i}]";

#[rstest]
#[case::privileged("privileged", LOCK, "applied FabricAdded")]
#[case::capability("baseline", LOCK, "refused FabricGuarded")]
#[case::host_path("baseline", HOST, "refused FabricGuarded")]
#[case::host_network("baseline", "pod: {hostNetwork: true}", "refused FabricGuarded")]
#[case::memory("restricted", SHM, "applied FabricAdded")]
#[case::sidecar("baseline", SIDE, "applied FabricAdded")]
#[case::sidecar_unconfined("restricted", SIDE, "refused FabricGuarded")]
#[case::a_level_that_is_none("strict", LOCK, "refused FabricGuarded")]
#[case::warned(
    "baseline",
    "securityContext: {capabilities: {add: [IPC_LOCK]}}\nguards: {psa: warn}",
    "applied FabricAdded"
)]
fn pod_security(#[case] level: &str, #[case] profile: &str, #[case] expected: &str) {
    let world = World::new(&format!("transport: ib\n{profile}")).label("pod-security.kubernetes.io/enforce", level);
    let outcome = world.run(&pod());
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    let told = expected.starts_with("refused") || profile.contains("warn");
    assert_eq!(outcome.warnings.iter().any(|warning| warning.contains("Pod Security")), told, "{:?}", outcome.warnings);
    assert!(outcome.patch.is_empty() || !expected.starts_with("refused"));
}

#[rstest]
#[case::not_known("unknown", LOCK, "applied FabricAdded")]
#[case::privileged("privileged", LOCK, "applied FabricAdded")]
#[case::baseline("baseline", LOCK, "refused FabricGuarded")]
#[case::restricted("restricted", LOCK, "refused FabricGuarded")]
#[case::host_path("baseline", "volumes: {hostPaths: [{hostPath: /a, mountPath: /b}]}", "refused FabricGuarded")]
#[case::restricted_alone(
    "restricted",
    "securityContext: {capabilities: {add: [CHOWN]}, memlock: nodeUnlimited}",
    "refused FabricGuarded"
)]
#[case::not_by_baseline(
    "baseline",
    "securityContext: {capabilities: {add: [CHOWN]}, memlock: nodeUnlimited}",
    "applied FabricAdded"
)]
fn pod_security_of_the_cluster(#[case] level: &str, #[case] profile: &str, #[case] expected: &str) {
    let world = World::with(&format!("podSecurityDefault: {level}"), &format!("transport: ib\n{profile}"));
    let outcome = world.run(&pod());
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    let warned =
        outcome.warnings.iter().any(|it| it.contains(&format!("the cluster's Pod Security default {level} forbids")));
    assert_eq!(warned, expected.starts_with("refused"), "{:?}", outcome.warnings);
    // The namespace's own label decides where there is one.
    for (own, expected) in [("privileged", "applied FabricAdded"), ("restricted", "refused FabricGuarded")] {
        let world = World::with(&format!("podSecurityDefault: {level}"), &format!("transport: ib\n{LOCK}"));
        let world = world.label("pod-security.kubernetes.io/enforce", own);
        assert_eq!(said(&world.run(&pod())), expected, "{own}");
    }
}

#[test]
fn pod_security_judges_only_what_is_added() {
    let world = World::new(&format!("transport: ib\n{LOCK}")).label("pod-security.kubernetes.io/enforce", "baseline");
    let own = with(pod(), "/spec/containers/0/securityContext/capabilities/add", json!(["IPC_LOCK"]));
    assert_eq!(said(&world.run(&own)), "applied FabricAdded");
}

#[rstest]
#[case::by_pod("/spec/securityContext", json!({"runAsNonRoot": true}), true)]
#[case::by_user("/spec/containers/0/securityContext", json!({"runAsUser": 1000}), true)]
#[case::root_after_all("/spec/containers/0/securityContext", json!({"runAsUser": 0}), false)]
#[case::unsaid("/spec/securityContext", json!({}), false)]
fn memory_is_locked_by_root_alone(#[case] pointer: &str, #[case] security: Value, #[case] told: bool) {
    let pod = with(pod(), pointer, security);
    let warned = World::new(&format!("transport: ib\n{LOCK}")).run(&pod);
    assert_eq!(said(&warned), "applied FabricAdded");
    assert_eq!(warned.warnings.iter().any(|warning| warning.contains("not root")), told, "{:?}", warned.warnings);
    let refused = World::new(&format!("transport: ib\n{LOCK}\nguards: {{nonRoot: skip}}")).run(&pod);
    assert_eq!(said(&refused).starts_with("refused"), told);
}

#[rstest]
#[case::fits(8, "applied FabricAdded")]
#[case::too_much(7, "refused FabricGuarded")]
fn a_quota_that_is_full(#[case] left: u64, #[case] expected: &str) {
    let world = World::new("transport: ib\nresources: [{name: rdma/ib, mode: perGpu}]");
    let quota = Quota { name: "team".to_owned(), left: BTreeMap::from([("requests.rdma/ib".to_owned(), left)]) };
    let quotas = Some(&[quota][..]);
    let outcome = world.run_at(&pod(), ClusterView { quotas, ..ClusterView::default() });
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    // What the user asks for is theirs to fit.
    let own = with(pod(), "/spec/containers/0/resources/limits/rdma~1ib", json!("8"));
    assert_eq!(said(&world.run_at(&own, ClusterView { quotas, ..ClusterView::default() })), "applied FabricAdded");
}

#[rstest]
#[case::enough(8, "warn", "applied FabricAdded", "")]
#[case::too_few(4, "warn", "applied FabricAdded", "rdma/ib: no node has 8 of it")]
#[case::none(0, "warn", "applied FabricAdded", "no node offers rdma/ib")]
#[case::refused(0, "skip", "refused FabricGuarded", "no node offers rdma/ib")]
fn nodes_that_lack_devices(#[case] devices: u64, #[case] guard: &str, #[case] expected: &str, #[case] told: &str) {
    let profile =
        format!("transport: ib\nresources: [{{name: rdma/ib, mode: perGpu}}]\nguards: {{nodeCapacity: {guard}}}");
    let allocatable = BTreeMap::from([("rdma/ib".to_owned(), devices)]);
    let nodes = Nodes { shapes: vec![NodeShape { machine: None, allocatable, adapter_seen: None }] };
    let outcome = World::new(&profile).run_at(&pod(), ClusterView { nodes: Some(&nodes), ..ClusterView::default() });
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    let warnings = outcome.warnings.join("\n");
    assert!(warnings.contains(told) && warnings.is_empty() == told.is_empty(), "{warnings}");
    // Any pod that reaches the webhook can ask for the warnings of any namespace.
    assert!(!warnings.contains('4'), "a figure of the nodes: {warnings}");
}

#[test]
fn a_claim_without_its_template_is_not_made() {
    let world = World::new("transport: ib\ndra: {claims: [{name: a, resourceClaimTemplateName: t}]}");
    let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    for (templates, expected) in [(known(&["t"]), "applied FabricAdded"), (known(&[]), "refused FabricGuarded")] {
        let cluster = ClusterView { claim_templates: Some(&templates), ..ClusterView::default() };
        assert_eq!(said(&world.run_at(&pod(), cluster)), expected);
    }
}

#[test]
fn a_config_map_that_must_exist_is_left_out_with_what_points_into_it() {
    let world = World::new(
        "transport: ib\nenv: [{name: NCCL_TOPO_FILE, value: /t/topo.xml}, {name: NCCL_IB_SL, value: \"1\"}]\nvolumes: {configMaps: [{name: t, mountPath: /t, mustExist: true}]}",
    );
    let absent = BTreeSet::new();
    let after =
        patched(&world.run_at(&pod(), ClusterView { config_maps: Some(&absent), ..ClusterView::default() }), &pod());
    assert_eq!(after["spec"]["volumes"], Value::Null);
    assert_eq!(after["spec"]["containers"][0]["env"], json!([{"name": "NCCL_IB_SL", "value": "1"}]));
    let unknown = patched(&world.run(&pod()), &pod());
    assert_eq!(unknown["spec"]["containers"][0]["env"][0]["name"], "NCCL_TOPO_FILE");
    assert_eq!(unknown["spec"]["volumes"][0]["configMap"]["optional"], true);
}

#[test]
fn devices_are_left_to_the_injector_that_adds_them_for_networks() {
    let world = World::new(
        "transport: ib\nresources: [{name: rdma/ib, mode: perGpu, ratio: 1/4}]\nnetworks: {multus: {attach: [{name: nad, count: perResource}]}}",
    );
    let cluster = ClusterView { network_resources_injector: true, ..ClusterView::default() };
    let outcome = world.run_at(&pod(), cluster);
    let mut after = patched(&outcome, &pod());
    assert_eq!(after["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "nad,nad");
    assert_eq!(after["spec"]["containers"][0]["resources"], pod()["spec"]["containers"][0]["resources"]);
    assert!(fabric(&outcome).message.contains("network-resources-injector"));
    // What it adds is not taken for the user's.
    after["spec"]["containers"][0]["resources"]["limits"]["openshift.io/mlnx_rdma"] = json!("2");
    assert!(world.run_at(&after, cluster).patch.is_empty());
}

#[rstest]
#[case::interfaces("istio: excludeInterfaces, interfaces: [net1]", None, json!({"traffic.sidecar.istio.io/excludeInterfaces": "net1"}))]
#[case::capture("istio: disableCapture", None, json!({"traffic.sidecar.istio.io/includeInboundPorts": "", "traffic.sidecar.istio.io/includeOutboundIPRanges": ""}))]
#[case::injection("istio: disableInjection", None, json!({"sidecar.istio.io/inject": "false"}))]
#[case::a_label_wins("istio: disableCapture", Some("leave"), json!({}))]
#[case::a_label_wins_over_interfaces("istio: excludeInterfaces, interfaces: [net1]", Some("disableInjection"), json!({"sidecar.istio.io/inject": "false"}))]
fn the_mesh_keeps_out_of_the_way(#[case] mesh: &str, #[case] label: Option<&str>, #[case] expected: Value) {
    let mut world = World::new(&format!("transport: ib\nmesh: {{{mesh}}}")).label("istio-injection", "enabled");
    if let Some(label) = label {
        world = world.label("trainmesh.dev/mesh-traffic", label);
    }
    let job = json!({"training.kubeflow.org/job-name": "a", "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"});
    let pod = with(pod(), "/metadata/labels", job);
    let outcome = world.run(&pod);
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
    assert!(world.run(&after).patch.is_empty(), "{:#?}", world.run(&after).patch);
}

#[test]
fn helpers_and_fabric_share_one_label() {
    let world = World::new("transport: ib");
    let pod = with(
        with(pod(), "/spec/restartPolicy", json!("Never")),
        "/spec/containers/-",
        json!({"name": "daprd", "image": "i"}),
    );
    let outcome = world.run(&pod);
    let managed = outcome.rules.iter().find(|rule| rule.rule == RuleId::TerminationManaged).unwrap();
    assert_eq!(managed.reason.code(), "HelpersManaged");
    let labels =
        outcome.patch.operations().iter().filter(|operation| operation.path().to_string().ends_with("managed"));
    assert_eq!(labels.count(), 1);
    assert_eq!(
        patched(&outcome, &pod)["metadata"]["annotations"]["trainmesh.dev/applied"],
        "fabric=f,termination.managed"
    );
}
