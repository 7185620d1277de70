//! Checks of the pod's networks, its namespace, its job, and of the cluster as far as it is known.

use rstest::rstest;

use super::world::{World, check, pod, train};

const RDMA: &str = "resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}";
const LOCK: &str = "securityContext: {capabilities: {add: [IPC_LOCK]}}";
const SHARED: &str = "transport: roce\nresources: [{name: rdma/ib, mode: perPod}]";
const ATTACHED: &str = "k8s.v1.cni.cncf.io/networks";

fn annotated(annotation: &str, spec: &str) -> World {
    pod(&format!("{{metadata: {{annotations: {{{annotation}}}}}, spec: {{{spec}}}}}"))
}

#[rstest]
#[case::alone(train(RDMA).profile(SHARED), Some("container train: rdma/ib over RoCE, but no secondary network"))]
#[case::attached(annotated(&format!("{ATTACHED}: macvlan"), &format!("containers: [{{name: train, {RDMA}}}]")).profile(SHARED), None)]
#[case::node_network(pod(&format!("{{spec: {{hostNetwork: true, containers: [{{name: train, {RDMA}}}]}}}}")).profile(SHARED), None)]
#[case::infiniband(train(RDMA).profile("transport: ib\nresources: [{name: rdma/ib, mode: perPod}]"), None)]
#[case::own_functions(train(RDMA).profile("transport: roce\nresources: [{name: rdma/ib, mode: perGpu}]"), None)]
#[case::no_profile(train(RDMA), None)]
fn fp017(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP017", world, expected);
}

fn functions(networks: &str, count: u64) -> World {
    let container =
        format!("{{name: train, resources: {{limits: {{nvidia.com/gpu: 2, nvidia.com/rdma-vf: {count}}}}}}}");
    annotated(&format!("{ATTACHED}: {networks:?}"), &format!("containers: [{container}]"))
}

const EACH: &str = "transport: roce\nresources: [{name: nvidia.com/rdma-vf, mode: perGpu}]\n\
                    networks: {multus: {attach: [{name: team/vf, count: perResource}]}}";

#[rstest]
#[case::too_few(functions("vf,vf", 3), Some("2 networks for 3 nvidia.com/rdma-vf: one for each is needed"))]
#[case::too_many(functions("vf,vf", 1), Some("2 networks for 1 nvidia.com/rdma-vf: one for each is needed"))]
#[case::one_for_each(functions("team/vf,vf@net7", 2), None)]
#[case::istios_is_none(functions("vf,default/istio-cni", 1), None)]
#[case::another_may_be_for_something_else(functions("vf,macvlan", 1), None)]
#[case::the_profile_tells_which(functions("vf,vf,macvlan", 3).profile(EACH), Some("2 networks for 3 nvidia.com/rdma-vf: one for each is needed"))]
#[case::as_the_profile_says(functions("vf,vf,macvlan", 2).profile(EACH), None)]
#[case::no_function(annotated(&format!("{ATTACHED}: macvlan"), &format!("containers: [{{name: train, {RDMA}}}]")), None)]
fn fp018(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP018", world, expected);
}

/// A pod of a job of several.
fn trainer(metadata: &str, labels: &str) -> World {
    pod(&format!(
        "{{metadata: {{labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, \
          training.kubeflow.org/job-name: a, training.kubeflow.org/replica-type: worker, \
          training.kubeflow.org/replica-index: '1'{labels}}}{metadata}}}, spec: {{containers: [{{name: train}}]}}}}"
    ))
}

#[rstest]
#[case::captured(
    trainer("", "").labelled("istio-injection", "enabled"),
    Some("NCCL and gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=disableCapture")
)]
#[case::no_mesh(trainer("", ""), None)]
#[case::decided(trainer("", "").labelled("istio-injection", "enabled").labelled("trainmesh.dev/mesh-traffic", "leave"), None)]
#[case::steered(
    trainer(", annotations: {traffic.sidecar.istio.io/excludeInterfaces: net1}", "").labelled("istio-injection", "enabled"),
    None
)]
#[case::opted_out(trainer("", ", sidecar.istio.io/inject: 'false'").labelled("istio-injection", "enabled"), None)]
#[case::no_training(train(RDMA).labelled("istio-injection", "enabled"), None)]
fn fp021(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP021", world, expected);
}

#[rstest]
#[case::default_policy(
    pod("{spec: {hostNetwork: true, containers: []}}"),
    Some("hostNetwork with dnsPolicy ClusterFirst: no names of the cluster")
)]
#[case::right_policy(pod("{spec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, containers: []}}"), None)]
#[case::pod_network(pod("{spec: {dnsPolicy: Default, containers: []}}"), None)]
#[case::istios_annotations(
    annotated("sidecar.istio.io/nativeSidecar: 'true'", "hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet"),
    Some("hostNetwork: Istio injects nothing, sidecar.istio.io/nativeSidecar does nothing")
)]
#[case::opting_out(
    annotated("sidecar.istio.io/inject: 'false'", "hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet"),
    None
)]
fn fp022(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP022", world, expected);
}

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const LOCKING: &str = "transport: ib\nsecurityContext: {capabilities: {add: [IPC_LOCK]}}";

#[rstest]
#[case::profile(
    train(RDMA).profile(LOCKING).labelled(ENFORCE, "baseline"),
    Some("profile site needs IPC_LOCK, which Pod Security baseline forbids")
)]
#[case::pod(train(LOCK).labelled(ENFORCE, "restricted"), Some("IPC_LOCK is forbidden by Pod Security restricted of the namespace"))]
#[case::host_path(
    pod("{spec: {volumes: [{name: a, emptyDir: {}}, {name: d, hostPath: {path: /d}}]}}").labelled(ENFORCE, "baseline"),
    Some("hostPath is forbidden by Pod Security baseline of the namespace")
)]
#[case::privileged_level(train(LOCK).profile(LOCKING).labelled(ENFORCE, "privileged"), None)]
#[case::warned_only(train(LOCK).labelled("pod-security.kubernetes.io/warn", "baseline"), None)]
#[case::nothing_forbidden(train(RDMA).profile("transport: ib").labelled(ENFORCE, "baseline"), None)]
fn fp027(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP027", world, expected);
}

#[rstest]
#[case::nowhere(train(RDMA).nodes(&[("a", &[("rdma/hca", 8)], None)]), Some("no node offers rdma/ib"))]
#[case::somewhere(train(RDMA).nodes(&[("a", &[], None), ("b", &[("rdma/ib", 8)], None)]), None)]
#[case::unknown_nodes(train(RDMA), None)]
#[case::no_nodes(train(RDMA).nodes(&[]), None)]
#[case::quota(train(RDMA).quota(&[("requests.rdma/ib", 0)]), Some("1 rdma/ib do not fit into quota team"))]
#[case::enough(train(RDMA).quota(&[("requests.rdma/ib", 1)]), None)]
#[case::quota_of_another(train(RDMA).quota(&[("requests.nvidia.com/gpu", 0)]), None)]
fn fp028(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP028", world, expected);
}

fn admitted(labels: &str) -> World {
    pod(&format!("{{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{{name: train, {RDMA}}}]}}}}"))
}

const TEMPLATE: &str = "{spec: {containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}";

#[rstest]
#[case::added(admitted("kueue.x-k8s.io/podset: main").original(TEMPLATE), Some("container train: Kueue has not counted rdma/ib"))]
#[case::in_the_template(admitted("kueue.x-k8s.io/podset: main"), None)]
#[case::counted_as_a_pod(admitted("kueue.x-k8s.io/podset: main, kueue.x-k8s.io/managed: 'true'").original(TEMPLATE), None)]
#[case::no_kueue(admitted("a: b").original(TEMPLATE), None)]
fn fp029(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP029", world, expected);
}

fn revision(revision: &str) -> World {
    annotated(
        &format!("trainmesh.dev/fabric-revision: {revision:?}"),
        &format!("containers: [{{name: train, {RDMA}}}]"),
    )
}

#[rstest]
#[case::another(revision("0123456789ab").pinned("ba9876543210"), Some("revision 0123456789ab beside pods of the job with ba9876543210"))]
#[case::the_same(revision("0123456789ab").pinned("0123456789ab"), None)]
#[case::the_first(revision("0123456789ab"), None)]
#[case::left_out(
    train(RDMA).profile("transport: ib").pinned("ba9876543210"),
    Some("no fabric beside pods of the job with site ba9876543210")
)]
#[case::launcher(train("image: i").profile("transport: ib").pinned("ba9876543210"), None)]
fn fp031(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP031", world, expected);
}

fn gpus(count: u64) -> World {
    train(&format!("resources: {{limits: {{nvidia.com/gpu: {count}}}}}"))
}

#[rstest]
#[case::part(gpus(4).profile("transport: gib\nmatch: {minGpus: 8}"), Some("container train: 4 of a node's 8 GPUs: site takes whole nodes"))]
#[case::whole(gpus(8).profile("transport: gib\nmatch: {minGpus: 8}"), None)]
#[case::as_nodes_tell(
    gpus(4).profile("transport: tcpx").nodes(&[("a", &[("nvidia.com/gpu", 8)], None)]),
    Some("container train: 4 GPUs, fewer than a node has: site takes whole nodes")
)]
#[case::unknown_nodes(gpus(4).profile("transport: tcpx"), None)]
#[case::another_transport(gpus(4).profile("transport: ib\nmatch: {minGpus: 8}"), None)]
fn fp032(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP032", world, expected);
}

fn selecting(spec: &str) -> World {
    pod(&format!("{{spec: {{{spec}, containers: [{{name: train, {RDMA}}}]}}}}"))
        .nodes(&[("a.48xlarge", &[("rdma/ib", 8)], None), ("b.48xlarge", &[("rdma/ib", 8)], None)])
}

#[rstest]
#[case::any(
    selecting("nodeSelector: {kubernetes.io/os: linux}"),
    Some("rdma/ib on nodes of any type: a.48xlarge, b.48xlarge")
)]
#[case::selected(selecting("nodeSelector: {pool: training}"), None)]
#[case::by_affinity(
    selecting("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}"),
    None
)]
#[case::one_type_offers(train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], None), ("b", &[], None)]), None)]
#[case::unknown_nodes(train(RDMA), None)]
fn fp033(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP033", world, expected);
}

#[rstest]
#[case::none_seen(
    train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], Some(false))]),
    Some("container train: no sign of GPUDirect on nodes with rdma/ib")
)]
#[case::seen_on_one(train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], Some(false)), ("b", &[("rdma/ib", 8)], Some(true))]), None)]
#[case::nobody_looked(train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], None)]), None)]
#[case::unknown_nodes(train(RDMA), None)]
fn fp034(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP034", world, expected);
}
