//! Diagnoses the workloads of opted-in namespaces, and publishes what it finds: an event and a log line for each new
//! finding and for each that is gone, and metrics.
//!
//! The watches keep too little of a pod for a diagnosis. They show which pods may have a problem
//! ([`Suspects`]); the pods of their workloads are then listed, one namespace at a time, each in turn. A
//! namespace whose pods are slow to list delays the others, by up to 4 minutes for each of its scans; the schedule bounds how often.
//! Only [`FindingTracker`] is kept of the result.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::time::{self, Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::publish::{FindingCode, Publisher};
use super::schedule::{SCAN_INTERVAL, ScanSchedule, limited};
use super::suspects::{SuspectPods, Suspects};
use super::text::printable;
use crate::bucket::Bucket;
use crate::cluster::diagnosis::{NamespaceSnapshot, ReadError, WatchedNodes, read_namespace};
use crate::cluster::events::MAX_NOTE_BYTES;
use crate::reload::Settings;
use crate::telemetry::{Metrics, NamespaceScan};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, Diagnosis, DiagnosisCode, DiagnosisReport, FindingTracker, PublishedFinding, RelatedObjects,
    Selection, TrackedChanges, diagnose,
};
use trainmesh_core::error::chain;

/// Minimum age of the last scan of a namespace with findings, whose cost grows, if its suspicious pods have not changed since.
const FINDINGS_INTERVAL: Duration = Duration::from_mins(1);
/// The same for any other namespace: some findings need minutes without a change. Failed pods are suspicious until they
/// are deleted.
const STABLE_INTERVAL: Duration = Duration::from_mins(5);
/// Rate per second and burst of the events about findings, and of those about resolved findings. Further ones follow.
const EVENTS: (u32, u32) = (1, 50);

/// Diagnoses namespaces with suspicious pods.
pub(super) struct Diagnoser {
    client: Client,
    settings: Arc<Settings>,
    suspects: Arc<Suspects>,
    metrics: Arc<Metrics>,
    publisher: Arc<Publisher>,
    limits: EventLimits,
    /// Namespace of the last event about a resolved finding. The next ones are those of the namespaces after it.
    last_resolved: String,
    tracker: FindingTracker,
    schedule: ScanSchedule<SuspectPods>,
    nodes: Arc<WatchedNodes>,
    /// Namespaces whose last scan could not read these objects.
    unread: BTreeMap<RelatedObjects, BTreeSet<String>>,
}

/// Limits of the events about findings, and about resolved findings: these are no reason to delay new findings.
struct EventLimits {
    findings: Bucket,
    resolutions: Bucket,
}

impl Diagnoser {
    pub(super) fn new(
        client: Client,
        settings: Arc<Settings>,
        suspects: Arc<Suspects>,
        metrics: Arc<Metrics>,
        publisher: Arc<Publisher>,
    ) -> Self {
        let (limits, last_resolved) = (EventLimits::new(), String::new());
        let (tracker, schedule) = (FindingTracker::new(Timestamp::now()), ScanSchedule::default());
        let (nodes, unread) = (Arc::default(), BTreeMap::new());
        Self { client, settings, suspects, metrics, publisher, limits, last_resolved, tracker, schedule, nodes, unread }
    }

    /// Diagnoses until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = time::interval(SCAN_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Not the time at which the process started: another replica counted until now.
        self.tracker = FindingTracker::new(Timestamp::now());
        // Starts with the first suspicious pod.
        let mut nodes = stream::pending().boxed();
        let mut watches_nodes = false;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
                // The nodes are read at the next scan.
                _ = nodes.next() => continue,
            }
            let namespaces = self.suspects.by_namespace(Timestamp::now());
            self.resolve(&namespaces).await;
            let interval = |namespace: &str, _: &_| {
                if self.tracker.has_findings(namespace) { FINDINGS_INTERVAL } else { STABLE_INTERVAL }
            };
            if !watches_nodes && !namespaces.is_empty() {
                (nodes, watches_nodes) = (self.nodes.watch(&self.client), true);
                // The nodes arrive before the next tick.
                continue;
            }
            if let Some(namespace) = self.schedule.due(&namespaces, interval, Instant::now()) {
                let suspects = namespaces.get(&namespace).cloned().unwrap_or_default();
                let mut scan = pin!(self.scan(&namespace, suspects));
                // A scan takes up to minutes, in which nodes change.
                loop {
                    tokio::select! {
                        () = &mut scan => break,
                        Some(()) = nodes.next() => {}
                    }
                }
            }
            self.metrics.diagnosis.set_findings(&self.tracker.counts());
        }
    }

    /// Records that namespaces without suspicious pods have no findings.
    async fn resolve(&mut self, suspicious: &BTreeMap<String, SuspectPods>) {
        for namespaces in self.unread.values_mut() {
            namespaces.retain(|namespace| suspicious.contains_key(namespace));
        }
        let known = self.tracker.namespaces().filter(|namespace| !suspicious.contains_key(*namespace));
        for namespace in in_turn(known, &self.last_resolved) {
            let report = diagnose(&ClusterSnapshot::default(), &Selection::default(), Timestamp::now());
            self.record(&namespace, &report, None, &[]).await;
        }
    }

    async fn scan(&mut self, namespace: &str, suspects: SuspectPods) {
        let start = Instant::now();
        let read = limited(self.schedule.limit(namespace), self.read(namespace, &suspects)).await;
        let duration = start.elapsed();
        // Another error, such as too many pods, may remain until they change.
        let state = read.is_ok().then_some(suspects);
        if !matches!(read, Ok(Ok(_))) {
            self.metrics.diagnosis.count_failed_scan(NamespaceScan::Diagnosis);
        }
        match read {
            Ok(Ok(Some(NamespaceSnapshot { snapshot, unread }))) => {
                let report = diagnose(&snapshot, &Selection::default(), Timestamp::now());
                let objects: Vec<RelatedObjects> = unread.keys().copied().collect();
                self.report_unread(namespace, &unread);
                self.tracker.forget_deleted(namespace, &snapshot, &objects);
                self.record(namespace, &report, Some(&snapshot), &objects).await;
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::warn!(namespace, "not diagnosed: {}", chain(&error)),
            Err(error) => tracing::warn!(namespace, "not diagnosed: {error}"),
        }
        self.schedule.record(namespace, state, duration, Instant::now());
    }

    /// Reads the suspicious workloads; `None` without a configuration.
    async fn read(&self, namespace: &str, suspects: &SuspectPods) -> Result<Option<NamespaceSnapshot>, ReadError> {
        let Some(active) = self.settings.active() else { return Ok(None) };
        let workloads = suspects.workloads();
        let is_selected = |workload: &_| workloads.as_ref().is_none_or(|workloads| workloads.contains(workload));
        read_namespace(&self.client, namespace, &active.config, &self.nodes, is_selected).await.map(Some)
    }

    /// Logs objects that could not be read, unless another scan lacks them, too.
    fn report_unread(&mut self, namespace: &str, unread: &BTreeMap<RelatedObjects, String>) {
        for objects in RelatedObjects::ALL {
            let namespaces = self.unread.entry(objects).or_default();
            let was_complete = namespaces.is_empty();
            let error = unread.get(&objects);
            let is_changed = match error {
                Some(_) => namespaces.insert(namespace.to_owned()),
                None => namespaces.remove(namespace),
            };
            let is_complete = namespaces.is_empty();
            self.metrics.diagnosis.set_unread(objects, !is_complete);
            match error {
                Some(error) if was_complete => {
                    tracing::warn!(
                        namespace,
                        "the diagnosis leaves out findings that need {}: {error}",
                        objects.name()
                    );
                }
                None if is_changed && is_complete => {
                    tracing::info!("the diagnosis reads {} again", objects.name());
                }
                _ => {}
            }
        }
    }

    /// Publishes the changes since the last diagnosis of `namespace`.
    async fn record(
        &mut self,
        namespace: &str,
        report: &DiagnosisReport,
        snapshot: Option<&ClusterSnapshot>,
        unread: &[RelatedObjects],
    ) {
        let TrackedChanges { unpublished, resolved, wasted } = self.tracker.record(namespace, report, unread);
        for (cause, seconds) in wasted {
            self.metrics.diagnosis.add_waste(cause, seconds);
        }
        for found in unpublished {
            let Some(target) = snapshot.and_then(|snapshot| PublishedFinding::new(found, snapshot)) else { continue };
            if !self.limits.try_publish(found.code) {
                continue;
            }
            if has_event(found.code) {
                let object = reference(namespace, &target);
                self.publisher
                    .publish(&object, FindingCode::Diagnosis(found.code, found.finding.severity), note(found))
                    .await;
            }
            self.tracker.mark_published(namespace, found, target);
        }
        for (key, target) in resolved {
            let (workload, code) = &key;
            if !self.limits.try_resolve(*code) {
                continue;
            }
            if has_event(*code) {
                namespace.clone_into(&mut self.last_resolved);
                let note = printable(&format!("{workload}: resolved: {}", code.text()), MAX_NOTE_BYTES);
                let object = reference(namespace, &target);
                self.publisher.publish(&object, FindingCode::Resolved(*code), note).await;
            }
            self.tracker.mark_resolved(namespace, &key);
        }
    }
}

impl EventLimits {
    fn new() -> Self {
        let bucket = || Bucket::new(EVENTS.0, EVENTS.1);
        Self { findings: bucket(), resolutions: bucket() }
    }

    /// Returns true if a finding may be published now.
    fn try_publish(&self, code: DiagnosisCode) -> bool {
        !has_event(code) || self.findings.try_take()
    }

    /// Returns true if the resolution of a finding may be published now.
    fn try_resolve(&self, code: DiagnosisCode) -> bool {
        !has_event(code) || self.resolutions.try_take()
    }
}

/// Returns true for findings that the diagnosis publishes: the detector of mixed gangs has an event for each pod.
fn has_event(code: DiagnosisCode) -> bool {
    code != DiagnosisCode::FabricMixed
}

/// Returns sorted namespaces from the one after `last` on, so that each of them is the first one in turn.
fn in_turn<'a>(namespaces: impl Iterator<Item = &'a str>, last: &str) -> Vec<String> {
    let mut namespaces: Vec<String> = namespaces.map(str::to_owned).collect();
    let next = namespaces.partition_point(|namespace| namespace.as_str() <= last);
    namespaces.rotate_left(next);
    namespaces
}

/// Returns an event's reference to the object of a finding.
fn reference(namespace: &str, target: &PublishedFinding) -> ObjectReference {
    let PublishedFinding { api_version, kind, name, uid, workload: _ } = target;
    ObjectReference {
        api_version: Some(api_version.to_string()),
        kind: Some((*kind).to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_string()),
        uid: Some(uid.to_string()),
        ..ObjectReference::default()
    }
}

/// Returns the text of an event: the workload, the problem and how to find out more.
fn note(found: &Diagnosis) -> String {
    let (workload, message) = (&found.workload, &found.finding.message);
    let recovery = format!("recovers by itself: {} ({})", found.recovery.recovers().name(), found.recovery.reason());
    let fix = found.fix().unwrap_or_default();
    printable(&format!("{workload}: {message}; {recovery}. {fix}"), MAX_NOTE_BYTES)
}

#[cfg(test)]
mod tests;
