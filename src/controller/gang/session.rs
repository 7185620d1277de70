//! Watches everything that a decision depends on, and decides about all gangs when something changes.

mod collect;
mod writes;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{BoxStream, SelectAll};
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::GangController;
use super::alive::proof_end;
use super::apply::{Action, ApplyOutcome};
use super::denials::Denials;
use super::gangs::{GangMemory, ObservedGang};
use super::left_out::LeftOut;
use super::members::{FoundPods, GangKey, Members, active_pods};
use super::retries::{Retries, Selection};
use super::waiting::Waiting;
use crate::cluster::gang::groups::{GroupRecord, Groups};
use crate::cluster::gang::workloads::{Found, WorkloadIndexes, WorkloadRecord};
use crate::controller::publish::FindingCode;
use trainmesh_core::error::chain;
use trainmesh_core::gang::GangOwner;
use trainmesh_core::gang::object::{Announcement, Decision, GangSnapshot, GroupState, JobState, WaitReason, decide};
use trainmesh_core::pod::Pod;
use writes::write;

/// Time for which completed writes in the background are collected. Each decision is about all gangs.
const DEBOUNCE: SignedDuration = SignedDuration::from_millis(250);

/// Watches and state for the APIs that the cluster serves.
pub(super) struct Session<'a> {
    controller: &'a GangController,
    groups: Vec<Arc<Groups>>,
    members: Members,
    workloads: WorkloadIndexes,
    changes: SelectAll<BoxStream<'static, ()>>,
    memory: HashMap<GangKey, GangMemory>,
    left_out: LeftOut,
    denials: Denials,
    retries: Retries,
    waiting: Waiting,
    /// Writes in namespaces with failed writes.
    background: JoinSet<(Action, ApplyOutcome)>,
    /// The change of an object for gangs that wait. No other write waits for it.
    retrying: JoinSet<()>,
}

/// A gang with all that its decision depends on.
struct Gang {
    key: GangKey,
    observed: ObservedGang,
    group: Option<GroupRecord>,
    owner: Option<GangOwner>,
    job: JobState,
}

impl<'a> Session<'a> {
    pub(super) fn new(controller: &'a GangController, groups: &[Arc<Groups>]) -> Self {
        let groups = groups.to_vec();
        let members = Members::default();
        let mut changes = SelectAll::new();
        changes.push(members.watch(&controller.client));
        changes.extend(groups.iter().map(|groups| groups.watch().boxed()));
        let (workloads, memory) = (WorkloadIndexes::default(), HashMap::new());
        let (left_out, denials) = (LeftOut::default(), Denials::default());
        let (retries, background) = (Retries::default(), JoinSet::new());
        let (waiting, retrying) = (Waiting::default(), JoinSet::new());
        Self {
            controller,
            groups,
            members,
            workloads,
            changes,
            memory,
            left_out,
            denials,
            retries,
            waiting,
            background,
            retrying,
        }
    }

    /// Decides and acts until it is canceled. A canceled write is decided again by the next session.
    pub(super) async fn run(&mut self) {
        let mut due: Option<Timestamp> = None;
        loop {
            tokio::select! {
                biased;
                Some(Ok((action, outcome))) = self.background.join_next() => {
                    let now = Timestamp::now();
                    self.record_write(action, outcome, now);
                    due = earliest(due, [now + DEBOUNCE]);
                    continue;
                }
                // Cancel-safe: a change stays in its stream.
                changed = self.changes.next() => if changed.is_none() { return },
                () = sleep_until(due.map_or_else(Instant::now, instant)), if due.is_some() => {}
            }
            due = self.reconcile().await;
        }
    }

    /// Decides about all gangs, and returns when to do it again without a change.
    async fn reconcile(&mut self) -> Option<Timestamp> {
        self.announce();
        let now = Timestamp::now();
        self.left_out.refresh(&self.groups, now).await;
        let gangs = self.gangs(now)?;
        let mut due: Option<Timestamp> = None;
        let mut actions = Vec::new();
        let mut waiting = BTreeSet::new();
        let mut searches: BTreeMap<&str, (Timestamp, Vec<&GangKey>)> = BTreeMap::new();
        for gang in &gangs {
            let Some(groups) = self.groups_of(&gang.key) else { continue };
            let ObservedGang { members, changed, .. } = &gang.observed;
            let state = gang.group.as_ref().map_or(GroupState::Missing, |group| group.state);
            let decision =
                decide(&GangSnapshot { api: groups.api, job: gang.job, members, group: state, changed: *changed, now });
            let wait = gang.observed.missing_deadline(state);
            let (until, search) = match decision {
                Decision::Wait { until, reason: WaitReason::MembersMissing } => (until, gang.observed.search_at),
                Decision::Wait { until, .. } => (until, None),
                _ => (None, None),
            };
            if let Some(at) = search.filter(|at| *at <= now) {
                let (longest, keys) = searches.entry(&gang.key.namespace).or_insert((at, Vec::new()));
                *longest = at.min(*longest);
                keys.push(&gang.key);
            }
            let times = [until, wait.filter(|at| *at > now), search.map(|at| at.max(now))];
            due = earliest(due, times.into_iter().flatten());
            if matches!(decision, Decision::Wait { .. }) {
                if !groups.api.retries_when_pods_end() && gang.observed.waits_for_nodes(state) {
                    waiting.insert(&gang.key);
                }
                self.retries.record_none_required(&gang.key);
            } else {
                let (group, owner) = (gang.group.clone(), gang.owner.clone());
                actions.push(Action { key: gang.key.clone(), groups: Arc::clone(groups), group, owner, decision });
            }
        }
        let Selection { first, background, next } = self.retries.select(actions, |action| &action.key, now);
        for action in background {
            self.background.spawn(write(self.controller, action));
        }
        let failed = self.write_all(first).await;
        due = earliest(due, next.into_iter().chain(failed));
        if let Some(gang) =
            self.waiting.select(&waiting, now).and_then(|key| gangs.iter().find(|gang| gang.key == *key))
        {
            self.retry_pods(gang, now);
        }
        self.check_denials().await;
        // One namespace at a time, so that other gangs need not wait.
        if let Some((namespace, (_, keys))) = searches.into_iter().min_by_key(|(_, (longest, _))| *longest) {
            self.search(namespace, &keys).await;
        }
        self.publish_missing(&gangs, now).await;
        let expiry = self.announce();
        let others = [self.left_out.next_read(), self.denials.next_check(), self.waiting.next(), expiry];
        earliest(due, others.into_iter().flatten())
    }

    /// Searches the pods of `namespace` for those that belong to the gangs with these keys and do not name their objects.
    async fn search(&mut self, namespace: &str, keys: &[&GangKey]) {
        let memberships = match active_pods(&self.controller.client, namespace).await {
            Ok(memberships) => memberships,
            Err(error) => {
                tracing::warn!(namespace, "{}", chain(&error));
                Vec::new()
            }
        };
        let mut found = FoundPods::default();
        for membership in &memberships {
            let (workload, watch) = self.workloads.find(&self.controller.client, &membership.workload);
            self.changes.extend(watch);
            if let Found::Known(WorkloadRecord::Active(active)) = workload
                && let Ok(gang) = active.gang_of(Pod::new(&membership.identity))
            {
                found.record(gang.name, membership.key.as_ref());
            }
        }
        for key in keys {
            if let Some(memory) = self.memory.get_mut(key) {
                memory.record_without_key(found.without_key(key));
            }
        }
    }

    /// Returns the objects of a gang's API, once they are known.
    fn groups_of(&self, key: &GangKey) -> Option<&Arc<Groups>> {
        self.groups.iter().find(|groups| groups.api.mode() == key.mode && groups.index.is_complete())
    }

    /// Announces the APIs whose objects are known and can be written, and the schedulers that run. Returns when one of them
    /// no longer counts as running.
    fn announce(&self) -> Option<Timestamp> {
        let mut announcement = Announcement::default();
        let (now, mut expiry) = (Timestamp::now(), None::<Timestamp>);
        for groups in &self.groups {
            groups.index.read(|objects| {
                let Some(objects) = objects else { return };
                announcement.apis.insert(groups.api);
                let written = objects.values().filter_map(|record| record.status_written);
                if let Some(end) = proof_end(written, now) {
                    announcement.alive.insert(groups.api.mode());
                    expiry = earliest(expiry, [end]);
                }
            });
        }
        self.denials.withhold(&mut announcement);
        if **self.controller.announcement.load() != announcement {
            self.controller.announcement.store(Arc::new(announcement));
        }
        expiry
    }

    /// Publishes gangs whose pods have waited for their object for long.
    async fn publish_missing(&mut self, gangs: &[Gang], now: Timestamp) {
        let mut missing = 0;
        for gang in gangs {
            let state = gang.group.as_ref().map_or(GroupState::Missing, |group| group.state);
            let is_inactive = matches!(gang.job, JobState::Ended | JobState::Suspended);
            if is_inactive || gang.observed.missing_deadline(state).is_none_or(|deadline| now < deadline) {
                continue;
            }
            missing += 1;
            let reported = self.memory.get_mut(&gang.key).is_some_and(|memory| !memory.report_missing());
            if let Some(owner) = gang.owner.as_ref().filter(|_| !reported) {
                let note = format!(
                    "the pods wait for PodGroup {}, which does not exist: check the controller's log and permissions, and the quotas and policies of the namespace",
                    gang.key.name
                );
                let object = super::apply::reference(&gang.key.namespace, owner);
                self.controller.publisher.publish(&object, FindingCode::GangObjectMissing, note).await;
            }
        }
        self.controller.metrics.gang.set_missing(missing);
    }
}

fn earliest(due: Option<Timestamp>, others: impl IntoIterator<Item = Timestamp>) -> Option<Timestamp> {
    due.into_iter().chain(others).min()
}

fn instant(at: Timestamp) -> Instant {
    let wait = at.duration_since(Timestamp::now());
    Instant::now() + Duration::try_from(wait).unwrap_or_default()
}
