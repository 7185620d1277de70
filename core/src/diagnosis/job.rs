//! Workloads with their pods.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ptr;

use jiff::{SignedDuration, Timestamp};

use super::snapshot::ClusterSnapshot;
use super::snapshot::pod::{LEADER_WORKER_SET, POD, PodRecord};
use super::snapshot::reference::ObjectKey;
use super::snapshot::workload::{Indexes, WorkloadRecord};
use super::{Waste, WorkloadName};
use crate::lifecycle::PodPhase;
use crate::names::join_names;
use crate::workload::kinds_named;

/// Maximum length of a chain of owners: `TrainJob`, `JobSet`, Job, Pod.
const MAX_OWNERS: usize = 4;
/// Kinds whose pods serve requests until they are deleted. They are checked only if they request accelerators.
pub(super) const SERVICES: [&str; 5] =
    ["DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];
/// Kind of MPI jobs.
pub(super) const MPI_JOB: &str = "MPIJob";
/// Kind of the Jobs of Kubernetes and Volcano.
pub(super) const JOB: &str = "Job";
/// Role of the pod of an MPI job that starts the ranks.
pub(super) const LAUNCHER: &str = "launcher";
/// Prefix of the kinds of Ray, whose tasks do not wait for the other pods.
const RAY: &str = "Ray";
/// Kind that owns the pods of a Ray cluster.
pub(super) const RAY_CLUSTER: &str = "RayCluster";
/// Kinds whose pods depend on each other although they are no ranks. The pod that submits a `RayJob` is not one of its cluster.
const CLUSTERS: [&str; 2] = [RAY_CLUSTER, LEADER_WORKER_SET];
/// Role of the pod of a Ray cluster that schedules the tasks of all others.
pub(super) const HEAD: &str = "head";

/// A workload with its pods.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) key: ObjectKey<'a>,
    /// Pods in the order of their names.
    pub(super) pods: Vec<&'a PodRecord>,
    pub(super) workload: Option<&'a WorkloadRecord>,
}

/// The workloads of a snapshot.
#[derive(Debug)]
pub(super) struct Jobs<'a> {
    objects: HashMap<ObjectKey<'a>, &'a WorkloadRecord>,
    /// Workloads of the pods that own objects, by their namespaces and names: the leaders of a `LeaderWorkerSet`.
    owner_pods: HashMap<(&'a str, &'a str), ObjectKey<'a>>,
    by_key: BTreeMap<ObjectKey<'a>, Job<'a>>,
}

impl<'a> Jobs<'a> {
    /// Groups the pods and objects of `snapshot` by their outermost workload.
    pub(super) fn new(snapshot: &'a ClusterSnapshot) -> Self {
        let objects = snapshot.workloads.iter().map(|workload| (workload.key(), workload)).collect();
        let owners = snapshot.workloads.iter().filter_map(|workload| {
            let owner = workload.owner.as_ref().filter(|owner| &*owner.kind == POD)?;
            Some((&*workload.namespace, &*owner.name))
        });
        let owners: HashSet<(&str, &str)> = owners.collect();
        let owner_pods = snapshot.pods.iter().map(|pod| ((&*pod.namespace, &*pod.name), pod));
        let owner_pods = owner_pods.filter(|(key, _)| owners.contains(key));
        let owner_pods = owner_pods.map(|(key, pod)| (key, pod.workload())).collect();
        let mut jobs = Self { objects, owner_pods, by_key: BTreeMap::new() };
        for workload in &snapshot.workloads {
            let outermost = jobs.outermost(workload.key());
            jobs.job(outermost);
        }
        for pod in &snapshot.pods {
            let key = jobs.key_of(pod);
            jobs.job(key).pods.push(pod);
        }
        for job in jobs.by_key.values_mut() {
            job.pods.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        }
        jobs.by_key.retain(|_, job| job.is_in_scope());
        jobs
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Job<'a>> {
        self.by_key.values()
    }

    /// Returns the object of a workload.
    pub(super) fn object(&self, key: ObjectKey<'_>) -> Option<&'a WorkloadRecord> {
        self.objects.get(&key).copied()
    }

    /// Returns the key of the outermost workload of a pod.
    pub(super) fn key_of(&self, pod: &'a PodRecord) -> ObjectKey<'a> {
        self.outermost(pod.workload())
    }

    /// Returns the outermost owner of an object.
    pub(super) fn outermost(&self, key: ObjectKey<'a>) -> ObjectKey<'a> {
        let mut key = key;
        for _ in 0..MAX_OWNERS {
            let Some(owner) = self.objects.get(&key).and_then(|object| object.owner.as_ref()) else { break };
            let owner = owner.key(key.namespace);
            let of_pod = self.owner_pods.get(&(owner.namespace, owner.name)).filter(|_| owner.kind == POD);
            key = of_pod.copied().unwrap_or(owner);
        }
        key
    }

    fn job(&mut self, key: ObjectKey<'a>) -> &mut Job<'a> {
        let workload = self.objects.get(&key).copied();
        let ObjectKey { kind, namespace, name, .. } = key;
        self.by_key.entry(key).or_insert_with(|| Job { kind, namespace, name, key, pods: Vec::new(), workload })
    }
}

impl<'a> Job<'a> {
    pub(super) fn workload_name(&self) -> WorkloadName {
        self.key.workload_name()
    }

    /// Returns true if its pods work together until completion, so that each waits for all others.
    pub(super) fn is_collective(&self) -> bool {
        self.is_collective_of(self.pods.len() as u64)
    }

    /// Returns true if it is collective with all of its pods, of which some may be missing.
    pub(super) fn is_collective_if_complete(&self) -> bool {
        self.is_collective_of(self.expected_pods().unwrap_or_default().max(self.pods.len() as u64))
    }

    fn is_collective_of(&self, pods: u64) -> bool {
        pods > 1 && self.pods.iter().any(|pod| pod.is_rank()) && !self.is_ray() && !self.is_queue()
    }

    /// Returns true if it is a Job whose object shows that its pods do not wait for each other, and its pods no group.
    pub(super) fn is_queue(&self) -> bool {
        let shows_group = |pod: &PodRecord| {
            let is_gang = pod.gang.is_some() || pod.declared_gang.is_some();
            let has_address = || pod.main().any(|container| container.rendezvous.has_remote_address());
            is_gang || pod.subdomain.is_some() || has_address()
        };
        match self.workload.filter(|_| self.is_plain()).map(|workload| workload.indexes) {
            Some(Indexes::InTurn) => true,
            Some(Indexes::Separate) => !self.pods.iter().any(|pod| shows_group(pod)),
            Some(Indexes::Related) | None => false,
        }
    }

    /// Returns true if nobody creates a Service or variables for its ranks: the controller of Jobs creates only pods. A Job that is not in
    /// the snapshot may belong to an operator.
    pub(super) fn is_plain(&self) -> bool {
        self.kind == JOB && self.key.qualifier.is_empty() && self.workload.is_some()
    }

    /// Returns true for the kinds of Ray.
    pub(super) fn is_ray(&self) -> bool {
        self.kind.starts_with(RAY)
    }

    /// Returns true if its ranks are one process group: the roles of a `JobSet` may be independent.
    pub(super) fn is_one_group(&self) -> bool {
        kinds_named(self.kind).any(|kind| kind.gang.one_group)
    }

    /// Returns true if the other pods of the job wait for `pod`: it is a rank, or the launcher that starts all ranks.
    pub(super) fn is_awaited(&self, pod: &PodRecord) -> bool {
        pod.is_rank() || self.kind == MPI_JOB && pod.role() == Some(LAUNCHER)
    }

    /// Returns true if the other pods of the job wait for one of `blocked`.
    fn waits_for(&self, blocked: &[&PodRecord]) -> bool {
        let is_head = |pod: &PodRecord| self.is_ray() && pod.role() == Some(HEAD);
        let is_awaited = self.is_collective() && !self.runs_without(blocked);
        blocked.iter().any(|pod| is_head(pod) || is_awaited && self.is_awaited(pod))
    }

    /// Returns the pods that have not finished.
    pub(super) fn active(&self) -> impl Iterator<Item = &'a PodRecord> {
        self.pods.iter().copied().filter(|pod| !pod.is_finished())
    }

    /// Returns the number of pods that the job creates: by its object, or by torchrun's settings.
    pub(super) fn expected_pods(&self) -> Option<u64> {
        let nodes = || self.nodes().map(|(_, max)| max);
        self.workload.and_then(|workload| workload.pods).or_else(nodes)
    }

    /// Returns minimum and maximum of torchrun's nodes.
    pub(super) fn nodes(&self) -> Option<(u64, u64)> {
        self.pods.iter().flat_map(|pod| pod.main()).find_map(|container| container.rendezvous.nodes())
    }

    /// Returns true if the job is elastic, and the pods that run are enough for it.
    pub(super) fn runs_with_fewer(&self) -> bool {
        self.runs_without(&[])
    }

    /// Like [`Self::runs_with_fewer`], without the pods `lost`, whose containers may seem to run.
    pub(super) fn runs_without(&self, lost: &[&PodRecord]) -> bool {
        let Some((min, _)) = self.nodes().filter(|(min, max)| min < max) else { return false };
        let lost: HashSet<*const PodRecord> = lost.iter().copied().map(ptr::from_ref).collect();
        let is_left = |pod: &&'a PodRecord| !lost.contains(&ptr::from_ref(*pod));
        let left = || self.pods.iter().copied().filter(is_left);
        let running = left().filter(|pod| pod.is_rank() && pod.is_running()).count();
        let is_host = |pod: &PodRecord, host: &str| pod.hostname.as_deref() == Some(host) || *pod.name == *host;
        // One that has completed leaves a group that completes.
        let serves = |pod: &PodRecord| pod.is_running() || pod.phase == PodPhase::Succeeded;
        let has_store = self.store_host().is_none_or(|host| left().any(|pod| is_host(pod, host) && serves(pod)));
        running as u64 >= min && has_store
    }

    /// Returns the name of the pod with torchrun's c10d store: the first label of the endpoint of all pods. `None` if that is not the
    /// name of one of the job's pods, which may not exist.
    fn store_host(&self) -> Option<&'a str> {
        let settings = self.pods.iter().copied().flat_map(PodRecord::main).map(|container| &container.rendezvous);
        let of_c10d = settings.filter(|settings| settings.setting("PET_RDZV_BACKEND") == Some("c10d"));
        let mut endpoints = of_c10d.filter_map(|settings| settings.setting("PET_RDZV_ENDPOINT"));
        let first = endpoints.next()?;
        let host = first.split(['.', ':']).next()?;
        let index = host.strip_prefix(self.name)?.strip_prefix('-')?.rsplit('-').next()?;
        let is_indexed = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        (is_indexed && endpoints.all(|other| other == first)).then_some(host)
    }

    /// Returns the pods that satisfy `is_lost`, except those that a newer pod with the same role and index replaces. A finished worker of
    /// Ray without an index is replaced by any newer worker of its group, because its name does not show which one.
    pub(super) fn not_replaced(&self, is_lost: impl Fn(&PodRecord) -> bool) -> Vec<&'a PodRecord> {
        let position = |pod: &'a PodRecord, counts_in_group: bool| {
            let position = pod.position().map(|(role, index)| (role, Some(index)));
            position.or_else(|| counts_in_group.then(|| (pod.role(), None)))
        };
        let is_ray = self.is_ray();
        let mut newest: HashMap<(Option<&str>, Option<u64>), Option<Timestamp>> = HashMap::new();
        for pod in &self.pods {
            if let Some(position) = position(pod, is_ray && !pod.is_finished()) {
                let created = newest.entry(position).or_default();
                *created = pod.created.max(*created);
            }
        }
        let is_newest = |pod: &'a PodRecord| {
            let newest = position(pod, pod.is_finished()).and_then(|position| newest.get(&position));
            newest.is_none_or(|newest| *newest <= pod.created)
        };
        self.pods.iter().copied().filter(|pod| is_lost(pod) && is_newest(pod)).collect()
    }

    /// Returns the accelerators that are idle because `blocked` do not work: those of these pods, and of all other pods
    /// of a collective job. The peers are idle from `since`, or from the time at which they got their nodes.
    pub(super) fn waste(&self, blocked: &[&PodRecord], since: Option<Timestamp>, now: Timestamp) -> Option<Waste> {
        let includes_peers = self.waits_for(blocked);
        let blocked: HashSet<*const PodRecord> = blocked.iter().copied().map(ptr::from_ref).collect();
        let is_blocked = |pod: &PodRecord| blocked.contains(&ptr::from_ref(pod));
        let idle = self.pods.iter().copied().filter(|pod| is_blocked(pod) || includes_peers);
        let waits = |pod: &PodRecord| !is_blocked(pod) && pod.accelerators() > 0 && pod.held_since().is_some();
        let waste = sum_idle(idle, since, now)?;
        Some(Waste { includes_peers: includes_peers && self.pods.iter().any(|pod| waits(pod)), ..waste })
    }

    /// Like [`Self::waste`], if none of the active pods works.
    pub(super) fn waste_of_all(&self, now: Timestamp) -> Option<Waste> {
        self.waste(&self.active().collect::<Vec<_>>(), None, now)
    }

    /// Returns the end of a message about `blocked`: how many peers wait for them; empty if none does.
    pub(super) fn waiting_peers(&self, blocked: &[&PodRecord]) -> String {
        if !self.waits_for(blocked) {
            return String::new();
        }
        let blocked: HashSet<*const PodRecord> = blocked.iter().copied().map(ptr::from_ref).collect();
        let waits = |pod: &&PodRecord| pod.is_rank() && pod.is_scheduled() && !blocked.contains(&ptr::from_ref(*pod));
        let peers = self.active().filter(waits).count();
        match peers {
            0 => String::new(),
            1 => ", so 1 other pod of the job waits".to_owned(),
            peers => format!(", so {peers} other pods of the job wait"),
        }
    }

    /// Returns the accelerators that `pods` hold although they do not use them since `since`.
    pub(super) fn held_by(pods: &[&PodRecord], since: Option<Timestamp>, now: Timestamp) -> Option<Waste> {
        sum_idle(pods.iter().copied(), since, now)
    }

    /// Returns true for training jobs, pods with accelerators, and everything else that completes.
    fn is_in_scope(&self) -> bool {
        let serves = SERVICES.contains(&self.kind) || self.kind == "Node";
        !serves || self.pods.iter().any(|pod| pod.accelerators() > 0 || pod.is_rank())
    }
}

/// Returns the accelerators of pods, which are idle from `since`, or from the time at which they got their nodes.
fn sum_idle<'a>(pods: impl Iterator<Item = &'a PodRecord>, since: Option<Timestamp>, now: Timestamp) -> Option<Waste> {
    let mut waste = Waste { accelerators: 0, accelerator_seconds: 0, includes_peers: false };
    for pod in pods.filter(|pod| pod.accelerators() > 0) {
        let Some(held) = pod.held_since() else { continue };
        let from = since.map_or(held, |since| since.max(held));
        waste.accelerators = waste.accelerators.saturating_add(pod.accelerators());
        let seconds = pod.accelerators().saturating_mul(seconds_between(from, now));
        waste.accelerator_seconds = waste.accelerator_seconds.saturating_add(seconds);
    }
    (waste.accelerators > 0).then_some(waste)
}

/// Returns the seconds from `start` to `end`; 0 if `start` is later.
pub(super) fn seconds_between(start: Timestamp, end: Timestamp) -> u64 {
    u64::try_from(end.duration_since(start).as_secs()).unwrap_or_default()
}

/// Returns true if `since` is at least `duration` before `now`. An absent time is not.
pub(super) fn is_older(since: Option<Timestamp>, duration: SignedDuration, now: Timestamp) -> bool {
    since.is_some_and(|since| now.duration_since(since) >= duration)
}

/// Returns the form of a verb for the number of its subjects.
pub(super) fn verb<'a>(count: usize, singular: &'a str, plural: &'a str) -> &'a str {
    if count == 1 { singular } else { plural }
}

/// Returns true if the pods of its workload depend on it, although they are not the ranks of a job that completes.
pub(super) fn is_of_cluster(pod: &PodRecord) -> bool {
    CLUSTERS.contains(&pod.workload().kind)
}

/// Returns the short names of pods for people.
pub(super) fn pod_names(pods: &[&PodRecord]) -> String {
    join_names(pods.iter().map(|pod| pod.short_name()))
}
