//! The parts of a profile: absent, already present, kept, or in conflict with user settings.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::marks::changes_more_than_marks;

use super::{Scenario, decision, fabric, notes, patched, pod, with};

const ADDED: &str = "applied FabricAdded";
const REFUSED: &str = "refused FabricContradicted";

/// Runs a profile over an edited pod; `at` is the expected value at a pointer, and `part` a fragment of the parts or
/// warnings.
#[rstest]
// Devices.
#[case::per_pod("resources: [{name: rdma/ib}]", &[], ADDED, ("/spec/containers/0/resources/requests/rdma~1ib", json!("1")), "added rdma/ib: 1")]
#[case::per_gpu("resources: [{name: rdma/ib, mode: perGpu, ratio: 4}]", &[], ADDED, ("/spec/containers/0/resources/limits/rdma~1ib", json!("32")), "added rdma/ib: 32")]
#[case::limited_by_max("resources: [{name: rdma/ib, mode: perGpu, ratio: 4, max: 16}]", &[], ADDED, ("/spec/containers/0/resources/limits/rdma~1ib", json!("16")), "added rdma/ib: 16")]
#[case::fraction_of_a_device("resources: [{name: rdma/ib, mode: perGpu, ratio: 1/3}]", &[], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "is not a whole number")]
#[case::count_set_by_user("resources: [{name: rdma/ib}]", &[("/spec/containers/0/resources/limits/rdma~1ib", json!("2"))], ADDED, ("/spec/containers/0/resources/requests", Value::Null), "kept rdma/ib: 2 in train")]
#[case::zero_set_by_user("resources: [{name: rdma/ib}]", &[("/spec/containers/0/resources/limits/rdma~1ib", json!(0))], REFUSED, ("/spec/containers/0/resources/requests", Value::Null), "train requests 0 rdma/ib")]
#[case::another_device_requested("resources: [{name: rdma/ib}]", &[("/spec/containers/0/resources/limits/vpc.amazonaws.com~1efa", json!("4"))], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "vpc.amazonaws.com/efa in train belongs to another fabric: remove it or select eks-efa")]
#[case::device_of_no_profile("resources: [{name: rdma/ib}]", &[("/spec/containers/0/resources/limits/rdma~1hca_b", json!("4"))], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "rdma/hca_b in train is in no profile: copy the profile and name it in resources")]
#[case::requested_by_the_second_container("resources: [{name: rdma/ib}]", &[("/spec/containers/1", json!({"name": "b", "image": "i", "resources": {"limits": {"rdma/ib": 1}}}))], ADDED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "")]
#[case::misspelled_machine("resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p5.48xlrge"}))], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "unknown number of rdma/ib on p5.48xlrge: correct it, add a ratio, or set trainmesh.dev/fabric=none")]
#[case::family_of_one_machine("resources: [{name: rdma/ib, mode: perGpu, ratio: {p6-b200.48xlarge: 1, p5.48xlarge: 4, p5.4xlarge: 1}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p6-b200"}))], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "unknown number of rdma/ib on p6-b200: did you mean p6-b200.48xlarge? Or add a ratio")]
#[case::family_of_several_machines("resources: [{name: rdma/ib, mode: perGpu, ratio: {p6-b200.48xlarge: 1, p5.48xlarge: 4, p5.4xlarge: 1}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p5"}))], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "unknown number of rdma/ib on p5: correct it")]
#[case::misspelled_size("resources: [{name: rdma/ib, mode: perGpu, ratio: {p5.48xlarge: 4}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "P5.48xlrge"}))], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "did you mean p5.48xlarge? Or add a ratio")]
#[case::case_of_a_machine("match: {machines: [BM.GPU.H100.8]}\nresources: [{name: rdma/ib, mode: perGpu, ratio: {BM.GPU.H100.8: 2}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "bm.gpu.h100.8"}))], "refused FabricContradicted", ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "the profile is not for bm.gpu.h100.8: did you mean BM.GPU.H100.8?")]
#[case::bare_metal("resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p5.metal-48xl"}))], ADDED, ("/spec/containers/0/resources/limits/rdma~1ib", json!("32")), "rdma/ib: 32")]
#[case::machine("resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4}}]", &[("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p5.48xlarge"}))], ADDED, ("/spec/containers/0/resources/limits/rdma~1ib", json!("32")), "rdma/ib: 32")]
#[case::machines_by_affinity(
    "resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4, p5e: 4}}]",
    &[("/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms", json!([{"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge", "p5e.48xlarge"]}]}]))],
    ADDED, ("/spec/containers/0/resources/limits/rdma~1ib", json!("32")), "rdma/ib: 32"
)]
#[case::machines_with_different_ratios(
    "resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4, p5en: 2}}]",
    &[("/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms", json!([{"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge", "p5en.48xlarge"]}]}]))],
    REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "rdma/ib differs between p5.48xlarge and p5en.48xlarge"
)]
#[case::machine_unknown("resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4}}]", &[], REFUSED, ("/spec/containers/0/resources/limits/rdma~1ib", Value::Null), "add a nodeSelector")]
#[case::huge_pages("resources: [{name: hugepages-2Mi, quantity: 64Mi}]", &[], ADDED, ("/spec/containers/0/resources/requests/hugepages-2Mi", json!("64Mi")), "added hugepages-2Mi: 64Mi")]
#[case::huge_pages_alone("resources: [{name: hugepages-2Mi, quantity: 64Mi}]", &[("/spec/containers/0/resources/limits", json!({"nvidia.com/gpu": 8}))], REFUSED, ("/spec/containers/0/resources/requests", Value::Null), "requires a cpu or memory request")]
#[case::opt_in_without_request("resources: [{name: rdma/ib, optIn: true}]", &[], ADDED, ("/spec/containers/0/resources/requests", Value::Null), "")]
#[case::extended("dra: {extendedResource: deviceclass.resource.kubernetes.io/nic}", &[], ADDED, ("/spec/containers/0/resources/limits/deviceclass.resource.kubernetes.io~1nic", json!("8")), "nic: 8")]
// Claims.
#[case::claim("dra: {claims: [{name: rdma, resourceClaimTemplateName: t}]}", &[], ADDED, ("/spec/containers/0/resources/claims/0/name", json!("rdma")), "claim rdma (template t)")]
#[case::claim_set_by_user("dra: {claims: [{name: rdma, resourceClaimTemplateName: t}]}", &[("/spec/resourceClaims/-", json!({"name": "own", "resourceClaimTemplateName": "t"}))], ADDED, ("/spec/containers/0/resources/claims/0/name", json!("own")), "claim own (template t)")]
#[case::claim_of_the_same_name("dra: {claims: [{name: channel, resourceClaimTemplateName: t}]}", &[("/spec/resourceClaims/-", json!({"name": "channel", "resourceClaimName": "c"}))], REFUSED, ("/spec/containers/0/resources/claims", Value::Null), "another template")]
// Security.
#[case::capability("securityContext: {capabilities: {add: [IPC_LOCK]}}", &[("/spec/containers/0/securityContext/capabilities/add", json!(["SYS_PTRACE"]))], ADDED, ("/spec/containers/0/securityContext/capabilities/add", json!(["SYS_PTRACE", "IPC_LOCK"])), "added capability IPC_LOCK")]
#[case::capability_present("securityContext: {capabilities: {add: [IPC_LOCK]}}", &[("/spec/containers/0/securityContext/capabilities", json!({"drop": ["ALL"], "add": ["CAP_IPC_LOCK"]}))], ADDED, ("/spec/containers/0/securityContext/capabilities/add/1", Value::Null), "found capability IPC_LOCK")]
#[case::every_capability("securityContext: {capabilities: {add: [IPC_LOCK]}}", &[("/spec/containers/0/securityContext/privileged", json!(true))], ADDED, ("/spec/containers/0/securityContext/capabilities", Value::Null), "found capability")]
#[case::capability_dropped("securityContext: {capabilities: {add: [IPC_LOCK]}}", &[("/spec/containers/0/securityContext/capabilities/drop", json!(["IPC_LOCK"]))], REFUSED, ("/spec/containers/0/securityContext/capabilities/add", Value::Null), "train drops capability IPC_LOCK")]
#[case::privileged("securityContext: {privileged: true}", &[], ADDED, ("/spec/containers/0/securityContext/privileged", json!(true)), "added privileged")]
#[case::not_privileged("securityContext: {privileged: true}", &[("/spec/containers/0/securityContext/privileged", json!(false))], REFUSED, ("/spec/containers/0/securityContext/privileged", json!(false)), "train sets privileged or allowPrivilegeEscalation to false")]
#[case::no_escalation("securityContext: {privileged: true}", &[("/spec/containers/0/securityContext/allowPrivilegeEscalation", json!(false))], REFUSED, ("/spec/containers/0/securityContext/privileged", Value::Null), "train sets privileged or allowPrivilegeEscalation to false")]
// Volumes.
#[case::shm("volumes: {shm: {sizeLimit: 1Gi}}", &[], ADDED, ("/spec/volumes/0/emptyDir", json!({"medium": "Memory", "sizeLimit": "1Gi"})), "added /dev/shm (memory)")]
#[case::shm_present("volumes: {shm: {}}", &[("/spec/containers/0/volumeMounts/-", json!({"name": "a", "mountPath": "/dev/shm/"}))], ADDED, ("/spec/volumes", Value::Null), "found mount /dev/shm")]
#[case::volume_name_taken("volumes: {shm: {}}", &[("/spec/volumes/-", json!({"name": "trainmesh-shm", "emptyDir": {}}))], ADDED, ("/spec/containers/0/volumeMounts/0/name", json!("trainmesh-shm-2")), "added /dev/shm")]
#[case::volume_from_an_earlier_round("volumes: {shm: {}}", &[("/spec/volumes/-", json!({"name": "trainmesh-shm", "emptyDir": {"medium": "Memory"}}))], ADDED, ("/spec/volumes/1", Value::Null), "added /dev/shm")]
#[case::host_path("volumes: {hostPaths: [{hostPath: /opt/gib, mountPath: /gib, readOnly: true}]}", &[], ADDED, ("/spec/containers/0/volumeMounts/0", json!({"name": "trainmesh-host-0", "mountPath": "/gib", "readOnly": true})), "added /gib (hostPath)")]
#[case::another_mount("volumes: {hostPaths: [{hostPath: /opt/gib, mountPath: /gib}]}", &[("/spec/containers/0/volumeMounts/-", json!({"name": "a", "mountPath": "/gib"}))], ADDED, ("/spec/volumes", Value::Null), "kept mount /gib")]
#[case::config_map("volumes: {configMaps: [{name: t, mountPath: /t}]}", &[], ADDED, ("/spec/volumes/0/configMap", json!({"name": "t", "optional": true})), "added /t (ConfigMap t)")]
// Networks.
#[case::network("networks: {multus: {attach: [{name: n/a, count: 2}, {name: b, ifName: net9}]}}", &[], ADDED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("n/a,n/a,b@net9")), "added network n/a (2 times)")]
#[case::appended_to_user_networks("networks: {multus: {attach: [{name: n/a}]}}", &[("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("own@net1"))], ADDED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("own@net1,n/a")), "added network n/a")]
#[case::appended_to_user_networks_in_json("networks: {multus: {attach: [{name: n/a}]}}", &[("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!(r#"[ {"name":"own", "mac": "x"} ]"#))], ADDED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!(r#"[ {"name":"own", "mac": "x"} ,{"name":"a","namespace":"n"}]"#)), "added network n/a")]
#[case::already_attached("networks: {multus: {attach: [{name: team-a/a}]}}", &[("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("a"))], ADDED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("a")), "")]
#[case::unreadable("networks: {multus: {attach: [{name: n/a}]}}", &[("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("[oops"))], REFUSED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("[oops")), "cannot be parsed")]
#[case::interface_taken("networks: {multus: {attach: [{name: b, ifName: net9}]}}", &[("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("own@net9"))], REFUSED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("own@net9")), "interface net9")]
#[case::host_network_with_multus("networks: {multus: {attach: [{name: b}]}}", &[("/spec/hostNetwork", json!(true))], REFUSED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", Value::Null), "hostNetwork")]
#[case::one_network_for_each_device("resources: [{name: rdma/ib, mode: perGpu, ratio: 1/4}]\nnetworks: {multus: {attach: [{name: nad, count: perResource}]}}", &[], ADDED, ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("nad,nad")), "added network nad (2 times)")]
#[case::gke("networks: {gke: {interfaces: [{interfaceName: eth2, network: rdma-0}]}}", &[("/metadata/annotations/networking.gke.io~1interfaces", json!(r#"[{"interfaceName":"eth0","network":"default"}]"#))], ADDED, ("/metadata/annotations/networking.gke.io~1interfaces", json!(r#"[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth2","network":"rdma-0"}]"#)), "added interfaces eth2")]
#[case::gke_taken_on_another_machine("match: {machines: [BM.GPU.H100.8]}\nnetworks: {gke: {interfaces: [{interfaceName: eth2, network: rdma-0}]}}", &[("/metadata/annotations/networking.gke.io~1interfaces", json!(r#"[{"interfaceName":"eth2","network":"own"}]"#)), ("/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "bm.gpu.h100.8"}))], REFUSED, ("/spec/volumes", Value::Null), "the profile is not for bm.gpu.h100.8: did you mean BM.GPU.H100.8?")]
#[case::gke_taken("networks: {gke: {interfaces: [{interfaceName: eth2, network: rdma-0}]}}", &[("/metadata/annotations/networking.gke.io~1interfaces", json!(r#"[{"interfaceName":"eth2","network":"own"}]"#))], REFUSED, ("/spec/volumes", Value::Null), "interface eth2")]
// The pod.
#[case::host_network("pod: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}", &[("/spec/dnsPolicy", json!("ClusterFirst"))], ADDED, ("/spec/dnsPolicy", json!("ClusterFirstWithHostNet")), "added hostNetwork")]
#[case::dns_policy_set_by_user("pod: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}", &[("/spec/dnsPolicy", json!("None"))], ADDED, ("/spec/hostNetwork", json!(true)), "kept dnsPolicy None")]
#[case::no_host_network("pod: {hostNetwork: true}", &[("/spec/hostNetwork", json!(false))], REFUSED, ("/spec/hostNetwork", json!(false)), "hostNetwork: false")]
#[case::host_port("pod: {hostNetwork: true}", &[("/spec/containers/0/ports/-", json!({"containerPort": 80, "hostPort": 8080}))], REFUSED, ("/spec/hostNetwork", Value::Null), "hostPort")]
#[case::selector("pod: {nodeSelector: {pool: a}}", &[("/spec/nodeSelector", json!({"pool": "b"}))], ADDED, ("/spec/nodeSelector/pool", json!("b")), "kept nodeSelector pool")]
#[case::toleration("pod: {tolerations: [{key: a, operator: Exists, effect: NoSchedule}]}", &[], ADDED, ("/spec/tolerations/0", json!({"key": "a", "operator": "Exists", "effect": "NoSchedule"})), "toleration for a")]
#[case::tolerates_everything("pod: {tolerations: [{key: a, operator: Exists, effect: NoSchedule}]}", &[("/spec/tolerations/-", json!({"operator": "Exists"}))], ADDED, ("/spec/tolerations/1", Value::Null), "")]
#[case::pod_anti_affinity("pod: {labels: {tcpxo: daemon}, podAntiAffinity: hostname}", &[], ADDED, ("/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector/matchLabels", json!({"tcpxo": "daemon"})), "anti-affinity")]
#[case::sidecar("sidecars: [{ref: d, image: i, args: [x]}]", &[], ADDED, ("/spec/initContainers/0", json!({"name": "d", "image": "i", "restartPolicy": "Always", "args": ["x"]})), "native sidecar d")]
#[case::sidecar_with_paths("sidecars: [{ref: d, image: i, env: {A: b}, hostPaths: [{hostPath: /sys, mountPath: /hostsys}]}]", &[], ADDED, ("/spec/initContainers/0", json!({"name": "d", "image": "i", "restartPolicy": "Always", "env": [{"name": "A", "value": "b"}], "volumeMounts": [{"name": "trainmesh-sidecar-0-0", "mountPath": "/hostsys"}]})), "native sidecar d")]
#[case::sidecar_set_by_user("sidecars: [{ref: d, image: i}]", &[("/spec/initContainers/-", json!({"name": "d", "image": "own", "restartPolicy": "Always"}))], ADDED, ("/spec/initContainers/1", Value::Null), "kept image of container d")]
#[case::sidecar_present("sidecars: [{ref: d, image: i, args: [x]}]", &[("/spec/initContainers/-", json!({"name": "d", "image": "i", "args": ["x"], "restartPolicy": "Always"}))], ADDED, ("/spec/initContainers/1", Value::Null), "found native sidecar d")]
#[case::sidecar_that_differs(
    "sidecars: [{ref: d, image: i, command: [run], capabilities: [NET_ADMIN], env: {A: b}, hostPaths: [{hostPath: /sys, mountPath: /hostsys}]}]",
    &[("/spec/initContainers/-", json!({"name": "d", "image": "i", "restartPolicy": "Always"}))],
    ADDED, ("/spec/initContainers/1", Value::Null), "kept command, env, capabilities, volumeMounts of container d"
)]
#[case::sidecar_name_taken_by_a_container("sidecars: [{ref: d, image: i}]", &[("/spec/containers/-", json!({"name": "d", "image": "own"}))], REFUSED, ("/spec/initContainers", Value::Null), "not a native sidecar: remove it: the profile adds it")]
#[case::sidecar_name_taken_by_an_init_container("sidecars: [{ref: d, image: i}]", &[("/spec/initContainers", json!([{"name": "d", "image": "own"}]))], REFUSED, ("/spec/initContainers/0/restartPolicy", Value::Null), "not a native sidecar: set restartPolicy: Always, or remove it")]
fn applies_or_refuses_each_part(
    #[case] profile: &str,
    #[case] edits: &[(&str, Value)],
    #[case] expected: &str,
    #[case] at: (&str, Value),
    #[case] part: &str,
) {
    let scenario = Scenario::new(&format!("transport: ib\n{profile}"));
    let pod = edits.iter().fold(pod(), |pod, (pointer, value)| with(pod, pointer, value.clone()));
    let outcome = scenario.run(&pod);
    assert_eq!(decision(&outcome), expected, "{:#?}", fabric(&outcome));
    let after = patched(&outcome, &pod);
    assert_eq!(after.pointer(at.0).unwrap_or(&Value::Null), &at.1, "{after:#}");
    let text = notes(&outcome) + &outcome.warnings.join("\n");
    assert!(text.contains(part), "{text}");
    assert!(outcome.warnings.iter().all(|warning| warning.len() <= 120), "{:?}", outcome.warnings);
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert!(expected != REFUSED || !changes_more_than_marks(&outcome.patch));
    assert!(scenario.run(&after).patch.is_empty(), "not idempotent: {:#?}", scenario.run(&after).patch);
}
