//! Random pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use trainmesh_core::lifecycle::AttemptResult::{
    ContainerGone, Failed, Forbidden, NotInImage, Refused, Sent, TimedOut, Unreachable,
};
use trainmesh_core::lifecycle::{AttemptResult, Method};
use trainmesh_core::pod::RestartPolicy;

use super::kubelet::{Container, Life, Node, Part, Reaction, Rule, after, below};
use trainmesh_testing::dice::Dice;

const CODES: [i32; 5] = [0, 1, 42, 137, 143];
const PAYLOAD: [&str; 3] = ["a", "b", "c"];

/// A pod of one to three payload containers, perhaps helpers, and perhaps a proxy.
pub fn node(seed: u64, now: Timestamp) -> Node {
    let mut dice = Dice::new(seed);
    let pod_policy = *dice.pick(&[RestartPolicy::Never, RestartPolicy::OnFailure]);
    let count = 1 + dice.below(PAYLOAD.len());
    let mut containers: Vec<Container> =
        PAYLOAD[..count].iter().map(|name| payload(&mut dice, name, pod_policy, now)).collect();
    let others = [("log", Part::Bystander), ("daprd", Part::Helper), ("cloud-sql-proxy", Part::Helper)];
    for (name, part) in others {
        if dice.once_in(4) {
            containers.push(servant(&mut dice, name, part, pod_policy, now));
        }
    }
    if !dice.once_in(8) {
        let proxy = servant(&mut dice, "istio-proxy", Part::Proxy, pod_policy, now);
        let place = dice.below(containers.len() + 1);
        containers.insert(place, proxy);
    }
    Node::new(dice, now, containers)
}

fn payload(dice: &mut Dice, name: &'static str, pod_policy: RestartPolicy, now: Timestamp) -> Container {
    let own = if dice.once_in(3) { Some(*dice.pick(&[RestartPolicy::Never, RestartPolicy::OnFailure])) } else { None };
    let rule = |dice: &mut Dice| Rule {
        all: dice.once_in(3),
        unless: dice.once_in(3),
        codes: vec![*dice.pick(&CODES), *dice.pick(&CODES)],
    };
    let rules = (0..dice.below(3)).map(|_| rule(dice)).collect();
    let runs = (0..dice.below(5)).map(|_| (below(dice, 40), *dice.pick(&CODES))).collect();
    let mut container = container(name, Part::Payload, own.unwrap_or(pod_policy), runs, birth(dice, now));
    container.rules = rules;
    // A rule that holds for every way to end would make it run for ever.
    container.rules.retain(|rule| if rule.unless { rule.codes.contains(&0) } else { !rule.codes.contains(&0) });
    container
}

/// A proxy or helper: it may die by itself, and it may refuse.
fn servant(dice: &mut Dice, name: &'static str, part: Part, policy: RestartPolicy, now: Timestamp) -> Container {
    let runs = if dice.once_in(5) { vec![(below(dice, 60), *dice.pick(&CODES))] } else { Vec::new() };
    let mut container = container(name, part, policy, runs, birth(dice, now));
    let node_back = after(now, if dice.once_in(6) { below(dice, 3_000) } else { 0 });
    container.reactions = Method::ALL.into_iter().map(|method| (method, reaction(dice, node_back))).collect();
    // A right is missing for all commands alike.
    let forbidden = container.reactions[&Method::EnvoyAdmin];
    if forbidden.result == Forbidden {
        container.reactions.insert(Method::StatusPort, forbidden);
    } else if container.reactions[&Method::StatusPort].result == Forbidden {
        container.reactions.insert(Method::StatusPort, Reaction { result: NotInImage, ends: None, from: node_back });
    }
    container
}

fn reaction(dice: &mut Dice, from: Timestamp) -> Reaction {
    const WITHOUT_EFFECT: [AttemptResult; 8] =
        [Sent, NotInImage, Refused, ContainerGone, Unreachable, Forbidden, TimedOut, Failed];
    const WITH_EFFECT: [AttemptResult; 4] = [Sent, Sent, Refused, TimedOut];
    if dice.once_in(2) {
        return Reaction { result: *dice.pick(&WITHOUT_EFFECT), ends: None, from };
    }
    let code = if dice.once_in(6) { 137 } else { 0 };
    Reaction { result: *dice.pick(&WITH_EFFECT), ends: Some((below(dice, 9), code)), from }
}

fn container(name: &'static str, part: Part, policy: RestartPolicy, runs: Vec<(i64, i32)>, life: Life) -> Container {
    Container { name, part, policy, rules: Vec::new(), runs, reactions: BTreeMap::new(), life, restarts: 0 }
}

fn birth(dice: &mut Dice, now: Timestamp) -> Life {
    Life::Starts { at: after(now, below(dice, 20)), crash_loop: false }
}
