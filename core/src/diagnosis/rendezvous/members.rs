//! Ranks that several members have, or that exceed the size of the group.

use std::collections::BTreeMap;

use super::group::{Group, GroupMember};
use super::settings::setting_evidence;
use crate::diagnosis::context::Context;
use crate::diagnosis::job::Job;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};

/// Settings with the rank of a member, and with the number of members that limits it.
const RANKS: [(&str, &str); 2] = [("RANK", "WORLD_SIZE"), ("PET_NODE_RANK", "PET_NNODES")];

/// Reports ranks that collide, or are too large.
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
        let (message, members) = match (shared, exceeding) {
            (Some((value, members)), _) => (format!("{} pods have {rank}={value}", members.len()), members),
            (None, Some((value, members))) => (format!("{rank}={value} is not less than {size}"), members),
            (None, None) => continue,
        };
        let pods: Vec<_> = job.active().collect();
        let evidence = members.iter().flat_map(|member| {
            let settings = [rank, size].into_iter();
            settings.filter_map(|name| Some(setting_evidence(member, name, member.setting(name)?)))
        });
        let code = DiagnosisCode::RanksCollide;
        let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::RanksFixed, &message);
        found.push(diagnosis.with_evidence(evidence).with_waste(job.waste(&pods, None, context.now)));
        // The other setting of the same pods is a consequence.
        return;
    }
}

fn number(member: &GroupMember<'_>, name: &str) -> Option<u64> {
    member.setting(name)?.trim().parse().ok()
}

fn limit(member: &GroupMember<'_>, size: &str) -> Option<u64> {
    if size == "PET_NNODES" {
        return member.container.rendezvous.nodes().map(|(_, max)| max);
    }
    number(member, size)
}
