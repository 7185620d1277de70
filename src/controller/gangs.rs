//! The living pods that were given a fabric, by their gang, as the watch of marked pods tells of them.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::pod::Watched;
use super::reconcile::Context;
use crate::cluster::index::Index;
use crate::cluster::namespaces::Namespaces as _;
use crate::gang::{AssignedPod, Assignment, GangId};
use crate::lifecycle::{Phase, PodFacts};
use crate::pod::Pod;
use crate::scope::Mode;

/// The living gangs of opted-in namespaces; `None` as long as not all namespaces and gangs are known.
pub(super) fn living(context: &Context) -> Option<BTreeMap<GangId, Vec<AssignedPod>>> {
    let Context { gangs, namespaces, installation, .. } = context;
    let opted_in = |namespace: &str| {
        let labels = namespaces.known(namespace);
        labels.is_some_and(|labels| installation.namespace_mode(namespace, &labels) == Ok(Mode::Enabled))
    };
    if namespaces.filled() { gangs.living(opted_in) } else { None }
}

/// All living pods of gangs that were given a fabric.
#[derive(Default)]
pub(super) struct Gangs {
    members: Index<Member>,
    changed: watch::Sender<()>,
}

/// A pod that was given a fabric, and its gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    gang: GangId,
    assigned: AssignedPod,
}

impl Member {
    /// The membership of `pod`, whose facts are `facts`, while it lives: one that ends or has ended talks to nobody.
    pub(super) fn read(pod: Pod<'_>, facts: &PodFacts) -> Option<Self> {
        let assignment = Assignment::of(pod)?;
        if facts.deleting || matches!(facts.phase, Phase::Succeeded | Phase::Failed) {
            return None;
        }
        let gang = GangId::of(pod, &facts.namespace)?;
        let created = facts.created.map_or(i64::MAX, Timestamp::as_second);
        Some(Self { gang, assigned: AssignedPod { created, assignment } })
    }
}

impl Gangs {
    /// Notes what the watch says.
    pub(super) fn note(&self, event: &Event<Watched>) {
        if self.members.apply(event, |pod, _| pod.member.as_deref().cloned()) {
            self.changed.send_replace(());
        }
    }

    /// The living gangs of the namespaces that are `opted_in`; `None` as long as not all of them are known. In others the
    /// webhook gives nothing to any pod: marks there are somebody else's.
    pub(super) fn living(&self, opted_in: impl Fn(&str) -> bool) -> Option<BTreeMap<GangId, Vec<AssignedPod>>> {
        self.members.read(|members| {
            let mut namespaces: HashMap<&str, bool> = HashMap::new();
            let mut living: BTreeMap<GangId, Vec<AssignedPod>> = BTreeMap::new();
            for Member { gang, assigned } in members?.values() {
                if *namespaces.entry(&gang.namespace).or_insert_with_key(|namespace| opted_in(namespace)) {
                    living.entry(gang.clone()).or_default().push(assigned.clone());
                }
            }
            // The order of names means nothing: a pod that takes another's place would look like a change.
            for pods in living.values_mut() {
                pods.sort_unstable();
            }
            Some(living)
        })
    }

    /// Tells whenever [`Self::living`] has changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, particular: &Value) -> Watched {
        let mut pod = json!({"metadata": {
            "namespace": "team-a", "name": uid, "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"trainmesh.dev/applied": "fabric=ib", "trainmesh.dev/fabric-revision": "0123456789ab"},
            "labels": {"batch.kubernetes.io/job-completion-index": "0"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": true}],
        }});
        json_patch::merge(&mut pod, particular);
        serde_json::from_value(pod).unwrap()
    }

    #[rstest]
    #[case::lives(json!({}), true)]
    #[case::runs(json!({"status": {"phase": "Running"}}), true)]
    #[case::has_ended(json!({"status": {"phase": "Failed"}}), false)]
    #[case::ends(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:09Z"}}), false)]
    #[case::no_gang(json!({"metadata": {"ownerReferences": null}}), false)]
    #[case::no_hash(json!({"metadata": {"annotations": {"trainmesh.dev/fabric-revision": "0123456789AB"}}}), false)]
    #[case::no_profile_name(json!({"metadata": {"annotations": {"trainmesh.dev/applied": "fabric=\u{1}"}}}), false)]
    #[case::no_uid(json!({"metadata": {"ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "\u{1}", "controller": true}
    ]}}), false)]
    #[case::long_uid(json!({"metadata": {"ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "a".repeat(200), "controller": true}
    ]}}), false)]
    #[case::no_fabric(json!({"metadata": {"annotations": {"trainmesh.dev/applied": "mesh.hold"}}}), false)]
    fn members(#[case] particular: Value, #[case] expected: bool) {
        assert_eq!(pod("1", &particular).member.is_some(), expected);
    }

    #[test]
    fn only_opted_in_namespaces_count() {
        let gangs = Gangs::default();
        gangs.note(&Event::Init);
        gangs.note(&Event::InitApply(pod("1", &json!({}))));
        gangs.note(&Event::InitApply(pod("2", &json!({"metadata": {"namespace": "team-b"}}))));
        gangs.note(&Event::InitDone);
        let living = gangs.living(|namespace| namespace == "team-b").unwrap();
        assert_eq!(living.keys().map(|gang| gang.namespace.as_str()).collect::<Vec<_>>(), ["team-b"]);
    }

    #[test]
    fn gangs_follow_the_watch() {
        let gangs = Gangs::default();
        let mut told = gangs.changes();
        let mut tell = |event| {
            gangs.note(&event);
            let changed = told.has_changed().unwrap();
            told.mark_unchanged();
            (changed, gangs.living(|_| true).map(|living| living.values().map(Vec::len).sum::<usize>()))
        };
        let over = json!({"status": {"phase": "Succeeded"}});
        assert_eq!(tell(Event::Init), (false, None));
        assert_eq!(tell(Event::InitApply(pod("1", &json!({})))), (false, None), "a list counts when it is complete");
        assert_eq!(tell(Event::InitDone), (true, Some(1)));
        assert_eq!(tell(Event::Apply(pod("1", &json!({"status": {"phase": "Running"}})))), (false, Some(1)));
        assert_eq!(tell(Event::Apply(pod("2", &json!({})))), (true, Some(2)));
        assert_eq!(tell(Event::Apply(pod("1", &over))), (true, Some(1)));
        assert_eq!(tell(Event::Delete(pod("2", &json!({})))), (true, Some(0)));
        assert_eq!(tell(Event::Apply(pod("3", &json!({})))), (true, Some(1)));
        assert_eq!(tell(Event::Init), (false, Some(1)));
        assert_eq!(tell(Event::InitDone), (true, Some(0)), "gone while nobody watched");
    }
}
