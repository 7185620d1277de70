//! Lists the workloads that use accelerators: their probable class with the signs for it, size, roles, gang, fabric, mesh
//! and devices.
//!
//! A class is evidence, not proof: each entry contains the signs that were found.

mod class;
mod json;
mod pod_use;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::context::Context;
use super::job::Job;
use super::snapshot::ClusterSnapshot;
use super::snapshot::pod::PodRecord;
use super::{Selection, WorkloadName};
use crate::lifecycle::ProxyOverview;

pub use class::{Sign, WorkloadClass};
pub use pod_use::{AcceleratorUse, InventoryCounts};

/// Maximum number of workloads. Further ones are counted.
pub const MAX_ENTRIES: usize = 10_000;
/// Maximum number of roles of a workload.
const MAX_ROLES: usize = 32;

/// The workloads that use accelerators.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// Workloads, by class and size.
    pub entries: Vec<InventoryEntry>,
    /// Number of workloads beyond the limit.
    pub omitted: usize,
    /// Which workloads exist, if none was selected: a lowercase clause.
    pub hint: Option<String>,
}

/// A workload that uses accelerators.
#[derive(Clone, Debug)]
pub struct InventoryEntry {
    /// Workload.
    pub workload: WorkloadName,
    /// Probable class.
    pub class: WorkloadClass,
    /// Signs by which it was classified.
    pub signs: Vec<Sign>,
    /// Number of pods that have not finished.
    pub pods: usize,
    /// Number of pods of each role.
    pub roles: BTreeMap<String, usize>,
    /// Number of accelerators that the pods request as resources; those of claims are not known.
    pub accelerators: u64,
    /// Number of accelerators of pods without a node.
    pub pending: u64,
    /// Source of the devices.
    pub devices: DeviceSource,
    /// API group of the `PodGroup`.
    pub gang: Option<&'static str>,
    /// Fabric profile that was applied, or the RDMA device that is requested.
    pub fabric: Option<String>,
    /// Proxy of the pods.
    pub mesh: MeshState,
}

/// Source of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// Extended resources of a device plugin.
    DevicePlugin,
    /// Resource claims.
    ResourceClaims,
    /// Both.
    Both,
}

/// Proxy of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshState {
    /// No pod has a proxy.
    Absent,
    /// The proxy is a native sidecar.
    Native,
    /// The proxy is an application container.
    Classic,
    /// The pods differ.
    Mixed,
}

/// Lists the selected workloads with pods that have not finished and request accelerators or claims. `now` is the time of
/// the snapshot.
#[must_use]
pub fn inventory(snapshot: &ClusterSnapshot, selection: &Selection, now: Timestamp) -> Inventory {
    let context = Context::new(snapshot, now);
    let jobs = context.jobs.iter().filter(|job| selection.selects(job));
    let is_empty = !context.jobs.iter().any(|job| selection.selects(job));
    let hint = if is_empty { selection.hint(&context) } else { None };
    let mut entries: Vec<InventoryEntry> = jobs.filter_map(InventoryEntry::new).collect();
    entries.sort_by(|a, b| {
        (a.class, std::cmp::Reverse(a.accelerators), &a.workload).cmp(&(
            b.class,
            std::cmp::Reverse(b.accelerators),
            &b.workload,
        ))
    });
    let omitted = entries.len().saturating_sub(MAX_ENTRIES);
    entries.truncate(MAX_ENTRIES);
    Inventory { entries, omitted, hint }
}

impl InventoryEntry {
    fn new(job: &Job<'_>) -> Option<Self> {
        let pods: Vec<&PodRecord> = job.active().collect();
        let sum = |is_counted: &dyn Fn(&PodRecord) -> bool| {
            let counted = pods.iter().filter(|pod| is_counted(pod));
            counted.fold(0_u64, |sum, pod| sum.saturating_add(pod.accelerators()))
        };
        let accelerators = sum(&|_| true);
        let claims = pods.iter().any(|pod| pod.usage.claims_devices);
        let devices = match (accelerators > 0, claims) {
            (true, false) => DeviceSource::DevicePlugin,
            (false, true) => DeviceSource::ResourceClaims,
            (true, true) => DeviceSource::Both,
            (false, false) => return None,
        };
        let mut roles = BTreeMap::new();
        for role in pods.iter().filter_map(|pod| pod.role()) {
            if roles.len() < MAX_ROLES || roles.contains_key(role) {
                *roles.entry(role.to_owned()).or_default() += 1;
            }
        }
        let (class, signs) = class::classify(job, &pods);
        let fabric = pods.iter().find_map(|pod| {
            let requested = pod.transport.requested.as_ref().map(|(_, name)| name);
            pod.usage.fabric.as_ref().or(requested).map(ToString::to_string)
        });
        Some(Self {
            workload: job.workload_name(),
            class,
            signs,
            pods: pods.len(),
            roles,
            accelerators,
            pending: sum(&|pod| !pod.is_scheduled()),
            devices,
            gang: pods.iter().find_map(|pod| pod.gang.as_ref()).map(|key| key.api.group()),
            fabric,
            mesh: MeshState::of(&pods),
        })
    }
}

impl MeshState {
    fn of(pods: &[&PodRecord]) -> Self {
        let states = pods.iter().map(|pod| match pod.proxy {
            ProxyOverview::Absent => Self::Absent,
            ProxyOverview::Native { .. } => Self::Native,
            ProxyOverview::Classic { .. } => Self::Classic,
        });
        states.reduce(|a, b| if a == b { a } else { Self::Mixed }).unwrap_or(Self::Absent)
    }

    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "none",
            Self::Native => "native",
            Self::Classic => "classic",
            Self::Mixed => "mixed",
        }
    }
}

impl DeviceSource {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DevicePlugin => "devicePlugin",
            Self::ResourceClaims => "dra",
            Self::Both => "devicePlugin,dra",
        }
    }
}
