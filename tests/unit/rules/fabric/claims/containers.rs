//! Claims of several containers, of none, and one claim under several names.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::dra::ClaimFacts;

use super::super::{decision, fabric, patched, with};
use super::{ADDED, REFUSED, check, claiming, exactly, facts, for_request, for_the_pod, on, run, with_gpus};

const EFA: &str = "efa.networking.k8s.aws";

/// Moves the reference of `train` into another container at `path`.
fn moved(pod: Value, path: &str) -> Value {
    let other = json!({"name": "side", "image": "i", "resources": {"claims": [{"name": "c"}]}});
    let value = if path.ends_with('1') { other } else { json!([other]) };
    on(with(for_the_pod(pod), path, value), "p5.48xlarge")
}

/// Returns a pod with a container for each list of requests of the claim.
fn with_requests(first: &[&str], second: &[&str]) -> Value {
    let claims =
        |requests: &[&str]| requests.iter().map(|request| json!({"name": "c", "request": request})).collect::<Value>();
    let pod = with(claiming(), "/spec/containers/0/resources/claims", claims(first));
    let other = json!({"name": "eval", "image": "i", "resources": {"claims": claims(second)}});
    on(with(pod, "/spec/containers/1", other), "p5.48xlarge")
}

#[rstest]
#[case::of_a_sidecar("eks-efa", moved(with_gpus(8), "/spec/containers/1"), &[exactly("efa", EFA, 32)], REFUSED, "side already claims 32 efa.networking.k8s.aws by template devices")]
#[case::of_an_init_container("eks-efa", moved(with_gpus(8), "/spec/initContainers"), &[exactly("efa", EFA, 32)], REFUSED, "side already claims 32 efa.networking.k8s.aws")]
#[case::of_a_sidecar_beside_networks("gke-rdma-gib-a3u", moved(with_gpus(8), "/spec/containers/1"), &[exactly("nic", "rdma", 8)], REFUSED, "side already claims 8 rdma")]
#[case::gpus_of_a_sidecar("eks-efa", moved(with_gpus(8), "/spec/containers/1"), &[exactly("gpu", "mig.nvidia.com", 1)], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::own_requests("eks-efa", with_requests(&["gpu-a", "efa-a"], &["gpu-b", "efa-b"]), &[exactly("gpu-a", "gpu.nvidia.com", 4), exactly("efa-a", EFA, 16), exactly("gpu-b", "gpu.nvidia.com", 4), exactly("efa-b", EFA, 16)], ADDED, "found 16 efa.networking.k8s.aws by template devices")]
#[case::request_of_no_container("eks-efa", on(for_request(claiming(), "gpu"), "p5.48xlarge"), &[exactly("gpu", "gpu.nvidia.com", 8), exactly("efa", EFA, 32)], REFUSED, "train already claims 32 efa.networking.k8s.aws")]
fn adapters_of_every_container_count(
    #[case] profile: &str,
    #[case] pod: Value,
    #[case] requests: &[Value],
    #[case] expected: &str,
    #[case] part: &str,
) {
    let outcome = run(profile, &pod, &facts(requests));
    check(&outcome, expected, part);
}

#[rstest]
#[case::for_the_pod(
    for_the_pod(with_gpus(8)),
    "the pod claims devices by template devices, which is unknown: add its manifest"
)]
#[case::for_a_sidecar(moved(with_gpus(8), "/spec/containers/1"), "side claims devices by template devices")]
fn unknown_claims_may_provide_adapters(#[case] pod: Value, #[case] part: &str) {
    let outcome = run("eks-efa", &on(pod, "p5.48xlarge"), &ClaimFacts::default());
    check(&outcome, REFUSED, part);
}

/// One `ResourceClaim` under two names has its devices once.
#[rstest]
#[case::in_one_container(json!([{"name": "train", "image": "i", "resources": {"claims": [{"name": "a"}, {"name": "b"}]}}]), ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::in_two_containers(json!([
    {"name": "train", "image": "i", "resources": {"claims": [{"name": "a"}]}},
    {"name": "eval", "image": "i", "resources": {"claims": [{"name": "b"}]}}
]), REFUSED, "train and eval share the accelerators of claim devices")]
fn a_claim_under_two_names_counts_once(#[case] containers: Value, #[case] expected: &str, #[case] part: &str) {
    let claims = json!([{"name": "a", "resourceClaimName": "devices"}, {"name": "b", "resourceClaimName": "devices"}]);
    let pod = with(with(claiming(), "/spec/resourceClaims", claims), "/spec/containers", containers);
    let pod = on(pod, "p5.48xlarge");
    let outcome = run("eks-efa", &pod, &facts(&[exactly("gpu", "gpu.nvidia.com", 8)]));
    check(&outcome, expected, part);
    assert_eq!(patched(&outcome, &pod)["spec"]["resourceClaims"], pod["spec"]["resourceClaims"]);
}

#[rstest]
#[case::same_container(with_requests(&["gpu", "efa"], &[]), true)]
#[case::sidecar(with_requests(&["gpu"], &["efa"]), false)]
fn a_suggested_profile_is_not_refused(#[case] pod: Value, #[case] expected: bool) {
    let facts = facts(&[exactly("gpu", "gpu.nvidia.com", 8), exactly("efa", EFA, 32)]);
    let message = fabric(&run("", &pod, &facts)).message.clone();
    assert_eq!(message.contains("eks-efa"), expected, "{message}");
    assert_eq!(decision(&run("eks-efa", &pod, &facts)) == ADDED, expected);
}
