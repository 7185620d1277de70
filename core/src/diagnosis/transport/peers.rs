//! Connections to peers that were closed.

use super::job_logs::{JobLogs, PodLog, names};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};
use crate::names::join_names;

/// Reports ranks that lost the connection to a peer, with the pod of the peer if its address or name is known.
pub(super) fn check(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let affected: Vec<PodLog<'_>> = logs.ranks().filter(|rank| !rank.log.lost_peers.is_empty()).collect();
    if affected.is_empty() {
        return;
    }
    let mut peers: Vec<String> = Vec::new();
    for (peer, _) in affected.iter().flat_map(|rank| &rank.log.lost_peers) {
        let peer = pod_of(logs, peer).unwrap_or_else(|| peer.to_string());
        if !peers.contains(&peer) {
            peers.push(peer);
        }
    }
    let message = format!("{} lost the connection to {}", names(&affected), join_names(peers));
    let evidence = affected.iter().flat_map(|rank| rank.log.lost_peers.iter().map(|(_, quote)| rank.evidence(quote)));
    let finding = logs.diagnosis(DiagnosisCode::PeerLost, Recovery::PeerEnded, &message).with_evidence(evidence);
    found.push(finding);
}

/// Returns the short name of the pod with an address, or whose name is the first label of a host name.
fn pod_of(logs: &JobLogs<'_>, peer: &str) -> Option<String> {
    let host = peer.split('.').next().unwrap_or_default();
    let is_peer = |address: Option<&str>, name: &str| address == Some(peer) || name == host;
    let mut pods = logs.job.pods.iter();
    pods.find(|pod| is_peer(pod.transport.address.as_deref(), &pod.name)).map(|pod| pod.short_name())
}
