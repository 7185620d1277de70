//! Detects gangs whose pods have different fabric assignments and reports the pods that deviate.
//!
//! A pod that the webhook missed has no label, so the watch does not deliver it. Instead the namespaces of gangs are
//! listed, metadata only, at most one every few seconds, recently changed ones first.

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
use super::suspects::Suspects;
use crate::cluster::events;
use crate::cluster::list::paginate;
use crate::cluster::request::RequestError;
use crate::reload::Settings;
use crate::telemetry::Metrics;
use trainmesh_core::error::chain;
use trainmesh_core::gang::deviation::{Deviation, GangMember, deviations};
use trainmesh_core::gang::{Assignment, GangId};
use trainmesh_core::lifecycle::{PodFacts, schema};
use trainmesh_core::sparse::Schema;
use trainmesh_core::workload::identify;
use trainmesh_core::{keys, pod, sparse};

/// Interval between two scans; each lists the pods of one namespace.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum age of a namespace's last scan if its gangs have changed since: the pods of a gang are created one after
/// another.
const CHANGED_INTERVAL: Duration = Duration::from_secs(20);
/// The same for a namespace whose gangs have not changed between the last two scans.
const STABLE_INTERVAL: Duration = Duration::from_mins(10);
/// Page size. A page is buffered as a whole before it is decoded, and the annotations of one pod can take 256 KiB.
const PAGE: u32 = 50;
/// Maximum number of reported pods per gang: further ones have the same cause.
const MAX_REPORTED: usize = 5;
/// Excludes pods that have completed.
const ACTIVE_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Active gangs of one namespace with the assignments of their pods.
type GangAssignments = BTreeMap<GangId, Vec<Assignment>>;

struct Scan {
    at: Instant,
    assignments: GangAssignments,
    /// Set if the previous scan found the same assignments.
    stable: bool,
}

/// Scans for gangs whose pods have different fabric assignments.
pub(super) struct MixedGangDetector {
    client: Client,
    settings: Arc<Settings>,
    gangs: Arc<Gangs>,
    suspects: Arc<Suspects>,
    metrics: Arc<Metrics>,
    publisher: Arc<Publisher>,
    scans: Scans,
}

/// State of all scans.
#[derive(Default)]
struct Scans {
    last: HashMap<String, Scan>,
    /// Mixed gangs and the uids of the reported pods.
    mixed: HashMap<GangId, BTreeSet<String>>,
}

impl MixedGangDetector {
    pub(super) fn new(
        client: Client,
        settings: Arc<Settings>,
        gangs: Arc<Gangs>,
        suspects: Arc<Suspects>,
        metrics: Arc<Metrics>,
        publisher: Arc<Publisher>,
    ) -> Self {
        Self { client, settings, gangs, suspects, metrics, publisher, scans: Scans::default() }
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
            self.scans.retain(&namespaces);
            if let Some(namespace) = self.scans.due(&namespaces, Instant::now()) {
                let assignments = namespaces.get(&namespace).cloned().unwrap_or_default();
                self.scan(&namespace, assignments).await;
            }
            self.metrics.fabric.set_mixed_gangs(self.scans.mixed.len());
            self.suspects.set_mixed(self.scans.mixed.keys().map(|gang| gang.namespace.clone()).collect());
        }
    }

    /// Returns the assignments of active gangs by namespace.
    fn assignments(&self) -> BTreeMap<String, GangAssignments> {
        let enabled = self.settings.active().is_some_and(|active| active.config.fabric.enabled);
        let active = if enabled { self.gangs.active_pods().unwrap_or_default() } else { BTreeMap::new() };
        let mut namespaces: BTreeMap<String, GangAssignments> = BTreeMap::new();
        for (gang, pods) in active {
            let assignments = pods.into_iter().map(|pod| pod.assignment).collect();
            namespaces.entry(gang.namespace.clone()).or_default().insert(gang, assignments);
        }
        namespaces
    }

    async fn scan(&mut self, namespace: &str, assignments: GangAssignments) {
        match members(&self.client, namespace).await {
            Ok(gangs) => {
                for gang in assignments.keys() {
                    let deviations = deviations(gangs.get(gang).map_or(&[], Vec::as_slice));
                    self.publish(gang, &deviations).await;
                }
            }
            Err(error) => tracing::warn!(namespace, "{}", chain(&error)),
        }
        self.scans.record(namespace, assignments);
    }

    async fn publish(&mut self, gang: &GangId, deviations: &[Deviation<'_>]) {
        if deviations.is_empty() {
            self.scans.mixed.remove(gang);
            return;
        }
        let reported = self.scans.mixed.entry(gang.clone()).or_default();
        for deviation in deviations {
            if reported.len() == MAX_REPORTED || !reported.insert(deviation.member.uid.clone()) {
                continue;
            }
            let pod = events::pod(&gang.namespace, &deviation.member.name, &deviation.member.uid);
            self.publisher.publish(&pod, FindingCode::FabricMixed, deviation.message()).await;
        }
    }
}

impl Scans {
    /// Removes gangs that are no longer active.
    fn retain(&mut self, namespaces: &BTreeMap<String, GangAssignments>) {
        self.last.retain(|namespace, _| namespaces.contains_key(namespace));
        self.mixed.retain(|gang, _| namespaces.get(&gang.namespace).is_some_and(|gangs| gangs.contains_key(gang)));
    }

    /// Returns the namespace to scan now: of those that are due, the one with the oldest scan.
    fn due(&self, namespaces: &BTreeMap<String, GangAssignments>, now: Instant) -> Option<String> {
        let age = |namespace: &String, assignments: &GangAssignments| match self.last.get(namespace) {
            None => Some(Duration::MAX),
            Some(last) => {
                let stable = last.stable && last.assignments == *assignments;
                let age = now.saturating_duration_since(last.at);
                (age >= if stable { STABLE_INTERVAL } else { CHANGED_INTERVAL }).then_some(age)
            }
        };
        let due = namespaces.iter().filter_map(|(name, assignments)| Some((age(name, assignments)?, name)));
        due.max().map(|(_, name)| name.clone())
    }

    /// Records a scan of `namespace` with these assignments.
    fn record(&mut self, namespace: &str, assignments: GangAssignments) {
        let stable = self.last.get(namespace).is_some_and(|before| before.assignments == assignments);
        self.last.insert(namespace.to_owned(), Scan { at: Instant::now(), assignments, stable });
    }
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
    use super::*;

    #[test]
    fn namespaces_are_scanned_in_turn() {
        let gang = |namespace: &str| GangId { namespace: namespace.to_owned(), id: "1".to_owned() };
        let assignments = |namespace: &str| GangAssignments::from([(gang(namespace), Vec::new())]);
        let namespaces = BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), assignments(name))));
        let start = Instant::now();
        let scan = |after: Duration, stable| Scan { at: start + after, assignments: assignments("a"), stable };
        let mut scans = Scans::default();
        scans.last.insert("a".to_owned(), scan(Duration::ZERO, true));
        assert_eq!(scans.due(&namespaces, start).as_deref(), Some("b"), "never scanned");
        scans.last.insert("b".to_owned(), scan(SCAN_INTERVAL, true));
        assert_eq!(scans.due(&namespaces, start + CHANGED_INTERVAL), None);
        assert_eq!(
            scans.due(&namespaces, start + SCAN_INTERVAL + CHANGED_INTERVAL).as_deref(),
            Some("b"),
            "its gangs have changed"
        );
        assert_eq!(
            scans.due(&namespaces, start + STABLE_INTERVAL + SCAN_INTERVAL).as_deref(),
            Some("a"),
            "oldest scan"
        );
        scans.mixed.insert(gang("a"), BTreeSet::new());
        scans.retain(&BTreeMap::from([("b".to_owned(), assignments("b"))]));
        assert!(scans.mixed.is_empty() && scans.last.len() == 1);
    }
}
