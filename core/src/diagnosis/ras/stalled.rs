//! Ranks that are behind, missing or have failed in both reports.

use std::collections::BTreeMap;

use super::super::job::Job;
use super::{evidence, process_name};
use crate::diagnosis::snapshot::ras::{Communicator, RankState, RasRecord, RasReport};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};
use crate::names::join_names;

/// Adds findings about two reports, the older one first.
pub(super) fn check(job: &Job<'_>, record: &RasRecord, polls: &[RasReport; 2], found: &mut Vec<Diagnosis>) {
    let [before, after] = polls;
    let both =
        || after.communicators.iter().filter_map(|communicator| Some((before.find(communicator)?, communicator)));
    let mut missing = BTreeMap::new();
    let mut failed = BTreeMap::new();
    let mut behind = BTreeMap::new();
    for (old, new) in both() {
        for rank in &new.missing_ranks {
            let was_missing = old.missing_ranks.iter().any(|other| other.rank == rank.rank);
            // A rank that does not respond, but is reachable, may have left the communicator.
            if was_missing && (rank.status.unresponsive || rank.status.considered_dead) {
                let state = if rank.status.considered_dead { "considered dead" } else { "does not respond" };
                missing.insert(process_name(job, &rank.host, rank.pid), describe(new, rank.rank, state));
            }
        }
        for rank in &new.ranks {
            if let Some(code) = rank.status.error() {
                let state = format!("error {code} of NCCL");
                failed.insert(process_name(job, &rank.host, rank.pid), describe(new, rank.rank, &state));
            }
        }
        if let Some(late) = stalled(old, new) {
            for (rank, state) in late {
                behind.insert(process_name(job, &rank.host, rank.pid), describe(new, rank.rank, &state));
            }
        }
    }
    let mut add = |code, recovery, what: &str, processes: BTreeMap<String, String>| {
        if !processes.is_empty() {
            let message = format!("{what}: {}", join_names(processes.keys().cloned()));
            let evidence = processes.iter().map(|(process, state)| evidence(record, format!("RAS: {process}"), state));
            found.push(Diagnosis::new(code, job.workload_name(), recovery, &message).with_evidence(evidence));
        }
    };
    add(DiagnosisCode::RankUnresponsive, Recovery::RankLost, "ranks do not respond", missing);
    add(DiagnosisCode::CommunicatorFailed, Recovery::CommunicatorEnded, "ranks report an error", failed);
    add(DiagnosisCode::RankBehind, Recovery::RankWaits, "ranks are behind the others, and none advances", behind);
    check_text(job, record, polls, found);
}

/// Compares the lines of versions without JSON.
fn check_text(job: &Job<'_>, record: &RasRecord, [before, after]: &[RasReport; 2], found: &mut Vec<Diagnosis>) {
    let is_dead = |line: &&String| line.contains("considered dead") || line.contains("Missing communicator data");
    let counts = |report: &RasReport| -> Vec<String> {
        report.problems.iter().filter(|line| line.contains("launched")).cloned().collect()
    };
    let dead: Vec<&String> =
        after.problems.iter().filter(is_dead).filter(|line| before.problems.contains(line)).collect();
    let name = job.workload_name();
    if !dead.is_empty() {
        let lines = after.problems.iter().filter(|line| before.problems.contains(line) && line.contains("rocess "));
        let quotes = dead.into_iter().chain(lines).map(|line| evidence(record, "RAS", line.trim()));
        let message = "processes of the job do not respond";
        let finding = Diagnosis::new(DiagnosisCode::RankUnresponsive, name.clone(), Recovery::RankLost, message);
        found.push(finding.with_evidence(quotes.collect::<Vec<_>>()));
    }
    let stalled = counts(after);
    if !stalled.is_empty() && stalled == counts(before) {
        let quotes = stalled.iter().map(|line| evidence(record, "RAS", line.trim()));
        let message = "ranks are behind the others, and none advances";
        let finding = Diagnosis::new(DiagnosisCode::RankBehind, name, Recovery::RankWaits, message);
        found.push(finding.with_evidence(quotes.collect::<Vec<_>>()));
    }
}

/// Returns the ranks that are behind others in a kind of operation, if no rank has launched one between the reports.
fn stalled<'a>(old: &Communicator, new: &'a Communicator) -> Option<Vec<(&'a RankState, String)>> {
    let before: BTreeMap<i64, &RankState> = old.ranks.iter().map(|rank| (rank.rank, rank)).collect();
    let is_unchanged = |rank: &RankState| before.get(&rank.rank).is_some_and(|before| before.counts == rank.counts);
    if new.ranks.is_empty() || !new.ranks.iter().all(is_unchanged) {
        return None;
    }
    let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
    for (operation, count) in new.ranks.iter().flat_map(|rank| &rank.counts) {
        let known = newest.entry(operation).or_default();
        *known = (*known).max(*count);
    }
    let late = new.ranks.iter().filter_map(|rank| {
        let (operation, newest) = newest
            .iter()
            .find(|(operation, newest)| rank.counts.get(**operation).copied().unwrap_or_default() < **newest)?;
        let count = rank.counts.get(*operation).copied().unwrap_or_default();
        Some((rank, format!("has launched {count} of {newest} {operation}")))
    });
    let late: Vec<_> = late.collect();
    (!late.is_empty()).then_some(late)
}

/// Returns the state of a rank, with its communicator.
fn describe(communicator: &Communicator, rank: i64, state: &str) -> String {
    format!("rank {rank} of {} in communicator {}: {state}", communicator.size, communicator.hash)
}
