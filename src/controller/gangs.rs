//! The living pods that were given a fabric, by their gang, as the watch of marked pods tells of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::member::Member;
use super::pod::Watched;
use crate::cluster::index::{Index, Objects};
use crate::cluster::namespaces::{NamespaceCache, Namespaces as _};
use trainmesh_core::gang::{AssignedPod, GangId};
use trainmesh_core::scope::{Installation, Mode};

/// All living pods of gangs that were given a fabric.
pub(super) struct Gangs {
    members: Index<Member>,
    changed: watch::Sender<()>,
    namespaces: Arc<NamespaceCache>,
    installation: Installation,
}

/// Reports that [`Gangs::living`] may have changed.
pub(super) struct Changes {
    members: watch::Receiver<()>,
    namespaces: watch::Receiver<()>,
}

impl Gangs {
    /// No gang is known; [`Self::note`] changes that.
    pub(super) fn new(namespaces: Arc<NamespaceCache>, installation: Installation) -> Self {
        Self { members: Index::default(), changed: watch::Sender::default(), namespaces, installation }
    }

    /// Notes what the watch says.
    pub(super) fn note(&self, event: &Event<Watched>) {
        if self.members.apply(event, |pod, _| pod.member.as_deref().cloned()) {
            self.changed.send_replace(());
        }
    }

    /// The living gangs of opted-in namespaces; `None` as long as not all namespaces and gangs are known. In others the
    /// webhook gives nothing to any pod: marks there are somebody else's.
    pub(super) fn living(&self) -> Option<BTreeMap<GangId, Vec<AssignedPod>>> {
        let opted_in = |namespace: &str| {
            let labels = self.namespaces.known(namespace);
            labels.is_some_and(|labels| self.installation.namespace_mode(namespace, &labels) == Ok(Mode::Enabled))
        };
        if self.namespaces.filled() { self.members.read(|members| Some(living(members?, opted_in))) } else { None }
    }

    /// Reports from now on whenever [`Self::living`] may have changed.
    pub(super) fn changes(&self) -> Changes {
        Changes { members: self.changed.subscribe(), namespaces: self.namespaces.changes() }
    }
}

impl Changes {
    /// Takes note of what has changed so far.
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

/// Pods by gang, of the namespaces that are `opted_in`.
fn living(members: &Objects<Member>, opted_in: impl Fn(&str) -> bool) -> BTreeMap<GangId, Vec<AssignedPod>> {
    let mut namespaces: HashMap<&str, bool> = HashMap::new();
    let mut living: BTreeMap<GangId, Vec<AssignedPod>> = BTreeMap::new();
    for Member { gang, assigned } in members.values() {
        if *namespaces.entry(&gang.namespace).or_insert_with_key(|namespace| opted_in(namespace)) {
            living.entry(gang.clone()).or_default().push(assigned.clone());
        }
    }
    // The order of names means nothing: a pod that takes another's place would look like a change.
    for pods in living.values_mut() {
        pods.sort_unstable();
    }
    living
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

    /// Gangs of namespaces that nobody watches.
    fn gangs() -> Gangs {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let nowhere = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let namespaces = NamespaceCache::new(kube::Client::try_from(nowhere).unwrap());
        Gangs::new(Arc::new(namespaces), Installation::default())
    }

    #[tokio::test]
    async fn only_opted_in_namespaces_count() {
        let gangs = gangs();
        gangs.note(&Event::Init);
        gangs.note(&Event::InitApply(pod("1", &json!({}))));
        gangs.note(&Event::InitApply(pod("2", &json!({"metadata": {"namespace": "team-b"}}))));
        gangs.note(&Event::InitDone);
        let living = gangs.members.read(|members| living(members.unwrap(), |namespace| namespace == "team-b"));
        assert_eq!(living.keys().map(|gang| gang.namespace.as_str()).collect::<Vec<_>>(), ["team-b"]);
        assert_eq!(gangs.living(), None, "not all namespaces are known");
    }

    #[tokio::test]
    async fn gangs_follow_the_watch() {
        let gangs = gangs();
        let mut reported = gangs.changed.subscribe();
        let mut note = |event| {
            gangs.note(&event);
            let changed = reported.has_changed().unwrap();
            reported.mark_unchanged();
            let living = |members: &Objects<Member>| living(members, |_| true).values().map(Vec::len).sum::<usize>();
            (changed, gangs.members.read(|members| members.map(living)))
        };
        let over = json!({"status": {"phase": "Succeeded"}});
        assert_eq!(note(Event::Init), (false, None));
        assert_eq!(note(Event::InitApply(pod("1", &json!({})))), (false, None), "a list counts when it is complete");
        assert_eq!(note(Event::InitDone), (true, Some(1)));
        assert_eq!(note(Event::Apply(pod("1", &json!({"status": {"phase": "Running"}})))), (false, Some(1)));
        assert_eq!(note(Event::Apply(pod("2", &json!({})))), (true, Some(2)));
        assert_eq!(note(Event::Apply(pod("1", &over))), (true, Some(1)));
        assert_eq!(note(Event::Delete(pod("2", &json!({})))), (true, Some(0)));
        assert_eq!(note(Event::Apply(pod("3", &json!({})))), (true, Some(1)));
        assert_eq!(note(Event::Init), (false, Some(1)));
        assert_eq!(note(Event::InitDone), (true, Some(0)), "gone while nobody watched");
    }
}
