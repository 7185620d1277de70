//! The pods through which RAS is reached.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::super::context::Context;
use super::super::job::Job;
use super::super::snapshot::pod::PodRecord;
use super::super::snapshot::ras::{RasRecord, RasReport, RasResult};
use crate::diagnosis::{ClusterSnapshot, Selection, WorkloadName};

/// Maximum number of jobs: each needs a connection to a kubelet.
const MAX_JOBS: usize = 32;
/// Connections until another process on the network of the node may have answered each time.
const HOST_ATTEMPTS: usize = 16;
/// Connections to a job on the network of its pods: the first report may be cut.
const ATTEMPTS: usize = 2;

/// A pod through which the RAS of a job is reached.
#[derive(Clone, Debug)]
pub struct RasTarget {
    /// Job.
    pub workload: WorkloadName,
    /// Pod.
    pub pod: String,
    /// Port on its loopback interface.
    pub port: u16,
    /// True if other jobs may listen on the same port.
    uses_host_network: bool,
    address: Option<Box<str>>,
    /// Addresses of all pods of the job.
    addresses: BTreeSet<Box<str>>,
    /// Processes in the logs of the pods, by address.
    processes: BTreeMap<Box<str>, BTreeSet<u32>>,
}

/// Returns one pod for each selected job: the first rank that runs.
#[must_use]
pub fn ras_targets(snapshot: &ClusterSnapshot, selection: &Selection, now: Timestamp) -> Vec<RasTarget> {
    let context = Context::new(snapshot, now);
    let jobs = context.jobs.iter().filter(|job| selection.selects(job) && job.is_collective());
    let targets = jobs.filter_map(|job| {
        let runs = |pod: &&PodRecord| pod.is_rank() && pod.is_running() && pod.deleted.is_none();
        job.active().find(runs).map(|pod| RasTarget::new(job, pod, &context))
    });
    targets.take(MAX_JOBS).collect()
}

impl RasTarget {
    fn new(job: &Job<'_>, pod: &PodRecord, context: &Context<'_>) -> Self {
        let mut processes: BTreeMap<Box<str>, BTreeSet<u32>> = BTreeMap::new();
        for pod in job.active() {
            let Some(address) = &pod.transport.address else { continue };
            let known = context.logs(pod).flat_map(|log| log.processes.iter().copied());
            processes.entry(address.clone()).or_default().extend(known);
        }
        Self {
            workload: job.workload_name(),
            pod: pod.name.to_string(),
            port: pod.transport.ras_port,
            uses_host_network: pod.transport.uses_host_network,
            address: pod.transport.address.clone(),
            addresses: job.active().filter_map(|pod| pod.transport.address.clone()).collect(),
            processes,
        }
    }

    /// Returns what RAS reported about the job, to be added to the snapshot.
    #[must_use]
    pub fn record(&self, result: RasResult) -> RasRecord {
        RasRecord { workload: self.workload.clone(), pod: self.pod.clone(), result }
    }

    /// Returns the number of connections to try until a report matches.
    #[must_use]
    pub fn attempts(&self) -> usize {
        if self.uses_host_network { HOST_ATTEMPTS } else { ATTEMPTS }
    }

    /// Returns true if the report is about the job. In the network of a pod, only its processes listen. In that of a node,
    /// all processes must be on nodes of the job, and the report must contain those that the pod's log names.
    #[must_use]
    pub fn matches(&self, report: &RasReport) -> bool {
        if !self.uses_host_network {
            return true;
        }
        let Some(address) = &self.address else { return false };
        let expected = self.processes.get(address).filter(|processes| !processes.is_empty());
        let members: BTreeSet<(&str, i64)> = report.members().collect();
        let is_complete = expected.is_some_and(|expected| {
            expected.iter().all(|process| members.contains(&(&**address, i64::from(*process))))
        });
        is_complete && members.iter().all(|(host, _)| self.addresses.contains(*host))
    }
}
