//! Facts of a whole workload that the checks of one pod need. Only a manifest shows them; an admission review contains
//! one pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::command::CommandSettings;
use super::network::shares_addresses;
use super::raw::str_at;
use super::rdma;
use crate::pod::Pod;

/// Facts of all roles of a workload.
#[derive(Clone, Debug, Default)]
pub struct JobContext {
    /// Variables that `mpirun -x` passes to the ranks.
    pub(super) passed_variables: BTreeSet<String>,
    /// True if `mpirun -x` passes variables that are not known.
    pub(super) passes_unknown: bool,
    /// RDMA adapters that any role requests.
    pub(super) adapters: BTreeSet<String>,
    /// Claim templates, with the number of pods that use them; `None` if unknown.
    pub(super) claim_templates: BTreeMap<String, Option<u64>>,
    /// True if pods of a role share their adapters' address tables with others.
    pub(super) shares_addresses: bool,
}

impl JobContext {
    /// Collects the facts of the workload with these pods, each with the number of its replicas, if known.
    #[must_use]
    pub fn from_pods<'a>(pods: impl Iterator<Item = (Pod<'a>, Option<u64>)>) -> Self {
        let mut job = Self::default();
        for (pod, replicas) in pods {
            job.shares_addresses |= shares_addresses(pod);
            for container in pod.containers() {
                let command = CommandSettings::parse(container);
                job.passes_unknown |= command.passes_unknown;
                let passed = command.settings.into_iter().filter(|setting| setting.passed);
                job.passed_variables.extend(passed.map(|setting| setting.name.to_owned()));
                job.adapters.extend(rdma::requested_adapters(container).map(|(name, _)| name.clone()));
            }
            for template in claim_templates(pod) {
                let pods = job.claim_templates.entry(template.to_owned()).or_insert(Some(0));
                *pods = pods.zip(replicas).map(|(pods, replicas)| pods.saturating_add(replicas));
            }
        }
        job
    }
}

/// Returns the templates of the pod's claims.
pub(super) fn claim_templates(pod: Pod<'_>) -> impl Iterator<Item = &str> {
    let claims = pod.spec().and_then(|spec| spec.get("resourceClaims")).and_then(Value::as_array);
    claims.into_iter().flatten().filter_map(|claim| str_at(claim, "resourceClaimTemplateName"))
}
