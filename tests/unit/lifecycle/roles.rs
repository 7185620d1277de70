//! The role of each container in its pod.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{Argv, Configuration, ContainerName, SidecarEntry, SidecarMethod};
use trainmesh_core::lifecycle::{Decision, PodFindingCode};

use super::pod::{annotated, container, plain, pod, with};
use super::{Scenario, check};

const END: &str = "end istio-proxy envoy-admin";
const RUNNING: &str = "wait PayloadRunning";

fn with_main_containers(pod: Value, names: &str) -> Value {
    annotated(pod, "trainmesh.dev/payload-containers", names)
}

fn with_sidecars(pod: Value, names: &str) -> Value {
    annotated(pod, "trainmesh.dev/helper-containers", names)
}

fn status(pod: Value, text: &str) -> Value {
    annotated(pod, "sidecar.istio.io/status", text)
}

/// Returns a rule that restarts all containers after every exit code except `codes`.
fn restart_all(codes: &[i32]) -> Value {
    json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "NotIn", "values": codes}}])
}

#[rstest]
#[case::listed(r#"{"containers":["istio-proxy"]}"#, END)]
#[case::not_listed(r#"{"containers":["other"]}"#, "skip NothingToEnd")]
#[case::native_listed(r#"{"initContainers":["istio-proxy"],"containers":null}"#, "skip NothingToEnd")]
#[case::bad_json("{", END)]
#[case::not_an_object("[]", END)]
fn the_proxy_is_the_container_that_the_injector_lists(#[case] text: &str, #[case] expected: &str) {
    check(Scenario::default(), &status(plain("Never", &["a T0", "istio-proxy"]), text), &[expected]);
}

#[test]
fn the_proxy_container_name_is_configurable() {
    let scenario = || Scenario::settings(|settings| settings.proxy_container = ContainerName::parse("mesh").unwrap());
    check(scenario(), &plain("Never", &["a T0", "mesh"]), &["end mesh envoy-admin"]);
    check(scenario(), &plain("Never", &["a T0", "istio-proxy"]), &["skip NothingToEnd"]);
}

#[rstest]
#[case::only_these(with_main_containers(plain("Never", &["a T0", "log", "istio-proxy"]), "a"), &[END])]
#[case::all_of_these(with_main_containers(plain("Never", &["a T0", "b", "istio-proxy"]), "a, b"), &[RUNNING])]
#[case::empty_list(with_main_containers(plain("Never", &["a T0", "istio-proxy"]), " , "), &["skip NoPayload"])]
#[case::unknown_container(
    with_main_containers(plain("Never", &["a T0", "istio-proxy"]), "a,trian"),
    &["publish PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::the_proxy(
    with_main_containers(plain("Never", &["a T0", "istio-proxy"]), "a,istio-proxy"),
    &["publish PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::a_native_sidecar(
    with_main_containers(pod("Never", [container("b").native(), container("a T0"), container("istio-proxy")]), "a,b"),
    &["publish PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::unlisted_container_always_restarts(
    with_main_containers(pod("Never", [container("a T0"), container("log").with("restartPolicy", json!("Always")), container("istio-proxy")]), "a"),
    &[END]
)]
#[case::listed_sidecar_is_a_main_container(with_main_containers(plain("Never", &["a T0", "daprd", "istio-proxy"]), "a,daprd"), &[RUNNING])]
fn main_containers_annotation(#[case] pod: Value, #[case] expected: &[&str]) {
    check(Scenario::default(), &pod, expected);
}

#[rstest]
#[case::by_name(plain("Never", &["a T0", "daprd", "istio-proxy"]), &["end daprd helper-post"])]
#[case::without_a_proxy(plain("Never", &["a T0", "cloud-sql-proxy"]), &["end cloud-sql-proxy helper-post"])]
#[case::with_a_native_proxy(
    pod("Never", [container("istio-proxy").native(), container("a T0"), container("vault-agent")]),
    &["end vault-agent helper-post"]
)]
#[case::with_a_native_proxy_terminated(
    pod("Never", [container("istio-proxy").native(), container("a T0"), container("vault-agent T0")]),
    &["skip NativeProxy"]
)]
#[case::main_container_runs(plain("Never", &["a", "daprd", "istio-proxy"]), &[RUNNING])]
#[case::terminated_on_its_own(plain("Never", &["a T0", "daprd T2", "istio-proxy"]), &[END])]
#[case::native_sidecar(
    pod("Never", [container("daprd").native(), container("a T0"), container("istio-proxy")]),
    &[END]
)]
#[case::catalogue_order(
    plain("Never", &["a T0", "linkerd-proxy", "fluent-bit", "cloud-sql-proxy"]),
    &["end cloud-sql-proxy helper-post"]
)]
#[case::by_annotation(with_sidecars(plain("Never", &["a T0", "sql", "istio-proxy"]), "sql=cloud-sql-proxy"), &["end sql helper-post"])]
#[case::by_annotation_of_its_own_name(with_sidecars(plain("Never", &["a T0", "daprd", "istio-proxy"]), "daprd"), &["end daprd helper-post"])]
#[case::annotation_overrides_the_name(with_sidecars(plain("Never", &["a T0", "daprd", "istio-proxy"]), "daprd=fluent-bit"), &["end daprd helper-exec"])]
#[case::restarted(
    pod("Never", [container("a T0"), container("daprd").with("restartPolicy", json!("Always")), container("istio-proxy")]),
    &["publish HelperHasNoMethod daprd", END]
)]
#[case::no_method(
    with_sidecars(plain("Never", &["a T0", "log", "istio-proxy"]), "log"),
    &["publish HelperHasNoMethod log", END]
)]
#[case::unknown_method(
    with_sidecars(plain("Never", &["a", "log", "istio-proxy"]), "log=nothing"),
    &["publish HelperHasNoMethod log", RUNNING]
)]
#[case::exit_code_would_restart_all(
    pod("Never", [container("a T0"), container("daprd").with("restartPolicyRules", restart_all(&[0])), container("istio-proxy")]),
    &["publish HelperHasNoMethod daprd", END]
)]
#[case::other_exit_codes_would_restart_all(
    pod("Never", [container("a T0"), container("daprd").with("restartPolicyRules", restart_all(&[0, 137, 143, 42])), container("istio-proxy")]),
    &["end daprd helper-post"]
)]
#[case::no_such_container(
    with_sidecars(plain("Never", &["a T0", "istio-proxy"]), "lgo"),
    &["publish HelperUnknown", END]
)]
#[case::no_method_and_no_proxy(with_sidecars(plain("Never", &["a T0", "log"]), "log"), &["publish HelperHasNoMethod log", "skip NothingToEnd"])]
#[case::no_report_for_a_pod_that_never_ends(with_sidecars(plain("Always", &["a T0", "log", "istio-proxy"]), "log"), &["skip PayloadNeverEnds"])]
fn sidecar_containers(#[case] pod: Value, #[case] expected: &[&str]) {
    check(Scenario::default(), &pod, expected);
}

#[rstest]
#[case::by_a_post("daprd", &["publish HelperHasNoMethod daprd", END])]
#[case::by_a_command("fluent-bit", &["end fluent-bit helper-exec"])]
fn sidecars_without_port_forwards(#[case] sidecar: &str, #[case] expected: &[&str]) {
    let scenario = Scenario::settings(|settings| settings.port_forward = false);
    check(scenario, &plain("Never", &["a T0", sidecar, "istio-proxy"]), expected);
}

/// The sidecar's method is `kill -TERM 1`; in a shared process namespace, process 1 is not the sidecar.
#[rstest]
#[case::host_ipc("hostIPC", "fluent-bit", &["end fluent-bit helper-exec"])]
#[case::pod_process_namespace("shareProcessNamespace", "fluent-bit", &["publish HelperHasNoMethod fluent-bit", END])]
#[case::host_process_namespace("hostPID", "fluent-bit", &["publish HelperHasNoMethod fluent-bit", END])]
#[case::another_method("shareProcessNamespace", "cloud-sql-proxy", &["end cloud-sql-proxy helper-post"])]
fn a_shared_process_namespace_excludes_the_kill_command(
    #[case] field: &str,
    #[case] sidecar: &str,
    #[case] expected: &[&str],
) {
    let scenario = Scenario::settings(|settings| settings.port_forward = true);
    check(scenario, &with(plain("Never", &["a T0", sidecar, "istio-proxy"]), &["spec", field], json!(true)), expected);
}

#[rstest]
#[case::kill(&["kill", "-TERM", "1"], true)]
#[case::path(&["/bin/kill", "1"], true)]
#[case::shell(&["sh", "-c", "kill -s TERM 1"], true)]
#[case::another_process(&["kill", "-TERM", "7"], false)]
#[case::another_command(&["stop", "1"], false)]
fn detects_configured_commands_that_signal_process_1(#[case] argv: &[&str], #[case] signals: bool) {
    let scenario = Scenario::settings(|settings| {
        settings.helpers = vec![SidecarEntry {
            name: ContainerName::parse("log").unwrap(),
            method: SidecarMethod::Exec(Argv(argv.iter().map(|word| (*word).to_owned()).collect())),
        }];
    });
    let pod = with(plain("Never", &["a T0", "log", "istio-proxy"]), &["spec", "shareProcessNamespace"], json!(true));
    let expected: &[&str] = if signals { &["publish HelperHasNoMethod log", END] } else { &["end log helper-exec"] };
    check(scenario, &pod, expected);
}

/// Six of the built-in sidecars need port-forwards, a permission that reaches every port and must be requested.
#[test]
fn the_report_names_the_setting_when_port_forwards_are_disabled() {
    for sidecar in ["cloud-sql-proxy", "cloudsql-proxy", "vault-agent", "daprd", "consul-dataplane", "linkerd-proxy"] {
        let scenario = Scenario { settings: Configuration::embedded().termination, ..Scenario::default() };
        let decision = scenario.decide(&plain("Never", &["a T0", sidecar, "istio-proxy"]));
        let Decision::Publish(finding) = decision else { panic!("{sidecar}: {decision:?}") };
        assert_eq!(finding.code, PodFindingCode::HelperHasNoMethod, "{sidecar}");
        assert!(finding.detail.contains("termination.portForward"), "{finding:?}");
    }
}

#[test]
fn configured_sidecars_are_terminated_first() {
    let scenario = || {
        Scenario::settings(|settings| {
            settings.helpers = vec![SidecarEntry {
                name: ContainerName::parse("log").unwrap(),
                method: SidecarMethod::Exec(Argv(vec!["stop".to_owned()])),
            }];
        })
    };
    check(scenario(), &plain("Never", &["a T0", "daprd", "log", "istio-proxy"]), &["end log helper-exec"]);
    check(scenario(), &plain("Never", &["a T0", "daprd", "log T0", "istio-proxy"]), &["end daprd helper-post"]);
}

#[test]
fn a_managed_label_alone_has_no_effect() {
    let pod = super::pod::labelled(plain("Never", &["a T0"]), "trainmesh.dev/managed", "true");
    check(Scenario::default(), &pod, &["skip NothingToEnd"]);
}
