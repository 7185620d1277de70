//! What each container is to its pod.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{Argv, Configuration, ContainerName, Helper, HelperMethod};
use trainmesh_core::lifecycle::{Decision, ReportCode};

use super::pod::{annotated, container, plain, pod, with};
use super::{World, check};

const END: &str = "end istio-proxy envoy-admin";
const RUNNING: &str = "wait PayloadRunning";

fn payload(pod: Value, names: &str) -> Value {
    annotated(pod, "trainmesh.dev/payload-containers", names)
}

fn helpers(pod: Value, names: &str) -> Value {
    annotated(pod, "trainmesh.dev/helper-containers", names)
}

fn status(pod: Value, text: &str) -> Value {
    annotated(pod, "sidecar.istio.io/status", text)
}

/// Starts all containers again after every exit code but `codes`.
fn restart_all(codes: &[i32]) -> Value {
    json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "NotIn", "values": codes}}])
}

#[rstest]
#[case::listed(r#"{"containers":["istio-proxy"]}"#, END)]
#[case::not_listed(r#"{"containers":["other"]}"#, "skip NothingToEnd")]
#[case::native_listed(r#"{"initContainers":["istio-proxy"],"containers":null}"#, "skip NothingToEnd")]
#[case::bad_json("{", END)]
#[case::no_object("[]", END)]
fn the_proxy_is_the_one_that_the_injector_lists(#[case] text: &str, #[case] expected: &str) {
    check(World::default(), &status(plain("Never", &["a T0", "istio-proxy"]), text), &[expected]);
}

#[test]
fn the_proxys_name_is_a_setting() {
    let world = || World::settings(|settings| settings.proxy_container = ContainerName::parse("mesh").unwrap());
    check(world(), &plain("Never", &["a T0", "mesh"]), &["end mesh envoy-admin"]);
    check(world(), &plain("Never", &["a T0", "istio-proxy"]), &["skip NothingToEnd"]);
}

#[rstest]
#[case::only_these(payload(plain("Never", &["a T0", "log", "istio-proxy"]), "a"), &[END])]
#[case::all_of_these(payload(plain("Never", &["a T0", "b", "istio-proxy"]), "a, b"), &[RUNNING])]
#[case::nobody(payload(plain("Never", &["a T0", "istio-proxy"]), " , "), &["skip NoPayload"])]
#[case::stranger(
    payload(plain("Never", &["a T0", "istio-proxy"]), "a,trian"),
    &["report PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::the_proxy(
    payload(plain("Never", &["a T0", "istio-proxy"]), "a,istio-proxy"),
    &["report PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::a_native_sidecar(
    payload(pod("Never", [container("b").native(), container("a T0"), container("istio-proxy")]), "a,b"),
    &["report PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::a_policy_that_does_not_matter(
    payload(pod("Never", [container("a T0"), container("log").with("restartPolicy", json!("Always")), container("istio-proxy")]), "a"),
    &[END]
)]
#[case::a_helper_that_is_payload(payload(plain("Never", &["a T0", "daprd", "istio-proxy"]), "a,daprd"), &[RUNNING])]
fn payload_containers(#[case] pod: Value, #[case] expected: &[&str]) {
    check(World::default(), &pod, expected);
}

#[rstest]
#[case::by_name(plain("Never", &["a T0", "daprd", "istio-proxy"]), &["end daprd helper-post"])]
#[case::without_a_proxy(plain("Never", &["a T0", "cloud-sql-proxy"]), &["end cloud-sql-proxy helper-post"])]
#[case::with_a_native_proxy(
    pod("Never", [container("istio-proxy").native(), container("a T0"), container("vault-agent")]),
    &["end vault-agent helper-post"]
)]
#[case::with_a_native_proxy_ended(
    pod("Never", [container("istio-proxy").native(), container("a T0"), container("vault-agent T0")]),
    &["skip NativeProxy"]
)]
#[case::payload_runs(plain("Never", &["a", "daprd", "istio-proxy"]), &[RUNNING])]
#[case::ended_by_itself(plain("Never", &["a T0", "daprd T2", "istio-proxy"]), &[END])]
#[case::native_helper(
    pod("Never", [container("daprd").native(), container("a T0"), container("istio-proxy")]),
    &[END]
)]
#[case::catalogue_order(
    plain("Never", &["a T0", "linkerd-proxy", "fluent-bit", "cloud-sql-proxy"]),
    &["end cloud-sql-proxy helper-post"]
)]
#[case::by_annotation(helpers(plain("Never", &["a T0", "sql", "istio-proxy"]), "sql=cloud-sql-proxy"), &["end sql helper-post"])]
#[case::by_annotation_of_its_own_name(helpers(plain("Never", &["a T0", "daprd", "istio-proxy"]), "daprd"), &["end daprd helper-post"])]
#[case::annotation_beats_the_name(helpers(plain("Never", &["a T0", "daprd", "istio-proxy"]), "daprd=fluent-bit"), &["end daprd helper-exec"])]
#[case::started_again(
    pod("Never", [container("a T0"), container("daprd").with("restartPolicy", json!("Always")), container("istio-proxy")]),
    &["report HelperHasNoMethod daprd", END]
)]
#[case::no_method(
    helpers(plain("Never", &["a T0", "log", "istio-proxy"]), "log"),
    &["report HelperHasNoMethod log", END]
)]
#[case::no_such_entry(
    helpers(plain("Never", &["a", "log", "istio-proxy"]), "log=nothing"),
    &["report HelperHasNoMethod log", RUNNING]
)]
#[case::it_would_restart_all(
    pod("Never", [container("a T0"), container("daprd").with("restartPolicyRules", restart_all(&[0])), container("istio-proxy")]),
    &["report HelperHasNoMethod daprd", END]
)]
#[case::it_would_restart_all_by_itself_only(
    pod("Never", [container("a T0"), container("daprd").with("restartPolicyRules", restart_all(&[0, 137, 143, 42])), container("istio-proxy")]),
    &["end daprd helper-post"]
)]
#[case::no_such_container(
    helpers(plain("Never", &["a T0", "istio-proxy"]), "lgo"),
    &["report HelperUnknown", END]
)]
#[case::no_method_and_nothing_else(helpers(plain("Never", &["a T0", "log"]), "log"), &["report HelperHasNoMethod log", "skip NothingToEnd"])]
#[case::nothing_to_say_of_what_never_ends(helpers(plain("Always", &["a T0", "log", "istio-proxy"]), "log"), &["skip PayloadNeverEnds"])]
fn helper_containers(#[case] pod: Value, #[case] expected: &[&str]) {
    check(World::default(), &pod, expected);
}

#[rstest]
#[case::by_a_post("daprd", &["report HelperHasNoMethod daprd", END])]
#[case::by_a_command("fluent-bit", &["end fluent-bit helper-exec"])]
fn without_port_forwards(#[case] helper: &str, #[case] expected: &[&str]) {
    let world = World::settings(|settings| settings.port_forward = false);
    check(world, &plain("Never", &["a T0", helper, "istio-proxy"]), expected);
}

/// The helper's way is `kill -TERM 1`: in a namespace of processes that others share, that is not the helper.
#[rstest]
#[case::own("hostIPC", "fluent-bit", &["end fluent-bit helper-exec"])]
#[case::of_the_pod("shareProcessNamespace", "fluent-bit", &["report HelperHasNoMethod fluent-bit", END])]
#[case::of_the_node("hostPID", "fluent-bit", &["report HelperHasNoMethod fluent-bit", END])]
#[case::another_way("shareProcessNamespace", "cloud-sql-proxy", &["end cloud-sql-proxy helper-post"])]
fn shared_processes(#[case] field: &str, #[case] helper: &str, #[case] expected: &[&str]) {
    let world = World::settings(|settings| settings.port_forward = true);
    check(world, &with(plain("Never", &["a T0", helper, "istio-proxy"]), &["spec", field], json!(true)), expected);
}

#[rstest]
#[case::kill(&["kill", "-TERM", "1"], true)]
#[case::path(&["/bin/kill", "1"], true)]
#[case::shell(&["sh", "-c", "kill -s TERM 1"], true)]
#[case::another_process(&["kill", "-TERM", "7"], false)]
#[case::another_command(&["stop", "1"], false)]
fn a_configured_helper_that_signals_process_1(#[case] argv: &[&str], #[case] signals: bool) {
    let world = World::settings(|settings| {
        settings.helpers = vec![Helper {
            name: ContainerName::parse("log").unwrap(),
            method: HelperMethod::Exec(Argv(argv.iter().map(|word| (*word).to_owned()).collect())),
        }];
    });
    let pod = with(plain("Never", &["a T0", "log", "istio-proxy"]), &["spec", "shareProcessNamespace"], json!(true));
    let expected: &[&str] = if signals { &["report HelperHasNoMethod log", END] } else { &["end log helper-exec"] };
    check(world, &pod, expected);
}

/// Six of the built-in ones: nobody grants a permission that reaches every port without asking for it.
#[test]
fn by_default_there_are_no_port_forwards_and_the_report_names_the_setting() {
    for helper in ["cloud-sql-proxy", "cloudsql-proxy", "vault-agent", "daprd", "consul-dataplane", "linkerd-proxy"] {
        let world = World { settings: Configuration::embedded().termination, ..World::default() };
        let decision = world.decide(&plain("Never", &["a T0", helper, "istio-proxy"]));
        let Decision::Report(report) = decision else { panic!("{helper}: {decision:?}") };
        assert_eq!(report.code, ReportCode::HelperHasNoMethod, "{helper}");
        assert!(report.detail.contains("termination.portForward"), "{report:?}");
    }
}

#[test]
fn the_configuration_adds_helpers_and_they_are_ended_first() {
    let world = || {
        World::settings(|settings| {
            settings.helpers = vec![Helper {
                name: ContainerName::parse("log").unwrap(),
                method: HelperMethod::Exec(Argv(vec!["stop".to_owned()])),
            }];
        })
    };
    check(world(), &plain("Never", &["a T0", "daprd", "log", "istio-proxy"]), &["end log helper-exec"]);
    check(world(), &plain("Never", &["a T0", "daprd", "log T0", "istio-proxy"]), &["end daprd helper-post"]);
}

#[test]
fn a_managed_label_is_no_evidence() {
    let pod = super::pod::labelled(plain("Never", &["a T0"]), "trainmesh.dev/managed", "true");
    check(World::default(), &pod, &["skip NothingToEnd"]);
}
