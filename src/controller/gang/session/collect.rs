//! The gangs with all that decisions about them depend on.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{Gang, Session};
use crate::cluster::gang::groups::GroupRecord;
use crate::cluster::gang::workloads::{Found, WorkloadRecord};
use crate::controller::gang::members::{GangInfo, GangKey, GangMembers};
use trainmesh_core::gang::object::{GangSize, GroupState, JobState};
use trainmesh_core::gang::{GangOwner, WorkloadKey, WorkloadState};
use trainmesh_core::pod::Pod;
use trainmesh_core::workload;

impl Session<'_> {
    /// Returns the gangs: those that pods name, and those of objects that the controller created. `None` until the pods are
    /// known.
    pub(super) fn gangs(&mut self, now: Timestamp) -> Option<Vec<Gang>> {
        let mut known = self.members.by_gang()?;
        let mut records: HashMap<GangKey, GroupRecord> = HashMap::new();
        let mut own = 0;
        for groups in &self.groups {
            groups.index.read(|objects| {
                for (path, record) in objects.into_iter().flatten() {
                    let Some((namespace, name)) = path.split_once('/') else { continue };
                    let key =
                        GangKey { namespace: namespace.to_owned(), mode: groups.api.mode(), name: name.to_owned() };
                    if matches!(record.state, GroupState::Own { .. }) {
                        own += 1;
                        known.entry(key.clone()).or_default();
                    }
                    if known.contains_key(&key) {
                        records.insert(key, record.clone());
                    }
                }
            });
        }
        for (key, record) in self.left_out.records() {
            if matches!(record.state, GroupState::Own { .. }) {
                own += 1;
                known.entry(key.clone()).or_default();
            }
            if known.contains_key(key) {
                records.entry(key.clone()).or_insert_with(|| record.clone());
            }
        }
        self.left_out.retain(|key| known.contains_key(key));
        self.controller.metrics.gang.set_groups(own);
        self.memory.retain(|key, _| known.contains_key(key));
        self.retries.retain(|key| known.contains_key(key));
        let gangs = known.into_iter().map(|(key, GangMembers { info, members, newest })| {
            let group = records.remove(&key);
            let workload = info.as_ref().map(|info| info.workload.clone());
            let workload = workload.or_else(|| workload_of(&key.namespace, group.as_ref()?));
            let (job, owner) = match &workload {
                Some(workload) => self.job(workload, info.as_deref()),
                None => (JobState::Unknown, None),
            };
            let memory = self.memory.entry(key.clone()).or_default();
            Gang { observed: memory.observe(members, newest, now), key, group, owner, job }
        });
        Some(gangs.collect())
    }

    /// Returns the state of a gang's job, and the job as its owner.
    fn job(&mut self, workload: &WorkloadKey, info: Option<&GangInfo>) -> (JobState, Option<GangOwner>) {
        let (found, watch) = self.workloads.find(&self.controller.client, workload);
        self.changes.extend(watch);
        let record = match found {
            Found::Unknown => return (JobState::Unknown, None),
            Found::Missing => return (JobState::Gone, None),
            Found::Known(record) => record,
        };
        let is_other = |uid: &str| workload.uid.as_deref().is_some_and(|expected| expected != uid);
        match record {
            WorkloadRecord::Unknown => (JobState::Unknown, None),
            WorkloadRecord::Inactive(_, uid) if is_other(&uid) => (JobState::Gone, None),
            WorkloadRecord::Inactive(WorkloadState::Suspended, _) => (JobState::Suspended, None),
            WorkloadRecord::Inactive(..) => (JobState::Ended, None),
            WorkloadRecord::Active(active) if is_other(&active.owner.uid) => (JobState::Gone, None),
            WorkloadRecord::Active(active) => {
                let gang = info.and_then(|info| Some((active.gang_of(Pod::new(&info.identity)).ok()?, info)));
                // Another name is that of a predecessor, or of a copied template.
                match gang.filter(|(gang, info)| gang.name == info.key.name) {
                    Some((gang, _)) => {
                        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
                        let size = GangSize { total: count(gang.size), minimum: count(gang.min_members) };
                        (JobState::Active(size), Some(gang.owner.clone()))
                    }
                    None => (JobState::Unknown, None),
                }
            }
        }
    }
}

/// Returns the workload that owns an object.
fn workload_of(namespace: &str, group: &GroupRecord) -> Option<WorkloadKey> {
    let owner = group.owner.as_ref()?;
    let kind = workload::find(&owner.api_version, &owner.kind)?;
    Some(WorkloadKey {
        namespace: namespace.to_owned(),
        group: kind.group,
        version: kind.versions.first().copied()?,
        kind: kind.kind,
        resource: kind.resource,
        name: owner.name.clone(),
        uid: Some(owner.uid.clone()),
    })
}
