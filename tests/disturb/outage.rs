//! The controller while the apiserver or the kubelet is away: what ended meanwhile is ended afterwards.

use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Cluster, Namespace, PATIENCE, Stopped, eventually};
use crate::controller::{Group, PROXY, SERVED, Seen, State, asked, see, watch};

/// Longer than a lease lasts without its holder.
const LONG: SignedDuration = SignedDuration::from_secs(20);
/// Time enough for thirty tries, were there no back-off.
const AWAY: SignedDuration = SignedDuration::from_secs(30);

/// Waits for a moment that nothing tells of.
fn until(moment: Timestamp) {
    eventually(PATIENCE, "time passes", || if Timestamp::now() >= moment { Ok(()) } else { Err("not yet") });
}

/// A pod whose payload ends while the apiserver is away.
fn ends_unseen(group: &Group, namespace: &Namespace) -> Stopped {
    let _ = namespace.create(&group.pod("train").runs("train", "sleep 3")).success();
    watch(namespace, "train", "the payload runs", |seen| seen.state("train") == State::Running);
    let away = Cluster::get().stop("apiserver");
    until(Timestamp::now() + SignedDuration::from_secs(3));
    away
}

fn over(namespace: &Namespace) {
    assert_eq!(watch(namespace, "train", "over", Seen::over).phase(), "Succeeded");
}

#[test]
fn a_restart_of_the_apiserver_costs_no_end() {
    let group = Group::new();
    let mut controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    drop(ends_unseen(&group, &namespace));
    let seen = eventually(PATIENCE, "the pod is over", || {
        // Where the restart took so long that the lease was lost, a kubelet would start the controller again.
        if controller.has_ended() {
            controller = group.start();
        }
        let seen = see(&namespace, "train");
        if seen.over() { Ok(seen) } else { Err(seen) }
    });
    assert_eq!(seen.phase(), "Succeeded");
}

#[test]
fn a_leader_that_cannot_renew_its_lease_ends_and_the_next_one_goes_on() {
    let group = Group::new();
    let mut controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    let away = ends_unseen(&group, &namespace);
    until(Timestamp::now() + LONG);
    assert!(!controller.ended().success());
    drop(away);
    let _next = group.start();
    over(&namespace);
}

#[test]
fn a_kubelet_that_is_away_is_asked_seldom_and_again_when_it_is_back() {
    let group = Group::new();
    let controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    // Time enough to stop the kubelet after it has told of the payload's end.
    let pod = group.pod("train").annotation("trainmesh.dev/settle", "10s").runs("train", "true");
    let _ = namespace.create(&pod).success();
    watch(&namespace, "train", "the payload has ended, the proxy is ready", |seen| {
        seen.ended("train").is_some() && seen.ready(PROXY)
    });
    let away = Cluster::get().stop("kubelet");
    assert_eq!(asked(&namespace, "train"), []);
    until(Timestamp::now() + AWAY);
    let asked = asked(&namespace, "train");
    assert!((1..=8).contains(&asked.len()), "{asked:?}");
    drop(away);
    over(&namespace);
    assert_eq!(controller.metric("trainmesh_premature_end_total"), Some(0));
}
