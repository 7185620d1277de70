//! Watches everything that a decision depends on, and decides about all gangs when something changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream, SelectAll};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep_until};

use super::GangController;
use super::apply::{Action, ApplyOutcome, apply};
use super::gangs::{GangMemory, ObservedGang};
use super::members::{GangInfo, GangKey, Members, without_key};
use crate::cluster::gang::groups::{GroupRecord, Groups};
use crate::cluster::gang::workloads::{Found, WorkloadIndexes, WorkloadRecord};
use crate::controller::publish::FindingCode;
use trainmesh_core::error::chain;
use trainmesh_core::gang::object::{
    Announcement, Decision, GangSize, GangSnapshot, GroupApi, GroupState, JobState, Member, WaitReason, decide,
};
use trainmesh_core::gang::{GangOwner, WorkloadKey, WorkloadState};
use trainmesh_core::pod::Pod;
use trainmesh_core::workload;

/// Number of concurrent writes.
const CONCURRENCY: usize = 16;
/// Delay before a failed write is repeated.
const RETRY: SignedDuration = SignedDuration::from_secs(5);
/// Time for which an API is not announced after a write was forbidden.
const FORBIDDEN: Duration = Duration::from_mins(1);

/// Watches and state for the APIs that the cluster serves.
pub(super) struct Session<'a> {
    controller: &'a GangController,
    groups: Vec<Arc<Groups>>,
    members: Members,
    workloads: WorkloadIndexes,
    changes: SelectAll<BoxStream<'static, ()>>,
    memory: HashMap<GangKey, GangMemory>,
    /// APIs that are not announced, because a write was forbidden.
    forbidden: HashMap<GroupApi, Instant>,
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
    pub(super) fn new(controller: &'a GangController, apis: &[GroupApi]) -> Self {
        let groups: Vec<Arc<Groups>> =
            apis.iter().map(|api| Arc::new(Groups::new(controller.client.clone(), *api))).collect();
        let members = Members::default();
        let mut changes = SelectAll::new();
        changes.push(members.watch(&controller.client));
        changes.extend(groups.iter().map(|groups| groups.watch().boxed()));
        let (workloads, memory, forbidden) = (WorkloadIndexes::default(), HashMap::new(), HashMap::new());
        Self { controller, groups, members, workloads, changes, memory, forbidden }
    }

    /// Decides and acts until it is canceled. A canceled write is decided again by the next session.
    pub(super) async fn run(&mut self) {
        let mut due = None;
        loop {
            tokio::select! {
                biased;
                // Cancel-safe: a change stays in its stream.
                changed = self.changes.next() => if changed.is_none() { return },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
            due = self.reconcile().await.map(instant);
        }
    }

    /// Decides about all gangs, and returns when to do it again without a change.
    async fn reconcile(&mut self) -> Option<Timestamp> {
        self.announce();
        let now = Timestamp::now();
        let gangs = self.gangs(now)?;
        let mut due: Option<Timestamp> = None;
        let mut actions = Vec::new();
        let mut searches: BTreeMap<&str, Vec<&GangKey>> = BTreeMap::new();
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
            if search.is_some_and(|at| at <= now) {
                searches.entry(&gang.key.namespace).or_default().push(&gang.key);
            }
            let times = [until, wait.filter(|at| *at > now), search.map(|at| at.max(now))];
            due = due.into_iter().chain(times.into_iter().flatten()).min();
            if !matches!(decision, Decision::Wait { .. }) {
                let (group, owner) = (gang.group.clone(), gang.owner.clone());
                actions.push(Action { key: gang.key.clone(), groups: Arc::clone(groups), group, owner, decision });
            }
        }
        let outcomes = apply_all(self.controller, actions).await;
        for (api, outcome) in outcomes {
            if outcome != ApplyOutcome::Applied {
                due = due.into_iter().chain([now + RETRY]).min();
            }
            if outcome == ApplyOutcome::Forbidden {
                self.forbidden.insert(api, Instant::now());
            }
        }
        // One namespace at a time, so that other gangs need not wait.
        if let Some((namespace, keys)) = searches.into_iter().next() {
            self.search(namespace, &keys).await;
        }
        self.publish_missing(&gangs, now).await;
        self.announce();
        due
    }

    /// Returns the gangs: those that pods name, and those of objects that the controller created. `None` until the pods are
    /// known.
    fn gangs(&mut self, now: Timestamp) -> Option<Vec<Gang>> {
        let by_gang = self.members.by_gang()?;
        let mut known: BTreeMap<GangKey, (Option<Arc<GangInfo>>, Vec<Member>)> =
            by_gang.into_iter().map(|(key, (info, members))| (key, (Some(info), members))).collect();
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
        self.controller.metrics.gang.set_groups(own);
        self.memory.retain(|key, _| known.contains_key(key));
        let gangs = known.into_iter().map(|(key, (info, members))| {
            let group = records.remove(&key);
            let workload = info.as_ref().map(|info| info.workload.clone());
            let workload = workload.or_else(|| workload_of(&key.namespace, group.as_ref()?));
            let (job, owner) = match &workload {
                Some(workload) => self.job(workload, info.as_deref()),
                None => (JobState::Unknown, None),
            };
            let memory = self.memory.entry(key.clone()).or_default();
            Gang { observed: memory.observe(members, now), key, group, owner, job }
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

    /// Searches the pods of `namespace` for those that belong to the gangs with these keys and have no key.
    async fn search(&mut self, namespace: &str, keys: &[&GangKey]) {
        let found = match without_key(&self.controller.client, namespace).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(namespace, "{}", chain(&error));
                Vec::new()
            }
        };
        let mut counts: HashMap<String, usize> = HashMap::new();
        for membership in &found {
            let (workload, watch) = self.workloads.find(&self.controller.client, &membership.workload);
            self.changes.extend(watch);
            if let Found::Known(WorkloadRecord::Active(active)) = workload
                && let Ok(gang) = active.gang_of(Pod::new(&membership.identity))
            {
                *counts.entry(gang.name).or_default() += 1;
            }
        }
        for key in keys {
            if let Some(memory) = self.memory.get_mut(key) {
                memory.record_without_key(counts.get(&key.name).copied().unwrap_or_default());
            }
        }
    }

    /// Returns the objects of a gang's API, once they are known.
    fn groups_of(&self, key: &GangKey) -> Option<&Arc<Groups>> {
        self.groups.iter().find(|groups| groups.api.mode() == key.mode && groups.index.is_complete())
    }

    /// Announces the APIs whose objects are known and can be written.
    fn announce(&mut self) {
        self.forbidden.retain(|_, since| since.elapsed() < FORBIDDEN);
        let mut announcement = Announcement::default();
        for groups in &self.groups {
            let has_status = |record: &GroupRecord| record.has_status;
            groups.index.read(|objects| {
                let Some(objects) = objects else { return };
                if !self.forbidden.contains_key(&groups.api) {
                    announcement.apis.insert(groups.api);
                }
                if objects.values().any(has_status) {
                    announcement.alive.insert(groups.api.mode());
                }
            });
        }
        if **self.controller.announcement.load() != announcement {
            self.controller.announcement.store(Arc::new(announcement));
        }
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
                    "the pods wait for PodGroup {}, which does not exist: check the log and the permissions of the controller",
                    gang.key.name
                );
                let object = super::apply::reference(&gang.key.namespace, owner);
                self.controller.publisher.publish(&object, FindingCode::GangObjectMissing, note).await;
            }
        }
        self.controller.metrics.gang.set_missing(missing);
    }
}

async fn apply_all(controller: &GangController, actions: Vec<Action>) -> Vec<(GroupApi, ApplyOutcome)> {
    let actions = actions.into_iter().map(|action| {
        let (publisher, metrics) = (Arc::clone(&controller.publisher), Arc::clone(&controller.metrics));
        async move { (action.groups.api, apply(&action, &publisher, &metrics.gang).await) }
    });
    stream::iter(actions).buffer_unordered(CONCURRENCY).collect().await
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

fn instant(at: Timestamp) -> Instant {
    let wait = at.duration_since(Timestamp::now());
    Instant::now() + Duration::try_from(wait).unwrap_or_default()
}
