//! Ranks that several members have, or that exceed the size of the group; and a size that exceeds that of the job.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::group::{Group, GroupMember};
use super::settings::{setting_evidence, setting_name};
use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::pod::node_range;

/// Setting with the number of nodes for which torchrun waits.
const NODES: &str = "PET_NNODES";
/// Kind whose operator sets [`NODES`], for an elastic job to the limits of an autoscaler.
const SCALED: &str = "PyTorchJob";
/// Time by which the number of pods of a job may change after its creation.
const GRACE: SignedDuration = SignedDuration::from_mins(2);

/// Settings with the rank of a member, and with the number of members that limits it.
const RANKS: [(&str, &str); 2] = [("RANK", SIZE), ("PET_NODE_RANK", NODES)];

/// Fix for a Job, in which no operator sets the ranks.
const JOB_FIX: &str = "\
    give each pod its own rank below the number of nodes: with completionMode Indexed, --node-rank=$(JOB_COMPLETION_INDEX)";

/// The same for ranks that are the indexes of its pods, and a number of them that is too small.
const JOB_SIZE_FIX: &str =
    "set WORLD_SIZE to the number of pods of the job, or to that of all ranks if a pod starts several";
/// Number of ranks of a group whose members are no agents of torchrun.
const SIZE: &str = "WORLD_SIZE";

/// Reports ranks that collide or are too large, or else a group that is larger than the job.
pub(super) fn check(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    for (rank, size) in RANKS {
        let mut by_rank: BTreeMap<u64, Vec<&GroupMember<'_>>> = BTreeMap::new();
        for member in &group.members {
            // torchrun sets RANK of its processes.
            let is_unused = rank == "RANK" && member.has_address_flags();
            if let Some(value) = number(member, rank).filter(|_| !is_unused) {
                by_rank.entry(value).or_default().push(member);
            }
        }
        let shared = by_rank.iter().find(|(_, members)| members.len() > 1);
        let exceeding = by_rank.iter().find(|(value, members)| {
            let limit = members.first().and_then(|member| limit(member, size));
            limit.is_some_and(|limit| **value >= limit)
        });
        let name = |members: &[&GroupMember<'_>], name| match members.first() {
            Some(first) => setting_name(first, name),
            None => name.to_owned(),
        };
        let (message, members) = match (shared, exceeding) {
            (Some((value, members)), _) => {
                (format!("{} pods have {}={value}", members.len(), name(members, rank)), members)
            }
            (None, Some((value, members))) => {
                (format!("{}={value} is not less than {}", name(members, rank), name(members, size)), members)
            }
            (None, None) => continue,
        };
        let of_setting = |name: &'static str| {
            members.iter().filter_map(move |member| Some(setting_evidence(member, name, member.setting(name)?)))
        };
        // The ranks decide; the sizes are usually the same.
        let evidence = of_setting(rank).chain(of_setting(size));
        let code = DiagnosisCode::RanksCollide;
        let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::RanksFixed, &message);
        let diagnosis = diagnosis.with_evidence(evidence).with_waste(job.waste_of_all(context.now));
        let fix = if shared.is_none() && size == SIZE { JOB_SIZE_FIX } else { JOB_FIX };
        found.push(diagnosis.with_fix(job.is_plain().then_some(fix)));
        // The other setting of the same pods is a consequence.
        return;
    }
    found.extend(missing_nodes(job, group, context));
}

/// Reports agents that wait for more nodes than the job has pods, all of which exist.
fn missing_nodes(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let workload = job.workload?;
    let pods = workload.pods?;
    let is_old = |member: &GroupMember<'_>| is_older(member.pod.created, GRACE, context.now);
    let is_complete = group.members.len() as u64 == pods && group.members.iter().all(is_old);
    let ranges = group.members.iter().map(|member| Some((member, nodes(member, job.kind)?)));
    let ranges: Vec<(&GroupMember<'_>, (u64, u64))> = ranges.collect::<Option<_>>()?;
    let (member, (nodes, _)) = ranges.into_iter().min_by_key(|(_, (min, _))| *min)?;
    if !is_complete || nodes <= pods {
        return None;
    }
    let message = format!("torchrun waits for {nodes} nodes, and the job has {pods} pods");
    let size = Evidence::new(job.workload_name().to_string(), "spec: pods", &pods.to_string(), workload.created);
    let evidence = [setting_evidence(member, NODES, member.setting(NODES)?), size];
    let code = DiagnosisCode::NodesExceedPods;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::SettingsFixed, &message);
    Some(diagnosis.with_evidence(evidence).with_waste(job.waste_of_all(context.now)))
}

/// Returns minimum and maximum of the nodes of a member; `None` if its command computes them, or a condition selects them.
fn nodes(member: &GroupMember<'_>, kind: &str) -> Option<(u64, u64)> {
    let settings = &member.container.rendezvous;
    let by_command = settings.has_flag(&[NODES]) || settings.is_computed(NODES);
    let by_variable = || settings.variable(NODES).filter(|_| kind != SCALED);
    node_range(if by_command { settings.flag(NODES)? } else { by_variable()? })
}

fn number(member: &GroupMember<'_>, name: &str) -> Option<u64> {
    member.setting(name)?.trim().parse().ok()
}

fn limit(member: &GroupMember<'_>, size: &str) -> Option<u64> {
    if size == NODES {
        return member.container.rendezvous.nodes().map(|(_, max)| max);
    }
    number(member, size)
}
