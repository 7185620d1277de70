//! Random pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use trainmesh_core::lifecycle::AttemptResult::{
    ContainerGone, Failed, Forbidden, NotInImage, Refused, Sent, TimedOut, Unreachable,
};
use trainmesh_core::lifecycle::{AttemptResult, Method};
use trainmesh_core::pod::RestartPolicy;

use super::kubelet::{Container, Node, Reaction, Role, Rule, RunState, after, random_below};
use trainmesh_testing::rng::SeededRng;

const CODES: [i32; 5] = [0, 1, 42, 137, 143];
const MAIN_CONTAINERS: [&str; 3] = ["a", "b", "c"];

/// Generates a pod with one to three main containers and, at random, sidecars and a proxy.
pub fn node(seed: u64, now: Timestamp) -> Node {
    let mut rng = SeededRng::new(seed);
    let pod_policy = *rng.pick(&[RestartPolicy::Never, RestartPolicy::OnFailure]);
    let count = 1 + rng.below(MAIN_CONTAINERS.len());
    let mut containers: Vec<Container> =
        MAIN_CONTAINERS[..count].iter().map(|name| main_container(&mut rng, name, pod_policy, now)).collect();
    let others = [("log", Role::UnknownSidecar), ("daprd", Role::Sidecar), ("cloud-sql-proxy", Role::Sidecar)];
    for (name, role) in others {
        if rng.one_in(4) {
            containers.push(auxiliary(&mut rng, name, role, pod_policy, now));
        }
    }
    if !rng.one_in(8) {
        let proxy = auxiliary(&mut rng, "istio-proxy", Role::Proxy, pod_policy, now);
        let position = rng.below(containers.len() + 1);
        containers.insert(position, proxy);
    }
    Node::new(rng, now, containers)
}

fn main_container(rng: &mut SeededRng, name: &'static str, pod_policy: RestartPolicy, now: Timestamp) -> Container {
    let own = if rng.one_in(3) { Some(*rng.pick(&[RestartPolicy::Never, RestartPolicy::OnFailure])) } else { None };
    let rule = |rng: &mut SeededRng| Rule {
        all: rng.one_in(3),
        unless: rng.one_in(3),
        codes: vec![*rng.pick(&CODES), *rng.pick(&CODES)],
    };
    let rules = (0..rng.below(3)).map(|_| rule(rng)).collect();
    let runs = (0..rng.below(5)).map(|_| (random_below(rng, 40), *rng.pick(&CODES))).collect();
    let mut container = container(name, Role::Main, own.unwrap_or(pod_policy), runs, start(rng, now));
    container.rules = rules;
    // A rule that matches every exit code would make the container run forever.
    container.rules.retain(|rule| if rule.unless { rule.codes.contains(&0) } else { !rule.codes.contains(&0) });
    container
}

/// Generates a proxy or sidecar; it may terminate on its own, and it may resist termination.
fn auxiliary(rng: &mut SeededRng, name: &'static str, role: Role, policy: RestartPolicy, now: Timestamp) -> Container {
    let runs = if rng.one_in(5) { vec![(random_below(rng, 60), *rng.pick(&CODES))] } else { Vec::new() };
    let mut container = container(name, role, policy, runs, start(rng, now));
    let reachable_from = after(now, if rng.one_in(6) { random_below(rng, 3_000) } else { 0 });
    container.reactions = Method::ALL.into_iter().map(|method| (method, reaction(rng, reachable_from))).collect();
    // RBAC forbids all commands or none.
    let forbidden = container.reactions[&Method::EnvoyAdmin];
    if forbidden.result == Forbidden {
        container.reactions.insert(Method::StatusPort, forbidden);
    } else if container.reactions[&Method::StatusPort].result == Forbidden {
        container
            .reactions
            .insert(Method::StatusPort, Reaction { result: NotInImage, ends: None, from: reachable_from });
    }
    container
}

fn reaction(rng: &mut SeededRng, from: Timestamp) -> Reaction {
    const WITHOUT_EFFECT: [AttemptResult; 8] =
        [Sent, NotInImage, Refused, ContainerGone, Unreachable, Forbidden, TimedOut, Failed];
    const WITH_EFFECT: [AttemptResult; 4] = [Sent, Sent, Refused, TimedOut];
    if rng.one_in(2) {
        return Reaction { result: *rng.pick(&WITHOUT_EFFECT), ends: None, from };
    }
    let code = if rng.one_in(6) { 137 } else { 0 };
    Reaction { result: *rng.pick(&WITH_EFFECT), ends: Some((random_below(rng, 9), code)), from }
}

fn container(
    name: &'static str,
    role: Role,
    policy: RestartPolicy,
    runs: Vec<(i64, i32)>,
    state: RunState,
) -> Container {
    Container { name, role, policy, rules: Vec::new(), runs, reactions: BTreeMap::new(), state, restarts: 0 }
}

fn start(rng: &mut SeededRng, now: Timestamp) -> RunState {
    RunState::Starting { at: after(now, random_below(rng, 20)), crash_loop: false }
}
