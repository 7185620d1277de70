use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::workload::template::testing::{check, env_lines, error, render, with};

fn clique(name: &str, replicas: u64) -> Value {
    let container = json!({"name": "a", "image": "i", "env": [{"name": "GROVE_PCS_NAME", "value": "x"}, {"name": "B", "value": "1"}]});
    json!({"name": name, "labels": {"l": "m"}, "annotations": {"grove.io/topology-name": "t", "n": "o"},
        "spec": {"replicas": replicas, "podSpec": {"containers": [container], "schedulingGates": [{"name": "own"}]}}})
}

fn set() -> Value {
    let groups = json!([{"name": "model", "cliqueNames": ["leader", "worker"], "replicas": 2}]);
    let cliques = json!([clique("router", 1), clique("leader", 1), clique("worker", 3)]);
    json!({"apiVersion": API_VERSION, "kind": "PodCliqueSet", "metadata": {"name": "serve", "uid": "u1"},
        "spec": {"replicas": 2, "template": {"cliques": cliques, "podCliqueScalingGroups": groups}}})
}

#[rstest]
#[case::single("router", 2, json!({
    "/metadata/generateName": "serve-0-router-",
    "/metadata/ownerReferences/0/kind": "PodClique",
    "/metadata/ownerReferences/0/name": "serve-0-router",
    "/metadata/annotations": {"n": "o"},
    "/metadata/labels": {
        "l": "m",
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "serve",
        "app.kubernetes.io/name": "serve-0-router",
        "app.kubernetes.io/component": "pcs-podclique",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podgang": "serve-0",
        "grove.io/pod-template-hash": "0000000000",
        "grove.io/podclique": "serve-0-router",
        "grove.io/podclique-pod-index": "0",
    },
    "/spec/schedulingGates": [{"name": "grove.io/podgang-pending-creation"}],
    "/spec/schedulerName": "default-scheduler",
    "/spec/restartPolicy": "Always",
    "/spec/terminationGracePeriodSeconds": 30,
    "/spec/hostname": "serve-0-router-0",
    "/spec/subdomain": "serve-0",
    "/spec/initContainers": null,
}))]
#[case::in_a_group("worker", 12, json!({
    "/metadata/generateName": "serve-0-model-0-worker-",
    "/metadata/labels/app.kubernetes.io~1component": "pcsg-podclique",
    "/metadata/labels/grove.io~1podgang": "serve-0",
    "/metadata/labels/grove.io~1podcliquescalinggroup": "serve-0-model",
    "/metadata/labels/grove.io~1podcliquescalinggroup-replica-index": "0",
    "/spec/hostname": "serve-0-model-0-worker-0",
    "/spec/subdomain": "serve-0",
}))]
fn pods_belong_to_their_clique(#[case] role: &str, #[case] replicas: u64, #[case] expected: Value) {
    check(&set(), role, replicas, &expected);
}

#[test]
fn variables_come_first_and_replace_those_of_the_container() {
    let roles = render(&set()).unwrap();
    let common = |name: &str| {
        [
            "GROVE_PCS_NAME=serve".to_owned(),
            "GROVE_PCS_INDEX=0".to_owned(),
            format!("GROVE_PCLQ_NAME={name}"),
            "GROVE_HEADLESS_SERVICE=serve-0.team.svc.cluster.local".to_owned(),
            "GROVE_PCLQ_POD_INDEX<metadata.labels['grove.io/podclique-pod-index']".to_owned(),
        ]
    };
    let group = [
        "GROVE_PCSG_NAME<metadata.labels['grove.io/podcliquescalinggroup']".to_owned(),
        "GROVE_PCSG_TEMPLATE_NUM_PODS=4".to_owned(),
        "GROVE_PCSG_INDEX<metadata.labels['grove.io/podcliquescalinggroup-replica-index']".to_owned(),
    ];
    assert_eq!(env_lines(&roles[0], 0), [&common("serve-0-router")[..], &["B=1".to_owned()]].concat());
    assert_eq!(env_lines(&roles[2], 0), [&common("serve-0-model-0-worker")[..], &group, &["B=1".to_owned()]].concat());
}

#[rstest]
#[case::no_replicas("/spec/replicas", json!(null), "router", 0, json!({}))]
#[case::kai("/spec/template/cliques/2/spec/podSpec/schedulerName", json!("kai-scheduler"), "worker", 12, json!({
    "/metadata/annotations/kai.scheduler~1skip-podgrouper": "true",
    "/metadata/annotations/pod-group-name": "serve-0",
    "/metadata/labels/kai.scheduler~1subgroup-name": "serve-0-model-0-worker",
}))]
#[case::volcano("/spec/template/cliques/0/spec/podSpec/schedulerName", json!("volcano"), "router", 2, json!({
    "/metadata/annotations/scheduling.volcano.sh~1group-name": "serve-0",
    "/metadata/annotations/scheduling.k8s.io~1group-name": "serve-0",
}))]
#[case::group_without_minimum(
    "/spec/template/podCliqueScalingGroups/0/minAvailable", json!(0), "leader", 4, json!({"/metadata/labels/grove.io~1podgang": "serve-0-model-0"})
)]
#[case::first_in_order("/spec/template/cliqueStartupType", json!("CliqueStartupTypeInOrder"), "router", 2, json!({"/spec/initContainers": null}))]
#[case::in_order("/spec/template/cliqueStartupType", json!("CliqueStartupTypeInOrder"), "leader", 4, json!({
    "/spec/initContainers/0/name": "grove-initc",
    "/spec/initContainers/0/args": ["--podcliques=serve-0-router:1"],
    "/spec/initContainers/0/env": null,
    "/spec/volumes/0/secret/secretName": "serve-ic-sat",
}))]
#[case::after_a_group("/spec/template/cliqueStartupType", json!("CliqueStartupTypeInOrder"), "worker", 12, json!({
    "/spec/initContainers/0/args": ["--podcliques=serve-0-model-0-leader:1"],
}))]
fn fields_follow_the_spec(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] role: &str,
    #[case] replicas: u64,
    #[case] expected: Value,
) {
    check(&with(set(), pointer, value), role, replicas, &expected);
}

#[rstest]
#[case::few(2, 2)]
#[case::many(1_000_000, 64)]
fn dependencies_are_explicit_and_limited(#[case] min_available: u64, #[case] count: usize) {
    let set = with(set(), "/spec/template/cliqueStartupType", json!("CliqueStartupTypeExplicit"));
    let set = with(set, "/spec/template/podCliqueScalingGroups/0/minAvailable", json!(min_available));
    let set = with(set, "/spec/template/cliques/0/spec/startsAfter", json!(["worker", "unknown"]));
    let roles = render(&set).unwrap();
    let arguments = roles[0].pod["spec"]["initContainers"][0]["args"].as_array().unwrap();
    assert_eq!((arguments.len(), &arguments[1]), (count, &json!("--podcliques=serve-0-model-1-worker:3")));
}

#[rstest]
#[case::claim("/spec/template/resourceSharing", json!([{}]), "shared resource claims that Grove adds are not shown")]
#[case::of_the_group("/spec/template/podCliqueScalingGroups/0/resourceSharing", json!([{}]), "shared resource claims that Grove adds are not shown")]
#[case::compute_domain("/metadata/annotations", json!({"grove.io/mnnvl-group": "a"}), "the claim of a ComputeDomain that Grove adds is not shown")]
fn what_is_not_rendered_has_a_note(#[case] pointer: &str, #[case] value: Value, #[case] note: &str) {
    let roles = render(&with(set(), pointer, value)).unwrap();
    assert!(roles[2].notes.iter().any(|found| found == note), "{:?}", roles[2].notes);
}

#[rstest]
#[case::no_cliques("/spec/template/cliques", json!(null), "spec.template.cliques is missing")]
#[case::no_name("/spec/template/cliques/0/name", json!(null), "spec.template.cliques[0].name is missing")]
#[case::no_pod_spec("/spec/template/cliques/0/spec/podSpec", json!(null), "spec.template.cliques[0].spec.podSpec.containers is missing")]
#[case::container("/spec/template/cliques/0/spec/podSpec/containers", json!(["a"]), "spec.template.cliques[0].spec.podSpec.containers[0] is \"a\": expected an object")]
fn errors_contain_the_path(#[case] pointer: &str, #[case] value: Value, #[case] message: &str) {
    assert_eq!(error(&with(set(), pointer, value)), message);
}
