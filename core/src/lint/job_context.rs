//! Facts of a whole workload that the checks of one pod need. Only a manifest shows them; an admission review contains
//! one pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::LintInput;
use super::claimed_devices::{channels, claimed_adapters, read_claims, uses_accelerators};
use super::command::CommandSettings;
use super::deviation::Deviation;
use super::mutual_role::MutualRole;
use super::rdma;
use super::role_requests::RoleRequests;
use crate::accounting::Counted;
use crate::dra::{ClaimSource, ClaimView};
use crate::pod::Pod;
use crate::workload::kueue_queue;

/// Facts of all roles of a workload.
#[derive(Clone, Debug, Default)]
pub struct JobContext {
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
    /// The first role whose fabric differs from that of another role.
    pub(super) deviation: Option<Deviation>,
    /// The first role that selects other machines than a role before it.
    pub(super) other_machines: Option<Deviation>,
    /// The first role whose traffic Envoy captures, while that of another role bypasses it.
    pub(super) captured_role: Option<Deviation>,
    /// Facts of each role, in the order of the roles.
    pub(super) roles: Vec<RoleRequests>,
    /// Services in the namespace of the job that select its pods.
    pub(super) services: BTreeSet<String>,
    /// Roles with ports that require mTLS.
    pub(super) mutual_roles: Vec<MutualRole>,
    /// Roles whose pods start together with others.
    pub(super) joint_roles: BTreeSet<String>,
    /// Number of roles that can be in a gang, as far as their kind shows; `None` if the decisions about them are unknown.
    pub(super) gang_roles: Option<usize>,
    /// Queue of Kueue that the workload names.
    pub(super) queue: Option<KueueQueue>,
}

/// A queue of Kueue, as a workload names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KueueQueue {
    /// Name of the `LocalQueue`.
    pub name: String,
    /// Requests that Kueue counts for the workload.
    pub counts: Counted,
}

impl JobContext {
    /// Adds the facts of the workload itself.
    #[must_use]
    pub fn with_workload(self, workload: &Value) -> Self {
        let name = kueue_queue(workload);
        let kind = workload.get("kind").and_then(Value::as_str).unwrap_or_default();
        let queue = name.map(|name| KueueQueue { name: name.to_owned(), counts: Counted::by_kueue(kind) });
        Self { queue, ..self }
    }

    /// Returns the queue of Kueue that the workload names.
    #[must_use]
    pub fn queue(&self) -> Option<&KueueQueue> {
        self.queue.as_ref()
    }

    /// Adds the names of the roles whose pods start together with others.
    #[must_use]
    pub fn with_joint_roles<'a>(self, roles: impl Iterator<Item = &'a str>) -> Self {
        Self { joint_roles: roles.map(str::to_owned).collect(), ..self }
    }

    /// Replaces the numbers of pods that use claims by those of `all`, which has the pods of other jobs, too.
    #[must_use]
    pub fn with_claims_of(self, all: &Self) -> Self {
        Self { claim_templates: all.claim_templates.clone(), shared_claims: all.shared_claims.clone(), ..self }
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

    /// Collects the facts of the workload with these pods, each with the number of its replicas, if known. `view` contains
    /// the claims of their namespace.
    #[must_use]
    pub fn from_pods<'a>(pods: impl Iterator<Item = (Pod<'a>, Option<u64>)>, view: ClaimView<'a>) -> Self {
        let mut job = Self::default();
        for (pod, replicas) in pods {
            let claims = read_claims(pod, None, view);
            job.shares_gid_table |= rdma::shares_gid_table(pod);
            job.roles.push(RoleRequests::new(pod, &claims, view));
            for container in pod.containers() {
                let command = CommandSettings::parse(container);
                job.passes_unknown |= command.passes_unknown;
                let passed = command.settings.into_iter().filter(|setting| setting.passed);
                job.passed_variables.extend(passed.map(|setting| setting.name.to_owned()));
                job.adapters.extend(rdma::requested_adapters(container, view).map(|(name, _)| name.clone()));
                job.adapters.extend(claimed_adapters(container, &claims).map(str::to_owned));
                job.has_channels |= channels(container, &claims).is_positive();
            }
            for claim in claims.claims() {
                let is_shared = |container| uses_accelerators(container, &claims, claim);
                let (pods, name) = match claim.source {
                    ClaimSource::Template(name) => (&mut job.claim_templates, name),
                    ClaimSource::Claim(name) if pod.containers().any(is_shared) => (&mut job.shared_claims, name),
                    ClaimSource::Claim(_) | ClaimSource::Pod(_) => continue,
                };
                let pods = pods.entry(name.to_owned()).or_insert(Some(0));
                *pods = pods.zip(replicas).map(|(pods, replicas)| pods.saturating_add(replicas));
            }
        }
        job
    }
}
