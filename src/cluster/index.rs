//! Index of watched objects, each reduced to the fields that are needed.
//!
//! Modeled on kubert's index: [`Index::apply`] is the only reducer of watch events, and [`watch`] the only loop that
//! feeds it. A list replaces the objects when it is complete, so readers never see a partial one.

mod watch;

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt as _};

pub(crate) use watch::{Options, watch};

/// Page size for lists that any user can fill: a page is buffered as a whole before it is decoded, and the annotations
/// of one object can take 256 KiB.
const PAGE: u32 = 50;

/// Reduced objects by `namespace/name`, or by `name` if they are cluster-scoped.
pub(crate) type Objects<V> = BTreeMap<String, V>;

/// Reduced objects, written by one watch and read concurrently.
pub(crate) struct Index<V> {
    state: RwLock<State<V>>,
    /// Maximum number of objects per namespace; further ones are left out.
    limit: usize,
}

struct State<V> {
    objects: Objects<V>,
    /// Objects of a list that is still in progress.
    listed: Objects<V>,
    complete: bool,
}

impl<V> Index<V> {
    /// Creates an empty index that keeps at most `limit` objects per namespace.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Returns true once a list has completed: an object that is not in the index then does not exist.
    pub(crate) fn is_complete(&self) -> bool {
        self.state().complete
    }

    /// Returns the object with this key, if it is known.
    pub(crate) fn get(&self, key: &str) -> Option<V>
    where
        V: Clone,
    {
        self.state().objects.get(key).cloned()
    }

    /// Passes all objects to `read`, or `None` until a list has completed.
    pub(crate) fn read<T>(&self, read: impl FnOnce(Option<&Objects<V>>) -> T) -> T {
        let state = self.state();
        read(state.complete.then_some(&state.objects))
    }

    /// Applies an event and returns true if the objects have changed. `reduce` also receives the previous value of the
    /// object; an object that it reduces to `None` is left out.
    pub(crate) fn apply<K>(&self, event: &Event<K>, reduce: impl Fn(&K, Option<&V>) -> Option<V>) -> bool
    where
        K: Resource,
        V: PartialEq,
    {
        let State { objects, listed, complete } = &mut *self.state_mut();
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                let key = key(object);
                if let Some(value) = reduce(object, objects.get(&key)) {
                    insert(listed, key, value, self.limit);
                }
            }
            Event::InitDone => {
                let listed = std::mem::take(listed);
                let changed = !std::mem::replace(complete, true) || listed != *objects;
                *objects = listed;
                return changed;
            }
            Event::Apply(object) => {
                let key = key(object);
                let before = objects.get(&key);
                return match reduce(object, before) {
                    Some(value) if before == Some(&value) => false,
                    Some(value) => insert(objects, key, value, self.limit),
                    None => objects.remove(&key).is_some(),
                };
            }
            Event::Delete(object) => return objects.remove(&key(object)).is_some(),
        }
        false
    }

    /// Removes all objects; they are unknown until the next list has completed.
    fn clear(&self) {
        *self.state_mut() = State::default();
    }

    fn state(&self) -> RwLockReadGuard<'_, State<V>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State<V>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self { state: RwLock::default(), limit: usize::MAX }
    }
}

impl<V> Default for State<V> {
    fn default() -> Self {
        Self { objects: Objects::new(), listed: Objects::new(), complete: false }
    }
}

/// Selects all objects of a kind that any user can create.
pub(crate) fn all() -> watcher::Config {
    watcher::Config::default().page_size(PAGE)
}

/// Selects the objects called `name`, one per namespace.
pub(crate) fn named(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}")).page_size(PAGE)
}

/// Inserts or replaces an object, and returns true unless its namespace already has `limit` others.
fn insert<V>(objects: &mut Objects<V>, key: String, value: V, limit: usize) -> bool {
    if limit < usize::MAX && !objects.contains_key(&key) {
        let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
        let is_in_namespace = |other: &str| other.split_once('/').is_none_or(|(other, _)| other == namespace);
        let others = objects.range(format!("{namespace}/")..).take_while(|(other, _)| is_in_namespace(other));
        if others.take(limit).count() == limit {
            return false;
        }
    }
    objects.insert(key, value);
    true
}

fn key(object: &impl Resource) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;
    use rstest::rstest;

    use super::*;

    fn object(name: &str) -> ConfigMap {
        let metadata =
            ObjectMeta { namespace: Some("team-a".to_owned()), name: Some(name.to_owned()), ..ObjectMeta::default() };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    /// Expects the known objects after each event, `=` if the event changes nothing.
    #[rstest]
    #[case::incomplete_list(vec![Event::Init, Event::InitApply(object("x"))], &["=", "="])]
    #[case::empty_list(vec![Event::Init, Event::InitDone], &["=", ""])]
    #[case::list(vec![Event::Init, Event::InitApply(object("x")), Event::InitDone], &["=", "=", "team-a/x"])]
    #[case::same_value(
        vec![Event::Init, Event::InitDone, Event::Apply(object("x")), Event::Apply(object("x"))],
        &["=", "", "team-a/x", "="]
    )]
    #[case::left_out(vec![Event::Init, Event::InitDone, Event::Apply(object("other"))], &["=", "", "="])]
    #[case::deleted(
        vec![Event::Init, Event::InitApply(object("x")), Event::InitDone, Event::Delete(object("x")), Event::Delete(object("x"))],
        &["=", "=", "team-a/x", "", "="]
    )]
    #[case::gone_while_the_watch_was_down(
        vec![Event::Init, Event::InitApply(object("x")), Event::InitDone, Event::Init, Event::InitApply(object("x2")), Event::InitDone],
        &["=", "=", "team-a/x", "=", "=", "team-a/x2"]
    )]
    #[case::the_same_list_again(
        vec![Event::Init, Event::InitApply(object("x")), Event::InitDone, Event::Init, Event::InitApply(object("x")), Event::InitDone],
        &["=", "=", "team-a/x", "=", "=", "="]
    )]
    fn applies_watch_events(#[case] events: Vec<Event<ConfigMap>>, #[case] expected: &[&str]) {
        let index = Index::default();
        let reduce = |map: &ConfigMap, _: Option<&String>| map.name_any().starts_with('x').then(|| map.name_any());
        let found: Vec<String> = events
            .iter()
            .map(|event| {
                if index.apply(event, reduce) {
                    index.read(|objects| objects.unwrap().keys().cloned().collect())
                } else {
                    "=".to_owned()
                }
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_namespace_keeps_a_bounded_number_of_objects() {
        let in_namespace = |namespace: &str, name: &str| {
            let mut object = object(name);
            object.metadata.namespace = Some(namespace.to_owned());
            object
        };
        let index = Index::with_limit(2);
        let names = [("team-a", "a"), ("team-a", "b"), ("team-a", "c"), ("team-a1", "d"), ("team", "e")];
        let listed = names.map(|(namespace, name)| Event::InitApply(in_namespace(namespace, name)));
        let applied = [Event::Apply(in_namespace("team-a", "c")), Event::Apply(in_namespace("team-a", "b"))];
        for event in [Event::Init].into_iter().chain(listed).chain([Event::InitDone]).chain(applied) {
            index.apply(&event, |map: &ConfigMap, _| Some(map.name_any()));
        }
        let kept: Vec<String> = index.read(|objects| objects.unwrap().keys().cloned().collect());
        assert_eq!(kept, ["team-a/a", "team-a/b", "team-a1/d", "team/e"]);
    }

    #[test]
    fn a_value_may_depend_on_the_previous_one() {
        let index = Index::default();
        let count = |_: &ConfigMap, before: Option<&u32>| Some(before.map_or(1, |count| count + 1));
        let list = || [Event::Init, Event::InitApply(object("x")), Event::InitDone];
        for event in list().into_iter().chain([Event::Apply(object("x"))]).chain(list()) {
            index.apply(&event, count);
        }
        assert_eq!(index.get("team-a/x"), Some(3));
        index.clear();
        assert_eq!((index.get("team-a/x"), index.is_complete()), (None, false));
    }
}
