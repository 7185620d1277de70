//! Active pods with a fabric, grouped by gang, from the watch of managed pods.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::member::GangPod;
use super::pod::WatchedPod;
use crate::cluster::index::{Index, Objects};
use crate::cluster::namespaces::{NamespaceCache, Namespaces as _};
use trainmesh_core::gang::{AssignedPod, GangId};
use trainmesh_core::scope::{Installation, Mode};

/// Index of the active pods of gangs with a fabric.
pub(super) struct Gangs {
    members: Index<GangPod>,
    changed: watch::Sender<()>,
    namespaces: Arc<NamespaceCache>,
    installation: Installation,
}

/// Notifies of possible changes of [`Gangs::active_pods`].
pub(super) struct Changes {
    members: watch::Receiver<()>,
    namespaces: watch::Receiver<()>,
}

impl Gangs {
    /// Creates an empty index; [`Self::apply`] fills it.
    pub(super) fn new(namespaces: Arc<NamespaceCache>, installation: Installation) -> Self {
        Self { members: Index::default(), changed: watch::Sender::default(), namespaces, installation }
    }

    /// Applies a watch event.
    pub(super) fn apply(&self, event: &Event<WatchedPod>) {
        if self.members.apply(event, |pod, _| pod.member.as_deref().cloned()) {
            self.changed.send_replace(());
        }
    }

    /// Returns the active pods of gangs in opted-in namespaces; `None` until the caches of namespaces and pods are
    /// synced. In other namespaces the webhook never assigns a fabric: such annotations were copied from elsewhere.
    pub(super) fn active_pods(&self) -> Option<BTreeMap<GangId, Vec<AssignedPod>>> {
        let opted_in = |namespace: &str| {
            let labels = self.namespaces.cached(namespace);
            labels.is_some_and(|labels| self.installation.namespace_mode(namespace, &labels) == Ok(Mode::Enabled))
        };
        if self.namespaces.is_synced() {
            self.members.read(|members| Some(active_pods(members?, opted_in)))
        } else {
            None
        }
    }

    /// Returns a receiver that is notified when [`Self::active_pods`] may have changed.
    pub(super) fn changes(&self) -> Changes {
        Changes { members: self.changed.subscribe(), namespaces: self.namespaces.changes() }
    }
}

impl Changes {
    /// Marks all changes so far as seen.
    pub(super) fn mark_unchanged(&mut self) {
        self.members.mark_unchanged();
        self.namespaces.mark_unchanged();
    }

    /// Waits for a change.
    pub(super) async fn changed(&mut self) {
        tokio::select! {
            // The senders live as long as the gangs.
            _ = self.members.changed() => {}
            _ = self.namespaces.changed() => {}
        }
    }
}

/// Groups pods by gang, in the namespaces that are `opted_in`.
fn active_pods(members: &Objects<GangPod>, opted_in: impl Fn(&str) -> bool) -> BTreeMap<GangId, Vec<AssignedPod>> {
    let mut namespaces: HashMap<&str, bool> = HashMap::new();
    let mut active_pods: BTreeMap<GangId, Vec<AssignedPod>> = BTreeMap::new();
    for GangPod { gang, assigned } in members.values() {
        if *namespaces.entry(&gang.namespace).or_insert_with_key(|namespace| opted_in(namespace)) {
            active_pods.entry(gang.clone()).or_default().push(assigned.clone());
        }
    }
    // Sorted by content, not by name: a replacement pod with the same assignment is not a change.
    for pods in active_pods.values_mut() {
        pods.sort_unstable();
    }
    active_pods
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, overrides: &Value) -> WatchedPod {
        let mut pod = json!({"metadata": {
            "namespace": "team-a", "name": uid, "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"trainmesh.dev/applied": "fabric=ib", "trainmesh.dev/fabric-revision": "0123456789ab"},
            "labels": {"batch.kubernetes.io/job-completion-index": "0"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": true}],
        }});
        json_patch::merge(&mut pod, overrides);
        serde_json::from_value(pod).unwrap()
    }

    #[rstest]
    #[case::pending(json!({}), true)]
    #[case::running(json!({"status": {"phase": "Running"}}), true)]
    #[case::failed(json!({"status": {"phase": "Failed"}}), false)]
    #[case::terminating(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:09Z"}}), false)]
    #[case::no_gang(json!({"metadata": {"ownerReferences": null}}), false)]
    #[case::malformed_revision(json!({"metadata": {"annotations": {"trainmesh.dev/fabric-revision": "0123456789AB"}}}), false)]
    #[case::malformed_profile_name(json!({"metadata": {"annotations": {"trainmesh.dev/applied": "fabric=\u{1}"}}}), false)]
    #[case::malformed_uid(json!({"metadata": {"ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "\u{1}", "controller": true}
    ]}}), false)]
    #[case::long_uid(json!({"metadata": {"ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "a".repeat(200), "controller": true}
    ]}}), false)]
    #[case::no_fabric(json!({"metadata": {"annotations": {"trainmesh.dev/applied": "mesh.hold"}}}), false)]
    fn active_pods_with_a_fabric_are_members(#[case] overrides: Value, #[case] expected: bool) {
        assert_eq!(pod("1", &overrides).member.is_some(), expected);
    }

    /// Returns an index whose namespace cache stays empty.
    fn gangs() -> Gangs {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let namespaces = NamespaceCache::new(kube::Client::try_from(config).unwrap());
        Gangs::new(Arc::new(namespaces), Installation::default())
    }

    #[tokio::test]
    async fn only_opted_in_namespaces_are_included() {
        let gangs = gangs();
        gangs.apply(&Event::Init);
        gangs.apply(&Event::InitApply(pod("1", &json!({}))));
        gangs.apply(&Event::InitApply(pod("2", &json!({"metadata": {"namespace": "team-b"}}))));
        gangs.apply(&Event::InitDone);
        let active_pods =
            gangs.members.read(|members| active_pods(members.unwrap(), |namespace| namespace == "team-b"));
        assert_eq!(active_pods.keys().map(|gang| gang.namespace.as_str()).collect::<Vec<_>>(), ["team-b"]);
        assert_eq!(gangs.active_pods(), None, "not all namespaces are known");
    }

    #[tokio::test]
    async fn the_index_follows_the_watch() {
        let gangs = gangs();
        let mut reported = gangs.changed.subscribe();
        let mut apply = |event| {
            gangs.apply(&event);
            let changed = reported.has_changed().unwrap();
            reported.mark_unchanged();
            let active_pods =
                |members: &Objects<GangPod>| active_pods(members, |_| true).values().map(Vec::len).sum::<usize>();
            (changed, gangs.members.read(|members| members.map(active_pods)))
        };
        let succeeded = json!({"status": {"phase": "Succeeded"}});
        assert_eq!(apply(Event::Init), (false, None));
        assert_eq!(apply(Event::InitApply(pod("1", &json!({})))), (false, None), "the list is incomplete");
        assert_eq!(apply(Event::InitDone), (true, Some(1)));
        assert_eq!(apply(Event::Apply(pod("1", &json!({"status": {"phase": "Running"}})))), (false, Some(1)));
        assert_eq!(apply(Event::Apply(pod("2", &json!({})))), (true, Some(2)));
        assert_eq!(apply(Event::Apply(pod("1", &succeeded))), (true, Some(1)));
        assert_eq!(apply(Event::Delete(pod("2", &json!({})))), (true, Some(0)));
        assert_eq!(apply(Event::Apply(pod("3", &json!({})))), (true, Some(1)));
        assert_eq!(apply(Event::Init), (false, Some(1)));
        assert_eq!(apply(Event::InitDone), (true, Some(0)), "deleted while no watch was open");
    }
}
