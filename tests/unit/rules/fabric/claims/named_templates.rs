//! Profiles that name several templates, and templates that provide accelerators, too.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::dra::{ClaimFacts, ClaimObjects};

use super::super::{Scenario, patched, with};
use super::{ADDED, REFUSED, check, dranet, exactly};

/// Templates with accelerators and adapters (dranet's examples for GB300), and with one of them.
fn facts() -> ClaimFacts {
    let gpu = |count| exactly("gpu", "gpu.nvidia.com", count);
    let mut objects = ClaimObjects::default();
    for (name, requests) in [
        ("small", json!([gpu(1), dranet("dranet.net", 1)])),
        ("large", json!([gpu(2), dranet("dranet.net", 2)])),
        ("gpus", json!([gpu(4)])),
        ("nics", json!([dranet("dranet.net", 4)])),
        ("more-nics", json!([dranet("dranet.net", 4)])),
    ] {
        let object = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": requests}}}});
        objects.add(&object, "team-a");
    }
    objects.facts(&ClaimFacts::default())
}

/// Returns a pod with a container for each list of templates that it claims.
fn pod(containers: &[&[&str]]) -> Value {
    let mut templates: Vec<&str> = containers.concat();
    templates.dedup();
    let claims: Vec<Value> = templates
        .iter()
        .map(|name| json!({"name": format!("own-{name}"), "resourceClaimTemplateName": name}))
        .collect();
    let containers: Vec<Value> = containers
        .iter()
        .enumerate()
        .map(|(index, templates)| {
            let references: Vec<Value> = templates.iter().map(|name| json!({"name": format!("own-{name}")})).collect();
            json!({"name": format!("train{index}"), "image": "i", "resources": {"claims": references}})
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {"resourceClaims": claims, "containers": containers}})
}

fn with_gpus(pod: Value) -> Value {
    with(pod, "/spec/containers/0/resources/limits", json!({"nvidia.com/gpu": 4}))
}

/// Returns the templates that each container claims: `nics, gpus; nics`.
fn claimed(pod: &Value) -> String {
    let claims = pod["spec"]["resourceClaims"].as_array().unwrap();
    let template = |reference: &Value| {
        let claim = claims.iter().find(|claim| claim["name"] == reference["name"]).unwrap();
        claim["resourceClaimTemplateName"].as_str().unwrap()
    };
    let containers = pod["spec"]["containers"].as_array().unwrap().iter();
    let lists = containers.map(|one| one["resources"]["claims"].as_array().unwrap().iter().map(template).collect());
    lists.map(|list: Vec<&str>| list.join(", ")).collect::<Vec<_>>().join("; ")
}

const SECOND: &str = "template small would add 1 gpu.nvidia.com to 4 accelerators of train0: claim it instead";

#[rstest]
#[case::first_suffices(&["small", "large"], pod(&[&["small"]]), ADDED, "", "small")]
#[case::second_suffices(&["small", "large"], pod(&[&["large"]]), ADDED, "", "large")]
#[case::one_for_each_container(&["small", "large"], pod(&[&["small"], &["large"]]), ADDED, "", "small; large")]
#[case::both(&["small", "large"], pod(&[&["small", "large"]]), ADDED, "", "small, large")]
#[case::adapters_suffice(&["nics", "more-nics"], with_gpus(pod(&[&["more-nics"]])), ADDED, "", "more-nics")]
#[case::none_claimed(&["nics", "more-nics"], with_gpus(pod(&[&[]])), ADDED, "added claim c1 (template more-nics)", "nics, more-nics")]
#[case::beside_claimed_accelerators(&["nics"], pod(&[&["gpus"]]), ADDED, "added claim c0 (template nics)", "gpus, nics")]
#[case::accelerators_beside_limits(&["small"], with_gpus(pod(&[&[]])), REFUSED, SECOND, "")]
#[case::accelerators_beside_claimed_ones(&["small", "large"], pod(&[&["gpus"]]), REFUSED, SECOND, "gpus")]
#[case::accelerators_for_another_container(&["small"], pod(&[&["small"], &["gpus"]]), REFUSED, "to 4 accelerators of train1: claim it instead", "small; gpus")]
#[case::unknown_template(&["other"], with_gpus(pod(&[&[]])), ADDED, "added claim c0 (template other)", "other")]
fn a_profile_never_adds_a_second_set(
    #[case] named: &[&str],
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] part: &str,
    #[case] claims: &str,
) {
    let named = named.iter().enumerate();
    let named: Vec<String> =
        named.map(|(index, name)| format!("{{name: c{index}, resourceClaimTemplateName: {name}}}")).collect();
    let scenario = Scenario::new(&format!("transport: ib\ndra: {{claims: [{}]}}", named.join(", ")));
    let facts = facts();
    let outcome = scenario.run_at(&pod, ClusterView { claims: facts.view("team-a"), ..ClusterView::default() });
    check(&outcome, expected, part);
    assert_eq!(claimed(&patched(&outcome, &pod)), claims);
}
