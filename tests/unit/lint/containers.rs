//! Checks of what containers ask for, may do and mount.

use rstest::rstest;

use super::world::{World, check, env, pod, train};

const RDMA: &str = "resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}";
const LOCK: &str = "securityContext: {capabilities: {add: [IPC_LOCK]}}";

#[rstest]
#[case::without(train(RDMA), Some("container train: rdma/ib without IPC_LOCK"))]
#[case::with(train(&format!("{RDMA}, {LOCK}")), None)]
#[case::privileged(train(&format!("{RDMA}, securityContext: {{privileged: true}}")), None)]
#[case::no_adapter(train("resources: {limits: {nvidia.com/gpu: 8}}"), None)]
#[case::nodes_without_a_limit(train(RDMA).profile("transport: ib\nsecurityContext: {memlock: nodeUnlimited}"), None)]
#[case::adapter_of_the_site(
    train("resources: {limits: {nvidia.com/gpu: 8, site.example/nic: 1}}").profile("transport: ib\nresources: [{name: site.example/nic}]"),
    Some("container train: site.example/nic without IPC_LOCK")
)]
#[case::network_of_gke(train("resources: {limits: {nvidia.com/gpu: 8, networking.gke.io.networks/rdma-0: 1}}"), None)]
#[case::no_adapter_at_all(train("resources: {limits: {nvidia.com/gpu: 8, site.example/nic: 1}}"), None)]
fn fp001(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP001", world, expected);
}

fn user(of_pod: &str, of_container: &str) -> World {
    pod(&format!(
        "{{spec: {{securityContext: {{{of_pod}}}, containers: [{{name: train, \
          securityContext: {{{of_container}, capabilities: {{add: [IPC_LOCK]}}}}}}]}}}}"
    ))
}

#[rstest]
#[case::user(user("", "runAsUser: 1000"), Some("container train: IPC_LOCK has no effect for user 1000"))]
#[case::of_the_pod(
    user("runAsNonRoot: true", "readOnlyRootFilesystem: true"),
    Some("container train: IPC_LOCK has no effect with runAsNonRoot")
)]
#[case::the_container_beats_the_pod(user("runAsUser: 1000", "runAsUser: 0"), None)]
#[case::not_said(user("", "readOnlyRootFilesystem: true"), None)]
#[case::no_lock(train("securityContext: {runAsUser: 1000}"), None)]
fn fp002(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP002", world, expected);
}

#[rstest]
#[case::absent(
    env(&[("NCCL_TUNER_CONFIG_PATH", "/usr/local/gib/tuner.txtpb")]),
    Some("container train: NCCL_TUNER_CONFIG_PATH=/usr/local/gib/tuner.txtpb is below no mount")
)]
#[case::mounted(
    train("env: [{name: NCCL_TOPO_FILE, value: /opt/topo/a.xml}], volumeMounts: [{name: t, mountPath: /opt/topo/}]"),
    None
)]
#[case::beside_the_mount(
    train(
        "env: [{name: NCCL_TOPO_FILE, value: /opt/topology/a.xml}], volumeMounts: [{name: t, mountPath: /opt/topo}]"
    ),
    Some("container train: NCCL_TOPO_FILE=/opt/topology/a.xml is below no mount")
)]
fn fp012(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP012", world, expected);
}

fn shm(source: &str, memory: &str) -> World {
    pod(&format!(
        "{{spec: {{volumes: [{{name: shm, {source}}}], containers: [{{name: train, \
          resources: {{limits: {{nvidia.com/gpu: 8{memory}}}}}, volumeMounts: [{{name: shm, mountPath: /dev/shm}}]}}]}}}}"
    ))
}

#[rstest]
#[case::none(
    train("resources: {limits: {nvidia.com/gpu: 8}}"),
    Some("container train: no volume at /dev/shm, which holds 64 MiB")
)]
#[case::there(shm("emptyDir: {medium: Memory}", ", memory: 8Gi"), None)]
#[case::of_the_node(
    pod("{spec: {hostIPC: true, containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"),
    None
)]
#[case::without_a_gpu(train("resources: {limits: {cpu: 8}}"), None)]
#[case::while_it_prepares(
    pod(
        "{spec: {initContainers: [{name: warm, resources: {limits: {nvidia.com/gpu: 8}}}], containers: [{name: train}]}}"
    ),
    None
)]
#[case::too_large(
    shm("emptyDir: {medium: Memory, sizeLimit: 16Gi}", ", memory: 8Gi"),
    Some("container train: /dev/shm of 16Gi is larger than the pod's memory limit")
)]
#[case::just_as_large(shm("emptyDir: {medium: Memory, sizeLimit: 8192Mi}", ", memory: 8Gi"), None)]
#[case::no_memory_limit(shm("emptyDir: {medium: Memory, sizeLimit: 16Gi}", ""), None)]
fn fp013(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP013", world, expected);
}

#[rstest]
#[case::differ(
    train("resources: {limits: {rdma/ib: 2}, requests: {rdma/ib: 1}}"),
    Some("container train: rdma/ib: request 1 and limit 2 differ")
)]
#[case::the_same_in_other_words(train("resources: {limits: {rdma/ib: '2'}, requests: {rdma/ib: 2}}"), None)]
#[case::limit_alone(train("resources: {limits: {rdma/ib: 2}}"), None)]
#[case::request_alone(
    train("resources: {requests: {rdma/ib: 2}}"),
    Some("container train: rdma/ib is requested without a limit")
)]
#[case::half(
    train("resources: {limits: {nvidia.com/gpu: 500m}}"),
    Some("container train: \"500m\" of nvidia.com/gpu: devices are whole")
)]
#[case::processors_may_differ(
    train("resources: {limits: {cpu: 2, memory: 2Gi}, requests: {cpu: 1500m, memory: 1Gi}}"),
    None
)]
fn fp014(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP014", world, expected);
}

#[rstest]
#[case::without_a_gpu(
    train("resources: {limits: {rdma/ib: 1}}"),
    Some("container train: rdma/ib in a container without a GPU")
)]
#[case::with_a_gpu(train(RDMA), None)]
#[case::with_a_part_of_one(train("resources: {limits: {nvidia.com/mig-1g.5gb: 1, rdma/ib: 1}}"), None)]
#[case::with_a_claim(train("resources: {claims: [{name: gpu}], limits: {rdma/ib: 1}}"), None)]
#[case::with_the_profiles_own(
    train("resources: {limits: {site.example/npu: 8, rdma/ib: 1}}").profile("transport: ib\nmatch: {gpuResources: [site.example/n*]}"),
    None
)]
#[case::init(
    pod("{spec: {initContainers: [{name: probe, resources: {limits: {nvidia.com/gpu: 1, rdma/ib: 1}}}]}}"),
    Some("init container probe: rdma/ib in an init container")
)]
#[case::sidecar(
    pod("{spec: {initContainers: [{name: log, restartPolicy: Always, resources: {limits: {rdma/ib: 1}}}]}}"),
    Some("init container log: rdma/ib in a sidecar")
)]
fn fp015(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP015", world, expected);
}

#[rstest]
#[case::alone(
    train("resources: {limits: {hugepages-2Mi: 5Gi, vpc.amazonaws.com/efa: 4}}"),
    Some("container train: hugepages-2Mi without cpu or memory")
)]
#[case::beside_memory(train("resources: {limits: {hugepages-2Mi: 5Gi}, requests: {memory: 1Gi}}"), None)]
fn fp016(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP016", world, expected);
}

fn device(path: &str, container: &str) -> World {
    pod(&format!(
        "{{spec: {{volumes: [{{name: d, hostPath: {{path: {path}}}}}], \
          containers: [{{name: train, volumeMounts: [{{name: d, mountPath: /dev/infiniband}}], {container}}}]}}}}"
    ))
}

#[rstest]
#[case::unprivileged(
    device("/dev/infiniband", "image: i"),
    Some("container train: hostPath /dev/infiniband in a container that may not open devices")
)]
#[case::one_file(
    device("/dev/infiniband/uverbs0", "image: i"),
    Some("container train: hostPath /dev/infiniband in a container that may not open devices")
)]
#[case::privileged(device("/dev/infiniband", "securityContext: {privileged: true}"), None)]
#[case::beside_the_plugin(
    device("/dev/infiniband", "securityContext: {privileged: true}, resources: {limits: {rdma/ib: 1}}"),
    Some("container train: hostPath /dev/infiniband beside rdma/ib, which brings the devices")
)]
#[case::another_path(device("/dev/infiniband2", "image: i"), None)]
fn fp019(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP019", world, expected);
}

#[rstest]
#[case::runs(
    pod("{spec: {initContainers: [{name: limits, command: [sh, -c, 'ulimit -l unlimited']}]}}"),
    Some("init container limits: its ulimit ends with it")
)]
#[case::another_word(pod("{spec: {initContainers: [{name: limits, command: [sh, -c, 'cat my_ulimit']}]}}"), None)]
#[case::where_it_has_effect(train("command: [sh, -c, 'ulimit -l unlimited; train']"), None)]
fn fp020(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP020", world, expected);
}

fn library(resource: &str, path: &str) -> World {
    train(&format!("resources: {{limits: {{{resource}: 8}}}}, volumeMounts: [{{name: c, mountPath: {path}}}]"))
}

#[rstest]
#[case::amd(
    library("amd.com/gpu", "/etc/nccl.conf"),
    Some("container train: RCCL of amd.com/gpu does not read /etc/nccl.conf")
)]
#[case::its_own(library("amd.com/gpu", "/etc/rccl.conf"), None)]
#[case::nvidia(library("nvidia.com/gpu", "/etc/nccl.conf"), None)]
fn fp035(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP035", world, expected);
}
