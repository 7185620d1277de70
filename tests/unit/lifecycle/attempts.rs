//! What follows from what has been tried.

use rstest::rstest;
use serde_json::Value;
use trainmesh_core::lifecycle::AttemptResult::{
    ContainerGone, Failed, Forbidden, NotInImage, PodGone, Refused, Sent, TimedOut, Unreachable,
};
use trainmesh_core::lifecycle::{Attempt, AttemptResult, Decision, ReportCode};

use super::pod::{at, container, plain, pod};
use super::{World, shown};

fn hanging() -> Value {
    plain("Never", &["a T0", "istio-proxy"])
}

impl World {
    /// Carries out what is decided, `result` being what comes of it.
    fn attempt(&mut self, pod: &Value, result: AttemptResult) -> String {
        let decision = self.decide(pod);
        let shown = shown(&decision);
        let Decision::End { step, target } = decision else { panic!("{shown} is no action") };
        let attempt = Attempt { result, detail: format!("{result:?}") };
        self.history.begin(self.now);
        self.history.record(&target, &step, attempt, 1.0, self.now);
        shown
    }

    fn later(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
        assert!(self.now < at(3 * 60 * 60), "still not done after three hours");
    }
}

/// Each result, and what is decided right after it.
#[rstest]
#[case::sent(Sent, &["wait Ending until 20"])]
#[case::not_in_image(NotInImage, &["end istio-proxy status-port"])]
#[case::refused(Refused, &["end istio-proxy status-port"])]
#[case::timed_out(TimedOut, &["wait BackingOff until 11"])]
#[case::failed(Failed, &["end istio-proxy status-port"])]
#[case::container_gone(ContainerGone, &["wait BackingOff until 11"])]
#[case::pod_gone(PodGone, &["wait BackingOff until 70"])]
#[case::unreachable(Unreachable, &["wait BackingOff until 11"])]
#[case::forbidden(Forbidden, &["report Forbidden istio-proxy", "end istio-proxy status-forward"])]
fn after_the_first_rung(#[case] result: AttemptResult, #[case] expected: &[&str]) {
    let mut world = World::default();
    assert_eq!(world.attempt(&hanging(), result), "end istio-proxy envoy-admin");
    assert_eq!(world.decisions(&hanging()), expected);
}

#[test]
fn each_rung_has_its_time_and_then_the_next_one_is_due() {
    let mut world = World::default();
    let mut seen = Vec::new();
    for seconds in [10, 15, 15] {
        seen.push(world.attempt(&hanging(), Sent));
        world.later(seconds - 1);
        assert!(world.decisions(&hanging())[0].starts_with("wait Ending"));
        world.later(1);
    }
    let expected = ["end istio-proxy envoy-admin", "end istio-proxy status-port", "end istio-proxy status-forward"];
    assert_eq!(seen, expected);
    assert_eq!(world.decisions(&hanging()), ["wait BackingOff until 51"]);
    world.later(1);
    assert_eq!(world.decisions(&hanging()), ["end istio-proxy envoy-admin"]);
}

#[rstest]
#[case::never("Never", "istio-proxy T0", "skip Ended")]
#[case::killed("Never", "istio-proxy T137", "skip Ended")]
#[case::comes_back("OnFailure", "istio-proxy T137", "wait ProxyStarting")]
fn the_end_is_told_once(#[case] policy: &str, #[case] proxy: &str, #[case] then: &str) {
    let mut world = World::default();
    world.attempt(&plain(policy, &["a T0", "istio-proxy"]), Refused);
    let pod = plain(policy, &["a T0", proxy]);
    let Decision::Report(report) = world.decide(&pod) else { panic!("no report") };
    let ended = report.ended.unwrap();
    assert_eq!((ended.method.name(), ended.delay), ("envoy-admin", Some(std::time::Duration::ZERO)));
    assert_eq!(world.decisions(&pod), ["report ProxyEnded istio-proxy", then]);
    assert_eq!(world.decisions(&pod), [then]);
}

#[test]
fn an_end_is_told_of_a_pod_that_has_finished_by_it() {
    let mut world = World::default();
    world.attempt(&hanging(), Sent);
    let mut pod = plain("Never", &["a T0", "istio-proxy T0"]);
    pod["status"]["phase"] = "Succeeded".into();
    assert_eq!(world.decisions(&pod), ["report ProxyEnded istio-proxy", "skip Finished"]);
}

#[rstest]
#[case::not_told(NotInImage)]
#[case::not_reached(Unreachable)]
#[case::not_allowed(Forbidden)]
fn an_end_that_is_not_ours_is_not_told(#[case] result: AttemptResult) {
    let mut world = World::default();
    world.attempt(&hanging(), result);
    assert_eq!(world.decisions(&plain("Never", &["a T0", "istio-proxy T0"])), ["skip Ended"]);
}

#[test]
fn pauses_double_up_to_a_minute_and_then_it_is_given_up() {
    let mut world = World::settings(|settings| settings.port_forward = false);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        assert_eq!(world.attempt(&hanging(), Refused), "end istio-proxy envoy-admin");
        assert_eq!(world.attempt(&hanging(), Refused), "end istio-proxy status-port");
        let before = world.now;
        while matches!(world.decide(&hanging()), Decision::Wait { .. }) {
            world.later(1);
        }
        pauses.push(world.now.duration_since(before).as_secs());
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    world.attempt(&hanging(), Refused);
    let Decision::Report(report) = world.decide(&hanging()) else { panic!("no report") };
    assert_eq!(report.code, ReportCode::ProxyEndFailed);
    assert_eq!(report.detail, "envoy-admin: refused: Refused");
    world.history.tell(&report);
    world.attempt(&hanging(), Refused);
    let since = world.now;
    let Decision::Wait { until: Some(until), why } = world.decide(&hanging()) else { panic!("not given up") };
    assert_eq!((why.code(), until.duration_since(since).as_secs()), ("GivenUp", 3600));
    world.later(3600);
    assert_eq!(world.attempt(&hanging(), Sent), "end istio-proxy envoy-admin");
}

#[test]
fn a_quarter_of_an_hour_is_long_enough_however_few_the_tries() {
    let mut world = World::default();
    world.attempt(&hanging(), Unreachable);
    world.later(15 * 60);
    assert_eq!(world.decisions(&hanging()), ["report ProxyEndFailed istio-proxy", "end istio-proxy status-port"]);
}

#[test]
fn an_unreachable_node_is_never_given_up() {
    let mut world = World::default();
    for _ in 0..30 {
        while !matches!(world.decide(&hanging()), Decision::End { .. }) {
            if let Decision::Report(report) = world.decide(&hanging()) {
                world.history.tell(&report);
            }
            world.later(1);
        }
        let begun = world.now;
        world.attempt(&hanging(), Unreachable);
        world.decisions(&hanging());
        let Decision::Wait { until: Some(until), .. } = world.decide(&hanging()) else { panic!("no wait") };
        assert!(until.duration_since(begun).as_secs() <= 60);
    }
}

#[test]
fn what_is_forbidden_is_tried_again_once_a_minute() {
    let mut world = World::settings(|settings| settings.port_forward = false);
    world.attempt(&hanging(), Forbidden);
    let Decision::Report(report) = world.decide(&hanging()) else { panic!("no report") };
    assert_eq!(report.detail, "needs create and get on pods/exec: Forbidden");
    assert_eq!(world.decisions(&hanging()), ["report Forbidden istio-proxy", "wait BackingOff until 70"]);
    world.later(60);
    assert_eq!(world.decisions(&hanging()), ["end istio-proxy envoy-admin"]);
}

#[test]
fn a_proxy_that_comes_back_gets_one_more_try_at_once_by_another_way_and_then_pauses() {
    let mut world = World::settings(|settings| settings.port_forward = false);
    let instance = |restarts| pod("OnFailure", [container("a T0"), container("istio-proxy").restarted(restarts)]);
    world.attempt(&instance(0), Sent);
    world.later(2);
    assert_eq!(world.decisions(&instance(1)), ["report ProxyRestarted istio-proxy", "end istio-proxy status-port"]);
    world.attempt(&instance(1), Sent);
    let mut ends = 0;
    for restarts in 2..200 {
        world.later(1);
        if matches!(world.decide(&instance(restarts)), Decision::End { .. }) {
            ends += 1;
            world.attempt(&instance(restarts), Sent);
        }
        world.decisions(&instance(restarts));
    }
    assert!((3..=8).contains(&ends), "{ends} ends in 200 s");
}

#[test]
fn one_action_at_a_time() {
    let mut world = World::default();
    world.history.begin(at(20));
    assert_eq!(world.decisions(&hanging()), ["wait InFlight until 20"]);
    world.now = at(20);
    assert_eq!(world.decisions(&hanging()), ["end istio-proxy envoy-admin"]);
}

#[test]
fn a_helper_comes_first_and_does_not_hold_up_the_proxy_for_ever() {
    let mut world = World::default();
    let pod = plain("Never", &["a T0", "daprd", "istio-proxy"]);
    let mut tries = 0;
    while world.decisions(&pod).last().is_some_and(|last| !last.starts_with("end istio-proxy")) {
        if matches!(world.decide(&pod), Decision::End { .. }) {
            world.attempt(&pod, Refused);
            tries += 1;
        }
        world.later(1);
    }
    assert_eq!(tries, 10);
    assert!(world.now < at(15 * 60), "at {}", world.now);
    world.attempt(&pod, Sent);
    assert_eq!(
        world.decisions(&plain("Never", &["a T0", "daprd", "istio-proxy T0"]))[0],
        "report ProxyEnded istio-proxy"
    );
    assert_eq!(
        world.decisions(&plain("Never", &["a T0", "daprd T0", "istio-proxy T0"]))[0],
        "report HelperEnded daprd"
    );
}

#[rstest]
#[case::waited_for(10, "wait HelperStarting until 30")]
#[case::no_longer(30, "end istio-proxy envoy-admin")]
fn a_helper_that_does_not_start(#[case] seconds: i64, #[case] expected: &str) {
    let mut world = World::at(seconds);
    assert_eq!(world.decisions(&plain("Never", &["a T0", "daprd W", "istio-proxy"])), [expected]);
}

#[test]
fn a_payload_that_runs_again_is_told_once_and_an_old_view_of_the_pod_is_no_such_thing() {
    let mut world = World::default();
    let payload =
        |text: &str, restarts| pod("OnFailure", [container(text).restarted(restarts), container("istio-proxy")]);
    world.attempt(&payload("a T0", 3), Sent);
    assert_eq!(world.decisions(&payload("a", 3)), ["wait PayloadRunning"]);
    assert_eq!(world.decisions(&payload("a", 4)), ["report PrematureEnd", "wait PayloadRunning"]);
    assert_eq!(world.decisions(&payload("a T1", 4)), ["wait PayloadRestarting"]);
}
