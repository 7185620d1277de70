//! Updates of the facts.

use trainmesh_core::cluster_facts::ClusterFacts;

/// An update of the facts.
pub(super) type Update = Box<dyn FnOnce(&mut ClusterFacts) + Send>;

/// Accessor of one field of the facts.
pub(super) type Field<T> = fn(&mut ClusterFacts) -> &mut T;

/// Returns the update that sets `field` to `value`.
pub(super) fn set<T: Send + 'static>(field: Field<T>, value: T) -> Update {
    Box::new(move |facts| *field(facts) = value)
}
