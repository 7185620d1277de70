//! When the controller terminates proxies and sidecars: decision tables, and random pod lifecycles against a model of
//! the kubelet.

mod attempts;
mod bounds;
mod facts;
mod generator;
mod istio;
mod kubelet;
mod main_containers;
mod pod;
mod random;
mod roles;
mod skips;

use jiff::Timestamp;
use serde_json::Value;
use trainmesh_core::config::{Configuration, Termination};
use trainmesh_core::lifecycle::{Decision, DecisionInput, History, PodFacts, SidecarCatalog, decide};
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::{Exclusion, Mode};

/// Inputs of a decision other than the pod.
struct Scenario {
    mode: Result<Mode, Exclusion>,
    settings: Termination,
    history: History,
    now: Timestamp,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            mode: Ok(Mode::Enabled),
            // All methods are enabled.
            settings: Termination { port_forward: true, ..Configuration::embedded().termination },
            history: History::default(),
            now: pod::now(),
        }
    }
}

impl Scenario {
    fn mode(mode: Result<Mode, Exclusion>) -> Self {
        Self { mode, ..Self::default() }
    }

    fn settings(change: impl FnOnce(&mut Termination)) -> Self {
        let mut scenario = Self::default();
        change(&mut scenario.settings);
        scenario
    }

    fn at(seconds: i64) -> Self {
        Self { now: pod::at(seconds), ..Self::default() }
    }

    fn decide(&self, pod: &Value) -> Decision {
        let facts = PodFacts::read(Pod::new(pod));
        let catalog = SidecarCatalog::new(&self.settings);
        let Self { mode, settings, history, now } = self;
        decide(&DecisionInput { facts: &facts, mode: *mode, settings, catalog: &catalog, history, now: *now })
    }

    /// Decides until an action, a wait or a skip, recording each finding, and returns all decisions.
    fn decisions(&mut self, pod: &Value) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let decision = self.decide(pod);
            all.push(summary(&decision));
            match decision {
                Decision::Publish(finding) => self.history.record_finding(&finding),
                _ => return all,
            }
        }
    }
}

/// Returns a decision in short form.
fn summary(decision: &Decision) -> String {
    match decision {
        Decision::Wait { until: None, reason } => format!("wait {}", reason.code()),
        Decision::Wait { until: Some(until), reason } => {
            let seconds = until.duration_since(pod::at(0)).as_secs();
            format!("wait {} until {seconds}", reason.code())
        }
        Decision::Skip(skip) => format!("skip {}", skip.code()),
        Decision::Terminate { attempt, target } => format!("end {} {}", target.container, attempt.method.name()),
        Decision::Publish(finding) => match &finding.container {
            Some(container) => format!("publish {} {container}", finding.code.code()),
            None => format!("publish {}", finding.code.code()),
        },
    }
}

/// Compares all decisions about `pod` with `expected`.
fn check(mut scenario: Scenario, pod: &Value, expected: &[&str]) {
    assert_eq!(scenario.decisions(pod), expected, "pod: {pod:#}");
}
