//! Detects gangs whose pods have different fabric assignments and reports the pods that deviate.
//!
//! A pod that the webhook missed has no label, so the watch does not deliver it. Instead the namespaces of gangs are
//! listed, metadata only, at most one every few seconds, each in turn.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::core::{ObjectList, Request};
use kube::{Client, Resource as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::gangs::Gangs;
use super::publish::{FindingCode, Publisher};
use super::schedule::{CHANGED_INTERVAL, SCAN_INTERVAL, Scan, ScanSchedule, limited};
use super::suspects::Suspects;
use crate::cluster::events;
use crate::cluster::list::paginate;
use crate::cluster::request::RequestError;
use crate::reload::Settings;
use crate::telemetry::{Metrics, NamespaceScan};
use trainmesh_core::error::chain;
use trainmesh_core::gang::deviation::{Deviation, GangMember, deviations};
use trainmesh_core::gang::{Assignment, GangId};
use trainmesh_core::lifecycle::{PodFacts, schema};
use trainmesh_core::sparse::Schema;
use trainmesh_core::workload::identify;
use trainmesh_core::{keys, pod, sparse};

/// Minimum age of a namespace's last scan if its gangs have not changed between the last two.
const STABLE_INTERVAL: Duration = Duration::from_mins(10);
/// Page size. A page is buffered as a whole before it is decoded, and the annotations of one pod can take 256 KiB.
const PAGE: u32 = 50;
/// Maximum number of reported pods per gang: further ones have the same cause.
const MAX_REPORTED: usize = 5;
/// Excludes pods that have completed.
const ACTIVE_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Active gangs of one namespace with the assignments of their pods.
type GangAssignments = BTreeMap<GangId, Vec<Assignment>>;

/// Scans for gangs whose pods have different fabric assignments.
pub(super) struct MixedGangDetector {
    client: Client,
    settings: Arc<Settings>,
    gangs: Arc<Gangs>,
    suspects: Arc<Suspects>,
    metrics: Arc<Metrics>,
    publisher: Arc<Publisher>,
    schedule: ScanSchedule<GangAssignments>,
    mixed: MixedGangs,
}

/// Mixed gangs and the uids of the reported pods.
type MixedGangs = HashMap<GangId, BTreeSet<String>>;

impl MixedGangDetector {
    pub(super) fn new(
        client: Client,
        settings: Arc<Settings>,
        gangs: Arc<Gangs>,
        suspects: Arc<Suspects>,
        metrics: Arc<Metrics>,
        publisher: Arc<Publisher>,
    ) -> Self {
        let (schedule, mixed) = (ScanSchedule::default(), MixedGangs::new());
        Self { client, settings, gangs, suspects, metrics, publisher, schedule, mixed }
    }

    /// Scans until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = interval(SCAN_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let namespaces = self.assignments();
            retain_active(&mut self.mixed, &namespaces);
            if let Some(namespace) = self.schedule.due(&namespaces, interval_of, Instant::now()) {
                let assignments = namespaces.get(&namespace).cloned().unwrap_or_default();
                self.scan(&namespace, assignments).await;
            }
            self.metrics.fabric.set_mixed_gangs(self.mixed.len());
            self.suspects.set_mixed(self.mixed.keys().map(|gang| gang.namespace.clone()).collect());
        }
    }

    /// Returns the assignments of active gangs by namespace.
    fn assignments(&self) -> BTreeMap<String, GangAssignments> {
        let enabled = self.settings.active().is_some_and(|active| active.config.fabric.enabled);
        let active = if enabled { self.gangs.assigned_pods().unwrap_or_default() } else { BTreeMap::new() };
        let mut namespaces: BTreeMap<String, GangAssignments> = BTreeMap::new();
        for (gang, pods) in active {
            let assignments = pods.into_iter().map(|pod| pod.assignment).collect();
            namespaces.entry(gang.namespace.clone()).or_default().insert(gang, assignments);
        }
        namespaces
    }

    async fn scan(&mut self, namespace: &str, assignments: GangAssignments) {
        let start = Instant::now();
        let read = limited(self.schedule.limit(namespace), members(&self.client, namespace)).await;
        let duration = start.elapsed();
        let is_complete = matches!(read, Ok(Ok(_)));
        if !is_complete {
            self.metrics.diagnosis.count_failed_scan(NamespaceScan::Fabric);
        }
        match read {
            Ok(Ok(gangs)) => {
                for gang in assignments.keys() {
                    let deviations = deviations(gangs.get(gang).map_or(&[], Vec::as_slice));
                    self.publish(gang, &deviations).await;
                }
            }
            Ok(Err(error)) => tracing::warn!(namespace, "{}", chain(&error)),
            Err(error) => tracing::warn!(namespace, "gangs were not compared: {error}"),
        }
        self.schedule.record(namespace, is_complete.then_some(assignments), duration, Instant::now());
    }

    async fn publish(&mut self, gang: &GangId, deviations: &[Deviation<'_>]) {
        if deviations.is_empty() {
            self.mixed.remove(gang);
            return;
        }
        let reported = self.mixed.entry(gang.clone()).or_default();
        for deviation in deviations {
            if reported.len() == MAX_REPORTED || !reported.insert(deviation.member.uid.clone()) {
                continue;
            }
            let pod = events::pod(&gang.namespace, &deviation.member.name, &deviation.member.uid);
            self.publisher.publish(&pod, FindingCode::FabricMixed, deviation.message()).await;
        }
    }
}

/// Returns the minimum age of a last scan after which no gang has changed.
fn interval_of(_: &str, last: &Scan<GangAssignments>) -> Duration {
    if last.is_repeated() { STABLE_INTERVAL } else { CHANGED_INTERVAL }
}

/// Removes gangs that are no longer active.
fn retain_active(mixed: &mut MixedGangs, namespaces: &BTreeMap<String, GangAssignments>) {
    mixed.retain(|gang, _| namespaces.get(&gang.namespace).is_some_and(|gangs| gangs.contains_key(gang)));
}

/// Lists the active pods of `namespace` by gang.
async fn members(client: &Client, namespace: &str) -> Result<HashMap<GangId, Vec<GangMember>>, RequestError> {
    let request = &Request::new(Pod::url_path(&(), Some(namespace)));
    let active = ListParams::default().fields(ACTIVE_PODS).limit(PAGE);
    let pods = paginate("list the pods of gangs", active, |parameters| async move {
        let page = request.list_metadata(&parameters).map_err(kube::Error::BuildRequest)?;
        client.request::<ObjectList<PodMetadata>>(page).await
    });
    let members = pods.try_fold(HashMap::new(), |mut gangs: HashMap<GangId, Vec<GangMember>>, PodMetadata(raw)| {
        if let Some((gang, member)) = member(pod::Pod::new(&raw), namespace) {
            gangs.entry(gang).or_default().push(member);
        }
        future::ready(Ok(gangs))
    });
    members.await
}

/// The decoded part of a pod's metadata.
#[derive(Clone)]
struct PodMetadata(Value);

static METADATA_SCHEMA: Schema = Schema::Object(&[("metadata", schema::METADATA)]);

impl<'de> Deserialize<'de> for PodMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        sparse::decode(deserializer, &METADATA_SCHEMA).map(Self)
    }
}

/// Returns the gang of an active `pod` and its membership.
fn member(pod: pod::Pod<'_>, namespace: &str) -> Option<(GangId, GangMember)> {
    let facts = PodFacts::read(pod);
    if facts.deleting {
        return None;
    }
    let gang = GangId::from_pod(pod, namespace)?;
    let member = GangMember {
        name: facts.name.into_string(),
        uid: facts.uid.into_string(),
        role: identify(pod).and_then(|member| member.role).map(str::to_owned),
        created: facts.created.map_or(i64::MAX, Timestamp::as_second),
        assignment: Assignment::from_pod(pod),
        opted_out: facts.opted_out || pod.label(keys::FABRIC) == Some(keys::NO_FABRIC),
    };
    Some((gang, member))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainmesh_core::scope::Installation;
    use trainmesh_testing::apiserver::Apiserver;

    use super::*;
    use crate::cluster::events::EventRecorder;
    use crate::cluster::namespaces::NamespaceCache;

    #[tokio::test]
    async fn a_scan_that_fails_is_counted() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let pods =
            json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": []});
        let server = Apiserver::start(vec![("/api/v1/namespaces/team-a/pods", pods)]);
        let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
        let metrics = Arc::new(Metrics::default());
        let namespaces = Arc::new(NamespaceCache::new(client.clone()));
        let installation = Installation::default();
        let publisher = Publisher::new(EventRecorder::new(client.clone(), "test".to_owned()), Arc::clone(&metrics));
        let mut detector = MixedGangDetector::new(
            client,
            Arc::new(Settings::new(Arc::clone(&metrics))),
            Arc::new(Gangs::new(Arc::clone(&namespaces), installation.clone())),
            Arc::new(Suspects::new(namespaces, installation)),
            Arc::clone(&metrics),
            Arc::new(publisher),
        );
        for (namespace, expected) in [("team-a", 0), ("team-b", 1), ("team-a", 1)] {
            detector.scan(namespace, GangAssignments::new()).await;
            let series = format!("trainmesh_namespace_scans_failed_total{{scan=\"fabric\"}} {expected}\n");
            assert!(metrics.encode().contains(&series), "{namespace}: {}", metrics.encode());
        }
    }

    #[test]
    fn only_active_gangs_stay_mixed() {
        let gang = |namespace: &str| GangId { namespace: namespace.to_owned(), id: "1".to_owned() };
        let mut mixed = MixedGangs::from(["a", "b", "c"].map(|name| (gang(name), BTreeSet::new())));
        let active = |name: &str| (name.to_owned(), GangAssignments::from([(gang(name), Vec::new())]));
        let other = ("c".to_owned(), GangAssignments::from([(gang("d"), Vec::new())]));
        retain_active(&mut mixed, &BTreeMap::from([active("b"), other]));
        assert_eq!(mixed.into_keys().collect::<Vec<_>>(), [gang("b")]);
    }
}
