//! The state of the simulation.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::super::{
    Decision, GangSize, GangSnapshot, GroupApi, GroupState, JobState, Member, SchedulingTerms, Stage, decide,
};
use super::Event;

/// Identifies an object: the job and its attempt.
type Name = (u32, u32);

/// The state of the simulation.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "the actors fail independently of each other")]
pub(super) struct World {
    api: GroupApi,
    now: Timestamp,
    job: Option<Job>,
    pods: Vec<Pod>,
    objects: BTreeMap<Name, Object>,
    /// Number of jobs and objects so far.
    created: u32,
    webhook: bool,
    lease: bool,
    running: bool,
    readable: bool,
    quota: bool,
    capacity: bool,
    /// Memory of the controller: when the members of a gang last changed, and the actions to carry out.
    observed: BTreeMap<Name, (Vec<Member>, Timestamp)>,
    actions: Vec<(Name, Option<u32>, Decision)>,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    id: u32,
    attempt: u32,
    size: GangSize,
    suspended: bool,
    ended: bool,
}

#[derive(Clone, Debug)]
struct Pod {
    gang: Name,
    keyed: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    /// Identifies the object and its content.
    version: u32,
    minimum: Option<u32>,
    deleting: bool,
    /// True if it is collected with the job.
    owned_by_job: bool,
}

impl World {
    pub(super) fn new(api: GroupApi) -> Self {
        Self {
            api,
            now: Timestamp::UNIX_EPOCH,
            job: None,
            pods: Vec::new(),
            objects: BTreeMap::new(),
            created: 0,
            webhook: true,
            lease: true,
            running: true,
            readable: true,
            quota: false,
            capacity: false,
            observed: BTreeMap::new(),
            actions: Vec::new(),
        }
    }

    pub(super) fn apply(&mut self, event: Event) {
        match event {
            Event::Decide => self.decide(),
            Event::Act => self.act(),
            Event::Restart => self.forget(),
            Event::Outage => {
                self.running ^= true;
                self.lease = self.running;
                self.forget();
            }
            // A Lease can look fresh shortly after the controller has stopped.
            Event::Lease => self.lease ^= true,
            Event::WebhookOutage => self.webhook ^= true,
            Event::Operate => self.operate(),
            Event::Quota => self.quota ^= true,
            Event::Schedule => self.schedule(),
            Event::Capacity => self.capacity ^= true,
            Event::Succeed(index) => self.set_stage(index, Stage::Placed, Stage::Succeeded),
            Event::Fail(index) => self.set_stage(index, Stage::Placed, Stage::Leaving),
            Event::DeletePod(index) => {
                if !self.pods.is_empty() {
                    self.pods.remove(index % self.pods.len());
                }
            }
            Event::CreateJob(total, minimum) => {
                if self.job.is_none() {
                    self.created += 1;
                    let size = GangSize { total, minimum };
                    self.job = Some(Job { id: self.created, attempt: 0, size, suspended: false, ended: false });
                }
            }
            Event::DeleteJob => self.job = None,
            Event::Suspend => self.change_job(|job| job.suspended ^= !job.ended),
            Event::End => self.change_job(|job| job.ended = true),
            Event::Scale(total) => {
                self.change_job(|job| job.size = GangSize { total, minimum: job.size.minimum.min(total) });
            }
            Event::RestartJob => {
                self.change_job(|job| job.attempt += u32::from(!job.ended));
                let current = self.job.map(|job| (job.id, job.attempt));
                self.pods.retain(|pod| current.is_some_and(|current| current.0 != pod.gang.0 || current == pod.gang));
            }
            Event::DeleteObject => self.objects.values_mut().for_each(|object| object.deleting = true),
            Event::Collect => self.collect(),
            Event::Forbid => self.readable ^= true,
            Event::Pass(seconds) => self.now += SignedDuration::from_secs(seconds),
        }
    }

    /// Lets all actors run until nothing more happens.
    pub(super) fn settle(&mut self) {
        (self.running, self.readable, self.capacity) = (true, true, true);
        for _ in 0..200 {
            self.decide();
            while !self.actions.is_empty() {
                self.act();
            }
            self.operate();
            self.collect();
            self.schedule();
            self.now += SignedDuration::from_secs(7);
        }
    }

    /// Returns the violated invariant of a state in which actors may still act.
    pub(super) fn violation(&self) -> Option<&'static str> {
        self.names().into_iter().find_map(|name| {
            let pending = self.pods.iter().any(|pod| pod.is_keyed(name) && pod.stage == Stage::Pending);
            if !pending || matches!(self.job_state(name), JobState::Suspended | JobState::Ended) {
                return None;
            }
            let decision = self.decision(name, self.now);
            match self.objects.get(&name) {
                None => {
                    let creates = matches!(decision, Decision::Create(_) | Decision::Wait { until: Some(_), .. });
                    (!creates).then_some("an object is missing that nobody creates")
                }
                Some(object) => {
                    let exceeds = object.minimum.is_some_and(|minimum| minimum > self.ceiling(name));
                    let changes = matches!(decision, Decision::SetMinimum { .. } | Decision::Delete { .. });
                    (exceeds && !changes).then_some("a minimum exceeds the pods that can meet it")
                }
            }
        })
    }

    /// Returns the violated invariant of a state in which all actors have acted.
    pub(super) fn unsettled(&self) -> Option<&'static str> {
        let active = |pod: &&Pod| !matches!(self.job_state(pod.gang), JobState::Suspended | JobState::Ended);
        if self.pods.iter().filter(active).any(|pod| pod.stage == Stage::Pending) {
            return Some("a pod waits");
        }
        // Kubernetes keeps an object that is being deleted while pods run that name it.
        let kept = self.objects.iter().filter(|(_, object)| !object.deleting);
        kept.map(|(name, _)| self.job_state(*name)).find_map(|state| match state {
            JobState::Suspended | JobState::Ended => Some("the object of a job that does not run remains"),
            JobState::Gone | JobState::Unknown | JobState::Active(_) => None,
        })
    }

    /// Returns the number of pods that name an object, or will, and that the scheduler counts.
    fn ceiling(&self, name: Name) -> u32 {
        let count = |selected: &dyn Fn(&Pod) -> bool| {
            u32::try_from(self.pods.iter().filter(|pod| pod.gang == name && selected(pod)).count()).unwrap()
        };
        let keyed = count(&|pod| pod.keyed && pod.stage.is_alive());
        let JobState::Active(size) = self.job_state(name) else { return u32::MAX };
        let others = count(&|pod| !pod.keyed && pod.stage.is_alive() || pod.stage == Stage::Succeeded);
        keyed + size.total.saturating_sub(keyed + others)
    }

    fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.pods.iter().map(|pod| pod.gang).chain(self.objects.keys().copied()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn job_state(&self, name: Name) -> JobState {
        match self.job.filter(|job| job.id == name.0) {
            _ if !self.readable => JobState::Unknown,
            None => JobState::Gone,
            Some(job) if job.ended => JobState::Ended,
            Some(job) if job.suspended => JobState::Suspended,
            Some(job) => JobState::Active(job.size),
        }
    }

    fn members(&self, name: Name) -> Vec<Member> {
        let terms = Arc::new(SchedulingTerms::default());
        let member = |pod: &Pod| Member { keyed: pod.keyed, stage: pod.stage, terms: Arc::clone(&terms) };
        self.pods.iter().filter(|pod| pod.gang == name).map(member).collect()
    }

    fn decision(&self, name: Name, changed: Timestamp) -> Decision {
        let own = |object: &Object| GroupState::Own { minimum: object.minimum, deleting: object.deleting };
        decide(&GangSnapshot {
            api: self.api,
            job: self.job_state(name),
            members: &self.members(name),
            group: self.objects.get(&name).map_or(GroupState::Missing, own),
            changed,
            now: self.now,
        })
    }

    fn decide(&mut self) {
        if !self.running {
            return;
        }
        self.actions.clear();
        for name in self.names() {
            let members = self.members(name);
            let (last, changed) = self.observed.entry(name).or_insert_with(|| (members.clone(), self.now));
            if *last != members {
                (*last, *changed) = (members, self.now);
            }
            let changed = *changed;
            let id = self.objects.get(&name).map(|object| object.version);
            self.actions.push((name, id, self.decision(name, changed)));
        }
    }

    /// Carries out an action on the object that was seen when it was decided; another one is left alone.
    fn act(&mut self) {
        let Some((name, seen, decision)) = self.actions.pop().filter(|_| self.running) else { return };
        let found = self.objects.get(&name).map(|object| object.version);
        match decision {
            Decision::Create(group) if found.is_none() => {
                self.created += 1;
                let owned_by_job = group.owned;
                let (version, minimum) = (self.created, group.minimum);
                self.objects.insert(name, Object { version, minimum, deleting: false, owned_by_job });
            }
            Decision::SetMinimum { minimum, .. } if found == seen => {
                self.created += 1;
                let version = self.created;
                assert!(self.api.has_mutable_minimum(), "the minimum is immutable");
                self.objects.entry(name).and_modify(|object| {
                    object.minimum = Some(minimum);
                    object.version = version;
                });
            }
            Decision::Delete { force, .. } if found == seen => {
                self.objects.entry(name).and_modify(|object| object.deleting = true);
                if force {
                    self.objects.remove(&name);
                }
            }
            _ => {}
        }
    }

    fn forget(&mut self) {
        self.observed.clear();
        self.actions.clear();
    }

    fn operate(&mut self) {
        let Some(job) = self.job else { return };
        let name = (job.id, job.attempt);
        if job.suspended || job.ended {
            // Pods of an ended job that were placed may stay.
            let stays = |pod: &Pod| pod.gang.0 != job.id || job.ended && pod.stage != Stage::Pending;
            if let Some(index) = self.pods.iter().position(|pod| !stays(pod)) {
                self.pods.remove(index);
            }
            return;
        }
        let counts = |pod: &&Pod| pod.gang == name && (pod.stage.is_alive() || pod.stage == Stage::Succeeded);
        let existing = self.pods.iter().filter(counts).count();
        if self.quota || existing >= usize::try_from(job.size.total).unwrap() {
            return;
        }
        let exists = self.objects.get(&name).is_some_and(|object| !object.deleting);
        let keyed = self.webhook && (exists || self.lease);
        self.pods.push(Pod { gang: name, keyed, stage: Stage::Pending });
    }

    fn schedule(&mut self) {
        for name in self.names() {
            let counted = self.pods.iter().filter(|pod| pod.is_keyed(name) && pod.stage.is_alive()).count();
            let object = self.objects.get(&name);
            let admitted = object.is_some_and(|object| {
                object.minimum.is_none_or(|minimum| counted >= usize::try_from(minimum).unwrap())
            });
            for pod in self.pods.iter_mut().filter(|pod| pod.gang == name && pod.stage == Stage::Pending) {
                if self.capacity && (admitted || !pod.keyed) {
                    pod.stage = Stage::Placed;
                }
            }
        }
    }

    fn set_stage(&mut self, index: usize, from: Stage, to: Stage) {
        let count = self.pods.len().max(1);
        if let Some(pod) = self.pods.get_mut(index % count).filter(|pod| pod.stage == from) {
            pod.stage = to;
        }
    }

    fn change_job(&mut self, change: impl FnOnce(&mut Job)) {
        if let Some(job) = &mut self.job {
            change(job);
        }
    }

    fn collect(&mut self) {
        let job = self.job.map(|job| job.id);
        self.pods.retain(|pod| Some(pod.gang.0) == job);
        let native = matches!(self.api, GroupApi::NativeV1Alpha2 | GroupApi::NativeV1Beta1);
        let pods = &self.pods;
        let is_used = |name: Name| pods.iter().any(|pod| pod.is_keyed(name) && pod.stage.is_alive());
        self.objects.retain(|name, object| {
            object.deleting |= object.owned_by_job && Some(name.0) != job;
            // Kubernetes protects an object that pods use.
            !object.deleting || native && is_used(*name)
        });
    }
}

impl Pod {
    fn is_keyed(&self, name: Name) -> bool {
        self.keyed && self.gang == name
    }
}
