//! When the main containers count as terminated.

use rstest::rstest;
use serde_json::{Value, json};

use super::pod::{annotated, at, container, plain, pod, with};
use super::{Scenario, check};

const END: &str = "end istio-proxy envoy-admin";
const RUNNING: &str = "wait PayloadRunning";
const RESTARTING: &str = "wait PayloadRestarting";

#[rstest]
#[case::never_0("Never", &["a T0", "istio-proxy"], END)]
#[case::never_1("Never", &["a T1", "istio-proxy"], END)]
#[case::never_137("Never", &["a T137", "istio-proxy"], END)]
#[case::on_failure_0("OnFailure", &["a T0", "istio-proxy"], END)]
#[case::on_failure_1("OnFailure", &["a T1", "istio-proxy"], RESTARTING)]
#[case::on_failure_137("OnFailure", &["a T137", "istio-proxy"], RESTARTING)]
#[case::three("Never", &["a T0", "b T1", "c T137", "istio-proxy"], END)]
#[case::one_of_three_runs("Never", &["a T0", "b", "c T0", "istio-proxy"], RUNNING)]
#[case::one_of_three_waits("Never", &["a T0", "b W", "c T0", "istio-proxy"], RUNNING)]
#[case::one_of_three_crashes("OnFailure", &["a T0", "b C", "istio-proxy"], RUNNING)]
#[case::one_of_three_failed("OnFailure", &["a T0", "b T2", "c T0", "istio-proxy"], RESTARTING)]
#[case::one_without_status("Never", &["a T0", "b -", "istio-proxy"], "wait StatusIncomplete")]
#[case::proxy_first("Never", &["istio-proxy", "a T0"], END)]
#[case::proxy_waits("Never", &["a T0", "istio-proxy W"], "wait ProxyStarting")]
#[case::proxy_without_status("Never", &["a T0", "istio-proxy -"], "wait ProxyStarting")]
#[case::proxy_restarts("OnFailure", &["a T0", "istio-proxy T137"], "wait ProxyStarting")]
fn pod_restart_policies(#[case] policy: &str, #[case] containers: &[&str], #[case] expected: &str) {
    check(Scenario::default(), &plain(policy, containers), &[expected]);
}

#[rstest]
#[case::own_policy_never("OnFailure", "a T1", json!("Never"), Value::Null, END)]
#[case::own_policy_on_failure("Never", "a T1", json!("OnFailure"), Value::Null, RESTARTING)]
#[case::own_policy_always("Never", "a T0", json!("Always"), Value::Null, "skip PayloadNeverEnds")]
#[case::own_policy_in_an_always_pod("Always", "a T0", json!("Never"), Value::Null, END)]
#[case::unknown_policy("Never", "a T0", json!("Sometimes"), Value::Null, END)]
#[case::rule_restarts("Never", "a T42", json!("Never"), rule("Restart", "In", &[42]), RESTARTING)]
#[case::rule_for_another_code("Never", "a T1", json!("Never"), rule("Restart", "In", &[42]), END)]
#[case::a_rule_restarts_after_success("Never", "a T0", json!("OnFailure"), rule("Restart", "In", &[0]), RESTARTING)]
#[case::rule_not_in("Never", "a T1", json!("Never"), rule("Restart", "NotIn", &[0, 2]), RESTARTING)]
#[case::rule_not_in_but_listed("Never", "a T2", json!("Never"), rule("Restart", "NotIn", &[0, 2]), END)]
#[case::rule_then_policy("Never", "a T3", json!("OnFailure"), rule("Restart", "In", &[42]), RESTARTING)]
#[case::restart_all("Never", "a T42", json!("Never"), rule("RestartAllContainers", "In", &[42]), "wait PodRestarting")]
#[case::unknown_action("Never", "a T42", json!("Never"), rule("Recreate", "In", &[42]), RESTARTING)]
#[case::unknown_operator("Never", "a T1", json!("Never"), rule("Restart", "Above", &[42]), RESTARTING)]
#[case::no_exit_codes("Never", "a T1", json!("Never"), json!([{"action": "Restart"}]), RESTARTING)]
#[case::second_rule(
    "Never",
    "a T7",
    json!("Never"),
    json!([
        {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}},
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [7]}},
    ]),
    "wait PodRestarting"
)]
fn container_restart_policies(
    #[case] policy: &str,
    #[case] main_container: &str,
    #[case] own: Value,
    #[case] rules: Value,
    #[case] expected: &str,
) {
    let main_container = container(main_container).with("restartPolicy", own).with("restartPolicyRules", rules);
    let proxy = container("istio-proxy").with("restartPolicy", json!("Never"));
    check(Scenario::default(), &pod(policy, [main_container, proxy]), &[expected]);
}

#[test]
fn waits_for_a_sidecar_that_restarts_all_containers() {
    let rules = rule("RestartAllContainers", "In", &[42]);
    let sidecar = container("daprd T42").with("restartPolicyRules", rules);
    let pod = pod("Never", [container("a T0"), sidecar, container("istio-proxy")]);
    check(Scenario::default(), &pod, &["wait PodRestarting"]);
}

#[test]
fn init_and_ephemeral_containers_do_not_count() {
    let base = plain("Never", &["a T0", "istio-proxy"]);
    let with_init = with(base, &["spec", "initContainers"], json!([{"name": "fetch"}]));
    let pod = with(with_init, &["spec", "ephemeralContainers"], json!([{"name": "debug"}]));
    let running = json!([{"name": "debug", "state": {"running": {}}}]);
    check(Scenario::default(), &with(pod, &["status", "ephemeralContainerStatuses"], running), &[END]);
}

#[rstest]
#[case::too_early(Scenario::at(0), None, &["wait Settling until 1"])]
#[case::at_the_end_of_the_window(Scenario::at(1), None, &[END])]
#[case::configured(Scenario::settings(|settings| settings.settle.0 = std::time::Duration::from_mins(1)), None, &["wait Settling until 60"])]
#[case::none_configured(Scenario { now: at(0), ..Scenario::settings(|settings| settings.settle.0 = std::time::Duration::ZERO) }, None, &[END])]
#[case::annotated(Scenario::default(), Some("30s"), &["wait Settling until 30"])]
#[case::annotated_none(Scenario::at(0), Some("0s"), &[END])]
#[case::unreadable(Scenario::at(0), Some("soon"), &["publish SettleUnreadable", "wait Settling until 1"])]
#[case::too_long(Scenario::at(0), Some("2h"), &["publish SettleUnreadable", "wait Settling until 1"])]
#[case::node_clock_ahead(Scenario::at(-30), None, &["wait Settling until 1"])]
#[case::node_clock_far_ahead(Scenario::at(-3600), None, &[END])]
fn stabilization_window(#[case] scenario: Scenario, #[case] annotation: Option<&str>, #[case] expected: &[&str]) {
    let pod = plain("Never", &["a T0", "istio-proxy"]);
    let pod = annotation.map_or(pod.clone(), |text| annotated(pod, "trainmesh.dev/settle", text));
    check(scenario, &pod, expected);
}

#[test]
fn the_window_starts_at_the_last_known_termination() {
    let mut pod = plain("Never", &["a T0", "b T137", "istio-proxy"]);
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = json!("2026-01-01T00:00:09Z");
    pod["status"]["containerStatuses"][1]["state"]["terminated"]["finishedAt"] = Value::Null;
    check(Scenario { now: at(9), ..Scenario::default() }, &pod, &["wait Settling until 10"]);
    check(Scenario { now: at(10), ..Scenario::default() }, &pod, &[END]);
}

#[rstest]
#[case::never("Never", "a", "istio-proxy T0", &["publish ProxyDiedEarly istio-proxy", RUNNING])]
#[case::completed("OnFailure", "a", "istio-proxy T0", &["publish ProxyDiedEarly istio-proxy", RUNNING])]
#[case::restarted("OnFailure", "a", "istio-proxy T1", &[RUNNING])]
#[case::main_restarts("OnFailure", "a T1", "istio-proxy T0", &["publish ProxyDiedEarly istio-proxy", RESTARTING])]
#[case::main_container_terminated("Never", "a T0", "istio-proxy T0", &["skip Ended"])]
#[case::always("Always", "a", "istio-proxy T0", &["skip PayloadNeverEnds"])]
fn a_proxy_that_terminates_early_is_reported(
    #[case] policy: &str,
    #[case] main_container: &str,
    #[case] proxy: &str,
    #[case] expected: &[&str],
) {
    check(Scenario::default(), &plain(policy, &[main_container, proxy]), expected);
}

#[test]
fn a_proxy_in_a_crash_loop_is_reported_once() {
    let mut scenario = Scenario::default();
    let pod = plain("OnFailure", &["a T0", "istio-proxy C"]);
    assert_eq!(scenario.decisions(&pod), ["publish ProxyCrashLoop istio-proxy", "wait ProxyStarting"]);
    assert_eq!(scenario.decisions(&pod), ["wait ProxyStarting"]);
}

fn rule(action: &str, operator: &str, values: &[i32]) -> Value {
    json!([{"action": action, "exitCodes": {"operator": operator, "values": values}}])
}
