//! Connections to peers that were closed.

use std::collections::HashSet;

use super::job_logs::{JobLogs, PodLog, names};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::names::join_names;

/// Reports ranks that lost the connection to a peer, with the pod of the peer if its address or name is known.
pub(super) fn check(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    check_proxies(logs, found);
    let has_peer = |rank: &PodLog<'_>| rank.log.lost_peers.iter().any(|(peer, _)| !is_proxy(peer));
    let affected: Vec<PodLog<'_>> = logs.ranks().filter(has_peer).collect();
    if affected.is_empty() {
        return;
    }
    let lost = affected.iter().flat_map(|rank| &rank.log.lost_peers).filter(|(peer, _)| !is_proxy(peer));
    let peers = lost.map(|(peer, _)| logs.pod_of(peer).unwrap_or_else(|| peer.to_string()));
    let message = format!("{} lost the connection to {}", names(&affected), join_names(distinct(peers)));
    let evidence = quotes(&affected, |peer| !is_proxy(peer));
    let finding = logs.diagnosis(DiagnosisCode::PeerLost, Recovery::PeerEnded, &message).with_evidence(evidence);
    found.push(finding);
}

/// Adds connections of Envoy to the finding about captured traffic, or reports them.
fn check_proxies(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let has_proxy = |rank: &PodLog<'_>| rank.log.lost_peers.iter().any(|(peer, _)| is_proxy(peer));
    let affected: Vec<PodLog<'_>> = logs.ranks().filter(has_proxy).collect();
    if affected.is_empty() {
        return;
    }
    let workload = logs.job.workload_name();
    let is_capture = |code| matches!(code, DiagnosisCode::TrafficCaptured | DiagnosisCode::PlaintextRejected);
    let evidence = quotes(&affected, is_proxy);
    if let Some(known) = found.iter_mut().find(|found| is_capture(found.code) && found.workload == workload) {
        evidence.for_each(|evidence| known.push_evidence(evidence));
        return;
    }
    let message = format!("connections of {} pass through Envoy, and were closed", names(&affected));
    let finding = logs.diagnosis(DiagnosisCode::TrafficCaptured, Recovery::TrafficStays, &message);
    found.push(finding.with_evidence(evidence));
}

/// Returns the lines about closed connections to the peers that `is_wanted` selects.
fn quotes<'a>(
    logs: &'a [PodLog<'_>],
    is_wanted: impl Fn(&str) -> bool + Copy + 'a,
) -> impl Iterator<Item = Evidence> + 'a {
    logs.iter().flat_map(move |rank| {
        let lost = rank.log.lost_peers.iter().filter(move |(peer, _)| is_wanted(peer));
        lost.map(|(_, quote)| rank.evidence(quote))
    })
}

/// Returns true for the addresses from which Istio's sidecar connects to the application of its own pod.
fn is_proxy(peer: &str) -> bool {
    matches!(peer, "127.0.0.6" | "::ffff:127.0.0.6" | "::6")
}

/// Returns the names in their order, each once.
pub(super) fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(name.clone())).collect()
}
