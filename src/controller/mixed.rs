//! Looks for gangs whose pods were not set up alike, and tells of those that deviate.
//!
//! A pod that the webhook missed carries no mark, so no watch brings it: the namespaces of gangs are listed, metadata
//! only, one every few seconds at most, those that have changed first.

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
use super::publish::{Code, Publisher};
use crate::cluster::events;
use crate::cluster::list::pages;
use crate::cluster::request::RequestError;
use crate::reload::Settings;
use crate::telemetry::Metrics;
use trainmesh_core::error::chain;
use trainmesh_core::gang::mixed::{Deviating, GangMember, deviating};
use trainmesh_core::gang::{Assignment, GangId};
use trainmesh_core::lifecycle::{PodFacts, schema};
use trainmesh_core::sparse::Schema;
use trainmesh_core::workload::identify;
use trainmesh_core::{keys, pod, sparse};

/// How often one namespace is looked at: a list of its pods each time.
const EVERY: Duration = Duration::from_secs(5);
/// How soon one is looked at again after its gangs have changed: the pods of a gang come one after another.
const AGAIN: Duration = Duration::from_secs(20);
/// How soon where they have not changed for some time.
const SELDOM: Duration = Duration::from_mins(10);
/// Pods in one page. It is read as a whole before it is decoded, and the annotations of one pod may have 256 KiB.
const PAGE: u32 = 50;
/// Pods of one gang that are told of: the others have the same cause.
const TOLD: usize = 5;
/// Finished pods are like nobody any more.
const LIVING: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Living gangs of one namespace and what their assigned pods were given.
type Carries = BTreeMap<GangId, Vec<Assignment>>;

struct Looked {
    at: Instant,
    carries: Carries,
    /// It was as it is now the time before.
    settled: bool,
}

/// Looks for gangs whose pods were not set up alike.
pub(super) struct MixedGangs {
    client: Client,
    settings: Arc<Settings>,
    gangs: Arc<Gangs>,
    metrics: Arc<Metrics>,
    publisher: Arc<Publisher>,
    looker: Looker,
}

/// What was looked at.
#[derive(Default)]
struct Looker {
    looked: HashMap<String, Looked>,
    /// Mixed gangs, and the uids of the pods that were told of.
    mixed: HashMap<GangId, BTreeSet<String>>,
}

impl MixedGangs {
    pub(super) fn new(
        client: Client,
        settings: Arc<Settings>,
        gangs: Arc<Gangs>,
        metrics: Arc<Metrics>,
        publisher: Arc<Publisher>,
    ) -> Self {
        Self { client, settings, gangs, metrics, publisher, looker: Looker::default() }
    }

    /// Looks until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let namespaces = self.carries();
            self.looker.forget(&namespaces);
            if let Some(namespace) = self.looker.due(&namespaces, Instant::now()) {
                let carries = namespaces.get(&namespace).cloned().unwrap_or_default();
                self.look_at(&namespace, carries).await;
            }
            self.metrics.fabric.mixed(self.looker.mixed.len());
        }
    }

    /// What living gangs carry, by namespace.
    fn carries(&self) -> BTreeMap<String, Carries> {
        let enabled = self.settings.active().is_some_and(|active| active.config.fabric.enabled);
        let living = if enabled { self.gangs.living().unwrap_or_default() } else { BTreeMap::new() };
        let mut namespaces: BTreeMap<String, Carries> = BTreeMap::new();
        for (gang, pods) in living {
            let assignments = pods.into_iter().map(|pod| pod.assignment).collect();
            namespaces.entry(gang.namespace.clone()).or_default().insert(gang, assignments);
        }
        namespaces
    }

    async fn look_at(&mut self, namespace: &str, carries: Carries) {
        match members(&self.client, namespace).await {
            Ok(gangs) => {
                for gang in carries.keys() {
                    let deviating = deviating(gangs.get(gang).map_or(&[], Vec::as_slice));
                    self.publish(gang, &deviating).await;
                }
            }
            Err(error) => tracing::warn!(namespace, "{}", chain(&error)),
        }
        self.looker.note(namespace, carries);
    }

    async fn publish(&mut self, gang: &GangId, deviating: &[Deviating<'_>]) {
        if deviating.is_empty() {
            self.looker.mixed.remove(gang);
            return;
        }
        let told = self.looker.mixed.entry(gang.clone()).or_default();
        for found in deviating {
            if told.len() == TOLD || !told.insert(found.member.uid.clone()) {
                continue;
            }
            let pod = events::pod(&gang.namespace, &found.member.name, &found.member.uid);
            self.publisher.publish(&pod, Code::FabricMixed, found.note()).await;
        }
    }
}

impl Looker {
    /// Forgets gangs that live no more.
    fn forget(&mut self, namespaces: &BTreeMap<String, Carries>) {
        self.looked.retain(|namespace, _| namespaces.contains_key(namespace));
        self.mixed.retain(|gang, _| namespaces.get(&gang.namespace).is_some_and(|gangs| gangs.contains_key(gang)));
    }

    /// The namespace to look at now: of those whose time has come, the one that has waited longest.
    fn due(&self, namespaces: &BTreeMap<String, Carries>, now: Instant) -> Option<String> {
        let waited = |namespace: &String, carries: &Carries| match self.looked.get(namespace) {
            None => Some(Duration::MAX),
            Some(looked) => {
                let settled = looked.settled && looked.carries == *carries;
                let waited = now.saturating_duration_since(looked.at);
                (waited >= if settled { SELDOM } else { AGAIN }).then_some(waited)
            }
        };
        let due = namespaces.iter().filter_map(|(name, carries)| Some((waited(name, carries)?, name)));
        due.max().map(|(_, name)| name.clone())
    }

    /// Notes that `namespace` was looked at, when its gangs carried `carries`.
    fn note(&mut self, namespace: &str, carries: Carries) {
        let settled = self.looked.get(namespace).is_some_and(|before| before.carries == carries);
        self.looked.insert(namespace.to_owned(), Looked { at: Instant::now(), carries, settled });
    }
}

/// The living pods of `namespace` by their gang.
async fn members(client: &Client, namespace: &str) -> Result<HashMap<GangId, Vec<GangMember>>, RequestError> {
    let request = &Request::new(Pod::url_path(&(), Some(namespace)));
    let living = ListParams::default().fields(LIVING).limit(PAGE);
    let pods = pages("list the pods of gangs", living, |parameters| async move {
        let page = request.list_metadata(&parameters).map_err(kube::Error::BuildRequest)?;
        client.request::<ObjectList<Listed>>(page).await
    });
    let members = pods.try_fold(HashMap::new(), |mut gangs: HashMap<GangId, Vec<GangMember>>, Listed(raw)| {
        if let Some((gang, member)) = member(pod::Pod::new(&raw), namespace) {
            gangs.entry(gang).or_default().push(member);
        }
        future::ready(Ok(gangs))
    });
    members.await
}

/// The metadata of a pod, as far as it is read.
#[derive(Clone)]
struct Listed(Value);

static LISTED: Schema = Schema::Object(&[("metadata", schema::METADATA)]);

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        sparse::decode(deserializer, &LISTED).map(Self)
    }
}

/// The gang of a living `pod`, and its place in it.
fn member(pod: pod::Pod<'_>, namespace: &str) -> Option<(GangId, GangMember)> {
    let facts = PodFacts::read(pod);
    if facts.deleting {
        return None;
    }
    let gang = GangId::of(pod, namespace)?;
    let member = GangMember {
        name: facts.name.into_string(),
        uid: facts.uid.into_string(),
        role: identify(pod).and_then(|member| member.role).map(str::to_owned),
        created: facts.created.map_or(i64::MAX, Timestamp::as_second),
        assignment: Assignment::of(pod),
        opted_out: facts.opted_out || pod.label(keys::FABRIC) == Some(keys::NO_FABRIC),
    };
    Some((gang, member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_take_turns() {
        let gang = |namespace: &str| GangId { namespace: namespace.to_owned(), id: "1".to_owned() };
        let carries = |namespace: &str| Carries::from([(gang(namespace), Vec::new())]);
        let namespaces = BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), carries(name))));
        let start = Instant::now();
        let look = |after: Duration, settled| Looked { at: start + after, carries: carries("a"), settled };
        let mut looker = Looker::default();
        looker.looked.insert("a".to_owned(), look(Duration::ZERO, true));
        assert_eq!(looker.due(&namespaces, start).as_deref(), Some("b"), "never looked at");
        looker.looked.insert("b".to_owned(), look(EVERY, true));
        assert_eq!(looker.due(&namespaces, start + AGAIN), None);
        assert_eq!(looker.due(&namespaces, start + EVERY + AGAIN).as_deref(), Some("b"), "its gangs have changed");
        assert_eq!(looker.due(&namespaces, start + SELDOM + EVERY).as_deref(), Some("a"), "it has waited longest");
        looker.mixed.insert(gang("a"), BTreeSet::new());
        looker.forget(&BTreeMap::from([("b".to_owned(), carries("b"))]));
        assert!(looker.mixed.is_empty() && looker.looked.len() == 1);
    }
}
