//! Diagnoses the workloads of opted-in namespaces, and publishes what it finds: an event and a log line for each new
//! finding and for each that is gone, and metrics.
//!
//! The watches keep too little of a pod for a diagnosis. They show which pods may have a problem
//! ([`Suspects`]); the pods of their workloads are then listed, one namespace at a time, those that changed recently
//! first. Only [`FindingTracker`] is kept of the result.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::time::{self, Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::publish::{FindingCode, Publisher};
use super::schedule::{SCAN_INTERVAL, SCAN_TIMEOUT, ScanSchedule, limited};
use super::suspects::{SuspectPods, Suspects};
use super::text::printable;
use crate::bucket::Bucket;
use crate::cluster::diagnosis::{ReadError, read_pods};
use crate::cluster::events::{self, MAX_NOTE_BYTES};
use crate::reload::Settings;
use crate::telemetry::Metrics;
use trainmesh_core::diagnosis::{
    ClusterSnapshot, Diagnosis, DiagnosisCode, DiagnosisReport, FindingTracker, PublishedFinding, Selection,
    TrackedChanges, diagnose,
};
use trainmesh_core::error::chain;

/// Minimum age of the last scan of a namespace with findings, whose cost grows, if its suspicious pods have not changed since.
const FINDINGS_INTERVAL: Duration = Duration::from_mins(1);
/// The same for any other namespace: some findings need minutes without a change. Failed pods are suspicious until they
/// are deleted.
const STABLE_INTERVAL: Duration = Duration::from_mins(5);
/// Rate per second and burst of events. A finding without an event is published by a later scan.
const EVENTS: (u32, u32) = (1, 50);

/// Diagnoses namespaces with suspicious pods.
pub(super) struct Diagnoser {
    client: Client,
    settings: Arc<Settings>,
    suspects: Arc<Suspects>,
    metrics: Arc<Metrics>,
    publisher: Arc<Publisher>,
    events: Bucket,
    tracker: FindingTracker,
    schedule: ScanSchedule<SuspectPods>,
}

impl Diagnoser {
    pub(super) fn new(
        client: Client,
        settings: Arc<Settings>,
        suspects: Arc<Suspects>,
        metrics: Arc<Metrics>,
        publisher: Arc<Publisher>,
    ) -> Self {
        let events = Bucket::new(EVENTS.0, EVENTS.1);
        let (tracker, schedule) = (FindingTracker::new(Timestamp::now()), ScanSchedule::default());
        Self { client, settings, suspects, metrics, publisher, events, tracker, schedule }
    }

    /// Diagnoses until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = time::interval(SCAN_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Not the time at which the process started: another replica counted until now.
        self.tracker = FindingTracker::new(Timestamp::now());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let namespaces = self.suspects.by_namespace(Timestamp::now());
            self.resolve(&namespaces).await;
            let interval = |namespace: &str, _: &_| {
                if self.tracker.has_findings(namespace) { FINDINGS_INTERVAL } else { STABLE_INTERVAL }
            };
            if let Some(namespace) = self.schedule.due(&namespaces, interval, Instant::now()) {
                let suspects = namespaces.get(&namespace).cloned().unwrap_or_default();
                self.scan(&namespace, suspects).await;
            }
            self.metrics.diagnosis.set_findings(&self.tracker.counts());
        }
    }

    /// Records that namespaces without suspicious pods have no findings.
    async fn resolve(&mut self, suspicious: &BTreeMap<String, SuspectPods>) {
        let known = self.tracker.namespaces().filter(|namespace| !suspicious.contains_key(*namespace));
        for namespace in known.map(str::to_owned).collect::<Vec<_>>() {
            let report = diagnose(&ClusterSnapshot::default(), &Selection::default(), Timestamp::now());
            self.record(&namespace, &report, None).await;
        }
    }

    async fn scan(&mut self, namespace: &str, suspects: SuspectPods) {
        match limited(SCAN_TIMEOUT, self.read(namespace, &suspects)).await {
            Ok(Ok(Some((snapshot, report)))) => self.record(namespace, &report, Some(&snapshot)).await,
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::warn!(namespace, "not diagnosed: {}", chain(&error)),
            Err(error) => tracing::warn!(namespace, "not diagnosed: {error}"),
        }
        self.schedule.record(namespace, suspects, Instant::now());
    }

    /// Lists the pods of the suspicious workloads and diagnoses them; `None` without a configuration.
    async fn read(
        &self,
        namespace: &str,
        suspects: &SuspectPods,
    ) -> Result<Option<(ClusterSnapshot, DiagnosisReport)>, ReadError> {
        let Some(active) = self.settings.active() else { return Ok(None) };
        let settings = active.config.termination.clone();
        let workloads = suspects.workloads();
        let is_selected = |workload: &_| workloads.as_ref().is_none_or(|workloads| workloads.contains(workload));
        let snapshot = read_pods(&self.client, namespace, settings, is_selected).await?;
        let report = diagnose(&snapshot, &Selection::default(), Timestamp::now());
        Ok(Some((snapshot, report)))
    }

    /// Publishes the changes since the last diagnosis of `namespace`.
    async fn record(&mut self, namespace: &str, report: &DiagnosisReport, snapshot: Option<&ClusterSnapshot>) {
        let TrackedChanges { unpublished, resolved, wasted } = self.tracker.record(namespace, report);
        for (cause, seconds) in wasted {
            self.metrics.diagnosis.add_waste(cause, seconds);
        }
        for found in unpublished {
            let Some(pod) = snapshot.and_then(|snapshot| snapshot.pod_in_evidence(found)) else { continue };
            if !self.events.try_take() {
                break;
            }
            // The detector of mixed gangs publishes it for each pod.
            if found.code != DiagnosisCode::FabricMixed {
                let object = events::pod(namespace, &pod.pod, &pod.uid);
                self.publisher
                    .publish(&object, FindingCode::Diagnosis(found.code, found.finding.severity), note(found))
                    .await;
            }
            self.tracker.mark_published(namespace, found, pod);
        }
        for (key, PublishedFinding { pod, uid }) in resolved {
            let (workload, code) = &key;
            if !self.events.try_take() {
                break;
            }
            if *code != DiagnosisCode::FabricMixed {
                let note = printable(&format!("{workload}: resolved: {}", code.text()), MAX_NOTE_BYTES);
                let object = events::pod(namespace, &pod, &uid);
                self.publisher.publish(&object, FindingCode::Resolved(*code), note).await;
            }
            self.tracker.mark_resolved(namespace, &key);
        }
    }
}

/// Returns the text of an event: the workload, the problem and how to find out more.
fn note(found: &Diagnosis) -> String {
    let (workload, message) = (&found.workload, &found.finding.message);
    let recovery = format!("recovers by itself: {} ({})", found.recovery.recovers().name(), found.recovery.reason());
    let fix = found.finding.fix.unwrap_or_default();
    printable(&format!("{workload}: {message}; {recovery}. {fix}"), MAX_NOTE_BYTES)
}
