//! The supported workload kinds, one file each. `training_operator` and `mpi` contain the shared code of related kinds.

use super::WorkloadKind;

pub(super) mod appwrapper;
mod cronjob;
mod daemonset;
mod deployment;
mod elasticjob;
mod hyperpodpytorchjob;
mod jaxjob;
mod job;
pub(super) mod jobset;
mod leaderworkerset;
mod mpi;
mod mpijob_v1;
mod mpijob_v2beta1;
mod paddlejob;
mod pod;
mod podcliqueset;
mod pytorchjob;
mod raycluster;
mod rayjob;
mod rayservice;
mod replicaset;
mod replicationcontroller;
mod statefulset;
mod tfjob;
mod training_operator;
pub(super) mod trainjob;
mod volcano;
mod xgboostjob;

/// Supported workload kinds. Owners precede the kinds that they create, so that a pod is identified as part of the
/// outermost workload (`TrainJob` before `JobSet` before `Job`).
pub static KINDS: &[&WorkloadKind] = &[
    &appwrapper::KIND,
    &trainjob::KIND,
    &pytorchjob::KIND,
    &tfjob::KIND,
    &xgboostjob::KIND,
    &paddlejob::KIND,
    &jaxjob::KIND,
    &mpijob_v1::KIND,
    &mpijob_v2beta1::KIND,
    &hyperpodpytorchjob::KIND,
    &elasticjob::KIND,
    &podcliqueset::KIND,
    &jobset::KIND,
    &leaderworkerset::KIND,
    &rayservice::KIND,
    &rayjob::KIND,
    &raycluster::KIND,
    &volcano::KIND,
    &cronjob::KIND,
    &job::KIND,
    &deployment::KIND,
    &replicaset::KIND,
    &replicationcontroller::KIND,
    &statefulset::KIND,
    &daemonset::KIND,
    &pod::KIND,
];

/// Returns the kind for the `apiVersion` and `kind` of a manifest.
#[must_use]
pub fn find(api_version: &str, kind: &str) -> Option<&'static WorkloadKind> {
    let (group, version) = group_and_version(api_version);
    KINDS.iter().copied().find(|known| known.kind == kind && known.group == group && known.versions.contains(&version))
}

/// Returns the kind of the same name in the same API group, regardless of case and version. If there are several,
/// returns the one with the most similar version: `v2beta1` for `v1beta1`.
#[must_use]
pub fn find_other_version(api_version: &str, kind: &str) -> Option<&'static WorkloadKind> {
    let (group, version) = group_and_version(api_version);
    nearest_version(group, version, kind)
}

/// Does the same as [`find_other_version`] for an API group and a version.
pub(super) fn nearest_version(group: &str, version: &str, kind: &str) -> Option<&'static WorkloadKind> {
    let similarity = |known: &&WorkloadKind| {
        let common = |other: &&str| version.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        // Of `v1` and `v2`, neither is a misspelled other.
        let is_typo = |other: &&str| {
            let different = version.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count();
            other.len() > "v1".len() && version.len() == other.len() && different == 1
        };
        known.versions.iter().map(|other| (is_typo(other), common(other))).max()
    };
    let same_name = |known: &&WorkloadKind| known.kind.eq_ignore_ascii_case(kind) && known.group == group;
    KINDS.iter().copied().filter(same_name).max_by_key(similarity)
}

/// Returns the API group and the version of an `apiVersion`. The core group has an empty name.
pub(super) fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Returns the API group of a kind that has the name of a built-in one, which distinguishes them: `batch.volcano.sh` of Job. It is
/// empty for all other kinds.
#[must_use]
pub fn kind_qualifier(group: &str, kind: &str) -> &'static str {
    let own = kinds_named(kind).find(|known| known.group == group && group.contains('.'));
    own.filter(|_| kinds_named(kind).any(|other| other.group != group)).map_or("", |own| own.group)
}

/// Returns the kinds of this name, in all API groups.
pub fn kinds_named(name: &str) -> impl Iterator<Item = &'static WorkloadKind> {
    KINDS.iter().copied().filter(move |kind| kind.kind == name)
}
