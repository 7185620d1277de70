//! Watches for changes of one object by metadata alone, so that no key is transferred.

use std::fmt::Debug;

use futures::{Stream, StreamExt as _, future};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};

use super::watched;
use trainmesh_core::error::chain;

/// Yields when the watch of the object called `name` has started and on each change. The stream never ends.
pub(super) fn changes<K>(api: Api<PartialObjectMeta<K>>, name: &str) -> impl Stream<Item = ()> + Send + use<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let name = name.to_owned();
    watched::events(api, only).filter_map(move |event| {
        future::ready(match event {
            Ok(Event::Init | Event::InitApply(_)) => None,
            Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)) => Some(()),
            Err(error) => {
                tracing::warn!("watch of {name} failed: {}", chain(&error));
                None
            }
        })
    })
}
