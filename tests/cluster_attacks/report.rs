//! Report of an attack: a table, and checks that apply to every attack.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::neighbor::NeighborReport;
use crate::observer::ReplicaReport;
use trainmesh_testing::release::PROGRAM;

/// Limit on resident memory of a replica of the shipped binary under any attack, in MiB. Other builds, with another
/// allocator, must only stay within their container's limit, beyond which the kernel kills them.
const LIMITS: [(&str, u64); 2] = [("webhook", 96), ("controller", 192)];

/// Results of an attack.
#[derive(Debug)]
pub struct Report {
    pub attack: String,
    pub neighbor: NeighborReport,
    pub replicas: BTreeMap<String, ReplicaReport>,
}

impl Report {
    /// Prints the table, and panics if the attack had any effect.
    #[allow(clippy::print_stdout, reason = "results for docs/performance.md, with --nocapture")]
    pub fn check(&self) {
        println!("{self}");
        let problems = self.problems();
        assert!(problems.is_empty(), "{}:\n{}", self.attack, problems.join("\n"));
    }

    fn problems(&self) -> Vec<String> {
        let Self { attack: _, neighbor, replicas } = self;
        let mut problems = Vec::new();
        let is_observed =
            |component: &str| replicas.values().any(|replica| replica.component == component && replica.peak > 0);
        let unobserved = LIMITS.iter().filter(|(component, _)| !is_observed(component));
        problems.extend(unobserved.map(|(component, _)| format!("no {component} was observed")));
        for (what, found) in [("not created", &neighbor.failed), ("missed", &neighbor.missed)] {
            if let [first, ..] = &found[..] {
                problems.push(format!("{} pods {what}, the first: {first}", found.len()));
            }
        }
        problems.extend(neighbor.incomplete.iter().map(|state| format!("a job does not complete: {state}")));
        for (name, ReplicaReport { component, peak, restarts, last_termination, probes, failed_probes }) in replicas {
            let (_, limit) = LIMITS.iter().find(|(of, _)| of == component).expect("each component has a limit");
            if is_shipped() && *peak > limit * 1024 {
                problems.push(format!("{name} had {} MiB resident, more than {limit}", peak / 1024));
            }
            if *restarts > 0 {
                problems.push(format!("{name} restarted {restarts} times: {last_termination}"));
            }
            if let [first, ..] = &failed_probes[..] {
                problems.push(format!("{name}: {} of {probes} probes failed, the first: {first}", failed_probes.len()));
            }
        }
        problems
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attack, neighbor, replicas } = self;
        let NeighborReport { took, failed, missed, delays, incomplete } = neighbor;
        writeln!(f, "{attack}")?;
        writeln!(
            f,
            "  pods: {} created, {} not created, {} missed; creation p50 {:?}, p99 {:?}",
            took.len(),
            failed.len(),
            missed.len(),
            percentile(took, 50),
            percentile(took, 99)
        )?;
        let longest = delays.iter().max().map(ToString::to_string).unwrap_or_default();
        let (completed, incomplete) = (delays.len(), incomplete.iter().len());
        writeln!(
            f,
            "  jobs: {completed} completed, {incomplete} incomplete; proxy terminated after {longest} at most"
        )?;
        for (name, ReplicaReport { component: _, peak, restarts, last_termination, probes, failed_probes }) in replicas
        {
            writeln!(
                f,
                "  {name}: {:.1} MiB at most, {restarts} restarts {last_termination}, {} of {probes} probes failed",
                f64::from(u32::try_from(*peak).unwrap_or(u32::MAX)) / 1024.0,
                failed_probes.len()
            )?;
        }
        Ok(())
    }
}

/// Returns true if the binary was built with the release profile that is shipped.
fn is_shipped() -> bool {
    env::var_os(PROGRAM).is_some_and(|program| Path::new(&program).ends_with("dist/trainmesh"))
}

fn percentile(took: &[Duration], percent: usize) -> Duration {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}
