//! When the payload counts as ended.

use rstest::rstest;
use serde_json::{Value, json};

use super::pod::{annotated, at, container, plain, pod, with};
use super::{World, check};

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
#[case::proxy_comes_back("OnFailure", &["a T0", "istio-proxy T137"], "wait ProxyStarting")]
fn policies_of_the_pod(#[case] policy: &str, #[case] containers: &[&str], #[case] expected: &str) {
    check(World::default(), &plain(policy, containers), &[expected]);
}

#[rstest]
#[case::own_policy_never("OnFailure", "a T1", json!("Never"), Value::Null, END)]
#[case::own_policy_on_failure("Never", "a T1", json!("OnFailure"), Value::Null, RESTARTING)]
#[case::own_policy_always("Never", "a T0", json!("Always"), Value::Null, "skip PayloadNeverEnds")]
#[case::own_policy_in_an_always_pod("Always", "a T0", json!("Never"), Value::Null, END)]
#[case::unknown_policy("Never", "a T0", json!("Sometimes"), Value::Null, END)]
#[case::rule_restarts("Never", "a T42", json!("Never"), rule("Restart", "In", &[42]), RESTARTING)]
#[case::rule_for_another_code("Never", "a T1", json!("Never"), rule("Restart", "In", &[42]), END)]
#[case::rule_beats_success("Never", "a T0", json!("OnFailure"), rule("Restart", "In", &[0]), RESTARTING)]
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
fn policies_of_the_container(
    #[case] policy: &str,
    #[case] payload: &str,
    #[case] own: Value,
    #[case] rules: Value,
    #[case] expected: &str,
) {
    let payload = container(payload).with("restartPolicy", own).with("restartPolicyRules", rules);
    let proxy = container("istio-proxy").with("restartPolicy", json!("Never"));
    check(World::default(), &pod(policy, [payload, proxy]), &[expected]);
}

#[test]
fn a_helper_that_restarts_all_is_waited_for() {
    let rules = rule("RestartAllContainers", "In", &[42]);
    let helper = container("daprd T42").with("restartPolicyRules", rules);
    let pod = pod("Never", [container("a T0"), helper, container("istio-proxy")]);
    check(World::default(), &pod, &["wait PodRestarting"]);
}

#[test]
fn init_and_ephemeral_containers_do_not_count() {
    let base = plain("Never", &["a T0", "istio-proxy"]);
    let with_init = with(base, &["spec", "initContainers"], json!([{"name": "fetch"}]));
    let pod = with(with_init, &["spec", "ephemeralContainers"], json!([{"name": "debug"}]));
    let running = json!([{"name": "debug", "state": {"running": {}}}]);
    check(World::default(), &with(pod, &["status", "ephemeralContainerStatuses"], running), &[END]);
}

#[rstest]
#[case::too_early(World::at(0), None, &["wait Settling until 1"])]
#[case::just_over(World::at(1), None, &[END])]
#[case::configured(World::settings(|settings| settings.settle.0 = std::time::Duration::from_mins(1)), None, &["wait Settling until 60"])]
#[case::none_configured(World { now: at(0), ..World::settings(|settings| settings.settle.0 = std::time::Duration::ZERO) }, None, &[END])]
#[case::annotated(World::default(), Some("30s"), &["wait Settling until 30"])]
#[case::annotated_none(World::at(0), Some("0s"), &[END])]
#[case::unreadable(World::at(0), Some("soon"), &["report SettleUnreadable", "wait Settling until 1"])]
#[case::beyond_reason(World::at(0), Some("2h"), &["report SettleUnreadable", "wait Settling until 1"])]
#[case::clock_of_the_node_ahead(World::at(-30), None, &["wait Settling until 1"])]
#[case::clock_of_the_node_wrong(World::at(-3600), None, &[END])]
fn settle_window(#[case] world: World, #[case] annotation: Option<&str>, #[case] expected: &[&str]) {
    let pod = plain("Never", &["a T0", "istio-proxy"]);
    let pod = annotation.map_or(pod.clone(), |text| annotated(pod, "trainmesh.dev/settle", text));
    check(world, &pod, expected);
}

#[test]
fn the_window_begins_with_the_last_end_that_is_known() {
    let mut pod = plain("Never", &["a T0", "b T137", "istio-proxy"]);
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = json!("2026-01-01T00:00:09Z");
    pod["status"]["containerStatuses"][1]["state"]["terminated"]["finishedAt"] = Value::Null;
    check(World { now: at(9), ..World::default() }, &pod, &["wait Settling until 10"]);
    check(World { now: at(10), ..World::default() }, &pod, &[END]);
}

#[rstest]
#[case::never("Never", "a", "istio-proxy T0", &["report ProxyDiedEarly istio-proxy", RUNNING])]
#[case::completed("OnFailure", "a", "istio-proxy T0", &["report ProxyDiedEarly istio-proxy", RUNNING])]
#[case::restarted("OnFailure", "a", "istio-proxy T1", &[RUNNING])]
#[case::payload_restarts("OnFailure", "a T1", "istio-proxy T0", &["report ProxyDiedEarly istio-proxy", RESTARTING])]
#[case::payload_ended("Never", "a T0", "istio-proxy T0", &["skip Ended"])]
#[case::always("Always", "a", "istio-proxy T0", &["skip PayloadNeverEnds"])]
fn a_proxy_that_died_early(
    #[case] policy: &str,
    #[case] payload: &str,
    #[case] proxy: &str,
    #[case] expected: &[&str],
) {
    check(World::default(), &plain(policy, &[payload, proxy]), expected);
}

#[test]
fn a_proxy_in_a_crash_loop_is_told_once() {
    let mut world = World::default();
    let pod = plain("OnFailure", &["a T0", "istio-proxy C"]);
    assert_eq!(world.decisions(&pod), ["report ProxyCrashLoop istio-proxy", "wait ProxyStarting"]);
    assert_eq!(world.decisions(&pod), ["wait ProxyStarting"]);
}

fn rule(action: &str, operator: &str, values: &[i32]) -> Value {
    json!([{"action": action, "exitCodes": {"operator": operator, "values": values}}])
}
