//! The workloads whose pods form the gangs of a document: one, or those of the components of an `AppWrapper`.

use serde_json::Value;

use super::objects::{group_positions, planned_objects};
use super::{LiveWorkload, PodReport};
use crate::gang::{GangOwner, GangPosition, GangWorkload, UnknownGang, WorkloadKey, WorkloadLookup};
use crate::pod::Pod;
use crate::workload::{self, Manifest, RolePod, WorkloadKind};

/// Maximum number of workloads that are read, each from the components of an `AppWrapper`, which are searched for each. Real ones have
/// a few.
const MAX_WORKLOADS: usize = 64;
/// Maximum number of names of `PodGroups`: a `LeaderWorkerSet` has one for each group. Each is a request.
const MAX_NAMES: usize = 16;

/// The workloads of a document whose pods form gangs, or why their gangs are not known. Each is identified by its kind and name: some
/// pods do not contain its UID.
#[derive(Debug, Default)]
pub(super) struct Gangs(Vec<(WorkloadKey, Result<GangWorkload, UnknownGang>)>);

impl Gangs {
    /// Reads the workloads of `roles`, the pods of `manifest`, which is of this `kind`.
    pub(super) fn read(kind: &'static WorkloadKind, manifest: &Manifest<'_>, roles: &[RolePod]) -> Self {
        let mut gangs = Self::default();
        for key in roles.iter().filter_map(|role| WorkloadKey::of(Pod::new(&role.pod), manifest.namespace)) {
            if gangs.0.len() == MAX_WORKLOADS {
                break;
            }
            if gangs.find(&key).is_none() {
                let workload = match workload::created_workload(manifest.raw, &key.name) {
                    Some((kind, raw)) => GangWorkload::from_manifest(&key, kind, &Manifest { raw: &raw, ..*manifest }),
                    None => GangWorkload::from_manifest(&key, kind, manifest),
                };
                gangs.0.push((key, workload));
            }
        }
        gangs
    }

    /// Sets the UIDs of the workloads that exist.
    pub(super) fn identify(&mut self, live: &[LiveWorkload]) {
        for workload in self.0.iter_mut().filter_map(|(_, workload)| workload.as_mut().ok()) {
            if let Some(found) = live.iter().find(|live| live.is_owner(&workload.owner)) {
                workload.owner.uid.clone_from(&found.uid);
            }
        }
    }

    /// Returns the workload of `pod`, as the webhook reads it: only for pods of a gang, in which the submitter of a `RayJob` is not.
    pub(super) fn lookup(&self, pod: Pod<'_>, namespace: &str) -> WorkloadLookup<'_> {
        match WorkloadKey::of(pod, namespace).and_then(|key| self.find(&key)) {
            None => WorkloadLookup::NotRead,
            Some(Ok(workload)) => WorkloadLookup::Read(workload),
            Some(Err(problem)) => WorkloadLookup::Failed(problem),
        }
    }

    /// Returns the workload of the first pod that belongs to one, if its gangs are known.
    pub(super) fn first(&self) -> Option<&GangWorkload> {
        self.0.first()?.1.as_ref().ok()
    }

    /// Returns true if other pods start together with `pod`.
    pub(super) fn starts_with_others(&self, pod: Pod<'_>, namespace: &str) -> bool {
        match self.lookup(pod, namespace) {
            WorkloadLookup::Read(workload) => workload.starts_with_others(pod),
            WorkloadLookup::NotRead | WorkloadLookup::Failed(_) => false,
        }
    }

    /// Returns the objects that the controller creates for the workloads, whose pods `reports` show.
    pub(super) fn objects(&self, reports: &[PodReport]) -> Vec<Value> {
        self.workloads().flat_map(|workload| planned_objects(workload, reports)).collect()
    }

    /// Returns the API group and the name of each `PodGroup` that the controller creates for the workloads of `live`, whose pods
    /// `reports` show. Those of a workload whose name the manifest does not contain, such as a Job of a `CronJob`, have the positions of
    /// those of the same kind.
    pub(super) fn group_names(&self, live: &[LiveWorkload], reports: &[PodReport]) -> Vec<(&'static str, String)> {
        let mut names = Vec::new();
        for live in live {
            let is_named = self.workloads().any(|workload| live.is_owner(&workload.owner));
            let is_origin = |workload: &&GangWorkload| {
                if is_named { live.is_owner(&workload.owner) } else { workload.owner.kind == live.kind }
            };
            for workload in self.workloads().filter(is_origin) {
                let owner = GangOwner { name: live.name.clone(), uid: live.uid.clone(), ..workload.owner.clone() };
                for (api, position) in group_positions(workload, reports) {
                    let attempt = position.attempt.max(live.restarts);
                    let name = (api.group(), owner.gang_name(GangPosition { attempt, ..position }));
                    if names.len() == MAX_NAMES {
                        return names;
                    }
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        names
    }

    fn workloads(&self) -> impl Iterator<Item = &GangWorkload> {
        self.0.iter().filter_map(|(_, workload)| workload.as_ref().ok())
    }

    fn find(&self, key: &WorkloadKey) -> Option<&Result<GangWorkload, UnknownGang>> {
        let is_same = |known: &WorkloadKey| (known.kind, &known.name) == (key.kind, &key.name);
        self.0.iter().find(|(known, _)| is_same(known)).map(|(_, workload)| workload)
    }
}
