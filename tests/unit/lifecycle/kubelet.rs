//! A model of the kubelet: containers run, terminate, restart by their rules, and obey or ignore a quit request.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use trainmesh_core::lifecycle::{
    AgentConfig, AttemptResult, ContainerFacts, ContainerState, Method, PodAnnotations, PodFacts, PodPhase,
    RestartRule, RestartRules, RuleAction,
};
use trainmesh_core::pod::{ContainerKind, RestartPolicy};

use trainmesh_testing::rng::SeededRng;

/// A pod as its kubelet runs it.
pub struct Node {
    pub now: Timestamp,
    pub containers: Vec<Container>,
    /// When all containers start again, if a rule requested it.
    all_start: Option<Timestamp>,
    rng: SeededRng,
}

pub struct Container {
    pub name: &'static str,
    pub role: Role,
    pub policy: RestartPolicy,
    pub rules: Vec<Rule>,
    /// Duration in seconds and exit code of the next runs. After the last one, a main container exits after 5 seconds;
    /// any other runs until it receives a quit request.
    pub runs: Vec<(i64, i32)>,
    /// Reaction to each termination method.
    pub reactions: BTreeMap<Method, Reaction>,
    pub state: RunState,
    pub restarts: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Main,
    Proxy,
    Sidecar,
    /// A sidecar without a termination method.
    UnknownSidecar,
}

pub struct Rule {
    pub all: bool,
    pub unless: bool,
    pub codes: Vec<i32>,
}

/// Reaction of a container to a termination method.
#[derive(Clone, Copy, Debug)]
pub struct Reaction {
    pub result: AttemptResult,
    /// Seconds until the container terminates, and its exit code; absent if it keeps running.
    pub ends: Option<(i64, i32)>,
    /// Time from which the node is reachable.
    pub from: Timestamp,
}

#[derive(Clone, Copy)]
pub enum RunState {
    Starting { at: Timestamp, crash_loop: bool },
    Running { until: Option<(Timestamp, i32)> },
    Terminated { at: Timestamp, code: i32, restart_at: Option<Timestamp> },
}

impl Node {
    pub fn new(rng: SeededRng, now: Timestamp, containers: Vec<Container>) -> Self {
        Self { now, containers, all_start: None, rng }
    }

    /// Returns the time of the next transition.
    pub fn next(&self) -> Option<Timestamp> {
        let each = self.containers.iter().filter_map(|container| match container.state {
            RunState::Starting { at, .. } => Some(at),
            RunState::Running { until } => until.map(|(at, _)| at),
            RunState::Terminated { restart_at, .. } => restart_at,
        });
        each.chain(self.all_start).min()
    }

    /// Advances the model to `now`.
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
        match container.state {
            RunState::Starting { at, .. } if at <= now => container.start(now),
            RunState::Running { until: Some((at, code)) } if at <= now => self.end(index, code),
            RunState::Terminated { code: _, restart_at: Some(at), .. } if at <= now => {
                container.restarts += 1;
                let wait = random_below(&mut self.rng, 3) * 5;
                let crash_loop = wait > 0;
                container.state = RunState::Starting { at: after(now, wait), crash_loop };
            }
            _ => {}
        }
    }

    fn end(&mut self, index: usize, code: i32) {
        let (now, container) = (self.now, &mut self.containers[index]);
        let restart_at = container.restarts_after(code);
        let soon = after(now, 1 + random_below(&mut self.rng, 4));
        container.state = RunState::Terminated { at: now, code, restart_at: restart_at.then_some(soon) };
        if container.restarts_all(code) {
            container.state = RunState::Terminated { at: now, code, restart_at: None };
            self.all_start = Some(after(now, 2));
        }
    }

    /// Delivers a quit request to container `name`.
    pub fn quit(&mut self, name: &str, seconds: i64, code: i32) {
        let now = self.now;
        let container = self.containers.iter_mut().find(|container| container.name == name).unwrap();
        if let RunState::Running { until } = &mut container.state {
            let end = (after(now, seconds), code);
            *until = Some(until.map_or(end, |sooner| if sooner.0 <= end.0 { sooner } else { end }));
        }
    }

    /// Returns true if a main container runs or may run again. Decisions must infer this from the status alone.
    pub fn main_container_may_run(&self) -> bool {
        let main = |container: &&Container| container.role == Role::Main;
        let alive = |container: &Container| match container.state {
            RunState::Terminated { restart_at, .. } => restart_at.is_some(),
            _ => true,
        };
        self.all_start.is_some() || self.containers.iter().filter(main).any(alive)
    }

    /// Returns the facts as the apiserver would show them.
    pub fn facts(&self) -> PodFacts {
        let ended = |container: &Container| matches!(container.state, RunState::Terminated { restart_at: None, .. });
        let pending = self.containers.iter().all(|container| matches!(container.state, RunState::Starting { .. }));
        let unknown_sidecar = self.containers.iter().any(|container| container.role == Role::UnknownSidecar);
        let done = self.all_start.is_none() && self.containers.iter().all(ended);
        PodFacts {
            namespace: "team-a".into(),
            name: "train-0".into(),
            uid: "u-1".into(),
            created: None,
            node: Some("n1".into()),
            phase: if done {
                PodPhase::Succeeded
            } else if pending {
                PodPhase::Pending
            } else {
                PodPhase::Running
            },
            deleting: false,
            host_network: false,
            shared_processes: false,
            opted_out: false,
            has_webhook_mark: true,
            restarting: self.all_start.is_some_and(|at| at.duration_since(self.now).as_secs() < 1),
            ambient: false,
            annotations: PodAnnotations {
                helper_containers: unknown_sidecar.then(|| Ok("log".into())),
                ..PodAnnotations::default()
            },
            injected_containers: None,
            agent: AgentConfig::default(),
            too_many_containers: false,
            containers: self.containers.iter().map(Container::facts).collect(),
        }
    }
}

impl Container {
    fn start(&mut self, now: Timestamp) {
        let run = (!self.runs.is_empty()).then(|| self.runs.remove(0));
        let forever = self.role != Role::Main;
        let until = run.or((!forever).then_some((5, 0)));
        self.state = RunState::Running { until: until.map(|(seconds, code)| (after(now, seconds), code)) };
    }

    /// As KEP-5307 has it: the first rule that fits, else the policy.
    fn restarts_after(&self, code: i32) -> bool {
        if self.rules.iter().any(|rule| rule.matches(code)) {
            return true;
        }
        self.policy == RestartPolicy::Always || (self.policy == RestartPolicy::OnFailure && code != 0)
    }

    fn restarts_all(&self, code: i32) -> bool {
        self.rules.iter().find(|rule| rule.matches(code)).is_some_and(|rule| rule.all)
    }

    /// Returns true if `methods` terminate the container for good: at least one of them works, and none makes the
    /// kubelet restart it.
    pub fn obeys(&self, methods: &[Method]) -> bool {
        let mut ends = methods.iter().filter_map(|method| self.reactions[method].ends).peekable();
        ends.peek().is_some() && ends.all(|(_, code)| !self.restarts_after(code))
    }

    fn facts(&self) -> ContainerFacts {
        let state = match self.state {
            RunState::Starting { crash_loop, .. } => ContainerState::Waiting { crash_loop },
            RunState::Running { .. } => ContainerState::Running,
            RunState::Terminated { at, code, .. } => {
                ContainerState::Terminated { exit_code: code, finished: Some(whole_seconds(at)) }
            }
        };
        let rule = |rule: &Rule| RestartRule {
            action: if rule.all { RuleAction::RestartAllContainers } else { RuleAction::Restart },
            matches_listed: !rule.unless,
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
    fn matches(&self, code: i32) -> bool {
        if self.unless { !self.codes.contains(&code) } else { self.codes.contains(&code) }
    }
}

/// Returns a random number of seconds below `limit`.
pub fn random_below(rng: &mut SeededRng, limit: usize) -> i64 {
    i64::try_from(rng.below(limit)).unwrap()
}

pub fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time + SignedDuration::from_secs(seconds)
}

/// Truncates to whole seconds, as the kubelet writes timestamps.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap()
}
