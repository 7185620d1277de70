//! Index of watched objects, each reduced to the fields that are needed.
//!
//! Modeled on kubert's index: [`Index::apply`] is the only reducer of watch events, and [`watch`] the only loop that
//! feeds it. A list replaces the objects when it is complete, so readers never see a partial one.

#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt as _};

pub(crate) use watch::{Options, watch};

/// Page size for lists that any user can fill. A page is buffered as a whole before it is decoded, and the annotations
/// of one object can take 256 KiB.
const PAGE: u32 = 50;

/// Reduced objects by `namespace/name`, or by `name` if they are cluster-scoped.
pub(crate) type Objects<V> = BTreeMap<String, V>;

/// Reduced objects, written by one watch and read concurrently.
pub(crate) struct Index<V> {
    state: RwLock<State<V>>,
    limit: Option<Limit<V>>,
}

/// Limits of the objects of each namespace; further ones are left out.
pub(crate) struct Limit<V> {
    /// Maximum number of objects.
    pub(crate) objects: usize,
    /// Maximum of the sum of their sizes in bytes.
    pub(crate) size: usize,
    /// Returns the size of an object.
    pub(crate) size_of: fn(&V) -> usize,
}

/// Known objects, and the namespaces from which others were left out.
pub(crate) struct Known<'a, V> {
    pub(crate) objects: &'a Objects<V>,
    pub(crate) truncated: &'a BTreeSet<String>,
}

struct State<V> {
    kept: Kept<V>,
    /// Objects of a list that is still in progress.
    listed: Kept<V>,
    complete: bool,
}

#[derive(PartialEq)]
struct Kept<V> {
    objects: Objects<V>,
    /// Namespaces from which objects were left out since the list began: which ones is not known.
    truncated: BTreeSet<String>,
}

impl<V> Index<V> {
    /// Creates an empty index with a limit for each namespace.
    pub(crate) fn with_limit(limit: Limit<V>) -> Self {
        Self { limit: Some(limit), ..Self::default() }
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
        self.state().kept.objects.get(key).cloned()
    }

    /// Passes all objects to `read`, or `None` until a list has completed.
    pub(crate) fn read<T>(&self, read: impl FnOnce(Option<&Objects<V>>) -> T) -> T {
        let state = self.state();
        read(state.complete.then_some(&state.kept.objects))
    }

    /// Like [`Self::read`], with the namespaces from which objects were left out.
    pub(crate) fn read_known<T>(&self, read: impl FnOnce(Option<Known<'_, V>>) -> T) -> T {
        let state = self.state();
        let Kept { objects, truncated } = &state.kept;
        read(state.complete.then_some(Known { objects, truncated }))
    }

    /// Applies an event and returns true if the objects have changed. `reduce` also receives the previous value of the
    /// object; an object that it reduces to `None` is left out.
    pub(crate) fn apply<K>(&self, event: &Event<K>, reduce: impl Fn(&K, Option<&V>) -> Option<V>) -> bool
    where
        K: Resource,
        V: PartialEq,
    {
        let State { kept, listed, complete } = &mut *self.state_mut();
        let limit = self.limit.as_ref();
        match event {
            Event::Init => *listed = Kept::default(),
            Event::InitApply(object) => {
                let key = key(object);
                if let Some(value) = reduce(object, kept.objects.get(&key)) {
                    listed.insert(key, value, limit);
                }
            }
            Event::InitDone => {
                let listed = std::mem::take(listed);
                let changed = !std::mem::replace(complete, true) || listed != *kept;
                *kept = listed;
                return changed;
            }
            Event::Apply(object) => {
                let key = key(object);
                let before = kept.objects.get(&key);
                return match reduce(object, before) {
                    Some(value) if before == Some(&value) => false,
                    Some(value) => kept.insert(key, value, limit),
                    None => kept.objects.remove(&key).is_some(),
                };
            }
            Event::Delete(object) => return kept.objects.remove(&key(object)).is_some(),
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
        Self { state: RwLock::default(), limit: None }
    }
}

impl<V> Default for State<V> {
    fn default() -> Self {
        Self { kept: Kept::default(), listed: Kept::default(), complete: false }
    }
}

impl<V> Default for Kept<V> {
    fn default() -> Self {
        Self { objects: Objects::new(), truncated: BTreeSet::new() }
    }
}

impl<V> Kept<V> {
    /// Inserts or replaces an object unless its namespace would exceed `limit`. Returns true if the content has changed.
    fn insert(&mut self, key: String, value: V, limit: Option<&Limit<V>>) -> bool {
        let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
        if limit.is_some_and(|limit| !self.fits_in(namespace, &key, &value, limit)) {
            // An object that has grown beyond the limit is removed, because its former value is outdated.
            let is_new = self.truncated.insert(namespace.to_owned());
            return self.objects.remove(&key).is_some() || is_new;
        }
        self.objects.insert(key, value);
        true
    }

    fn fits_in(&self, namespace: &str, key: &str, value: &V, limit: &Limit<V>) -> bool {
        let is_in_namespace = |other: &str| other.split_once('/').is_none_or(|(other, _)| other == namespace);
        let others = self.objects.range(format!("{namespace}/")..).take_while(|(other, _)| is_in_namespace(other));
        let (mut objects, mut size) = (1_usize, (limit.size_of)(value));
        for (_, other) in others.filter(|(other, _)| *other != key) {
            objects = objects.saturating_add(1);
            size = size.saturating_add((limit.size_of)(other));
        }
        objects <= limit.objects && size <= limit.size
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

fn key(object: &impl Resource) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}
