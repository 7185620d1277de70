//! The `PodGroups` that the controller creates for a workload.

use serde_json::Value;

use super::PodReport;
use crate::gang::object::{GroupApi, planned_manifest};
use crate::gang::{Gang, GangMode, GangPosition, GangWorkload};
use crate::pod::Pod;

/// Maximum number of listed objects. A `LeaderWorkerSet` has one for each group.
const MAX_OBJECTS: u64 = 100;

/// Returns the objects that the controller creates for `workload`, whose pods `reports` show.
pub(super) fn objects(workload: &GangWorkload, reports: &[PodReport]) -> Vec<Value> {
    let mut listed: Vec<(GroupApi, GangPosition)> = Vec::new();
    let mut objects = Vec::new();
    for report in reports {
        let Some((api, gang)) = named_gang(workload, report) else { continue };
        if listed.contains(&(api, gang.position)) {
            continue;
        }
        listed.push((api, gang.position));
        // Roles may select different modes, each with an object of its own.
        let is_member = |report: &&PodReport| {
            named_gang(workload, report)
                .is_some_and(|(other, member)| other == api && member.position.stage == gang.position.stage)
        };
        let pods: Vec<Pod<'_>> = reports.iter().filter(is_member).map(|report| Pod::new(&report.pod)).collect();
        let groups = workload.shape.groups.clamp(1, MAX_OBJECTS);
        objects.extend((0..groups).map(|group| {
            let gang = workload.gang(GangPosition { group, ..gang.position });
            planned_manifest(api, &report.namespace, &gang, &pods)
        }));
    }
    objects
}

/// Returns the gang whose object the pod of `report` names, and the newest API of the object.
fn named_gang<'a>(workload: &'a GangWorkload, report: &PodReport) -> Option<(GroupApi, Gang<'a>)> {
    let pod = Pod::new(&report.pod);
    let gang = workload.gang_of(pod).ok()?;
    let is_named = |mode: &GangMode| mode.gang_named_by(pod) == Some(gang.name.as_str());
    let mode = GangMode::WITH_OBJECTS.into_iter().find(is_named)?;
    let api = GroupApi::ALL.into_iter().find(|api| api.mode() == mode)?;
    Some((api, gang))
}
