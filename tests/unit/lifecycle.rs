//! When proxies and helpers are ended: every decision as a table, and random lives of pods under a model of the kubelet.

mod attempts;
mod bounds;
mod chance;
mod facts;
mod kubelet;
mod payload;
mod pod;
mod random;
mod roles;
mod skips;

use jiff::Timestamp;
use serde_json::Value;
use trainmesh_core::config::{Configuration, Termination};
use trainmesh_core::lifecycle::{Catalogue, Decision, History, PodFacts, Situation, decide};
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::{Exclusion, Mode};

/// What a decision depends on besides the pod.
struct World {
    mode: Result<Mode, Exclusion>,
    settings: Termination,
    history: History,
    now: Timestamp,
}

impl Default for World {
    fn default() -> Self {
        Self {
            mode: Ok(Mode::Enabled),
            // With every method.
            settings: Termination { port_forward: true, ..Configuration::embedded().termination },
            history: History::default(),
            now: pod::now(),
        }
    }
}

impl World {
    fn mode(mode: Result<Mode, Exclusion>) -> Self {
        Self { mode, ..Self::default() }
    }

    fn settings(change: impl FnOnce(&mut Termination)) -> Self {
        let mut world = Self::default();
        change(&mut world.settings);
        world
    }

    fn at(seconds: i64) -> Self {
        Self { now: pod::at(seconds), ..Self::default() }
    }

    fn decide(&self, pod: &Value) -> Decision {
        let facts = PodFacts::read(Pod::new(pod));
        let catalogue = Catalogue::new(&self.settings);
        let Self { mode, settings, history, now } = self;
        decide(&Situation { facts: &facts, mode: *mode, settings, catalogue: &catalogue, history, now: *now })
    }

    /// All that is decided at once: every report, told and noted, and then what is done.
    fn decisions(&mut self, pod: &Value) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let decision = self.decide(pod);
            all.push(shown(&decision));
            match decision {
                Decision::Report(report) => self.history.tell(&report),
                _ => return all,
            }
        }
    }
}

/// A decision in short.
fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Wait { until: None, why } => format!("wait {}", why.code()),
        Decision::Wait { until: Some(until), why } => {
            let seconds = until.duration_since(pod::at(0)).as_secs();
            format!("wait {} until {seconds}", why.code())
        }
        Decision::Skip(skip) => format!("skip {}", skip.code()),
        Decision::End { step, target } => format!("end {} {}", target.container, step.method.name()),
        Decision::Report(report) => match &report.container {
            Some(container) => format!("report {} {container}", report.code.code()),
            None => format!("report {}", report.code.code()),
        },
    }
}

/// Decides about `pod` in `world` until something is done, and compares.
fn check(mut world: World, pod: &Value, expected: &[&str]) {
    assert_eq!(world.decisions(pod), expected, "of {pod:#}");
}
