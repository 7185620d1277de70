//! Severities that depend on the case, not only on the check.

use rstest::rstest;
use trainmesh_core::config::{CheckId, LintSettings};
use trainmesh_core::finding::Severity;
use trainmesh_core::lint::severity_letter;

use super::scenario::{Scenario, env, pod, train, with_env};

const IB: &str = "resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}";
const EFA: &str = "resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}";

/// Returns the severities of the findings of check `id`.
fn severities(id: &str, scenario: &Scenario, settings: &LintSettings) -> String {
    let findings = scenario.lint(settings);
    findings.iter().filter(|finding| finding.code == id).map(|finding| severity_letter(finding.severity)).collect()
}

fn mount(resources: &str, security: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{volumes: [{{name: ib, hostPath: {{path: /dev/infiniband}}}}], containers: [{{name: train, {resources}, \
          securityContext: {{{security}}}, volumeMounts: [{{name: ib, mountPath: /dev/infiniband}}]}}]}}}}"
    ))
}

fn on_host(variables: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{hostNetwork: true, containers: [{{name: train, command: [torchrun], env: [{variables}], \
          resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]}}}}"
    ))
    .replicas(2)
}

fn trainer() -> Scenario {
    trainer_with("cpu")
}

/// Returns a pod of a job with several pods, with a limit of this resource.
fn trainer_with(resource: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '1'}}}}, \
         spec: {{containers: [{{name: train, resources: {{limits: {{{resource}: 4}}}}}}]}}}}"
    ))
}

#[rstest]
#[case::lock_without_a_profile("FP001", train(IB), "I")]
#[case::lock_with_a_profile("FP001", train(IB).profile("transport: ib"), "W")]
#[case::lock_for_efa("FP001", train(EFA).profile("transport: efa"), "")]
#[case::lock_for_efa_without_a_profile("FP001", train(EFA), "")]
#[case::infinite_timeout("FP005", env(&[("NCCL_IB_TIMEOUT", "32")]), "W")]
#[case::too_many_sockets("FP005", env(&[("NCCL_SOCKET_NTHREADS", "16"), ("NCCL_NSOCKS_PERTHREAD", "5")]), "W")]
#[case::retries("FP005", env(&[("NCCL_IB_RETRY_CNT", "8")]), "E")]
#[case::gid_index("FP010", env(&[("NCCL_IB_GID_INDEX", "3")]), "I")]
#[case::gid_index_of_a_shared_adapter("FP010", with_env("nvidia.com/gpu: 8, rdma/rdma_shared_device_a: 1", &[("NCCL_IB_GID_INDEX", "3")]), "W")]
#[case::gid_index_under_macvlan(
    "FP010",
    pod(
        "{metadata: {annotations: {k8s.v1.cni.cncf.io/networks: roce-macvlan}}, \
         spec: {containers: [{name: train, env: [{name: NCCL_IB_GID_INDEX, value: '3'}]}]}}"
    ),
    "W"
)]
#[case::level_number("FP011", env(&[("NCCL_NET_GDR_LEVEL", "5")]), "I")]
#[case::level_word("FP011", env(&[("NCCL_NET_GDR_LEVEL", "pix")]), "W")]
#[case::file("FP012", env(&[("NCCL_TOPO_FILE", "/opt/a.xml")]), "I")]
#[case::shm_of_one_gpu("FP013", train("resources: {limits: {nvidia.com/gpu: 1}}"), "I")]
#[case::shm_of_two_gpus("FP013", train("resources: {limits: {nvidia.com/gpu: 2}}"), "W")]
#[case::shm_of_neuron("FP013", train("resources: {limits: {aws.amazon.com/neuron: 16}}"), "")]
#[case::device_files_beside_an_adapter("FP019", mount(IB, "privileged: false"), "I")]
#[case::device_files_of_the_node("FP019", mount("resources: {}", "privileged: false"), "W")]
#[case::device_files_when_privileged("FP019", mount("resources: {}", "privileged: true"), "")]
#[case::captured_traffic("FP021", trainer().labelled("istio-injection", "enabled"), "W")]
#[case::traffic_left_by_a_label(
    "FP021", trainer().labelled("istio-injection", "enabled").labelled("trainmesh.dev/mesh-traffic", "leave"), "I"
)]
#[case::traffic_of_tpus("FP021", trainer_with("google.com/tpu").labelled("istio-injection", "enabled"), "I")]
#[case::traffic_of_gpus("FP021", trainer_with("nvidia.com/gpu").labelled("istio-injection", "enabled"), "W")]
#[case::traffic_in_ambient("FP021", trainer().labelled("istio.io/dataplane-mode", "ambient"), "I")]
#[case::captured_traffic_if_labels_are_assumed("FP021", trainer().labelled("istio-injection", "enabled").assumed(), "I")]
#[case::algorithm("FP026", env(&[("NCCL_ALGO", "Tree")]), "W")]
#[case::algorithm_of_one_command("FP026", train("command: [sh, -c, 'mpirun -x NCCL_ALGO=Tree all_reduce_perf']"), "I")]
#[case::gloo("FP038", on_host(""), "I")]
#[case::gloo_where_nccl_has_an_interface("FP038", on_host("{name: NCCL_SOCKET_IFNAME, value: bond0}"), "W")]
fn depend_on_the_case(#[case] id: &str, #[case] scenario: Scenario, #[case] expected: &str) {
    assert_eq!(severities(id, &scenario, &LintSettings::default()), expected);
}

#[test]
fn a_configured_severity_applies_to_all_cases() {
    let error = [(CheckId::parse("FP013").unwrap(), Severity::Error)];
    let settings = LintSettings { severity: error.into(), ..LintSettings::default() };
    assert_eq!(severities("FP013", &train("resources: {limits: {nvidia.com/gpu: 1}}"), &settings), "E");
}
