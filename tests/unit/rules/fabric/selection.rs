//! Selection of the profile, its containers and its revision.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::{Configuration, DefaultProfile, ProfileEntry};
use trainmesh_core::gang::pins::Pin;
use trainmesh_core::mutate::RuleId;
use trainmesh_testing::marks::changes_more_than_marks;

use super::{Scenario, decision, fabric, patched, pod, with};

const IB: &str = "transport: ib\nenv: [{name: NCCL_IB_HCA, value: mlx5}]";

fn ib() -> Scenario {
    Scenario::new(IB)
}

fn unlabelled() -> Scenario {
    let mut scenario = ib();
    scenario.labels.clear();
    scenario
}

fn off() -> Scenario {
    let mut scenario = ib();
    scenario.config.fabric.enabled = false;
    scenario
}

fn labelled(value: &str) -> Value {
    with(pod(), "/metadata/labels/trainmesh.dev~1fabric", json!(value))
}

fn limits(limits: Value) -> Value {
    with(pod(), "/spec/containers/0/resources/limits", limits)
}

#[rstest]
#[case::namespace_label(ib(), pod(), "applied FabricAdded")]
#[case::pod_label(unlabelled(), labelled("f"), "applied FabricAdded")]
#[case::built_in(unlabelled(), labelled("tcp"), "applied FabricAdded")]
#[case::no_label(unlabelled(), pod(), "skipped FabricNotNamed")]
#[case::the_pod_wins(ib(), labelled("none"), "skipped FabricOptedOut")]
#[case::namespace_opts_out(unlabelled().label("trainmesh.dev/fabric", "none"), pod(), "skipped FabricOptedOut")]
#[case::unknown(ib(), labelled("g"), "refused UnknownFabric")]
#[case::off(off(), pod(), "skipped FabricOff")]
#[case::no_accelerator(ib(), limits(json!({"cpu": 1})), "skipped NoAccelerator")]
#[case::mig_device(ib(), limits(json!({"nvidia.com/mig-1g.5gb": 1})), "skipped NoAccelerator")]
#[case::zero_accelerators(ib(), limits(json!({"nvidia.com/gpu": "0"})), "skipped NoAccelerator")]
#[case::request_alone(ib(), with(limits(json!({})), "/spec/containers/0/resources/requests/nvidia.com~1gpu", json!(1)), "skipped NoAccelerator")]
#[case::too_few(Scenario::new("transport: ib\nmatch: {minGpus: 16}"), pod(), "skipped TooFewAccelerators")]
#[case::part_of_a_node(
    Scenario::new("transport: ib\nresources: [{name: rdma/ib, fullNodeGpus: 16}]"),
    pod(),
    "skipped TooFewAccelerators"
)]
#[case::whole_node(
    Scenario::new("transport: ib\nresources: [{name: rdma/ib, fullNodeGpus: 8}]"),
    pod(),
    "applied FabricAdded"
)]
#[case::another_name(Scenario::new("transport: ib\nmatch: {containerNames: [worker]}"), pod(), "skipped NoAccelerator")]
fn selects_a_profile(#[case] scenario: Scenario, #[case] pod: Value, #[case] expected: &str) {
    let outcome = scenario.run(&pod);
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    assert_eq!(outcome.warnings.is_empty(), !expected.starts_with("refused"), "{:?}", outcome.warnings);
    assert_eq!(changes_more_than_marks(&outcome.patch), expected.starts_with("applied"));
}

/// The decision names what the pod requests, and what the profile is for.
#[rstest]
#[case::partition("nvidia.com/mig-1g.5gb", json!(1), "f: train requests nvidia.com/mig-1g.5gb, the profile is for nvidia.com/gpu")]
#[case::another_vendor("amd.com/gpu", json!(8), "f: train requests amd.com/gpu, the profile is for nvidia.com/gpu")]
#[case::none("nvidia.com/gpu", json!(0), "f: train has no limit of 1 or more for nvidia.com/gpu")]
#[case::misspelled("nvidia.com/gpus", json!(8), "f: train requests nvidia.com/gpus: did you mean nvidia.com/gpu?")]
#[case::for_virtual_machines("nvidia.com/pgpu", json!(1), "f: train requests nvidia.com/pgpu, the profile is for nvidia.com/gpu")]
#[case::no_device("cpu", json!(1), "f")]
fn a_pod_without_accelerators_of_the_profile(#[case] resource: &str, #[case] count: Value, #[case] expected: &str) {
    let outcome = ib().run(&limits(json!({resource: count})));
    let fabric = outcome.rules.iter().find(|rule| rule.rule == RuleId::Fabric).unwrap();
    assert_eq!(fabric.detail(), Some(expected));
    assert_eq!(outcome.warnings.len(), usize::from(expected.contains("did you mean")), "{:?}", outcome.warnings);
}

fn limited_to(namespaces: &str) -> Scenario {
    Scenario::new(&format!("{IB}\nnamespaces: {namespaces}")).label("team", "a")
}

fn by_expression(expression: &str) -> Scenario {
    limited_to(&format!("{{selector: {{matchExpressions: [{expression}]}}}}"))
}

/// The namespace is `team-a` with the label `team: a`.
#[rstest]
#[case::named(limited_to("{names: [team-b, team-a]}"), true)]
#[case::not_named(limited_to("{names: [team-b]}"), false)]
#[case::prefix_does_not_match(limited_to("{names: [team]}"), false)]
#[case::labelled(limited_to("{selector: {matchLabels: {team: a}}}"), true)]
#[case::another_label_value(limited_to("{selector: {matchLabels: {team: b}}}"), false)]
#[case::one_label_of_two(limited_to("{selector: {matchLabels: {team: a, tier: gold}}}"), false)]
#[case::by_the_name_label(limited_to("{selector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}"), true)]
#[case::every_namespace(limited_to("{selector: {}}"), true)]
#[case::is_in(by_expression("{key: team, operator: In, values: [b, a]}"), true)]
#[case::is_not_in(by_expression("{key: team, operator: In, values: [b]}"), false)]
#[case::in_without_the_label(by_expression("{key: tier, operator: In, values: [gold]}"), false)]
#[case::not_in(by_expression("{key: team, operator: NotIn, values: [b]}"), true)]
#[case::not_in_without_the_label(by_expression("{key: tier, operator: NotIn, values: [gold]}"), true)]
#[case::excluded(by_expression("{key: team, operator: NotIn, values: [a]}"), false)]
#[case::exists(by_expression("{key: team, operator: Exists}"), true)]
#[case::exists_without_the_label(by_expression("{key: tier, operator: Exists}"), false)]
#[case::does_not_exist(by_expression("{key: tier, operator: DoesNotExist}"), true)]
#[case::does_not_exist_with_the_label(by_expression("{key: team, operator: DoesNotExist}"), false)]
#[case::labels_and_expressions(
    limited_to("{selector: {matchLabels: {team: a}, matchExpressions: [{key: team, operator: DoesNotExist}]}}"),
    false
)]
#[case::name_matches(limited_to("{names: [team-a], selector: {matchLabels: {team: b}}}"), true)]
#[case::selector_matches(limited_to("{names: [team-b], selector: {matchLabels: {team: a}}}"), true)]
fn a_profile_applies_only_in_its_namespaces(
    #[case] scenario: Scenario,
    #[case] allowed: bool,
    #[values(pod(), labelled("f"))] pod: Value,
) {
    let outcome = scenario.run(&pod);
    let expected = if allowed { "applied FabricAdded" } else { "refused FabricNotAllowed" };
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    assert_eq!(changes_more_than_marks(&outcome.patch), allowed);
    let warned = outcome.warnings.iter().any(|warning| {
        warning == "fabric f not applied: the profile is not available in namespace team-a: select another one"
    });
    assert_eq!(warned, !allowed, "{:?}", outcome.warnings);
}

#[rstest]
#[case::name("{names: [team-b, team-a]}", Some("team-b: "))]
#[case::name_and_selector("{names: [team-b], selector: {matchLabels: {team: a}}}", Some("team-b: "))]
#[case::labels("{selector: {matchLabels: {team: a, tier: gold}}}", Some(": team=a,tier=gold"))]
#[case::every_namespace("{selector: {}}", Some(": "))]
#[case::name_label(
    "{selector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}",
    Some("team-a: kubernetes.io/metadata.name=team-a")
)]
#[case::one_of("{selector: {matchExpressions: [{key: team, operator: In, values: [a, b]}]}}", Some(": team=a"))]
#[case::one_of_both(
    "{selector: {matchExpressions: [{key: team, operator: In, values: [a, b]}, {key: team, operator: NotIn, values: [a]}, {key: team, operator: Exists}]}}",
    Some(": team=b")
)]
#[case::label_and_existence(
    "{selector: {matchLabels: {team: a}, matchExpressions: [{key: team, operator: Exists}]}}",
    Some(": team=a")
)]
#[case::existence(
    "{selector: {matchExpressions: [{key: team, operator: Exists}, {key: tier, operator: DoesNotExist}]}}",
    Some(": team=")
)]
#[case::none("{selector: {matchLabels: {team: a}, matchExpressions: [{key: team, operator: DoesNotExist}]}}", None)]
fn a_limit_has_an_example(#[case] namespaces: &str, #[case] expected: Option<&str>) {
    let entry = ProfileEntry::parse(&format!("{{name: f, transport: ib, namespaces: {namespaces}}}")).unwrap();
    let example = entry.profile.namespaces.as_ref().unwrap().example();
    let text = example.as_ref().map(|(name, labels)| {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{name}: {}", labels.join(","))
    });
    assert_eq!(text.as_deref(), expected);
    assert!(example.is_none_or(|(name, labels)| entry.profile.allows(name, &labels)));
}

#[test]
fn pods_without_accelerators_get_no_warning_about_namespaces() {
    let outcome = limited_to("{names: [team-b]}").run(&limits(json!({"cpu": 1})));
    assert_eq!((decision(&outcome).as_str(), outcome.warnings.len()), ("skipped NoAccelerator", 0));
}

/// A pod's annotations are not trusted: they grant access to no profile.
#[test]
fn a_pin_does_not_grant_a_profile_of_other_namespaces() {
    let scenario = limited_to("{names: [team-b]}");
    let body = ProfileEntry::parse(&format!("name: f\n{IB}")).unwrap();
    let pin = Pin { profile: "f", revision: &body.revision, body: Some(&body.profile) };
    let outcome = scenario.run_at(&pod(), ClusterView { pin: Some(pin), ..ClusterView::default() });
    assert_eq!(decision(&outcome), "refused FabricNotAllowed");
}

#[test]
fn the_default_profile_is_limited_to_its_namespaces() {
    let mut scenario = limited_to("{names: [team-b]}");
    scenario.labels.remove("trainmesh.dev/fabric");
    let name = &scenario.config.fabric.profiles.find("f").unwrap().profile.name;
    scenario.config.fabric.default = DefaultProfile(Some(name.clone()));
    let outcome = scenario.run(&pod());
    assert_eq!(decision(&outcome), "refused FabricNotAllowed");
    let expected = "fabric f not applied: the default profile is not available in namespace team-a: select another one";
    assert!(outcome.warnings.iter().any(|warning| warning == expected), "{:?}", outcome.warnings);
}

#[test]
fn the_tcp_fallback_is_limited_to_its_namespaces() {
    let mut scenario = ib();
    let tcp = "fabric: {profiles: [{name: tcp, transport: tcp, namespaces: {names: [team-b]}, env: [{name: A, value: b, via: env}]},
        {name: f, transport: ib, onConflict: tcp, securityContext: {capabilities: {add: [IPC_LOCK]}}}]}";
    let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
    scenario.config = Configuration::parse(&format!("{head}{tcp}")).unwrap();
    let scenario = scenario.label("pod-security.kubernetes.io/enforce", "baseline");
    let outcome = scenario.run(&pod());
    assert_eq!(decision(&outcome), "refused FabricGuarded", "{:?}", outcome.warnings);
}

#[rstest]
#[case::similar_name("tpc", "did you mean tcp?")]
#[case::no_profile("NONE", "did you mean none?")]
#[case::words_of_the_name("GKE-A3U", "did you mean gke-rdma-gib-a3u?")]
#[case::several_names("GKE", "did you mean gke-mrdma-dra, gke-mrdma-dra-a4x-max or 3 more?")]
#[case::no_similar_name("nonsense", "nonsense: trainmesh fabric list shows all, with --config also yours")]
fn the_warning_about_an_unknown_profile_suggests_a_name(#[case] name: &str, #[case] expected: &str) {
    let outcome = ib().run(&labelled(name));
    assert!(!changes_more_than_marks(&outcome.patch));
    assert!(outcome.warnings[0].contains(expected), "{:?}", outcome.warnings);
}

#[test]
fn init_containers_and_containers_without_accelerators_are_not_changed() {
    let gpu = json!({"limits": {"nvidia.com/gpu": 8}});
    let mut pod = with(pod(), "/spec/containers/-", json!({"name": "istio-proxy", "image": "i"}));
    for (name, policy) in [("fetch", Value::Null), ("side", json!("Always"))] {
        pod = with(
            pod,
            "/spec/initContainers/-",
            json!({"name": name, "image": "i", "resources": gpu, "restartPolicy": policy}),
        );
    }
    let after = patched(&ib().run(&pod), &pod);
    assert_eq!(after["spec"]["initContainers"], pod["spec"]["initContainers"]);
    assert_eq!(after["spec"]["containers"][1], pod["spec"]["containers"][1]);
    let named =
        Scenario::new(&format!("{IB}\nmatch: {{initContainers: restartableNamed, containerNames: [side, fetch]}}"));
    let after = patched(&named.run(&pod), &pod);
    assert_eq!(after["spec"]["initContainers"][0], pod["spec"]["initContainers"][0]);
    assert_eq!(after["spec"]["initContainers"][1]["env"][0]["name"], "NCCL_IB_HCA");
}

#[test]
fn the_revision_is_recomputed_in_a_copied_pod() {
    let scenario = ib();
    let revision = scenario.config.fabric.profiles.find("f").unwrap().revision.clone();
    let copied = with(
        pod(),
        "/metadata/annotations",
        json!({"trainmesh.dev/fabric-revision": "0123456789ab", "trainmesh.dev/applied": "x"}),
    );
    let after = patched(&scenario.run(&copied), &copied);
    let written = json!({"trainmesh.dev/fabric-revision": revision, "trainmesh.dev/applied": "fabric=f"});
    assert_eq!(after["metadata"]["annotations"], written);
    assert_eq!(after["metadata"]["labels"], json!({"trainmesh.dev/managed": "true"}));
}

/// Returns the profile as it was when the sibling pods were created.
fn older() -> ProfileEntry {
    ProfileEntry::parse("name: f\ntransport: ib\nenv: [{name: NCCL_IB_HCA, value: older}]").unwrap()
}

#[rstest]
#[case::same_revision("f", "now", false, "applied FabricAdded", "mlx5")]
#[case::older_and_available("f", "older", true, "applied FabricAdded", "older")]
#[case::older_and_unavailable("f", "older", false, "refused FabricOfSiblings", "")]
#[case::another_profile("g", "now", true, "refused FabricOfSiblings", "")]
fn a_job_keeps_one_revision(
    #[case] profile: &str,
    #[case] revision: &str,
    #[case] available: bool,
    #[case] expected: &str,
    #[case] value: &str,
) {
    let (scenario, older) = (ib(), older());
    let now = scenario.config.fabric.profiles.find("f").unwrap().revision.clone();
    let revision = if revision == "now" { &now } else { &older.revision };
    let pin = Some(Pin { profile, revision, body: available.then_some(&older.profile) });
    let outcome = scenario.run_at(&pod(), ClusterView { pin, ..ClusterView::default() });
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
    let after = patched(&outcome, &pod());
    let written = after["spec"]["containers"][0]["env"][0]["value"].as_str().unwrap_or_default();
    assert_eq!(written, value);
    if value.is_empty() {
        assert!(!changes_more_than_marks(&outcome.patch));
        assert!(outcome.warnings[0].contains("restart the job"), "{:?}", outcome.warnings);
    } else {
        assert_eq!(after["metadata"]["annotations"]["trainmesh.dev/fabric-revision"].as_str(), Some(revision.as_str()));
    }
}

#[test]
fn a_removed_profile_remains_for_running_jobs() {
    let (scenario, older) = (unlabelled(), ProfileEntry::parse("name: gone\ntransport: ib").unwrap());
    let pin = Some(Pin { profile: "gone", revision: &older.revision, body: Some(&older.profile) });
    assert_eq!(decision(&scenario.run(&labelled("gone"))), "refused UnknownFabric");
    assert_eq!(
        decision(&scenario.run_at(&labelled("gone"), ClusterView { pin, ..ClusterView::default() })),
        "applied FabricAdded"
    );
}

const OR_TCP: &str = "transport: ib\nresources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 1}}]\nsecurityContext: {capabilities: {add: [IPC_LOCK]}}\nonConflict: tcp";

#[rstest]
#[case::tcp_settings(pod(), None, "applied FabricFellBack", "Socket")]
#[case::user_settings(with(pod(), "/spec/containers/0/env/-", json!({"name": "NCCL_NET", "value": "Socket"})), None, "applied FabricFellBack", "Socket")]
#[case::not_with_rdma_devices(with(pod(), "/spec/containers/0/resources/limits/rdma~1ib", json!("0")), None, "refused FabricContradicted", "")]
#[case::not_against_user_settings(with(pod(), "/spec/containers/0/env/-", json!({"name": "NCCL_NET", "value": "IB"})), None, "refused FabricContradicted", "IB")]
#[case::like_the_siblings(with(pod(), "/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p5.48xlarge"})), Some("tcp"), "applied FabricFellBack", "Socket")]
#[case::not_when_siblings_use_the_fabric(pod(), Some("f"), "refused FabricContradicted", "")]
fn falls_back_to_tcp(#[case] pod: Value, #[case] siblings: Option<&str>, #[case] expected: &str, #[case] net: &str) {
    let scenario = Scenario::new(OR_TCP);
    let entries = &scenario.config.fabric.profiles;
    let pin = siblings.map(|name| Pin { profile: name, revision: &entries.find(name).unwrap().revision, body: None });
    let cluster = ClusterView { pin, ..ClusterView::default() };
    let outcome = scenario.run_at(&pod, cluster);
    assert_eq!(decision(&outcome), expected, "{:#?}", fabric(&outcome));
    assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
    let after = patched(&outcome, &pod);
    let container = &after["spec"]["containers"][0];
    assert_eq!(container["env"][0]["value"].as_str().unwrap_or_default(), net);
    assert_eq!(container["securityContext"], Value::Null, "partially applied");
    assert_eq!(container["resources"], pod["spec"]["containers"][0]["resources"]);
    assert!(scenario.run_at(&after, cluster).patch.is_empty());
}

fn requesting(adapter: &str, gpus: &str) -> Value {
    let adapter = format!("/spec/containers/0/resources/limits/{}", adapter.replace('/', "~1"));
    with(with(pod(), &adapter, json!("1")), "/spec/containers/0/resources/limits/nvidia.com~1gpu", json!(gpus))
}

const NOT_NAMED: &str = "neither the pod nor the namespace selects a fabric profile";

#[rstest]
#[case::no_adapter(ib(), pod(), "")]
#[case::efa(
    ib(),
    requesting("vpc.amazonaws.com/efa", "8"),
    ": the pod requests vpc.amazonaws.com/efa: profile eks-efa fits"
)]
#[case::unknown_adapter(ib(), requesting("rdma/unknown", "8"), "")]
#[case::no_accelerator(ib(), requesting("vpc.amazonaws.com/efa", "0"), "")]
#[case::own_profile(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod}]"),
    requesting("rdma/own", "8"),
    ": the pod requests rdma/own: profile f fits"
)]
#[case::amount_and_machines_with_8_accelerators(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod}]"),
    requesting("rdma/ib", "8"),
    ": the pod requests rdma/ib: profiles coreweave-ib, coreweave-ib-sharp fit"
)]
#[case::amount_and_machines_with_4_accelerators(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod}]"),
    requesting("rdma/ib", "4"),
    ": the pod requests rdma/ib: profile coreweave-ib-nvl72 fits"
)]
#[case::amount_of_no_profile(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod}]"),
    with(requesting("rdma/ib", "8"), "/spec/containers/0/resources/limits/rdma~1ib", json!("3")),
    ": the pod requests rdma/ib: profiles aks-nd-gb300, aks-nd-sriov, coreweave-ib, coreweave-ib-sharp fit"
)]
#[case::more_accelerators_than_the_machine_has(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod, fullNodeGpus: 4}]"),
    requesting("rdma/own", "8"),
    ""
)]
#[case::another_machine(
    Scenario::new("transport: ib\nmatch: {machines: [b]}\nresources: [{name: rdma/own, mode: perPod}]"),
    with(requesting("rdma/own", "8"), "/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "a"})),
    ""
)]
#[case::not_in_this_namespace(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod}]\nnamespaces: {names: [team-b]}"),
    requesting("rdma/own", "8"),
    ""
)]
#[case::too_few_accelerators(
    Scenario::new("transport: ib\nresources: [{name: rdma/own, mode: perPod, fullNodeGpus: 8}]"),
    requesting("rdma/own", "4"),
    ""
)]
fn pods_with_adapters_get_a_suggestion(#[case] mut scenario: Scenario, #[case] pod: Value, #[case] expected: &str) {
    scenario.labels.clear();
    let outcome = scenario.run(&pod);
    assert_eq!(fabric(&outcome).message, format!("{NOT_NAMED}{expected}"));
    let declined = scenario.label("trainmesh.dev/fabric", "none").run(&pod);
    assert_eq!(fabric(&declined).message, "the label trainmesh.dev/fabric is set to none");
}
