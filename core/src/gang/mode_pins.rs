//! Pins of gang modes: the mode in which the pods of a job were created.
//!
//! Pods of one job must have the keys of one scheduler, and a scheduler waits for all that it counts. While pods of a job
//! exist, and a short time after, another label of the namespace, another default, or another scheduler that `auto` finds
//! therefore does not apply to pods that join or replace them. As with the [revisions of profiles](super::pins), the
//! elected leader stores the modes ([`ModePins::reconcile`]), and the webhook looks them up ([`ModePins::find`]).

mod store;

use std::collections::{BTreeMap, HashMap};

use super::scheduled::attempt;
use super::workload::role_name;
use super::{Gang, GangId, GangMode, ScheduledPod};
use crate::keys;
use crate::pod::Pod;
use crate::workload::{PodIdentity, identify};

/// Maximum number of pinned gangs. Clusters with more have thousands of nodes.
const MAX_GANGS: usize = 8_000;
/// Maximum number of pinned gangs per namespace, so that no tenant can use up the total.
const MAX_GANGS_PER_NAMESPACE: usize = 500;
/// Maximum size of the stored pins, next to [those of profiles](super::pins) in one object of at most 1 MiB.
const MAX_BYTES: usize = 300 * 1024;

/// Mode of each role of a gang; `None` for a role whose pods were created without keys.
type Roles = BTreeMap<Box<str>, Option<GangMode>>;

/// A gang in one restart attempt of its job.
type Attempt = (GangId, u64);

/// Order in which gangs are pinned: those that a limit drops first come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    /// Active, and pinned already.
    Pinned,
    /// Active.
    New,
    /// Retained without active pods.
    Retained,
}

/// Gang modes of jobs with active pods, and of those whose last pod ended a short time ago.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModePins {
    gangs: BTreeMap<Attempt, Roles>,
}

/// Modes of the active pods of a job, by role.
#[derive(Clone, Copy, Debug)]
pub struct ModePin<'a>(&'a Roles);

/// Decision that the active pods of a job make about another pod of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinnedMode {
    /// They have the keys of this mode.
    Mode(GangMode),
    /// A pod that starts together with it has no key.
    WithoutKeys,
}

impl ModePins {
    /// Computes the pins for the `active` pods of jobs, and returns the number of active gangs that were dropped because a
    /// limit was reached. Pinned gangs without active pods keep their pins if they are `retained`.
    ///
    /// A role keeps its mode as long as one of its pods has it. Otherwise it gets that of its oldest pod; of pods of the
    /// same age, those with keys decide. If a limit is reached, active gangs that are already pinned take precedence, then
    /// older ones.
    #[must_use]
    pub fn reconcile(
        &self,
        active: &BTreeMap<GangId, Vec<ScheduledPod>>,
        retained: impl Fn(&GangId) -> bool,
    ) -> (Self, usize) {
        let mut candidates: Vec<(Precedence, i64, Attempt, Roles)> = Vec::new();
        for (gang, pods) in active {
            let mut attempts: BTreeMap<u64, BTreeMap<&str, Vec<&ScheduledPod>>> = BTreeMap::new();
            for pod in pods {
                attempts.entry(pod.attempt).or_default().entry(&pod.role).or_default().push(pod);
            }
            for (attempt, by_role) in attempts {
                let key = (gang.clone(), attempt);
                let pinned = self.gangs.get(&key);
                let created = by_role.values().flatten().map(|pod| pod.created).min().unwrap_or(i64::MAX);
                let mode = |role: &str, pods: &[&ScheduledPod]| {
                    let current = pinned.and_then(|roles| roles.get(role)).copied();
                    let current = current.filter(|mode| pods.iter().any(|pod| pod.mode == *mode));
                    // The pods of a job are created within a second, and the webhook may not have had a key for one.
                    let oldest = || pods.iter().min_by_key(|pod| (pod.created, pod.mode.is_none(), pod.mode));
                    current.or_else(|| oldest().map(|pod| pod.mode))
                };
                let roles = by_role.iter().filter_map(|(role, pods)| Some(((*role).into(), mode(role, pods)?)));
                let precedence = if pinned.is_some() { Precedence::Pinned } else { Precedence::New };
                candidates.push((precedence, created, key, roles.collect()));
            }
        }
        for (key, roles) in &self.gangs {
            if !active.contains_key(&key.0) && retained(&key.0) {
                candidates.push((Precedence::Retained, i64::MAX, key.clone(), roles.clone()));
            }
        }
        candidates.sort_unstable();

        let (mut next, mut dropped, mut bytes) = (Self::default(), 0, store::EMPTY_SIZE);
        let mut in_namespace: HashMap<String, usize> = HashMap::new();
        for (precedence, _, key, roles) in candidates {
            let gangs = in_namespace.entry(key.0.namespace.clone()).or_default();
            let size = store::size_of(&key, &roles);
            if next.gangs.len() == MAX_GANGS || *gangs == MAX_GANGS_PER_NAMESPACE || bytes + size > MAX_BYTES {
                dropped += usize::from(precedence != Precedence::Retained);
                continue;
            }
            *gangs += 1;
            bytes += size;
            next.gangs.insert(key, roles);
        }
        (next, dropped)
    }

    /// Returns the modes of the active pods of the job of `pod`, in its restart attempt. Returns `None` if none is known,
    /// or if the pod selects its mode itself.
    #[must_use]
    pub fn find(&self, pod: Pod<'_>, namespace: &str) -> Option<ModePin<'_>> {
        if self.gangs.is_empty() || pod.label(keys::GANG).is_some() {
            return None;
        }
        let attempt = attempt(pod, identify(pod)?)?;
        self.gangs.get(&(GangId::from_pod(pod, namespace)?, attempt)).map(ModePin)
    }

    /// Returns the pinned gangs; one with several restart attempts is repeated.
    pub fn gangs(&self) -> impl Iterator<Item = &GangId> {
        self.gangs.keys().map(|(gang, _)| gang)
    }

    /// Returns true if there are no pins.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gangs.is_empty()
    }
}

impl ModePin<'_> {
    /// Returns the decision about the pod of `member`, which starts together with the pods of `gang`, if that is known.
    ///
    /// The pods that start together decide first. Pods without keys of other stages decide nothing: those that start
    /// alone have no keys in any mode.
    #[must_use]
    pub fn decide(self, member: PodIdentity<'_>, gang: Option<&Gang<'_>>) -> Option<PinnedMode> {
        let others = gang.into_iter().flat_map(|gang| gang.roles.iter().map(|role| role.name.as_str()));
        let together: Vec<Option<GangMode>> =
            std::iter::once(role_name(member)).chain(others).filter_map(|role| self.0.get(role).copied()).collect();
        let mode = together.iter().copied().flatten().next();
        match mode {
            Some(mode) => Some(PinnedMode::Mode(mode)),
            None if !together.is_empty() => Some(PinnedMode::WithoutKeys),
            None => self.modes().next().map(PinnedMode::Mode),
        }
    }

    /// Returns the modes of the pods that have keys.
    pub fn modes(self) -> impl Iterator<Item = GangMode> {
        self.0.values().copied().flatten()
    }
}

#[cfg(test)]
mod tests;
