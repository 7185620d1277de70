//! The `PodGroups` that the controller creates for a workload.

use serde_json::Value;

use super::PodReport;
use crate::gang::object::{GroupApi, planned_manifest};
use crate::gang::{Gang, GangMode, GangPosition, GangWorkload, WorkloadKey};
use crate::pod::Pod;

/// Maximum number of listed objects of a mode and stage. A `LeaderWorkerSet` has one for each group.
const MAX_OBJECTS: u64 = 100;

/// Returns the objects that the controller creates for `workload`; `reports` show its pods, and maybe those of others.
pub(super) fn planned_objects(workload: &GangWorkload, reports: &[PodReport]) -> Vec<Value> {
    let namespace = reports.first().map(|report| report.namespace.as_str()).unwrap_or_default();
    let object = |(api, position): (GroupApi, GangPosition)| {
        // Roles may select different modes, each with an object of its own.
        let is_member = |report: &&PodReport| {
            named_gang(workload, report)
                .is_some_and(|(other, member)| other == api && member.position.stage == position.stage)
        };
        let pods: Vec<Pod<'_>> = reports.iter().filter(is_member).map(|report| Pod::new(&report.pod)).collect();
        planned_manifest(api, namespace, &workload.gang(position), &pods)
    };
    group_positions(workload, reports).into_iter().map(object).collect()
}

/// Returns the position of each gang of `workload` whose object pods of `reports` name, and the newest API of the object.
pub(super) fn group_positions(workload: &GangWorkload, reports: &[PodReport]) -> Vec<(GroupApi, GangPosition)> {
    let mut named: Vec<(GroupApi, GangPosition)> = Vec::new();
    for (api, gang) in reports.iter().filter_map(|report| named_gang(workload, report)) {
        if !named.contains(&(api, gang.position)) {
            named.push((api, gang.position));
        }
    }
    let groups = workload.shape.groups.clamp(1, MAX_OBJECTS);
    let expand = |(api, position)| (0..groups).map(move |group| (api, GangPosition { group, ..position }));
    named.into_iter().flat_map(expand).collect()
}

/// Returns the gang whose object the pod of `report` names, and the newest API of the object; `None` if the pod is not of `workload`.
fn named_gang<'a>(workload: &'a GangWorkload, report: &PodReport) -> Option<(GroupApi, Gang<'a>)> {
    let pod = Pod::new(&report.pod);
    let key = WorkloadKey::of(pod, &report.namespace)?;
    if (key.kind, &key.name) != (workload.owner.kind.as_str(), &workload.owner.name) {
        return None;
    }
    let gang = workload.gang_of(pod).ok()?;
    let is_named = |mode: &GangMode| mode.gang_named_by(pod) == Some(gang.name.as_str());
    let mode = GangMode::WITH_OBJECTS.into_iter().find(is_named)?;
    let api = GroupApi::ALL.into_iter().find(|api| api.mode() == mode)?;
    Some((api, gang))
}
