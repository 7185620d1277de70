//! A model of the kubelet: containers that run, end, are restarted by its rules, and obey a quit or do not.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use trainmesh_core::lifecycle::{
    Agent, AttemptResult, ContainerFacts, Declared, Method, Phase, PodFacts, RestartRule, RestartRules, RuleAction,
    State,
};
use trainmesh_core::pod::{ContainerKind, RestartPolicy};

use trainmesh_testing::dice::Dice;

/// A pod on its node.
pub struct Node {
    pub now: Timestamp,
    pub containers: Vec<Container>,
    /// When all containers start again.
    all_start: Option<Timestamp>,
    dice: Dice,
}

pub struct Container {
    pub name: &'static str,
    pub part: Part,
    pub policy: RestartPolicy,
    pub rules: Vec<Rule>,
    /// How long the next runs take, and how they end. After the last one it runs until it is told to end, or not at all.
    pub runs: Vec<(i64, i32)>,
    /// What comes of each way to end it.
    pub reactions: BTreeMap<Method, Reaction>,
    pub life: Life,
    pub restarts: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Payload,
    Proxy,
    Helper,
    /// A helper that nobody knows how to end.
    Bystander,
}

pub struct Rule {
    pub all: bool,
    pub unless: bool,
    pub codes: Vec<i32>,
}

/// What comes of a way to end a container.
#[derive(Clone, Copy, Debug)]
pub struct Reaction {
    pub result: AttemptResult,
    /// How many seconds later the container ends by it, and how.
    pub ends: Option<(i64, i32)>,
    /// From when on it is so; before, the node cannot be reached.
    pub from: Timestamp,
}

#[derive(Clone, Copy)]
pub enum Life {
    Starts { at: Timestamp, crash_loop: bool },
    Runs { until: Option<(Timestamp, i32)> },
    Ended { at: Timestamp, code: i32, again: Option<Timestamp> },
}

impl Node {
    pub fn new(dice: Dice, now: Timestamp, containers: Vec<Container>) -> Self {
        Self { now, containers, all_start: None, dice }
    }

    /// When the next thing happens by itself.
    pub fn next(&self) -> Option<Timestamp> {
        let each = self.containers.iter().filter_map(|container| match container.life {
            Life::Starts { at, .. } => Some(at),
            Life::Runs { until } => until.map(|(at, _)| at),
            Life::Ended { again, .. } => again,
        });
        each.chain(self.all_start).min()
    }

    /// Lets the time pass until `now`.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some(next) = self.next().filter(|next| *next <= now) {
            self.now = next;
            if self.all_start == Some(next) {
                self.all_start = None;
                for container in &mut self.containers {
                    container.start(next);
                    container.restarts += 1;
                }
            }
            for index in 0..self.containers.len() {
                self.step(index);
            }
        }
        self.now = now;
    }

    fn step(&mut self, index: usize) {
        let now = self.now;
        let container = &mut self.containers[index];
        match container.life {
            Life::Starts { at, .. } if at <= now => container.start(now),
            Life::Runs { until: Some((at, code)) } if at <= now => self.end(index, code),
            Life::Ended { code: _, again: Some(at), .. } if at <= now => {
                container.restarts += 1;
                let wait = below(&mut self.dice, 3) * 5;
                let crash_loop = wait > 0;
                container.life = Life::Starts { at: after(now, wait), crash_loop };
            }
            _ => {}
        }
    }

    fn end(&mut self, index: usize, code: i32) {
        let (now, container) = (self.now, &mut self.containers[index]);
        let again = container.restarts_after(code);
        let soon = after(now, 1 + below(&mut self.dice, 4));
        container.life = Life::Ended { at: now, code, again: again.then_some(soon) };
        if container.takes_all(code) {
            container.life = Life::Ended { at: now, code, again: None };
            self.all_start = Some(after(now, 2));
        }
    }

    /// A quit reaches container `name`.
    pub fn quit(&mut self, name: &str, seconds: i64, code: i32) {
        let now = self.now;
        let container = self.containers.iter_mut().find(|container| container.name == name).unwrap();
        if let Life::Runs { until } = &mut container.life {
            let end = (after(now, seconds), code);
            *until = Some(until.map_or(end, |sooner| if sooner.0 <= end.0 { sooner } else { end }));
        }
    }

    /// Whether a container of the payload runs or may run again: what the decision must find out without being told.
    pub fn payload_may_run(&self) -> bool {
        let payload = |container: &&Container| container.part == Part::Payload;
        let alive = |container: &Container| match container.life {
            Life::Ended { again, .. } => again.is_some(),
            _ => true,
        };
        self.all_start.is_some() || self.containers.iter().filter(payload).any(alive)
    }

    /// What the apiserver shows.
    pub fn facts(&self) -> PodFacts {
        let ended = |container: &Container| matches!(container.life, Life::Ended { again: None, .. });
        let unborn = self.containers.iter().all(|container| matches!(container.life, Life::Starts { .. }));
        let bystander = self.containers.iter().any(|container| container.part == Part::Bystander);
        let done = self.all_start.is_none() && self.containers.iter().all(ended);
        PodFacts {
            namespace: "team-a".into(),
            name: "train-0".into(),
            uid: "u-1".into(),
            created: None,
            node: Some("n1".into()),
            phase: if done {
                Phase::Succeeded
            } else if unborn {
                Phase::Pending
            } else {
                Phase::Running
            },
            deleting: false,
            host_network: false,
            shared_processes: false,
            opted_out: false,
            traced: true,
            restarting: self.all_start.is_some_and(|at| at.duration_since(self.now).as_secs() < 1),
            ambient: false,
            declared: Declared { helpers: bystander.then(|| Ok("log".into())), ..Declared::default() },
            injected: None,
            agent: Agent::default(),
            too_many_containers: false,
            containers: self.containers.iter().map(Container::facts).collect(),
        }
    }
}

impl Container {
    fn start(&mut self, now: Timestamp) {
        let run = (!self.runs.is_empty()).then(|| self.runs.remove(0));
        let forever = self.part != Part::Payload;
        let until = run.or((!forever).then_some((5, 0)));
        self.life = Life::Runs { until: until.map(|(seconds, code)| (after(now, seconds), code)) };
    }

    /// As KEP-5307 has it: the first rule that fits, else the policy.
    fn restarts_after(&self, code: i32) -> bool {
        if self.rules.iter().any(|rule| rule.fits(code)) {
            return true;
        }
        self.policy == RestartPolicy::Always || (self.policy == RestartPolicy::OnFailure && code != 0)
    }

    fn takes_all(&self, code: i32) -> bool {
        self.rules.iter().find(|rule| rule.fits(code)).is_some_and(|rule| rule.all)
    }

    /// Whether `methods` make it end for good: one of them at least, and none so that the kubelet starts it again.
    pub fn obeys(&self, methods: &[Method]) -> bool {
        let mut ends = methods.iter().filter_map(|method| self.reactions[method].ends).peekable();
        ends.peek().is_some() && ends.all(|(_, code)| !self.restarts_after(code))
    }

    fn facts(&self) -> ContainerFacts {
        let state = match self.life {
            Life::Starts { crash_loop, .. } => State::Waiting { crash_loop },
            Life::Runs { .. } => State::Running,
            Life::Ended { at, code, .. } => State::Terminated { exit_code: code, finished: Some(whole_seconds(at)) },
        };
        let rule = |rule: &Rule| RestartRule {
            action: if rule.all { RuleAction::RestartAllContainers } else { RuleAction::Restart },
            listed: !rule.unless,
            codes: rule.codes.clone().into(),
        };
        let rules: Vec<RestartRule> = self.rules.iter().map(rule).collect();
        ContainerFacts {
            name: self.name.into(),
            kind: ContainerKind::App,
            policy: self.policy,
            rules: RestartRules::new(&rules, state),
            state,
            id: Some(format!("{}-{}", self.name, self.restarts).into()),
            restarts: self.restarts,
        }
    }
}

impl Rule {
    fn fits(&self, code: i32) -> bool {
        if self.unless { !self.codes.contains(&code) } else { self.codes.contains(&code) }
    }
}

/// Less than `limit`, for seconds.
pub fn below(dice: &mut Dice, limit: usize) -> i64 {
    i64::try_from(dice.below(limit)).unwrap()
}

pub fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time + SignedDuration::from_secs(seconds)
}

/// The kubelet writes whole seconds.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap()
}
