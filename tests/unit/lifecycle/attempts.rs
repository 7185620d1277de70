//! Decisions that follow termination attempts.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::lifecycle::AttemptResult::{
    ContainerGone, Failed, Forbidden, NotInImage, PodGone, Refused, Sent, TimedOut, Unreachable,
};
use trainmesh_core::lifecycle::{AttemptOutcome, AttemptResult, Decision, PodFindingCode};

use super::pod::{annotated, at, container, plain, pod};
use super::{Scenario, summary};

fn hanging() -> Value {
    plain("Never", &["a T0", "istio-proxy"])
}

impl Scenario {
    /// Performs the next action with `result` as its outcome, and returns the action in short form.
    fn attempt(&mut self, pod: &Value, result: AttemptResult) -> String {
        let decision = self.decide(pod);
        let summary = summary(&decision);
        let Decision::Terminate { attempt, target } = decision else { panic!("{summary} is not an action") };
        let outcome = AttemptOutcome { result, detail: format!("{result:?}") };
        self.history.begin(self.now);
        self.history.record(&target, &attempt, outcome, 1.0, self.now);
        summary
    }

    fn advance(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
        assert!(self.now < at(3 * 60 * 60), "no action after three hours");
    }
}

/// The decisions that directly follow each result.
#[rstest]
#[case::sent(Sent, &["wait Ending until 20"])]
#[case::not_in_image(NotInImage, &["end istio-proxy status-port"])]
#[case::refused(Refused, &["end istio-proxy status-port"])]
#[case::timed_out(TimedOut, &["wait BackingOff until 11"])]
#[case::failed(Failed, &["end istio-proxy status-port"])]
#[case::container_gone(ContainerGone, &["wait BackingOff until 11"])]
#[case::pod_gone(PodGone, &["wait BackingOff until 70"])]
#[case::unreachable(Unreachable, &["wait BackingOff until 11"])]
#[case::forbidden(Forbidden, &["publish Forbidden istio-proxy", "end istio-proxy status-forward"])]
fn decisions_after_the_first_method(#[case] result: AttemptResult, #[case] expected: &[&str]) {
    let mut scenario = Scenario::default();
    assert_eq!(scenario.attempt(&hanging(), result), "end istio-proxy envoy-admin");
    assert_eq!(scenario.decisions(&hanging()), expected);
}

#[test]
fn each_method_has_a_grace_period_before_the_next_one() {
    let mut scenario = Scenario::default();
    let mut attempts = Vec::new();
    for seconds in [10, 15, 15] {
        attempts.push(scenario.attempt(&hanging(), Sent));
        scenario.advance(seconds - 1);
        assert!(scenario.decisions(&hanging())[0].starts_with("wait Ending"));
        scenario.advance(1);
    }
    let expected = ["end istio-proxy envoy-admin", "end istio-proxy status-port", "end istio-proxy status-forward"];
    assert_eq!(attempts, expected);
    assert_eq!(scenario.decisions(&hanging()), ["wait BackingOff until 51"]);
    scenario.advance(1);
    assert_eq!(scenario.decisions(&hanging()), ["end istio-proxy envoy-admin"]);
}

#[rstest]
#[case::never("Never", "istio-proxy T0", "skip Ended")]
#[case::killed("Never", "istio-proxy T137", "skip Ended")]
#[case::restarts("OnFailure", "istio-proxy T137", "wait ProxyStarting")]
fn a_termination_is_reported_once(#[case] policy: &str, #[case] proxy: &str, #[case] then: &str) {
    let mut scenario = Scenario::default();
    scenario.attempt(&plain(policy, &["a T0", "istio-proxy"]), Refused);
    let pod = plain(policy, &["a T0", proxy]);
    let Decision::Publish(finding) = scenario.decide(&pod) else { panic!("no report") };
    let ended = finding.termination.unwrap();
    assert_eq!((ended.method.name(), ended.delay), ("envoy-admin", Some(std::time::Duration::ZERO)));
    assert_eq!(scenario.decisions(&pod), ["publish ProxyEnded istio-proxy", then]);
    assert_eq!(scenario.decisions(&pod), [then]);
}

#[test]
fn a_termination_is_reported_when_it_completes_the_pod() {
    let mut scenario = Scenario::default();
    scenario.attempt(&hanging(), Sent);
    let mut pod = plain("Never", &["a T0", "istio-proxy T0"]);
    pod["status"]["phase"] = "Succeeded".into();
    assert_eq!(scenario.decisions(&pod), ["publish ProxyEnded istio-proxy", "skip Finished"]);
}

#[rstest]
#[case::not_in_image(NotInImage)]
#[case::unreachable(Unreachable)]
#[case::forbidden(Forbidden)]
fn a_termination_by_something_else_is_not_reported(#[case] result: AttemptResult) {
    let mut scenario = Scenario::default();
    scenario.attempt(&hanging(), result);
    assert_eq!(scenario.decisions(&plain("Never", &["a T0", "istio-proxy T0"])), ["skip Ended"]);
}

#[test]
fn backoff_doubles_up_to_a_minute_before_giving_up() {
    let mut scenario = Scenario::settings(|settings| settings.port_forward = false);
    let mut backoffs = Vec::new();
    for _ in 0..9 {
        assert_eq!(scenario.attempt(&hanging(), Refused), "end istio-proxy envoy-admin");
        assert_eq!(scenario.attempt(&hanging(), Refused), "end istio-proxy status-port");
        let before = scenario.now;
        while matches!(scenario.decide(&hanging()), Decision::Wait { .. }) {
            scenario.advance(1);
        }
        backoffs.push(scenario.now.duration_since(before).as_secs());
    }
    assert_eq!(backoffs, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    scenario.attempt(&hanging(), Refused);
    let Decision::Publish(finding) = scenario.decide(&hanging()) else { panic!("no report") };
    assert_eq!(finding.code, PodFindingCode::ProxyEndFailed);
    assert_eq!(finding.detail, "envoy-admin: refused: Refused");
    scenario.history.record_finding(&finding);
    scenario.attempt(&hanging(), Refused);
    let since = scenario.now;
    let Decision::Wait { until: Some(until), reason } = scenario.decide(&hanging()) else { panic!("not given up") };
    assert_eq!((reason.code(), until.duration_since(since).as_secs()), ("GivenUp", 3600));
    scenario.advance(3600);
    assert_eq!(scenario.attempt(&hanging(), Sent), "end istio-proxy envoy-admin");
}

#[test]
fn gives_up_after_fifteen_minutes_despite_few_attempts() {
    let mut scenario = Scenario::default();
    scenario.attempt(&hanging(), Unreachable);
    scenario.advance(15 * 60);
    assert_eq!(scenario.decisions(&hanging()), ["publish ProxyEndFailed istio-proxy", "end istio-proxy status-port"]);
}

#[test]
fn retries_on_an_unreachable_node_do_not_stop() {
    let mut scenario = Scenario::default();
    for _ in 0..30 {
        while !matches!(scenario.decide(&hanging()), Decision::Terminate { .. }) {
            if let Decision::Publish(finding) = scenario.decide(&hanging()) {
                scenario.history.record_finding(&finding);
            }
            scenario.advance(1);
        }
        let started = scenario.now;
        scenario.attempt(&hanging(), Unreachable);
        scenario.decisions(&hanging());
        let Decision::Wait { until: Some(until), .. } = scenario.decide(&hanging()) else { panic!("no wait") };
        assert!(until.duration_since(started).as_secs() <= 60);
    }
}

#[test]
fn a_forbidden_action_is_retried_once_a_minute() {
    let mut scenario = Scenario::settings(|settings| settings.port_forward = false);
    scenario.attempt(&hanging(), Forbidden);
    let Decision::Publish(finding) = scenario.decide(&hanging()) else { panic!("no report") };
    assert_eq!(finding.detail, "requires create and get on pods/exec: Forbidden");
    assert_eq!(scenario.decisions(&hanging()), ["publish Forbidden istio-proxy", "wait BackingOff until 70"]);
    scenario.advance(60);
    assert_eq!(scenario.decisions(&hanging()), ["end istio-proxy envoy-admin"]);
}

#[test]
fn a_restarted_proxy_gets_one_immediate_attempt_by_another_method_then_backs_off() {
    let mut scenario = Scenario::settings(|settings| settings.port_forward = false);
    let instance = |restarts| pod("OnFailure", [container("a T0"), container("istio-proxy").restarted(restarts)]);
    scenario.attempt(&instance(0), Sent);
    scenario.advance(2);
    assert_eq!(scenario.decisions(&instance(1)), ["publish ProxyRestarted istio-proxy", "end istio-proxy status-port"]);
    scenario.attempt(&instance(1), Sent);
    let mut actions = 0;
    for restarts in 2..200 {
        scenario.advance(1);
        if matches!(scenario.decide(&instance(restarts)), Decision::Terminate { .. }) {
            actions += 1;
            scenario.attempt(&instance(restarts), Sent);
        }
        scenario.decisions(&instance(restarts));
    }
    assert!((3..=8).contains(&actions), "{actions} actions in 200 s");
}

#[test]
fn actions_do_not_overlap() {
    let mut scenario = Scenario::default();
    scenario.history.begin(at(20));
    assert_eq!(scenario.decisions(&hanging()), ["wait InFlight until 20"]);
    scenario.now = at(20);
    assert_eq!(scenario.decisions(&hanging()), ["end istio-proxy envoy-admin"]);
}

#[test]
fn a_sidecar_is_terminated_first_but_does_not_block_the_proxy_forever() {
    let mut scenario = Scenario::default();
    let pod = plain("Never", &["a T0", "daprd", "istio-proxy"]);
    let mut attempts = 0;
    while scenario.decisions(&pod).last().is_some_and(|last| !last.starts_with("end istio-proxy")) {
        if matches!(scenario.decide(&pod), Decision::Terminate { .. }) {
            scenario.attempt(&pod, Refused);
            attempts += 1;
        }
        scenario.advance(1);
    }
    assert_eq!(attempts, 10);
    assert!(scenario.now < at(15 * 60), "at {}", scenario.now);
    scenario.attempt(&pod, Sent);
    assert_eq!(
        scenario.decisions(&plain("Never", &["a T0", "daprd", "istio-proxy T0"]))[0],
        "publish ProxyEnded istio-proxy"
    );
    assert_eq!(
        scenario.decisions(&plain("Never", &["a T0", "daprd T0", "istio-proxy T0"]))[0],
        "publish HelperEnded daprd"
    );
}

#[rstest]
#[case::within_the_wait(10, "wait HelperStarting until 30")]
#[case::after_the_wait(30, "end istio-proxy envoy-admin")]
fn a_sidecar_that_does_not_start_delays_the_proxy(#[case] seconds: i64, #[case] expected: &str) {
    let mut scenario = Scenario::at(seconds);
    assert_eq!(scenario.decisions(&plain("Never", &["a T0", "daprd W", "istio-proxy"])), [expected]);
}

#[test]
fn a_restarted_main_container_is_reported_once_and_not_from_a_stale_view() {
    let mut scenario = Scenario::default();
    let main_container =
        |text: &str, restarts| pod("OnFailure", [container(text).restarted(restarts), container("istio-proxy")]);
    scenario.attempt(&main_container("a T0", 3), Sent);
    assert_eq!(scenario.decisions(&main_container("a", 3)), ["wait PayloadRunning"]);
    assert_eq!(scenario.decisions(&main_container("a", 4)), ["publish PrematureEnd", "wait PayloadRunning"]);
    assert_eq!(scenario.decisions(&main_container("a T1", 4)), ["wait PayloadRestarting"]);
}

#[test]
fn another_choice_of_main_containers_is_no_restart() {
    let selected = |a: &str, b: &str, restarts, name: &str| {
        let containers = [container(a).restarted(restarts), container(b).restarted(1), container("istio-proxy")];
        annotated(pod("OnFailure", containers), "trainmesh.dev/payload-containers", name)
    };
    let mut scenario = Scenario::default();
    scenario.attempt(&selected("a T0", "b", 0, "a"), Sent);
    assert_eq!(scenario.decisions(&selected("a T0", "b", 0, "b")), ["wait PayloadRunning"]);
    assert_eq!(scenario.decisions(&selected("a", "b", 1, "b")), ["publish PrematureEnd", "wait PayloadRunning"]);
}

#[test]
fn a_rule_that_restarts_all_containers_may_restart_a_main_container() {
    let rule = json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let containers = |a: &str, restarts| {
        let log = container("log").with("restartPolicyRules", rule.clone()).restarted(restarts);
        let containers = [container(a).restarted(restarts), log, container("istio-proxy").restarted(restarts)];
        annotated(pod("Never", containers), "trainmesh.dev/payload-containers", "a")
    };
    let mut scenario = Scenario::default();
    scenario.attempt(&containers("a T0", 0), Sent);
    let decisions = scenario.decisions(&containers("a", 1));
    assert!(!decisions.iter().any(|decision| decision.contains("PrematureEnd")), "{decisions:?}");
}
