//! `PodGroups` that an index leaves out because of its limits, although pods name them. No watch reports their changes, so
//! they are read again from time to time.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream;
use jiff::{SignedDuration, Timestamp};

use super::members::GangKey;
use crate::cluster::gang::groups::{GroupRecord, Groups};
use trainmesh_core::error::chain;

/// Time after which an object is read again: users and schedulers may change it.
const INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// Delay before an object is read again that the controller has written.
const DELAY_AFTER_WRITE: SignedDuration = SignedDuration::from_secs(1);
/// Delay before a failed read is repeated.
const RETRY: SignedDuration = SignedDuration::from_secs(5);
/// Maximum number of these objects in a namespace, and in all. An index leaves those of small namespaces out, too, if others
/// exceed its total.
const MAX_OBJECTS: (usize, usize) = (100, 1_000);
/// Maximum number of objects that are read before other gangs have their turn.
const MAX_READS: usize = 64;
/// Number of concurrent reads.
const CONCURRENCY: usize = 16;

/// The known objects that an index leaves out.
#[derive(Debug, Default)]
pub(super) struct LeftOut(HashMap<GangKey, Entry>);

#[derive(Debug)]
struct Entry {
    /// The object; `None` if it was not read yet, or does not exist.
    record: Option<GroupRecord>,
    /// Time of the next read.
    read_at: Timestamp,
    /// True if the last read did not find it.
    absent: bool,
}

impl LeftOut {
    /// Records that the object of a gang was created, changed or deleted, or exists although `groups` does not contain it.
    /// Returns false if it will remain unknown because of a limit.
    pub(super) fn record_write(&mut self, key: &GangKey, groups: &Groups, now: Timestamp) -> bool {
        if let Some(entry) = self.0.get_mut(key) {
            entry.read_at = entry.read_at.min(now + DELAY_AFTER_WRITE);
        } else if groups.leaves_out(key.group_name()) {
            let in_namespace = || self.0.keys().filter(|other| other.namespace == key.namespace).count();
            if self.0.len() >= MAX_OBJECTS.1 || in_namespace() >= MAX_OBJECTS.0 {
                return false;
            }
            self.0.insert(key.clone(), Entry { record: None, read_at: now, absent: false });
        }
        true
    }

    /// Reads the objects that are due, and removes those that their index contains by now.
    pub(super) async fn refresh(&mut self, groups: &[Arc<Groups>], now: Timestamp) {
        let groups_of = |key: &GangKey| groups.iter().find(|groups| groups.api.mode() == key.mode);
        self.0.retain(|key, _| groups_of(key).is_some_and(|groups| groups.leaves_out(key.group_name())));
        let due = self.0.iter().filter(|(_, entry)| entry.read_at <= now);
        let mut due: Vec<(Timestamp, GangKey)> = due.map(|(key, entry)| (entry.read_at, key.clone())).collect();
        due.sort_unstable();
        due.truncate(MAX_READS);
        let mut reads = Vec::new();
        for (_, key) in due {
            let Some(groups) = groups_of(&key).cloned() else { continue };
            reads.push(async move {
                let found = groups.find(key.group_name()).await;
                (key, found)
            });
        }
        let found: Vec<_> = stream::iter(reads).buffer_unordered(CONCURRENCY).collect().await;
        for (key, found) in found {
            match found {
                Ok(record) => self.record_read(&key, record, now),
                Err(error) => {
                    tracing::warn!(namespace = key.namespace, group = key.name, "{}", chain(&error));
                    if let Some(entry) = self.0.get_mut(&key) {
                        entry.read_at = now + RETRY;
                    }
                }
            }
        }
    }

    fn record_read(&mut self, key: &GangKey, record: Option<GroupRecord>, now: Timestamp) {
        let Some(entry) = self.0.get_mut(key) else { return };
        // One that the controller creates meanwhile is to be found by the next read.
        if record.is_none() && entry.absent {
            self.0.remove(key);
            return;
        }
        *entry = Entry { absent: record.is_none(), record, read_at: now + INTERVAL };
    }

    /// Removes the objects of gangs for which `is_known` returns false.
    pub(super) fn retain(&mut self, is_known: impl Fn(&GangKey) -> bool) {
        self.0.retain(|key, entry| entry.record.is_none() || is_known(key));
    }

    /// Returns the objects that exist.
    pub(super) fn records(&self) -> impl Iterator<Item = (&GangKey, &GroupRecord)> {
        self.0.iter().filter_map(|(key, entry)| Some((key, entry.record.as_ref()?)))
    }

    /// Returns the time of the next read.
    pub(super) fn next_read(&self) -> Option<Timestamp> {
        self.0.values().map(|entry| entry.read_at).min()
    }
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::api::DynamicObject;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};
    use trainmesh_testing::apiserver::Apiserver;

    use super::*;
    use trainmesh_core::gang::GangMode;
    use trainmesh_core::gang::object::{GroupApi, GroupState};

    const PATH: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team-a/podgroups";

    fn key(name: &str) -> GangKey {
        GangKey { namespace: "team-a".to_owned(), mode: GangMode::Volcano, name: name.to_owned() }
    }

    fn object(name: &str) -> Value {
        let labels = json!({"trainmesh.dev/managed": "true"});
        let metadata =
            json!({"name": name, "namespace": "team-a", "uid": "u1", "resourceVersion": "7", "labels": labels});
        json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 4}})
    }

    fn page(items: &[Value]) -> Value {
        json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroupList", "metadata": {}, "items": items})
    }

    /// Returns the `PodGroups` on `server`. The index contains `kept`, and leaves out all others.
    fn groups(server: &Apiserver) -> Arc<Groups> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
        let groups = Groups::with_limits(client, GroupApi::Volcano, (1, 1));
        let dynamic = |name: &str| serde_json::from_value::<DynamicObject>(object(name)).unwrap();
        let listed = ["kept", "left-out"].map(|name| Event::InitApply(dynamic(name)));
        for event in [Event::Init].into_iter().chain(listed).chain([Event::InitDone]) {
            groups.index.apply(&event, |object, _| Some(GroupRecord::read(GroupApi::Volcano, object)));
        }
        Arc::new(groups)
    }

    #[tokio::test]
    async fn an_object_that_the_index_leaves_out_is_read_until_it_is_gone() {
        let server = Apiserver::start(vec![(PATH, page(&[object("left-out")]))]);
        let groups = [groups(&server)];
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut left_out = LeftOut::default();
        left_out.record_write(&key("kept"), &groups[0], at(0));
        assert_eq!(left_out.next_read(), None);
        left_out.record_write(&key("left-out"), &groups[0], at(0));
        assert_eq!(left_out.next_read(), Some(at(0)));

        left_out.refresh(&groups, at(0)).await;
        let found: Vec<(&GangKey, GroupState)> = left_out.records().map(|(key, record)| (key, record.state)).collect();
        assert_eq!(found, [(&key("left-out"), GroupState::Own { minimum: Some(4), deleting: false })]);
        assert_eq!(left_out.next_read(), Some(at(30)));
        left_out.refresh(&groups, at(29)).await;
        assert_eq!(server.requests().len(), 1);
        left_out.record_write(&key("left-out"), &groups[0], at(29));
        assert_eq!(left_out.next_read(), Some(at(30)));

        server.replace(PATH, page(&[object("other")]));
        left_out.refresh(&groups, at(30)).await;
        assert_eq!(left_out.records().count(), 0);
        left_out.record_write(&key("left-out"), &groups[0], at(40));
        assert_eq!(left_out.next_read(), Some(at(41)), "it was created again");
        left_out.refresh(&groups, at(41)).await;
        assert_eq!(left_out.next_read(), None);
        assert_eq!(server.requests(), [PATH; 3]);
    }

    #[tokio::test]
    async fn a_failed_read_is_repeated_and_changes_nothing() {
        let server = Apiserver::start(vec![(PATH, page(&[object("left-out")]))]);
        let groups = [groups(&server)];
        let mut left_out = LeftOut::default();
        left_out.record_write(&key("left-out"), &groups[0], Timestamp::UNIX_EPOCH);
        left_out.refresh(&groups, Timestamp::UNIX_EPOCH).await;
        server.replace(PATH, json!({"kind": "Status", "code": 500, "metadata": {}}));
        let later = Timestamp::UNIX_EPOCH + INTERVAL;
        left_out.refresh(&groups, later).await;
        assert_eq!((left_out.records().count(), left_out.next_read()), (1, Some(later + RETRY)));
    }

    #[tokio::test]
    async fn the_number_of_objects_and_of_reads_at_once_is_limited() {
        let server = Apiserver::start(vec![(PATH, page(&[object("gang-0")]))]);
        let groups = [groups(&server)];
        let mut left_out = LeftOut::default();
        let record = |left_out: &mut LeftOut, namespace: String, count: usize| {
            let gangs =
                (0..count).map(|index| GangKey { namespace: namespace.clone(), ..key(&format!("gang-{index}")) });
            gangs.filter(|gang| left_out.record_write(gang, &groups[0], Timestamp::UNIX_EPOCH)).count()
        };
        assert_eq!(record(&mut left_out, "team-a".to_owned(), MAX_OBJECTS.0 + 1), MAX_OBJECTS.0);
        assert_eq!(left_out.0.len(), MAX_OBJECTS.0);
        assert_eq!(record(&mut left_out, "team-a".to_owned(), 1), 1, "it is known");
        left_out.refresh(&groups, Timestamp::UNIX_EPOCH).await;
        assert_eq!(server.requests().len(), MAX_READS);
        assert_eq!(left_out.next_read(), Some(Timestamp::UNIX_EPOCH));
        left_out.retain(|key| key.name != "gang-0");
        assert_eq!(left_out.records().count(), 0);
    }
}
