//! Which profile, for which containers, in which revision.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::{Configuration, DefaultProfile, Entry};
use trainmesh_core::gang::pins::Pin;

use super::{World, fabric, patched, pod, said, with};

const IB: &str = "transport: ib\nenv: [{name: NCCL_IB_HCA, value: mlx5}]";

fn ib() -> World {
    World::new(IB)
}

fn unlabelled() -> World {
    let mut world = ib();
    world.labels.clear();
    world
}

fn off() -> World {
    let mut world = ib();
    world.config.fabric.enabled = false;
    world
}

fn labelled(value: &str) -> Value {
    with(pod(), "/metadata/labels/trainmesh.dev~1fabric", json!(value))
}

fn limits(limits: Value) -> Value {
    with(pod(), "/spec/containers/0/resources/limits", limits)
}

#[rstest]
#[case::by_namespace(ib(), pod(), "applied FabricAdded")]
#[case::by_pod(unlabelled(), labelled("f"), "applied FabricAdded")]
#[case::built_in(unlabelled(), labelled("tcp"), "applied FabricAdded")]
#[case::nobody(unlabelled(), pod(), "skipped FabricNotNamed")]
#[case::the_pod_wins(ib(), labelled("none"), "skipped FabricOptedOut")]
#[case::none_of_the_namespace(unlabelled().label("trainmesh.dev/fabric", "none"), pod(), "skipped FabricOptedOut")]
#[case::unknown(ib(), labelled("g"), "refused UnknownFabric")]
#[case::off(off(), pod(), "skipped FabricOff")]
#[case::no_accelerator(ib(), limits(json!({"cpu": 1})), "skipped NoAccelerator")]
#[case::part_of_one(ib(), limits(json!({"nvidia.com/mig-1g.5gb": 1})), "skipped NoAccelerator")]
#[case::no_accelerators(ib(), limits(json!({"nvidia.com/gpu": "0"})), "skipped NoAccelerator")]
#[case::request_alone(ib(), with(limits(json!({})), "/spec/containers/0/resources/requests/nvidia.com~1gpu", json!(1)), "skipped NoAccelerator")]
#[case::too_few(World::new("transport: ib\nmatch: {minGpus: 16}"), pod(), "skipped TooFewAccelerators")]
#[case::part_of_a_node(
    World::new("transport: ib\nresources: [{name: rdma/ib, fullNodeGpus: 16}]"),
    pod(),
    "skipped TooFewAccelerators"
)]
#[case::whole_node(
    World::new("transport: ib\nresources: [{name: rdma/ib, fullNodeGpus: 8}]"),
    pod(),
    "applied FabricAdded"
)]
#[case::another_name(World::new("transport: ib\nmatch: {containerNames: [worker]}"), pod(), "skipped NoAccelerator")]
fn chosen(#[case] world: World, #[case] pod: Value, #[case] expected: &str) {
    let outcome = world.run(&pod);
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    assert_eq!(outcome.warnings.is_empty(), !expected.starts_with("refused"), "{:?}", outcome.warnings);
    assert_eq!(outcome.patch.is_empty(), !expected.starts_with("applied"));
}

fn limited(namespaces: &str) -> World {
    World::new(&format!("{IB}\nnamespaces: {namespaces}")).label("team", "a")
}

fn by_expression(expression: &str) -> World {
    limited(&format!("{{selector: {{matchExpressions: [{expression}]}}}}"))
}

/// The namespace is called `team-a` and carries the label `team: a`.
#[rstest]
#[case::named(limited("{names: [team-b, team-a]}"), true)]
#[case::not_named(limited("{names: [team-b]}"), false)]
#[case::name_is_no_prefix(limited("{names: [team]}"), false)]
#[case::labelled(limited("{selector: {matchLabels: {team: a}}}"), true)]
#[case::labelled_otherwise(limited("{selector: {matchLabels: {team: b}}}"), false)]
#[case::one_label_of_two(limited("{selector: {matchLabels: {team: a, tier: gold}}}"), false)]
#[case::by_the_name_label(limited("{selector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}"), true)]
#[case::every_namespace(limited("{selector: {}}"), true)]
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
    limited("{selector: {matchLabels: {team: a}, matchExpressions: [{key: team, operator: DoesNotExist}]}}"),
    false
)]
#[case::either_is_enough(limited("{names: [team-a], selector: {matchLabels: {team: b}}}"), true)]
#[case::or_the_other(limited("{names: [team-b], selector: {matchLabels: {team: a}}}"), true)]
fn a_profile_is_given_in_its_namespaces_only(
    #[case] world: World,
    #[case] allowed: bool,
    #[values(pod(), labelled("f"))] pod: Value,
) {
    let outcome = world.run(&pod);
    let expected = if allowed { "applied FabricAdded" } else { "refused FabricNotAllowed" };
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    assert_eq!(outcome.patch.is_empty(), !allowed);
    let warned = outcome.warnings.iter().any(|warning| warning == "fabric f not given: it is not for namespace team-a");
    assert_eq!(warned, !allowed, "{:?}", outcome.warnings);
}

#[test]
fn pods_without_accelerators_are_not_warned_of_a_profile_of_other_namespaces() {
    let outcome = limited("{names: [team-b]}").run(&limits(json!({"cpu": 1})));
    assert_eq!((said(&outcome).as_str(), outcome.warnings.len()), ("skipped NoAccelerator", 0));
}

/// What a pod carries is its author's claim: it opens no profile.
#[test]
fn a_pin_gives_no_profile_that_its_namespace_may_not_use() {
    let world = limited("{names: [team-b]}");
    let body = Entry::parse(&format!("name: f\n{IB}")).unwrap();
    let pin = Pin { profile: "f", revision: &body.revision, body: Some(&body.profile) };
    let outcome = world.run_at(&pod(), ClusterView { pin: Some(pin), ..ClusterView::default() });
    assert_eq!(said(&outcome), "refused FabricNotAllowed");
}

#[test]
fn the_default_profile_is_limited_too() {
    let mut world = limited("{names: [team-b]}");
    world.labels.remove("trainmesh.dev/fabric");
    let name = &world.config.fabric.profiles.find("f").unwrap().profile.name;
    world.config.fabric.default = DefaultProfile(Some(name.clone()));
    assert_eq!(said(&world.run(&pod())), "refused FabricNotAllowed");
}

#[test]
fn nobody_falls_back_to_a_tcp_profile_of_other_namespaces() {
    let mut world = ib();
    let tcp = "fabric: {profiles: [{name: tcp, transport: tcp, namespaces: {names: [team-b]}, env: [{name: A, value: b, via: env}]},
        {name: f, transport: ib, onConflict: tcp, securityContext: {capabilities: {add: [IPC_LOCK]}}}]}";
    let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
    world.config = Configuration::parse(&format!("{head}{tcp}")).unwrap();
    let world = world.label("pod-security.kubernetes.io/enforce", "baseline");
    let outcome = world.run(&pod());
    assert_eq!(said(&outcome), "refused FabricGuarded", "{:?}", outcome.warnings);
}

#[rstest]
#[case::a_slip("tpc", "did you mean tcp?")]
#[case::nothing_alike("nonsense", "the nearest is ")]
fn an_unknown_name_is_told_with_the_nearest(#[case] name: &str, #[case] expected: &str) {
    let outcome = ib().run(&labelled(name));
    assert!(outcome.patch.is_empty());
    assert!(outcome.warnings[0].contains(expected), "{:?}", outcome.warnings);
}

#[test]
fn init_containers_and_those_without_accelerators_get_nothing() {
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
        World::new(&format!("{IB}\nmatch: {{initContainers: restartableNamed, containerNames: [side, fetch]}}"));
    let after = patched(&named.run(&pod), &pod);
    assert_eq!(after["spec"]["initContainers"][0], pod["spec"]["initContainers"][0]);
    assert_eq!(after["spec"]["initContainers"][1]["env"][0]["name"], "NCCL_IB_HCA");
}

#[test]
fn what_was_given_is_written_down_and_a_copied_revision_is_not_believed() {
    let world = ib();
    let revision = world.config.fabric.profiles.find("f").unwrap().revision.clone();
    let copied = with(
        pod(),
        "/metadata/annotations",
        json!({"trainmesh.dev/fabric-revision": "0123456789ab", "trainmesh.dev/applied": "x"}),
    );
    let after = patched(&world.run(&copied), &copied);
    let written = json!({"trainmesh.dev/fabric-revision": revision, "trainmesh.dev/applied": "fabric=f"});
    assert_eq!(after["metadata"]["annotations"], written);
    assert_eq!(after["metadata"]["labels"], json!({"trainmesh.dev/managed": "true"}));
}

/// The profile as it was when the siblings were made.
fn older() -> Entry {
    Entry::parse("name: f\ntransport: ib\nenv: [{name: NCCL_IB_HCA, value: older}]").unwrap()
}

#[rstest]
#[case::the_same("f", "now", false, "applied FabricAdded", "mlx5")]
#[case::older_and_known("f", "older", true, "applied FabricAdded", "older")]
#[case::older_and_forgotten("f", "older", false, "refused FabricOfSiblings", "")]
#[case::another_profile("g", "now", true, "refused FabricOfSiblings", "")]
fn one_revision_for_a_job(
    #[case] profile: &str,
    #[case] revision: &str,
    #[case] known: bool,
    #[case] expected: &str,
    #[case] value: &str,
) {
    let (world, older) = (ib(), older());
    let now = world.config.fabric.profiles.find("f").unwrap().revision.clone();
    let revision = if revision == "now" { &now } else { &older.revision };
    let pin = Some(Pin { profile, revision, body: known.then_some(&older.profile) });
    let outcome = world.run_at(&pod(), ClusterView { pin, ..ClusterView::default() });
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
    let after = patched(&outcome, &pod());
    let written = after["spec"]["containers"][0]["env"][0]["value"].as_str().unwrap_or_default();
    assert_eq!(written, value);
    if value.is_empty() {
        assert!(outcome.patch.is_empty() && outcome.warnings[0].contains("restart the job"), "{:?}", outcome.warnings);
    } else {
        assert_eq!(after["metadata"]["annotations"]["trainmesh.dev/fabric-revision"].as_str(), Some(revision.as_str()));
    }
}

#[test]
fn a_profile_that_was_removed_lives_on_for_the_jobs_that_have_it() {
    let (world, older) = (unlabelled(), Entry::parse("name: gone\ntransport: ib").unwrap());
    let pin = Some(Pin { profile: "gone", revision: &older.revision, body: Some(&older.profile) });
    assert_eq!(said(&world.run(&labelled("gone"))), "refused UnknownFabric");
    assert_eq!(
        said(&world.run_at(&labelled("gone"), ClusterView { pin, ..ClusterView::default() })),
        "applied FabricAdded"
    );
}

const OR_TCP: &str = "transport: ib\nresources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 1}}]\nsecurityContext: {capabilities: {add: [IPC_LOCK]}}\nonConflict: tcp";

#[rstest]
#[case::settings_of_tcp_alone(pod(), None, "applied FabricFellBack", "Socket")]
#[case::the_users_own_settings(with(pod(), "/spec/containers/0/env/-", json!({"name": "NCCL_NET", "value": "Socket"})), None, "applied FabricFellBack", "Socket")]
#[case::never_beside_rdma(with(pod(), "/spec/containers/0/resources/limits/rdma~1ib", json!("0")), None, "refused FabricContradicted", "")]
#[case::never_against_the_user(with(pod(), "/spec/containers/0/env/-", json!({"name": "NCCL_NET", "value": "IB"})), None, "refused FabricContradicted", "IB")]
#[case::as_the_siblings(with(pod(), "/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": "p5.x"})), Some("tcp"), "applied FabricFellBack", "Socket")]
#[case::not_when_siblings_have_the_fabric(pod(), Some("f"), "refused FabricContradicted", "")]
fn instead_of_a_fabric(#[case] pod: Value, #[case] siblings: Option<&str>, #[case] expected: &str, #[case] net: &str) {
    let world = World::new(OR_TCP);
    let entries = &world.config.fabric.profiles;
    let pin = siblings.map(|name| Pin { profile: name, revision: &entries.find(name).unwrap().revision, body: None });
    let cluster = ClusterView { pin, ..ClusterView::default() };
    let outcome = world.run_at(&pod, cluster);
    assert_eq!(said(&outcome), expected, "{:#?}", fabric(&outcome));
    assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
    let after = patched(&outcome, &pod);
    let container = &after["spec"]["containers"][0];
    assert_eq!(container["env"][0]["value"].as_str().unwrap_or_default(), net);
    assert_eq!(container["securityContext"], Value::Null, "half a fabric");
    assert_eq!(container["resources"], pod["spec"]["containers"][0]["resources"]);
    assert!(world.run_at(&after, cluster).patch.is_empty());
}
