//! Checks of pods whose accelerators and adapters come from dynamic resource allocation.

use rstest::rstest;

use super::scenario::{Scenario, check, pod};

/// Returns a pod whose container refers to the claim `c` from the template `devices`, with these other fields.
fn claiming(fields: &str) -> Scenario {
    from("resourceClaimTemplateName: devices", fields)
}

fn from(source: &str, fields: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{resourceClaims: [{{name: c, {source}}}], containers: [{{name: train, resources: {{claims: [{{name: c}}]}}{fields}}}]}}}}"
    ))
}

/// Adds the template and the claim `devices`, which request devices by class and count.
fn with(scenario: Scenario, requests: &[(&str, u64)]) -> Scenario {
    let requests: Vec<String> = requests
        .iter()
        .enumerate()
        .map(|(index, (class, count))| {
            format!("{{name: r{index}, exactly: {{deviceClassName: {class}, count: {count}}}}}")
        })
        .collect();
    let spec = format!("{{devices: {{requests: [{}]}}}}", requests.join(", "));
    let head = "apiVersion: resource.k8s.io/v1, metadata: {name: devices}";
    scenario.objects(&[
        &format!("{{{head}, kind: ResourceClaimTemplate, spec: {{spec: {spec}}}}}"),
        &format!("{{{head}, kind: ResourceClaim, spec: {spec}}}"),
    ])
}

fn env(name: &str, value: &str) -> String {
    format!(", env: [{{name: {name}, value: {value:?}}}]")
}

const GPU: (&str, u64) = ("gpu.nvidia.com", 8);
const EFA: (&str, u64) = ("efa.networking.k8s.aws", 4);
const RDMA: (&str, u64) = ("rdma", 4);
const CHANNEL: (&str, u64) = ("compute-domain-default-channel.nvidia.com", 1);
const SHM: &str = "container train: no volume at /dev/shm: only 64 MiB of shared memory";

#[rstest]
#[case::lock("FP001", claiming(""), &[GPU, RDMA], Some("container train: rdma without IPC_LOCK: RDMA may fail to lock memory"))]
#[case::lock_without_adapter("FP001", claiming(""), &[GPU], None)]
#[case::tcp("FP003", claiming(&env("NCCL_NET", "Socket")), &[GPU, RDMA], Some("container train: NCCL_NET=Socket: NCCL does not use rdma"))]
#[case::tcp_beside_efa("FP003", claiming(&env("NCCL_IB_DISABLE", "1")), &[GPU, EFA], None)]
#[case::interface("FP007", claiming(&env("NCCL_SOCKET_IFNAME", "ens")), &[GPU], Some("container train: NCCL_SOCKET_IFNAME=ens matches none of eth0"))]
#[case::claimed_interface("FP007", claiming(&env("NCCL_SOCKET_IFNAME", "ens")), &[GPU, ("multinic", 1)], None)]
#[case::shm("FP013", claiming(""), &[GPU], Some(SHM))]
#[case::shm_of_partitions("FP013", claiming(""), &[("mig.nvidia.com", 2)], None)]
#[case::shm_of_tpus("FP013", claiming(""), &[("tpu.google.com", 4)], None)]
#[case::no_gpu("FP015", pod(
    "{spec: {resourceClaims: [{name: c, resourceClaimTemplateName: devices}], containers: [{name: train, resources: {claims: [{name: c, request: r0}]}}, \
     {name: other, resources: {claims: [{name: c, request: r1}]}}]}}"
), &[GPU, RDMA], Some("container other: rdma is requested without a GPU"))]
#[case::partitions_with_an_adapter("FP015", pod(
    "{spec: {resourceClaims: [{name: c, resourceClaimTemplateName: devices}], containers: [{name: train, resources: {limits: {nvidia.com/gpu: 1}}}, \
     {name: other, resources: {claims: [{name: c}]}}]}}"
), &[("mig.nvidia.com", 1), RDMA], None)]
#[case::device_mount("FP019", pod(
    "{spec: {resourceClaims: [{name: c, resourceClaimTemplateName: devices}], volumes: [{name: d, hostPath: {path: /dev/infiniband}}], \
     containers: [{name: train, resources: {claims: [{name: c}]}, volumeMounts: [{name: d, mountPath: /dev/infiniband}]}]}}"
), &[GPU, RDMA], Some("container train: hostPath /dev/infiniband is redundant: rdma adds the devices"))]
#[case::dns("FP022", pod(
    "{spec: {hostNetwork: true, resourceClaims: [{name: c, resourceClaimTemplateName: devices}], containers: [{name: train, resources: {claims: [{name: c}]}}]}}"
), &[GPU], Some("hostNetwork with dnsPolicy ClusterFirst: cluster names do not resolve"))]
#[case::protocol("FP025", claiming(&env("NCCL_PROTO", "simple")), &[GPU, EFA], Some("container train: NCCL_PROTO is no longer needed for EFA"))]
#[case::no_channel("FP030", claiming(&env("NCCL_MNNVL_ENABLE", "1")), &[GPU], Some("container train: NCCL_MNNVL_ENABLE=1 without a ComputeDomain claim"))]
#[case::channel("FP030", claiming(&env("NCCL_MNNVL_ENABLE", "1")), &[GPU, CHANNEL], None)]
#[case::partial_node("FP032", claiming("").profile("transport: gib\nmatch: {minGpus: 8}"), &[("gpu.nvidia.com", 4)], Some("container train: requests 4 of 8 GPUs, but site needs whole nodes"))]
#[case::whole_node("FP032", claiming("").profile("transport: gib\nmatch: {minGpus: 8}"), &[GPU], None)]
#[case::amd("FP035", claiming(", volumeMounts: [{name: c, mountPath: /etc/nccl.conf}]"), &[("gpu.amd.com", 8)], Some("container train: RCCL (amd.com/gpu) does not read /etc/nccl.conf"))]
#[case::ucx("FP037", claiming(&env("UCX_TLS", "tcp")), &[GPU, RDMA], Some("container train: UCX_TLS=tcp: UCX uses no RDMA adapter"))]
#[case::shared("FP048", from("resourceClaimName: devices", "").replicas(4), &[GPU], Some("container train: 4 pods share 8 accelerators by claim devices"))]
#[case::shared_by_one_pod("FP048", from("resourceClaimName: devices", "").replicas(1), &[GPU], None)]
#[case::two_names("FP048", from("resourceClaimName: devices}, {name: d, resourceClaimName: devices", "").replicas(1), &[GPU], None)]
#[case::shared_adapters("FP048", from("resourceClaimName: devices", "").replicas(4), &[RDMA], None)]
#[case::own_claims("FP048", claiming("").replicas(4), &[GPU], None)]
fn devices_of_claims_count(
    #[case] id: &str,
    #[case] scenario: Scenario,
    #[case] requests: &[(&str, u64)],
    #[case] expected: Option<&str>,
) {
    check(id, with(scenario, requests), expected);
}

/// Findings about claimed accelerators point at the claims.
#[rstest]
#[case::part_of_a_node(
    "count: 4",
    Some("container train: pods of the job may share a node, without NVLink between them")
)]
#[case::all_devices("allocationMode: All", None)]
fn fp041_of_claimed_accelerators(#[case] amount: &str, #[case] expected: Option<&str>) {
    let template = format!(
        "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {{name: devices}}, \
         spec: {{spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com, {amount}}}}}]}}}}}}}}"
    );
    let scenario = claiming("").replicas(2).nodes(&[("a", &[("nvidia.com/gpu", 8)], None)]);
    check("FP041", scenario.objects(&[&template]), expected);
}

/// A pod of the job that lists the `ResourceClaim`, and refers to it in this way.
fn role(references: &str) -> String {
    format!(
        "{{spec: {{resourceClaims: [{{name: c, resourceClaimName: devices}}, {{name: d, resourceClaimName: devices}}], \
         containers: [{{name: worker, resources: {{claims: [{references}]}}}}]}}}}"
    )
}

#[rstest]
#[case::both_roles("{name: c}", &[GPU], Some("container train: 2 pods share 8 accelerators by claim devices"))]
#[case::one_accelerator("{name: c}", &[("gpu.nvidia.com", 1)], Some("container train: 2 pods share 1 accelerator by claim devices"))]
#[case::other_request("{name: c, request: r1}", &[GPU, RDMA], None)]
#[case::not_referred_to("", &[GPU], None)]
fn fp048_counts_the_pods_that_use_the_accelerators(
    #[case] references: &str,
    #[case] requests: &[(&str, u64)],
    #[case] expected: Option<&str>,
) {
    check("FP048", with(from("resourceClaimName: devices", "").beside(&role(references)), requests), expected);
}

/// Without the objects, nothing is concluded.
#[rstest]
#[case("FP001")]
#[case("FP007")]
#[case("FP013")]
#[case("FP015")]
#[case("FP030")]
#[case("FP048")]
fn unknown_claims_have_no_findings(#[case] id: &str) {
    let scenario = from(
        "resourceClaimName: devices",
        ", env: [{name: NCCL_SOCKET_IFNAME, value: ens}, {name: NCCL_MNNVL_ENABLE, value: '1'}]",
    );
    check(id, scenario.replicas(4), None);
}

/// Extended resources stand for classes (KEP-5004): the classes `nic` and `efa` have the resources `example.com/CLASS`.
#[rstest]
#[case::lock(
    "FP001",
    "example.com/nic",
    "",
    Some("container train: example.com/nic without IPC_LOCK: RDMA may fail to lock memory")
)]
#[case::lock_of_efa("FP001", "example.com/efa", "", None)]
#[case::lock_of_an_implicit_class("FP001", "deviceclass.resource.kubernetes.io/efa", "", None)]
#[case::lock_of_other_devices("FP001", "example.com/other", "", None)]
#[case::tcp(
    "FP003",
    "example.com/nic",
    "NCCL_IB_DISABLE",
    Some("container train: NCCL_IB_DISABLE is set: NCCL does not use example.com/nic")
)]
#[case::tcp_beside_efa("FP003", "example.com/efa", "NCCL_IB_DISABLE", None)]
fn resources_of_classes_are_adapters(
    #[case] id: &str,
    #[case] resource: &str,
    #[case] variable: &str,
    #[case] expected: Option<&str>,
) {
    let env = if variable.is_empty() { String::new() } else { env(variable, "1") };
    let container = format!("{{name: train, resources: {{limits: {{nvidia.com/gpu: 8, {resource}: 8}}}}{env}}}");
    let class = |name: &str, attribute: &str| {
        let expression = format!("device.driver == 'dra.net' && device.attributes['dra.net'].{attribute}");
        format!(
            "{{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {{name: {name}}}, spec: {{extendedResourceName: example.com/{name}, \
             selectors: [{{cel: {{expression: {expression:?}}}}}]}}}}"
        )
    };
    let objects = [class("nic", "rdma == true"), class("efa", "pciDevice == 'Elastic Fabric Adapter (EFA)'")];
    let scenario = pod(&format!("{{spec: {{containers: [{container}]}}}}"));
    check(id, scenario.objects(&objects.each_ref().map(String::as_str)), expected);
}

#[rstest]
#[case::of_a_device_plugin("rdma/ib", Some("no node offers rdma/ib"))]
#[case::of_a_class("deviceclass.resource.kubernetes.io/efa", None)]
fn fp028_nodes_do_not_report_devices_of_a_class(#[case] resource: &str, #[case] expected: Option<&str>) {
    let pod = pod(&format!("{{spec: {{containers: [{{name: train, resources: {{limits: {{{resource}: 1}}}}}}]}}}}"));
    check("FP028", pod.nodes(&[("a", &[("nvidia.com/gpu", 8)], None)]), expected);
}
