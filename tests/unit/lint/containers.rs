//! Checks of containers' resources, permissions and mounts.

use rstest::rstest;

use super::scenario::{Scenario, check, env, pod, train};

const RDMA: &str = "resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}";
const LOCK: &str = "securityContext: {capabilities: {add: [IPC_LOCK]}}";

#[rstest]
#[case::without(train(RDMA), Some("container train: rdma/ib without IPC_LOCK: RDMA may fail to lock memory"))]
#[case::with(train(&format!("{RDMA}, {LOCK}")), None)]
#[case::misspelled(
    train(&format!("{RDMA}, securityContext: {{capabilities: {{add: [NET_ADMIN, CAP_IPC_LOCK]}}}}")),
    Some("container train: rdma/ib without IPC_LOCK: RDMA may fail to lock memory; did you mean IPC_LOCK by CAP_IPC_LOCK?")
)]
#[case::other_capability(
    train(&format!("{RDMA}, securityContext: {{capabilities: {{add: [IPC_OWNER]}}}}")),
    Some("container train: rdma/ib without IPC_LOCK: RDMA may fail to lock memory")
)]
#[case::privileged(train(&format!("{RDMA}, securityContext: {{privileged: true}}")), None)]
#[case::no_adapter(train("resources: {limits: {nvidia.com/gpu: 8}}"), None)]
#[case::nodes_without_a_limit(train(RDMA).profile("transport: ib\nsecurityContext: {memlock: nodeUnlimited}"), None)]
#[case::adapter_from_the_profile(
    train("resources: {limits: {nvidia.com/gpu: 8, site.example/nic: 1}}").profile("transport: ib\nresources: [{name: site.example/nic}]"),
    Some("container train: site.example/nic without IPC_LOCK: RDMA may fail to lock memory")
)]
#[case::gke_network(train("resources: {limits: {nvidia.com/gpu: 8, networking.gke.io.networks/rdma-0: 1}}"), None)]
#[case::no_adapter_at_all(train("resources: {limits: {nvidia.com/gpu: 8, site.example/nic: 1}}"), None)]
fn fp001_rdma_without_ipc_lock(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP001", scenario, expected);
}

fn user(pod_fields: &str, container_fields: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{securityContext: {{{pod_fields}}}, containers: [{{name: train, \
          securityContext: {{{container_fields}, capabilities: {{add: [IPC_LOCK]}}}}}}]}}}}"
    ))
}

#[rstest]
#[case::user(user("", "runAsUser: 1000"), Some("container train: IPC_LOCK has no effect for user 1000"))]
#[case::on_the_pod(
    user("runAsNonRoot: true", "readOnlyRootFilesystem: true"),
    Some("container train: IPC_LOCK has no effect with runAsNonRoot")
)]
#[case::the_container_overrides_the_pod(user("runAsUser: 1000", "runAsUser: 0"), None)]
#[case::unset(user("", "readOnlyRootFilesystem: true"), None)]
#[case::no_lock(train("securityContext: {runAsUser: 1000}"), None)]
fn fp002_ipc_lock_without_root(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP002", scenario, expected);
}

#[rstest]
#[case::absent(
    env(&[("NCCL_TUNER_CONFIG_PATH", "/usr/local/gib/tuner.txtpb")]),
    Some("container train: no volume provides NCCL_TUNER_CONFIG_PATH=/usr/local/gib/tuner.txtpb")
)]
#[case::mounted(
    train("env: [{name: NCCL_TOPO_FILE, value: /opt/topo/a.xml}], volumeMounts: [{name: t, mountPath: /opt/topo/}]"),
    None
)]
#[case::outside_the_mount(
    train(
        "env: [{name: NCCL_TOPO_FILE, value: /opt/topology/a.xml}], volumeMounts: [{name: t, mountPath: /opt/topo}]"
    ),
    Some("container train: no volume provides NCCL_TOPO_FILE=/opt/topology/a.xml")
)]
#[case::launcher(
    train("command: [sh, -c, 'mpirun -x NCCL_TOPO_FILE run'], env: [{name: NCCL_TOPO_FILE, value: /opt/a.xml}]"),
    None
)]
fn fp012_file_outside_every_mount(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP012", scenario, expected);
}

fn shm(source: &str, memory: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{volumes: [{{name: shm, {source}}}], containers: [{{name: train, \
          resources: {{limits: {{nvidia.com/gpu: 8{memory}}}}}, volumeMounts: [{{name: shm, mountPath: /dev/shm}}]}}]}}}}"
    ))
}

#[rstest]
#[case::none(
    train("resources: {limits: {nvidia.com/gpu: 8}}"),
    Some("container train: no volume at /dev/shm: only 64 MiB of shared memory")
)]
#[case::present(shm("emptyDir: {medium: Memory}", ", memory: 8Gi"), None)]
#[case::tpu(train("resources: {limits: {google.com/tpu: 4}}"), None)]
#[case::host_ipc(
    pod("{spec: {hostIPC: true, containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"),
    None
)]
#[case::without_a_gpu(train("resources: {limits: {cpu: 8}}"), None)]
#[case::init_container(
    pod(
        "{spec: {initContainers: [{name: warm, resources: {limits: {nvidia.com/gpu: 8}}}], containers: [{name: train}]}}"
    ),
    None
)]
#[case::too_large(
    shm("emptyDir: {medium: Memory, sizeLimit: 16Gi}", ", memory: 8Gi"),
    Some("container train: /dev/shm of 16Gi exceeds the pod's memory limit")
)]
#[case::just_as_large(shm("emptyDir: {medium: Memory, sizeLimit: 8192Mi}", ", memory: 8Gi"), None)]
#[case::no_memory_limit(shm("emptyDir: {medium: Memory, sizeLimit: 16Gi}", ""), None)]
fn fp013_dev_shm(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP013", scenario, expected);
}

#[rstest]
#[case::differ(
    train("resources: {limits: {rdma/ib: 2}, requests: {rdma/ib: 1}}"),
    Some("container train: rdma/ib: request 1 and limit 2 differ")
)]
#[case::equal_quantities(train("resources: {limits: {rdma/ib: '2'}, requests: {rdma/ib: 2}}"), None)]
#[case::limit_alone(train("resources: {limits: {rdma/ib: 2}}"), None)]
#[case::request_alone(
    train("resources: {requests: {rdma/ib: 2}}"),
    Some("container train: rdma/ib is requested without a limit")
)]
#[case::limit_of_null(
    train("resources: {requests: {rdma/ib: 2}, limits: {rdma/ib: null}}"),
    Some("container train: rdma/ib is requested without a limit")
)]
#[case::request_of_null(train("resources: {requests: {rdma/ib: null}}"), None)]
#[case::half(
    train("resources: {limits: {nvidia.com/gpu: 500m}}"),
    Some("container train: \"500m\" of nvidia.com/gpu is not a whole number")
)]
#[case::cpu_and_memory_may_differ(
    train("resources: {limits: {cpu: 2, memory: 2Gi}, requests: {cpu: 1500m, memory: 1Gi}}"),
    None
)]
fn fp014_device_requests_and_limits(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP014", scenario, expected);
}

#[rstest]
#[case::beside_a_gpu(
    pod(
        "{spec: {containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}, {name: b, resources: {limits: {rdma/ib: 1}}}]}}"
    ),
    Some("container b: rdma/ib is requested without a GPU")
)]
#[case::pod_without_a_gpu(train("resources: {limits: {rdma/ib: 1}}"), None)]
#[case::with_neuron(
    pod(
        "{spec: {containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}, \
         {name: b, resources: {limits: {aws.amazon.com/neuron: 16, vpc.amazonaws.com/efa: 8}}}]}}"
    ),
    None
)]
#[case::with_a_gpu(train(RDMA), None)]
#[case::with_a_mig_device(train("resources: {limits: {nvidia.com/mig-1g.5gb: 1, rdma/ib: 1}}"), None)]
#[case::with_a_claim(train("resources: {claims: [{name: gpu}], limits: {rdma/ib: 1}}"), None)]
#[case::with_a_gpu_resource_from_the_profile(
    train("resources: {limits: {site.example/npu: 8, rdma/ib: 1}}").profile("transport: ib\nmatch: {gpuResources: [site.example/n*]}"),
    None
)]
#[case::init(
    pod("{spec: {initContainers: [{name: probe, resources: {limits: {nvidia.com/gpu: 1, rdma/ib: 1}}}]}}"),
    Some("init container probe: rdma/ib is requested in an init container")
)]
#[case::sidecar(
    pod(
        "{spec: {initContainers: [{name: log, restartPolicy: Always, resources: {limits: {rdma/ib: 1}}}], \
         containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"
    ),
    Some("init container log: rdma/ib is requested in a sidecar")
)]
#[case::generated_by_kuberay(
    pod(
        "{spec: {initContainers: [{name: wait-gcs-ready, resources: {limits: {rdma/ib: 1}}}], \
         containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"
    ),
    None
)]
fn fp015_rdma_without_gpu(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP015", scenario, expected);
}

#[rstest]
#[case::alone(
    train("resources: {limits: {hugepages-2Mi: 5Gi, vpc.amazonaws.com/efa: 4}}"),
    Some("container train: hugepages-2Mi without cpu or memory: the apiserver rejects the pod")
)]
#[case::with_memory(train("resources: {limits: {hugepages-2Mi: 5Gi}, requests: {memory: 1Gi}}"), None)]
fn fp016_hugepages_alone(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP016", scenario, expected);
}

fn device(path: &str, container: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{volumes: [{{name: d, hostPath: {{path: {path}}}}}], \
          containers: [{{name: train, volumeMounts: [{{name: d, mountPath: /dev/infiniband}}], {container}}}]}}}}"
    ))
}

#[rstest]
#[case::unprivileged(
    device("/dev/infiniband", "image: i"),
    Some("container train: hostPath /dev/infiniband has no effect: the container cannot open devices")
)]
#[case::one_file(
    device("/dev/infiniband/uverbs0", "image: i"),
    Some("container train: hostPath /dev/infiniband has no effect: the container cannot open devices")
)]
#[case::privileged(device("/dev/infiniband", "securityContext: {privileged: true}"), None)]
#[case::with_a_device_plugin(
    device("/dev/infiniband", "securityContext: {privileged: true}, resources: {limits: {rdma/ib: 1}}"),
    Some("container train: hostPath /dev/infiniband is redundant: rdma/ib adds the devices")
)]
#[case::another_path(device("/dev/infiniband2", "image: i"), None)]
fn fp019_host_path_to_devices(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP019", scenario, expected);
}

#[rstest]
#[case::in_an_init_container(
    pod("{spec: {initContainers: [{name: limits, command: [sh, -c, 'ulimit -l unlimited']}]}}"),
    Some("init container limits: ulimit does not apply to other containers")
)]
#[case::another_command(pod("{spec: {initContainers: [{name: limits, command: [sh, -c, 'cat my_ulimit']}]}}"), None)]
#[case::in_the_main_container(train("command: [sh, -c, 'ulimit -l unlimited; train']"), None)]
fn fp020_ulimit_in_an_init_container(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP020", scenario, expected);
}

fn library(resource: &str, path: &str) -> Scenario {
    train(&format!("resources: {{limits: {{{resource}: 8}}}}, volumeMounts: [{{name: c, mountPath: {path}}}]"))
}

#[rstest]
#[case::amd(
    library("amd.com/gpu", "/etc/nccl.conf"),
    Some("container train: RCCL (amd.com/gpu) does not read /etc/nccl.conf")
)]
#[case::own_file(library("amd.com/gpu", "/etc/rccl.conf"), None)]
#[case::nvidia(library("nvidia.com/gpu", "/etc/nccl.conf"), None)]
fn fp035_conf_file_of_another_library(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP035", scenario, expected);
}
