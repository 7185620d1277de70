//! Index of watched objects, each reduced to the fields that are needed.
//!
//! Modeled on kubert's index: [`Index::apply`] is the only reducer of watch events, and [`watch`] the only loop that
//! feeds it. A list replaces the objects when it is complete, so readers never see a partial one.

mod kept;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt as _};

use kept::Kept;
pub(crate) use kept::{Amount, Limit};
pub(crate) use watch::{Options, watch};

/// Page size for lists that any user can fill. A page is buffered as text, and each object once more, before it
/// is decoded, and the annotations of one object can take 256 KiB.
const PAGE: u32 = 25;

/// Reduced objects by `namespace/name`, or by `name` if they are cluster-scoped.
pub(crate) type Objects<V> = BTreeMap<String, V>;

/// Reduced objects, written by one watch and read concurrently.
pub(crate) struct Index<V> {
    state: RwLock<State<V>>,
    limit: Option<Limit<V>>,
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
    /// True if an object was deleted after others were left out: a list would find some of them.
    outdated: bool,
}

impl<V> Index<V> {
    /// Creates an empty index with limits.
    pub(crate) fn with_limit(limit: Limit<V>) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// Returns true once a list has completed: an object that is not in the index then does not exist.
    pub(crate) fn is_complete(&self) -> bool {
        self.state().complete
    }

    /// Returns true if a new list would find objects that were left out.
    pub(crate) fn is_outdated(&self) -> bool {
        self.state().outdated
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
    pub(crate) fn read_known<T>(&self, read: impl FnOnce(Option<&Known<'_, V>>) -> T) -> T {
        let state = self.state();
        let Kept { objects, truncated, .. } = &state.kept;
        read(state.complete.then_some(&Known { objects, truncated }))
    }

    /// Applies an event and returns true if the objects have changed. `reduce` also receives the previous value of the
    /// object; an object that it reduces to `None` is left out.
    pub(crate) fn apply<K>(&self, event: &Event<K>, reduce: impl Fn(&K, Option<&V>) -> Option<V>) -> bool
    where
        K: Resource,
        V: PartialEq,
    {
        let State { kept, listed, complete, outdated } = &mut *self.state_mut();
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
                *outdated = false;
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
                    None => kept.remove(&key, limit),
                };
            }
            Event::Delete(object) => {
                *outdated |= !kept.truncated.is_empty();
                return kept.remove(&key(object), limit);
            }
        }
        false
    }

    /// Removes all objects; they are unknown until the next list has completed.
    pub(crate) fn clear(&self) {
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
        Self { kept: Kept::default(), listed: Kept::default(), complete: false, outdated: false }
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
