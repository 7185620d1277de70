//! The pods of gangs, small enough to keep for every pod of a cluster.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt as _, stream};
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use super::pod::{KeyedPod, Membership};
use crate::cluster::apiserver::supports_streaming_lists;
use crate::cluster::index::{self, Index, Options};
use crate::cluster::list::list;
use crate::cluster::request::RequestError;
use trainmesh_core::gang::object::{Member, SchedulingTerms, Stage};
use trainmesh_core::gang::{GangMode, WorkloadKey};
use trainmesh_core::keys;

/// Time for which changes are collected: the pods of a job are created together.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Page size for lists that are not streamed. The annotations of one pod can take 256 KiB.
const PAGE: u32 = 25;
/// Excludes pods that have completed.
const ACTIVE_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed";
/// Least number of gangs at which those without pods are removed.
const CLEANUP: usize = 256;

/// Identifies a gang by the object that its pods name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GangKey {
    pub(super) namespace: String,
    pub(super) mode: GangMode,
    pub(super) name: String,
}

/// A gang: its key, workload, and the identity of one of its pods. Shared by its pods.
#[derive(Debug)]
pub(super) struct GangInfo {
    pub(super) key: GangKey,
    pub(super) workload: WorkloadKey,
    /// Labels and owner of a pod; all pods of a gang have the same position in their workload.
    pub(super) identity: Value,
}

/// Gangs with their pods.
pub(super) type MembersByGang = BTreeMap<GangKey, (Arc<GangInfo>, Vec<Member>)>;

/// A pod of a gang.
#[derive(Clone, Debug)]
pub(super) struct MemberRecord {
    gang: Arc<GangInfo>,
    stage: Stage,
    terms: Arc<SchedulingTerms>,
}

/// The pods of all gangs.
#[derive(Default)]
pub(super) struct Members {
    index: Arc<Index<MemberRecord>>,
}

/// Lists the pods of `namespace` that belong to a gang and have no key.
pub(super) async fn without_key(client: &Client, namespace: &str) -> Result<Vec<Membership>, RequestError> {
    let active = ListParams::default().fields(ACTIVE_PODS).limit(PAGE);
    let pods = list("list the pods of gangs", &Api::<KeyedPod>::namespaced(client.clone(), namespace), active).await?;
    let memberships = pods.into_iter().filter_map(|pod| pod.membership);
    Ok(memberships.filter(|membership| membership.key.is_none() && membership.stage.is_alive()).collect())
}

/// Values that pods share.
#[derive(Default)]
struct Shared {
    gangs: HashMap<GangKey, Arc<GangInfo>>,
    terms: HashSet<Arc<SchedulingTerms>>,
    /// Number of gangs at which those without pods are removed.
    cleanup_at: usize,
}

impl PartialEq for MemberRecord {
    /// The identity of any pod serves its gang.
    fn eq(&self, other: &Self) -> bool {
        self.stage == other.stage && self.terms == other.terms && self.gang.key == other.gang.key
    }
}

impl Members {
    /// Maintains the index and yields when it has changed.
    pub(super) fn watch(&self, client: &Client) -> BoxStream<'static, ()> {
        let (client, index) = (client.clone(), Arc::clone(&self.index));
        let start = async move {
            let config = watcher::Config::default().labels(&format!("{}=true", keys::MANAGED));
            let config =
                if supports_streaming_lists(&client).await { config.streaming_lists() } else { config.page_size(PAGE) };
            let shared = Mutex::new(Shared::default());
            let reduce = move |pod: &KeyedPod, _: Option<&MemberRecord>| {
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                shared.record(&pod.namespace().unwrap_or_default(), pod.membership.as_ref()?)
            };
            let options = Options::required("the pods of gangs").with_debounce(DEBOUNCE);
            index::watch(Api::<KeyedPod>::all(client), config, index, options, reduce)
        };
        stream::once(start).flatten().boxed()
    }

    /// Returns the pods by gang; `None` until the first list is complete.
    pub(super) fn by_gang(&self) -> Option<MembersByGang> {
        self.index.read(|pods| {
            let mut gangs = MembersByGang::new();
            for MemberRecord { gang, stage, terms } in pods?.values() {
                let member = Member { keyed: true, stage: *stage, terms: Arc::clone(terms) };
                match gangs.get_mut(&gang.key) {
                    Some((_, members)) => members.push(member),
                    None => {
                        gangs.insert(gang.key.clone(), (Arc::clone(gang), vec![member]));
                    }
                }
            }
            Some(gangs)
        })
    }
}

impl Shared {
    fn record(&mut self, namespace: &str, membership: &Membership) -> Option<MemberRecord> {
        let Membership { key, workload, stage, terms, identity } = membership;
        let (mode, name) = key.clone()?;
        let key = GangKey { namespace: namespace.to_owned(), mode, name };
        let known = self.gangs.get(&key).filter(|gang| gang.workload == *workload).cloned();
        let gang = known.unwrap_or_else(|| {
            self.remove_unused();
            let (workload, identity) = (workload.clone(), identity.clone());
            let gang = Arc::new(GangInfo { key: key.clone(), workload, identity });
            self.gangs.insert(key, Arc::clone(&gang));
            gang
        });
        let terms = self.terms.get(terms).cloned().unwrap_or_else(|| {
            let terms = Arc::new(terms.clone());
            self.terms.insert(Arc::clone(&terms));
            terms
        });
        Some(MemberRecord { gang, stage: *stage, terms })
    }

    /// Removes values that no pod shares any more, once their number has doubled.
    fn remove_unused(&mut self) {
        if self.gangs.len() >= self.cleanup_at {
            self.gangs.retain(|_, gang| Arc::strong_count(gang) > 1);
            self.terms.retain(|terms| Arc::strong_count(terms) > 1);
            self.cleanup_at = CLEANUP.max(self.gangs.len() * 2);
        }
    }
}
