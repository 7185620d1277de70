//! Facts that all pods of a workload have in common, also if they are of different jobs: the components of an `AppWrapper`
//! may be the launcher and the ranks of one job.

use std::collections::{BTreeMap, BTreeSet};

use super::LintInput;
use super::claimed_devices::{channels, claimed_adapters, read_claims, uses_accelerators};
use super::command::CommandSettings;
use super::rdma;
use super::role_requests::RoleRequests;
use crate::dra::{ClaimSource, ClaimView};
use crate::pod::Pod;

/// Facts of the pods of all roles of a workload, whose jobs share them.
#[derive(Clone, Debug, Default)]
pub struct WorkloadFacts {
    /// Variables that `mpirun -x` passes to the ranks.
    pub(super) passed_variables: BTreeSet<String>,
    /// True if `mpirun -x` passes variables that are not known.
    pub(super) passes_unknown: bool,
    /// RDMA adapters that any role requests or claims, before or after the patch.
    pub(super) adapters: BTreeSet<String>,
    /// True if any role has a channel of a `ComputeDomain`.
    pub(super) has_channels: bool,
    /// Claim templates, with the number of pods that use them; `None` if unknown.
    pub(super) claim_templates: BTreeMap<String, Option<u64>>,
    /// `ResourceClaims`, each with the number of pods that share its accelerators; `None` if unknown.
    pub(super) shared_claims: BTreeMap<String, Option<u64>>,
    /// True if pods of a role share the GID tables of their adapters with other pods.
    pub(super) shares_gid_table: bool,
    /// Facts of each role, in the order of the roles.
    pub(super) roles: Vec<RoleRequests>,
}

impl WorkloadFacts {
    /// Collects the facts of the workload with these pods, each with the number of its replicas, if known. `view` contains
    /// the claims of their namespace.
    #[must_use]
    pub fn from_pods<'a>(pods: impl Iterator<Item = (Pod<'a>, Option<u64>)>, view: ClaimView<'a>) -> Self {
        let mut facts = Self::default();
        for (pod, replicas) in pods {
            let claims = read_claims(pod, None, view);
            facts.shares_gid_table |= rdma::shares_gid_table(pod);
            facts.roles.push(RoleRequests::new(pod, &claims, view));
            for container in pod.containers() {
                let command = CommandSettings::parse(container);
                facts.passes_unknown |= command.passes_unknown;
                let passed = command.settings.into_iter().filter(|setting| setting.passed);
                facts.passed_variables.extend(passed.map(|setting| setting.name.to_owned()));
                facts.adapters.extend(rdma::requested_adapters(container, view).map(|(name, _)| name.clone()));
                facts.adapters.extend(claimed_adapters(container, &claims).map(str::to_owned));
                facts.has_channels |= channels(container, &claims).is_positive();
            }
            for claim in claims.claims() {
                let is_shared = |container| uses_accelerators(container, &claims, claim);
                let (pods, name) = match claim.source {
                    ClaimSource::Template(name) => (&mut facts.claim_templates, name),
                    ClaimSource::Claim(name) if pod.containers().any(is_shared) => (&mut facts.shared_claims, name),
                    ClaimSource::Claim(_) | ClaimSource::Pod(_) => continue,
                };
                let pods = pods.entry(name.to_owned()).or_insert(Some(0));
                *pods = pods.zip(replicas).map(|(pods, replicas)| pods.saturating_add(replicas));
            }
        }
        facts
    }

    /// Adds the RDMA adapters of the pod of a role after the patch: those that its fabric profile adds.
    #[must_use]
    pub fn with_patched(mut self, input: &LintInput<'_>) -> Self {
        let LintInput { pod, profile, cluster, .. } = *input;
        let claims = read_claims(pod, profile, cluster.claims);
        for container in pod.containers() {
            let names = rdma::resources(container).map(|(name, _)| name);
            let adapters = names.filter(|name| rdma::is_adapter(name, profile, cluster.claims));
            self.adapters.extend(adapters.cloned());
            self.adapters.extend(claimed_adapters(container, &claims).map(str::to_owned));
        }
        self
    }
}
