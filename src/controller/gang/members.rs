//! The pods of gangs, small enough to keep for every pod of a cluster.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use super::pod::{KeyedPod, Membership};
use crate::cluster::apiserver::supports_streaming_lists;
use crate::cluster::index::{self, Index, Options};
use crate::cluster::list::list;
use crate::cluster::request::RequestError;
use trainmesh_core::gang::object::{GroupName, Member, SchedulingTerms, Stage};
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

impl GangKey {
    /// Returns the name of the object.
    pub(super) fn group_name(&self) -> GroupName<'_> {
        GroupName { namespace: &self.namespace, name: &self.name }
    }
}

/// A gang: its key, workload, and the identity of one of its pods. Shared by its pods.
#[derive(Debug)]
pub(super) struct GangInfo {
    pub(super) key: GangKey,
    pub(super) workload: WorkloadKey,
    /// Labels and owner of a pod; all pods of a gang have the same position in their workload.
    pub(super) identity: Value,
}

/// A gang with its pods.
#[derive(Default)]
pub(super) struct GangMembers {
    /// `None` if no pod names its object.
    pub(super) info: Option<Arc<GangInfo>>,
    pub(super) members: Vec<Member>,
    /// Creation time of the newest pod.
    pub(super) newest: Option<Timestamp>,
}

/// A pod of a gang.
#[derive(Clone, Debug)]
pub(super) struct MemberRecord {
    gang: Arc<GangInfo>,
    stage: Stage,
    terms: Arc<SchedulingTerms>,
    created: Option<Timestamp>,
}

/// The pods of all gangs.
#[derive(Default)]
pub(super) struct Members {
    index: Arc<Index<MemberRecord>>,
}

/// Pods that a search has found: those of each gang, by its name, with the mode in which a pod names its gang.
#[derive(Debug, Default)]
pub(super) struct FoundPods(HashMap<String, Vec<Option<GangMode>>>);

impl FoundPods {
    /// Adds a pod of the gang called `gang`. `key` is what the pod names, which may be another gang.
    pub(super) fn record(&mut self, gang: String, key: Option<&(GangMode, String)>) {
        let mode = key.filter(|(_, name)| *name == gang).map(|(mode, _)| *mode);
        self.0.entry(gang).or_default().push(mode);
    }

    /// Returns the number of pods that belong to a gang and do not name its object.
    pub(super) fn without_key(&self, gang: &GangKey) -> usize {
        let modes = self.0.get(&gang.name).into_iter().flatten();
        modes.filter(|mode| **mode != Some(gang.mode)).count()
    }
}

/// Lists the active pods of `namespace` that belong to a gang.
pub(super) async fn active_pods(client: &Client, namespace: &str) -> Result<Vec<Membership>, RequestError> {
    let active = ListParams::default().fields(ACTIVE_PODS).limit(PAGE);
    let pods = list("list the pods of gangs", &Api::<KeyedPod>::namespaced(client.clone(), namespace), active).await?;
    let memberships = pods.into_iter().filter_map(|pod| pod.membership);
    Ok(memberships.filter(|membership| membership.stage.is_alive()).collect())
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
        self.stage == other.stage
            && self.terms == other.terms
            && self.created == other.created
            && self.gang.key == other.gang.key
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
    pub(super) fn by_gang(&self) -> Option<BTreeMap<GangKey, GangMembers>> {
        self.index.read(|pods| {
            let mut gangs: BTreeMap<GangKey, GangMembers> = BTreeMap::new();
            for MemberRecord { gang, stage, terms, created } in pods?.values() {
                let member = Member { keyed: true, stage: *stage, terms: Arc::clone(terms) };
                if let Some(known) = gangs.get_mut(&gang.key) {
                    known.members.push(member);
                    known.newest = known.newest.max(*created);
                } else {
                    let (info, members) = (Some(Arc::clone(gang)), vec![member]);
                    gangs.insert(gang.key.clone(), GangMembers { info, members, newest: *created });
                }
            }
            Some(gangs)
        })
    }
}

impl Shared {
    fn record(&mut self, namespace: &str, membership: &Membership) -> Option<MemberRecord> {
        let Membership { key, workload, stage, terms, created, identity } = membership;
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
        Some(MemberRecord { gang, stage: *stage, terms, created: *created })
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Pods are modes and names of their keys, `-` without a key.
    #[rstest]
    #[case::own(&["native train-1", "native train-1"], 0)]
    #[case::without_key(&["native train-1", "-", "-"], 2)]
    #[case::another_mode(&["native train-1", "volcano train-1"], 1)]
    #[case::another_gang(&["native train-1", "native train-0"], 1)]
    #[case::none(&[], 0)]
    fn pods_that_do_not_name_the_object_of_their_gang_are_counted(#[case] pods: &[&str], #[case] expected: usize) {
        let mut found = FoundPods::default();
        for pod in pods {
            let key = pod.split_once(' ').map(|(mode, name)| (GangMode::parse(mode).unwrap(), name.to_owned()));
            found.record("train-1".to_owned(), key.as_ref());
        }
        found.record("other".to_owned(), None);
        let name = "train-1".to_owned();
        let gang = GangKey { namespace: "team-a".to_owned(), mode: GangMode::Native, name };
        assert_eq!(found.without_key(&gang), expected);
    }
}
