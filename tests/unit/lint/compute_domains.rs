//! Checks of `ComputeDomains`: cuMem, their size, and the placement of their pods.

use rstest::rstest;

use super::scenario::{Scenario, check, env, pod};

fn member(claims: &str, spec: &str, variables: &[(&str, &str)]) -> Scenario {
    let variables: Vec<String> =
        variables.iter().map(|(name, value)| format!("{{name: {name}, value: {value:?}}}")).collect();
    pod(&format!(
        "{{metadata: {{labels: {{jobset.sigs.k8s.io/jobset-name: a, jobset.sigs.k8s.io/replicatedjob-name: w}}}}, \
          spec: {{resourceClaims: [{{name: devices, resourceClaimTemplateName: {claims}}}], {spec} \
          containers: [{{name: train, env: [{}], resources: {{limits: {{nvidia.com/gpu: 4}}, claims: [{{name: devices}}]}}}}]}}}}",
        variables.join(", ")
    ))
    .replicas(4)
}

/// A template for channels, whose name does not show that.
const CHANNELS: &str = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: links}, spec: {spec: \
     {devices: {requests: [{name: r, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}]}}}}";

/// The ranks of a launcher, with a channel.
const RANKS: &str = "{spec: {resourceClaims: [{name: devices, resourceClaimTemplateName: channel}], \
     containers: [{name: train, resources: {limits: {nvidia.com/gpu: 4}, claims: [{name: devices}]}}]}}";

#[rstest]
#[case::with_mnnvl(env(&[("NCCL_CUMEM_ENABLE", "0"), ("NCCL_MNNVL_ENABLE", "1")]), Some("container train: NCCL_CUMEM_ENABLE=0 disables NVLink between nodes"))]
#[case::in_a_domain(
    member("channel", "", &[("NCCL_CUMEM_ENABLE", "0")]).compute_domain(0),
    Some("container train: NCCL_CUMEM_ENABLE=0 disables NVLink between nodes")
)]
#[case::claimed_elsewhere(
    member("channel", "", &[("NCCL_CUMEM_ENABLE", "0")]),
    Some("container train: NCCL_CUMEM_ENABLE=0 disables NVLink between nodes")
)]
#[case::claimed_by_class(
    member("links", "", &[("NCCL_CUMEM_ENABLE", "0")]).objects(&[CHANNELS]),
    Some("container train: NCCL_CUMEM_ENABLE=0 disables NVLink between nodes")
)]
#[case::claimed_by_the_ranks(
    pod("{spec: {containers: [{name: mpi, command: [sh, -c, 'mpirun -x NCCL_CUMEM_ENABLE=0 run']}]}}").beside(RANKS),
    Some("container mpi: NCCL_CUMEM_ENABLE=0 disables NVLink between nodes")
)]
#[case::another_claim(member("nics", "", &[("NCCL_CUMEM_ENABLE", "0")]).compute_domain(0), None)]
#[case::other_devices(member("nics", "", &[("NCCL_CUMEM_ENABLE", "0")]), None)]
#[case::mnnvl_disabled(
    member("channel", "", &[("NCCL_CUMEM_ENABLE", "0"), ("NCCL_MNNVL_ENABLE", "0")]).compute_domain(0),
    None
)]
#[case::alone(env(&[("NCCL_CUMEM_ENABLE", "0")]), None)]
#[case::enabled(env(&[("NCCL_CUMEM_ENABLE", "1"), ("NCCL_MNNVL_ENABLE", "1")]), None)]
fn fp036_mnnvl_without_cumem(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP036", scenario, expected);
}

#[rstest]
#[case::too_few_pods(
    member("channel", "", &[]).compute_domain(18),
    Some("ComputeDomain domain has numNodes 18, but 4 pods claim it")
)]
#[case::equal(member("channel", "", &[]).compute_domain(4), None)]
#[case::does_not_wait(member("channel", "", &[]).compute_domain(0), None)]
#[case::not_claimed(member("nics", "", &[]).compute_domain(2), None)]
#[case::single_pods(
    pod("{spec: {resourceClaims: [{name: imex, resourceClaimTemplateName: channel}], containers: [{name: a}]}}")
        .compute_domain(2),
    None
)]
fn fp039_domain_size(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP039", scenario, expected);
}

/// Like [`member`] with a channel of a domain, but with 2 GPUs.
fn half_node() -> Scenario {
    pod("{metadata: {labels: {jobset.sigs.k8s.io/jobset-name: a, jobset.sigs.k8s.io/replicatedjob-name: w}}, \
          spec: {resourceClaims: [{name: imex, resourceClaimTemplateName: channel}], \
          containers: [{name: train, resources: {limits: {nvidia.com/gpu: 2}, claims: [{name: imex}]}}]}}")
    .replicas(4)
    .compute_domain(0)
}

/// Returns the findings of a job with a domain whose pods have this affinity.
fn with_affinity(affinity: &str) -> Scenario {
    member("channel", &format!("affinity: {{{affinity}}},"), &[]).compute_domain(0)
}

fn node_affinity(key: &str) -> Scenario {
    with_affinity(&format!(
        "nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: \
         {{nodeSelectorTerms: [{{matchExpressions: [{{key: {key}, operator: In, values: [a]}}]}}]}}}}"
    ))
}

const SPLIT: &str = "ComputeDomain domain: nothing keeps the pods in one NVLink domain";

const CLIQUE: &str = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: nvidia.com/gpu.clique}]}},";

#[rstest]
#[case::anywhere(
    member("channel", "", &[]).compute_domain(0),
    Some("ComputeDomain domain: nothing keeps the pods in one NVLink domain")
)]
#[case::by_machine_type(
    member("channel", "nodeSelector: {node.kubernetes.io/instance-type: gb200},", &[]).compute_domain(0),
    Some("ComputeDomain domain: nothing keeps the pods in one NVLink domain")
)]
#[case::part_of_a_node(half_node(), Some("container train: ComputeDomain domain with 2 of a node's 4 GPUs"))]
#[case::by_machine_affinity(node_affinity("node.kubernetes.io/instance-type"), Some(SPLIT))]
#[case::by_pool_affinity(node_affinity("site.example/rack"), None)]
#[case::by_preferred_machine(
    with_affinity(
        "nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: \
         [{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}}]}"
    ),
    Some(SPLIT)
)]
#[case::by_hostname(
    with_affinity(
        "podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]}"
    ),
    Some(SPLIT)
)]
#[case::by_preferred_clique(
    with_affinity(
        "podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: \
         [{weight: 1, podAffinityTerm: {topologyKey: nvidia.com/gpu.clique}}]}"
    ),
    None
)]
#[case::empty_affinity(with_affinity("nodeAffinity: {}, podAffinity: {}"), Some(SPLIT))]
#[case::by_clique(member("channel", CLIQUE, &[]).compute_domain(0), None)]
#[case::by_pool(member("channel", "nodeSelector: {site.example/rack: a},", &[]).compute_domain(0), None)]
#[case::single_pod(
    member("channel", CLIQUE, &[]).replicas(1).compute_domain(0),
    Some("ComputeDomain domain has no effect: only one pod claims it")
)]
#[case::not_claimed(member("nics", "", &[]).compute_domain(0), None)]
fn fp040_domain_placement(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP040", scenario, expected);
}
