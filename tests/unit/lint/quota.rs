//! Devices that nodes, machines and quotas offer: FP028, FP029.

use rstest::rstest;

use super::scenario::{Scenario, check, pod, train};

const RDMA: &str = "resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}";

#[rstest]
#[case::no_node_offers_it(train(RDMA).nodes(&[("a", &[("rdma/hca", 8)], None)]), Some("no node offers rdma/ib"))]
#[case::one_node_offers_it(train(RDMA).nodes(&[("a", &[], None), ("b", &[("rdma/ib", 8)], None)]), None)]
#[case::unknown_nodes(train(RDMA), None)]
#[case::no_nodes(train(RDMA).nodes(&[]), None)]
#[case::quota(train(RDMA).quota(&[("requests.rdma/ib", 0)]), Some("1 rdma/ib would exceed quota team"))]
#[case::enough(train(RDMA).quota(&[("requests.rdma/ib", 1)]), None)]
#[case::unrelated_quota(train(RDMA).quota(&[("requests.nvidia.com/gpu", 0)]), None)]
fn fp028_node_capacity_and_quota(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP028", scenario, expected);
}

fn on(machine: &str, limits: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{nodeSelector: {{node.kubernetes.io/instance-type: {machine}}}, \
          containers: [{{name: train, resources: {{limits: {{{limits}}}}}}}]}}}}"
    ))
}

#[rstest]
#[case::too_many_adapters(
    on("p5en.48xlarge", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32"),
    Some("p5en.48xlarge has 16 vpc.amazonaws.com/efa, but the pod requests 32")
)]
#[case::as_many_adapters(on("p5en.48xlarge", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 16"), None)]
#[case::too_many_gpus(
    on("p5.4xlarge", "nvidia.com/gpu: 2"),
    Some("p5.4xlarge has 1 nvidia.com/gpu, but the pod requests 2")
)]
#[case::more_gpus_than_known_adapters(
    on("p6e-gb200.36xlarge", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 8"),
    Some("p6e-gb200.36xlarge has 4 nvidia.com/gpu, but the pod requests 8")
)]
#[case::unknown_number_of_adapters(on("p6e-gb200.36xlarge", "nvidia.com/gpu: 4, vpc.amazonaws.com/efa: 8"), None)]
#[case::in_two_containers(
    pod(
        "{spec: {nodeSelector: {node.kubernetes.io/instance-type: ml.g5.48xlarge}, containers: [\
         {name: a, resources: {limits: {nvidia.com/gpu: 4}}}, {name: b, resources: {limits: {nvidia.com/gpu: 5}}}]}}"
    ),
    Some("g5.48xlarge has 8 nvidia.com/gpu, but the pod requests 9")
)]
#[case::in_an_init_container(
    pod(
        "{spec: {nodeSelector: {node.kubernetes.io/instance-type: g5.48xlarge}, \
         initContainers: [{name: a, resources: {limits: {nvidia.com/gpu: 4}}}], \
         containers: [{name: b, resources: {limits: {nvidia.com/gpu: 5}}}]}}"
    ),
    None
)]
#[case::misspelled_machine(
    on("p5.48xlrge", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32"),
    Some("no instance type is called p5.48xlrge: did you mean p5.48xlarge?")
)]
#[case::misspelled_machine_of_hyperpod(
    on("ml.p5.48xlrge", "nvidia.com/gpu: 8"),
    Some("no instance type is called ml.p5.48xlrge: did you mean ml.p5.48xlarge?")
)]
#[case::blank_behind_a_machine(
    on("'p5.48xlarge '", "nvidia.com/gpu: 8"),
    Some("no instance type is called \"p5.48xlarge \": did you mean p5.48xlarge?")
)]
#[case::dash_in_a_machine(
    on("p5-48xlarge", "nvidia.com/gpu: 8"),
    Some("no instance type is called p5-48xlarge: did you mean p5.48xlarge?")
)]
#[case::fraction_of_a_gpu(on("p5.48xlarge", "nvidia.com/gpu: 8.5"), None)]
#[case::misspelled_label(
    pod("{spec: {nodeSelector: {topology.kubernetes.io/zon: a}, containers: [{name: train}]}}"),
    Some("no node is known to have the label topology.kubernetes.io/zon: did you mean topology.kubernetes.io/zone?")
)]
#[case::misspelled_label_in_affinity(
    with_affinity(&["{key: nvidia.com/gpu.prodct, operator: In, values: [a]}"]),
    Some("no node is known to have the label nvidia.com/gpu.prodct: did you mean nvidia.com/gpu.product?")
)]
#[case::nodes_without_a_label(with_affinity(&["{key: nvidia.com/gpu.prodct, operator: DoesNotExist}"]), None)]
#[case::other_label(
    pod("{spec: {nodeSelector: {topology.kubernetes.io/block: a, pool: b}, containers: [{name: train}]}}"),
    None
)]
#[case::another_size(on("p5.24xlarge", "nvidia.com/gpu: 8"), None)]
#[case::unknown_machine(on("BM.GPU.H100.8", "nvidia.com/gpu: 16"), None)]
#[case::another_resource(on("p5.4xlarge", "nvidia.com/gpu.shared: 2, cpu: 1000"), None)]
fn fp028_more_than_the_machine_has(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP028", scenario, expected);
}

const PART: &str = "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4";

#[rstest]
#[case::part(
    on("p5.48xlarge", PART).replicas(2),
    Some("p5.48xlarge has 32 vpc.amazonaws.com/efa, but the pod requests 4 with all 8 GPUs")
)]
#[case::more_are_attached(
    on("p5.48xlarge", PART).replicas(2).nodes(&[("p5.48xlarge", &[("vpc.amazonaws.com/efa", 32)], None)]),
    Some("p5.48xlarge has 32 vpc.amazonaws.com/efa, but the pod requests 4 with all 8 GPUs")
)]
#[case::as_many_are_attached(
    on("p5.48xlarge", PART).replicas(2).nodes(&[("p5.48xlarge", &[("vpc.amazonaws.com/efa", 4)], None)]), None
)]
#[case::all(on("p5.48xlarge", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32").replicas(2), None)]
#[case::no_adapter(on("p5.48xlarge", "nvidia.com/gpu: 8").replicas(2), None)]
#[case::part_of_the_gpus(on("p5.48xlarge", "nvidia.com/gpu: 4, vpc.amazonaws.com/efa: 16").replicas(2), None)]
#[case::one_pod(on("p5.48xlarge", PART).replicas(1), None)]
#[case::all_of_another_type(on("p4d.24xlarge", PART).replicas(2), None)]
#[case::unknown_number(on("p6e-gb200.36xlarge", "nvidia.com/gpu: 4, vpc.amazonaws.com/efa: 1").replicas(2), None)]
#[case::unknown_machine(on("BM.GPU.H100.8", PART).replicas(2), None)]
#[case::any_machine(pod(&format!("{{spec: {{containers: [{{name: train, resources: {{limits: {{{PART}}}}}}}]}}}}")).replicas(2), None)]
#[case::claims(
    pod(&format!(
        "{{spec: {{nodeSelector: {{node.kubernetes.io/instance-type: p5.48xlarge}}, resourceClaims: [{{name: efa, resourceClaimTemplateName: \
         efa}}], containers: [{{name: train, resources: {{limits: {{{PART}}}}}}}]}}}}"
    ))
    .replicas(2),
    None
)]
#[case::one_of_two_types(
    pod(&format!(
        "{{spec: {{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: \
         [{{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge, p4d.24xlarge]}}]}}]}}}}}}, containers: [{{name: train, \
         resources: {{limits: {{{PART}}}}}}}]}}}}"
    ))
    .replicas(2),
    None
)]
fn fp028_part_of_the_adapters(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP028", scenario, expected);
}

fn with_affinity(expressions: &[&str]) -> Scenario {
    let terms: Vec<String> =
        expressions.iter().map(|expressions| format!("{{matchExpressions: [{expressions}]}}")).collect();
    pod(&format!(
        "{{spec: {{nodeSelector: {{pool: a, zone: b}}, containers: [{{name: train}}], affinity: {{nodeAffinity: \
          {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{}]}}}}}}}}}}",
        terms.join(", ")
    ))
}

const DISAGREE: Option<&str> = Some("no node matches: nodeSelector and required node affinity disagree on pool");

#[rstest]
#[case::another_value(with_affinity(&["{key: pool, operator: In, values: [b, c]}"]), DISAGREE)]
#[case::excluded(with_affinity(&["{key: pool, operator: NotIn, values: [a]}"]), DISAGREE)]
#[case::absent(with_affinity(&["{key: pool, operator: DoesNotExist}"]), DISAGREE)]
#[case::each_term(
    with_affinity(&["{key: pool, operator: In, values: [b]}", "{key: a, operator: Exists}, {key: zone, operator: In, values: [c]}"]),
    DISAGREE
)]
#[case::one_term(with_affinity(&["{key: pool, operator: In, values: [b]}", "{key: pool, operator: In, values: [b, a]}"]), None)]
#[case::another_label(with_affinity(&["{key: rack, operator: In, values: [b]}"]), None)]
#[case::others_excluded(with_affinity(&["{key: pool, operator: NotIn, values: [b]}, {key: zone, operator: Exists}"]), None)]
#[case::no_term(with_affinity(&[]), None)]
fn fp028_node_labels_that_exclude_each_other(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP028", scenario, expected);
}

fn admitted(labels: &str) -> Scenario {
    pod(&format!("{{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{{name: train, {RDMA}}}]}}}}"))
}

const TEMPLATE: &str = "{spec: {containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}";

#[rstest]
#[case::added(admitted("kueue.x-k8s.io/podset: main").original(TEMPLATE), Some("container train: rdma/ib is not counted by Kueue"))]
#[case::in_the_template(admitted("kueue.x-k8s.io/podset: main"), None)]
#[case::counted_as_a_pod(admitted("kueue.x-k8s.io/podset: main, kueue.x-k8s.io/managed: 'true'").original(TEMPLATE), None)]
#[case::no_kueue(admitted("a: b").original(TEMPLATE), None)]
#[case::queued_job(admitted("a: b").original(TEMPLATE).queued("PyTorchJob"), Some("container train: rdma/ib is not counted by Kueue"))]
#[case::queued_job_with_the_adapter(admitted("a: b").queued("PyTorchJob"), None)]
#[case::queued_pods(
    admitted("a: b").original(TEMPLATE).queued("Deployment"),
    Some("container train: Kueue counts rdma/ib, which its ClusterQueue must cover")
)]
#[case::queued_group(
    admitted("a: b").original(TEMPLATE).queued("LeaderWorkerSet"),
    Some("container train: rdma/ib is not counted by Kueue")
)]
#[case::queued_pod(
    admitted("kueue.x-k8s.io/queue-name: a").original(TEMPLATE),
    Some("container train: Kueue counts rdma/ib, which its ClusterQueue must cover")
)]
#[case::no_queue(admitted("kueue.x-k8s.io/queue-name: ''").original(TEMPLATE), None)]
fn fp029_resources_unknown_to_kueue(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP029", scenario, expected);
}
