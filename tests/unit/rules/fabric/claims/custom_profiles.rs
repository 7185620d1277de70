//! Claims with custom profiles: containers that share a claim, and settings that depend on a count.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;

use super::super::{Scenario, decision, patched, with};
use super::{
    ADDED, REFUSED, TOO_FEW, check, claiming, dranet, exactly, facts, first_available, for_request, on, text, with_gpus,
};

/// Returns a pod with two containers that refer to the claim.
fn two_containers() -> Value {
    let pod = on(claiming(), "p5.48xlarge");
    with(pod, "/spec/containers/1", json!({"name": "eval", "image": "i", "resources": {"claims": [{"name": "c"}]}}))
}

const PER_GPU: &str = "resources: [{name: rdma/ib, mode: perGpu}]";

#[rstest]
#[case::shared_claim(
    PER_GPU,
    two_containers(),
    REFUSED,
    "train and eval share the accelerators of template devices: let one container refer to it"
)]
#[case::own_requests(PER_GPU, with(for_request(two_containers(), "a"), "/spec/containers/1/resources/claims/0/request", json!("b")), ADDED, "added rdma/ib: 4")]
#[case::devices_per_container(
    "resources: [{name: rdma/ib, mode: perContainer}]",
    two_containers(),
    ADDED,
    "added rdma/ib: 1"
)]
#[case::whole_node(
    "resources: [{name: rdma/ib, mode: perContainer, fullNodeGpus: 8}]",
    two_containers(),
    ADDED,
    "added rdma/ib: 1"
)]
#[case::shared_devices_count_once(
    "resources: [{name: rdma/ib, mode: perContainer, fullNodeGpus: 16}]",
    two_containers(),
    TOO_FEW,
    "f"
)]
#[case::named_template("dra: {claims: [{name: nic, resourceClaimTemplateName: devices}]}", claiming(), ADDED, "")]
#[case::setting_by_count(
    "env: [{name: NCCL_IB_TC, value: '1', when: {gpuCount: '>=8'}}]",
    two_containers(),
    ADDED,
    "added NCCL_IB_TC=1"
)]
fn claims_and_custom_profiles(#[case] profile: &str, #[case] pod: Value, #[case] expected: &str, #[case] part: &str) {
    let scenario = Scenario::new(&format!("transport: ib\n{profile}"));
    let facts = facts(&[exactly("a", "gpu.nvidia.com", 4), exactly("b", "h100", 4)]);
    let outcome = scenario.run_at(&pod, ClusterView { claims: facts.view("team-a"), ..ClusterView::default() });
    check(&outcome, expected, part);
    let after = patched(&outcome, &pod);
    assert_eq!(after["spec"]["resourceClaims"], pod["spec"]["resourceClaims"]);
    assert_eq!(
        after["spec"]["containers"][0]["resources"]["claims"],
        pod["spec"]["containers"][0]["resources"]["claims"]
    );
}

/// Templates that the profile names replace the devices of `resources`.
#[rstest]
#[case::claimed(claiming(), &[exactly("gpu", "gpu.nvidia.com", 1), dranet("dranet.net", 2)], "found 2 dranet.net by template devices", None)]
#[case::not_claimed_yet(with_gpus(1), &[dranet("dranet.net", 2)], "found 2 dranet.net by template devices", None)]
#[case::other_request(for_request(claiming(), "gpu"), &[exactly("gpu", "gpu.nvidia.com", 1), dranet("dranet.net", 2)], "added rdma/ib: 1", Some("1"))]
#[case::channel(with_gpus(1), &[exactly("channel", "compute-domain-default-channel.nvidia.com", 1)], "added rdma/ib: 1", Some("1"))]
fn named_adapters_replace_resources(
    #[case] pod: Value,
    #[case] requests: &[Value],
    #[case] part: &str,
    #[case] added: Option<&str>,
) {
    let profile =
        format!("transport: ib\n{PER_GPU}\ndra: {{claims: [{{name: c, resourceClaimTemplateName: devices}}]}}");
    let scenario = Scenario::new(&profile);
    let facts = facts(requests);
    let outcome = scenario.run_at(&pod, ClusterView { claims: facts.view("team-a"), ..ClusterView::default() });
    check(&outcome, ADDED, part);
    let after = patched(&outcome, &pod);
    assert_eq!(after["spec"]["containers"][0]["resources"]["limits"]["rdma/ib"].as_str(), added);
}

#[rstest]
#[case::at_least(">=8", REFUSED)]
#[case::at_least_always(">=4", ADDED)]
#[case::at_most("<=4", REFUSED)]
#[case::exactly("6", REFUSED)]
#[case::never("2", ADDED)]
fn a_setting_by_count_requires_the_count(#[case] bound: &str, #[case] expected: &str) {
    let scenario = Scenario::new(&format!(
        "transport: ib\nenv: [{{name: NCCL_IB_TC, value: '1', when: {{gpuCount: '{bound}'}}}}, {{name: NCCL_IB_SL, value: '1'}}]"
    ));
    let facts = facts(&[first_available(&[("gpu.nvidia.com", 8), ("h100", 4)])]);
    let outcome = scenario.run_at(&claiming(), ClusterView { claims: facts.view("team-a"), ..ClusterView::default() });
    assert_eq!(decision(&outcome), expected, "{}", text(&outcome));
    let part = "NCCL_IB_TC depends on the number of accelerators";
    assert_eq!(text(&outcome).contains(part), expected == REFUSED, "{}", text(&outcome));
}

#[test]
fn the_fix_names_the_configuration_that_disables_claims() {
    let scenario = Scenario::with("resourceClaims: false", "transport: ib");
    let outcome = scenario.run(&claiming());
    assert!(text(&outcome).contains("template devices is unknown: enable fabric.resourceClaims"), "{}", text(&outcome));
}
