//! Active pods of gangs, from the watch of managed pods.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::member::GangPod;
use super::pod::WatchedPod;
use crate::cluster::index::{Index, Objects};
use crate::cluster::namespaces::{NamespaceCache, Namespaces as _};
use trainmesh_core::gang::{AssignedPod, GangId, GangMode, ScheduledPod};
use trainmesh_core::keys;
use trainmesh_core::scope::{Installation, Mode};

/// Index of the active pods of gangs.
pub(super) struct Gangs {
    members: Index<GangPod>,
    changed: watch::Sender<()>,
    namespaces: Arc<NamespaceCache>,
    installation: Installation,
}

/// Notifies of possible changes of [`Gangs`].
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

    /// Returns the active pods with a fabric by gang, in opted-in namespaces; `None` until the caches of namespaces and pods
    /// are synced. In other namespaces the webhook never assigns a fabric: such annotations were copied from elsewhere.
    pub(super) fn assigned_pods(&self) -> Option<BTreeMap<GangId, Vec<AssignedPod>>> {
        self.active_pods(GangMode::None, |pod, _| pod.assigned.as_ref())
    }

    /// Returns the active pods with the modes of their gangs, in opted-in namespaces; `None` as above. Pods without keys
    /// count only if their namespace selects a mode, by its label or the `default` of the configuration.
    pub(super) fn scheduled_pods(&self, default: GangMode) -> Option<BTreeMap<GangId, Vec<ScheduledPod>>> {
        self.active_pods(default, |pod, selected| {
            pod.scheduled.as_ref().filter(|scheduled| scheduled.mode.is_some() || selected != GangMode::None)
        })
    }

    /// Returns true if a pod names a `PodGroup` that the webhook gave it, in any namespace: the pod may wait for the object also
    /// after its namespace was opted out. False until the pods are known.
    pub(super) fn any_names_group(&self) -> bool {
        self.members.read(|pods| pods.is_some_and(|pods| pods.values().any(|pod| pod.names_group)))
    }

    /// Returns what `select` takes of the active pods by gang. It gets the mode that the namespace selects.
    fn active_pods<T: Clone + Ord>(
        &self,
        default: GangMode,
        select: impl Fn(&GangPod, GangMode) -> Option<&T>,
    ) -> Option<BTreeMap<GangId, Vec<T>>> {
        let mode = |namespace: &str| {
            let labels = self.namespaces.cached(namespace)?;
            let selected = labels.get(keys::GANG).map_or(default, |name| GangMode::parse(name).unwrap_or_default());
            (self.installation.namespace_mode(namespace, &labels) == Ok(Mode::Enabled)).then_some(selected)
        };
        if self.namespaces.is_synced() {
            self.members.read(|members| Some(by_gang(members?, mode, select)))
        } else {
            None
        }
    }

    /// Returns a receiver that is notified when the active pods may have changed.
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

/// Groups what `select` takes of pods by gang. `mode` returns the mode that a namespace selects, and `None` for one that is
/// not opted in.
fn by_gang<T: Clone + Ord>(
    members: &Objects<GangPod>,
    mode: impl Fn(&str) -> Option<GangMode>,
    select: impl Fn(&GangPod, GangMode) -> Option<&T>,
) -> BTreeMap<GangId, Vec<T>> {
    let mut namespaces: HashMap<&str, Option<GangMode>> = HashMap::new();
    let mut by_gang: BTreeMap<GangId, Vec<T>> = BTreeMap::new();
    for pod in members.values() {
        let mode = *namespaces.entry(&pod.gang.namespace).or_insert_with_key(|namespace| mode(namespace));
        if let Some(selected) = mode.and_then(|mode| select(pod, mode)) {
            by_gang.entry(pod.gang.clone()).or_default().push(selected.clone());
        }
    }
    // Sorted by content, not by name: a replacement pod with the same content is not a change.
    for pods in by_gang.values_mut() {
        pods.sort_unstable();
    }
    by_gang
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
        let assigned = pod("1", &overrides).member.and_then(|member| member.assigned);
        assert_eq!(assigned.is_some(), expected);
    }

    /// Returns an index whose namespace cache stays empty.
    fn gangs() -> Gangs {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let namespaces = NamespaceCache::new(kube::Client::try_from(config).unwrap());
        Gangs::new(Arc::new(namespaces), Installation::default())
    }

    #[tokio::test]
    async fn pods_that_name_a_pod_group_are_found() {
        let group = json!({"schedulingGroup": {"podGroupName": "g"}});
        let volcano = json!({"schedulerName": "volcano"});
        for (applied, spec, overrides, expected) in [
            ("mesh.hold,gang=native", &group, json!({}), true),
            ("gang=native", &group, json!({"metadata": {"labels": {"trainmesh.dev/gang": "native"}}}), true),
            ("gang=volcano", &volcano, json!({"status": {"phase": "Running"}}), true),
            ("gang=volcano", &volcano, json!({"status": {"phase": "Succeeded"}}), false),
            ("gang=kai", &json!({"schedulerName": "kai-scheduler"}), json!({}), false),
            ("gang=native", &json!({}), json!({}), false),
            ("fabric=ib", &group, json!({}), false),
        ] {
            let gangs = gangs();
            let mut pod_of_gang =
                json!({"metadata": {"annotations": {"trainmesh.dev/applied": applied}}, "spec": spec});
            json_patch::merge(&mut pod_of_gang, &overrides);
            gangs.apply(&Event::Init);
            gangs.apply(&Event::InitApply(pod("1", &pod_of_gang)));
            assert!(!gangs.any_names_group(), "the list is incomplete");
            gangs.apply(&Event::InitDone);
            assert_eq!(gangs.any_names_group(), expected, "{pod_of_gang}");
        }
    }

    #[tokio::test]
    async fn only_opted_in_namespaces_are_included() {
        let gangs = gangs();
        gangs.apply(&Event::Init);
        gangs.apply(&Event::InitApply(pod("1", &json!({}))));
        gangs.apply(&Event::InitApply(pod("2", &json!({"metadata": {"namespace": "team-b"}}))));
        gangs.apply(&Event::InitDone);
        let mode = |namespace: &str| (namespace == "team-b").then_some(GangMode::None);
        let by_gang = gangs.members.read(|members| by_gang(members.unwrap(), mode, |pod, _| pod.assigned.as_ref()));
        assert_eq!(by_gang.keys().map(|gang| gang.namespace.as_str()).collect::<Vec<_>>(), ["team-b"]);
        assert_eq!(gangs.assigned_pods(), None, "not all namespaces are known");
        assert_eq!(gangs.scheduled_pods(GangMode::None), None);
    }

    #[tokio::test]
    async fn the_index_follows_the_watch() {
        let gangs = gangs();
        let mut reported = gangs.changed.subscribe();
        let mut apply = |event| {
            gangs.apply(&event);
            let changed = reported.has_changed().unwrap();
            reported.mark_unchanged();
            let count = |members: &Objects<GangPod>| {
                let pods = by_gang(members, |_| Some(GangMode::None), |pod, _| pod.assigned.as_ref());
                pods.values().map(Vec::len).sum::<usize>()
            };
            (changed, gangs.members.read(|members| members.map(count)))
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
