//! The logs of a job's pods.

use std::collections::HashMap;

use super::super::context::Context;
use super::super::job::Job;
use super::super::snapshot::log::{ContainerLog, Quote};
use super::super::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::names::join_names;

/// The logs of a job's pods, in the order of the pods.
pub(super) struct JobLogs<'a> {
    pub(super) job: &'a Job<'a>,
    logs: Vec<PodLog<'a>>,
    /// Pods by their addresses and names.
    peers: HashMap<&'a str, &'a PodRecord>,
}

/// A log of a main container.
#[derive(Clone, Copy)]
pub(super) struct PodLog<'a> {
    pub(super) pod: &'a PodRecord,
    pub(super) log: &'a ContainerLog,
}

impl<'a> JobLogs<'a> {
    pub(super) fn new(job: &'a Job<'a>, context: &'a Context<'_>) -> Self {
        let pods = job.not_replaced(|_| true).into_iter();
        let logs = pods.flat_map(|pod| {
            let is_main = |log: &&ContainerLog| {
                let container = log.name.container.as_deref();
                container.is_none_or(|name| pod.main().any(|main| *main.name == *name))
            };
            context.logs(pod).filter(is_main).map(move |log| PodLog { pod, log })
        });
        let logs: Vec<PodLog<'a>> = logs.collect();
        let mut peers = HashMap::new();
        for pod in job.pods.iter().copied().filter(|_| !logs.is_empty()) {
            for name in pod.transport.address.as_deref().into_iter().chain([&*pod.name]) {
                peers.entry(name).or_insert(pod);
            }
        }
        Self { job, logs, peers }
    }

    /// Returns the short name of the pod with an address, or whose name is the first label of a host name.
    pub(super) fn pod_of(&self, peer: &str) -> Option<String> {
        let host = peer.split('.').next().unwrap_or_default();
        let pod = self.peers.get(peer).or_else(|| self.peers.get(host))?;
        Some(pod.short_name())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = PodLog<'a>> {
        self.logs.iter().copied()
    }

    /// Returns the logs of the pods that take part in the collective work.
    pub(super) fn ranks(&self) -> impl Iterator<Item = PodLog<'a>> {
        self.iter().filter(|rank| rank.pod.is_rank())
    }

    /// Creates a finding about the job.
    pub(super) fn diagnosis(&self, code: DiagnosisCode, recovery: Recovery, message: &str) -> Diagnosis {
        Diagnosis::new(code, self.job.workload_name(), recovery, message)
    }
}

impl PodLog<'_> {
    /// Returns a line of the log as evidence.
    pub(super) fn evidence(&self, quote: &Quote) -> Evidence {
        let field = match &self.log.name.container {
            Some(container) => format!("log of {container}"),
            None => "log".to_owned(),
        };
        Evidence::new(self.pod.title(), field, &quote.text, quote.time)
    }
}

/// Returns the short names of the pods for people.
pub(super) fn names(logs: &[PodLog<'_>]) -> String {
    let mut names: Vec<String> = logs.iter().map(|rank| rank.pod.short_name()).collect();
    names.dedup();
    join_names(names)
}
