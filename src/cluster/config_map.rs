//! The `ConfigMap` with the configuration, watched.

use std::time::Duration;

use futures::{Stream, StreamExt as _, future, stream};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};

use super::ask::{AskError, found};
use super::events;
use crate::error::chain;
use crate::reload::Offer;

/// Name of the `ConfigMap`.
pub const NAME: &str = "trainmesh-config";
/// The key that holds the configuration.
pub const KEY: &str = "config.yaml";
/// How long an event may wait for the uid of what it is about.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// What the `ConfigMap` of `namespace` holds now.
pub(super) async fn read(client: &Client, namespace: &str) -> Result<Offer, AskError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let read = found(&format!("read ConfigMap {namespace}/{NAME}"), api.get(NAME)).await?;
    Ok(read.map_or(Offer::Absent, offer))
}

/// What the `ConfigMap` of `namespace` holds: now, and whenever it changes. Ends only when it is dropped.
pub fn offers(client: Client, namespace: &str) -> impl Stream<Item = Offer> + use<> {
    let only = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
    let events = watcher(Api::namespaced(client, namespace), only).default_backoff();
    let events = events.filter_map(|event| {
        future::ready(event.inspect_err(|error| tracing::warn!("watch of {NAME} failed: {}", chain(error))).ok())
    });
    collect(events)
}

/// The `ConfigMap` of `namespace`, as events refer to it.
pub async fn reference(client: &Client, namespace: &str) -> ObjectReference {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = tokio::time::timeout(READ_TIMEOUT, api.get_metadata_opt(NAME)).await;
    let uid = found.ok().and_then(Result::ok).flatten().and_then(|found| found.metadata.uid);
    events::reference::<ConfigMap>(namespace, NAME, uid.as_deref())
}

/// From the events of the watch to offers: a list counts when it is complete.
fn collect(events: impl Stream<Item = Event<ConfigMap>>) -> impl Stream<Item = Offer> {
    let offers = events.scan(Offer::Absent, |listed, event| {
        future::ready(Some(match event {
            Event::Init => {
                *listed = Offer::Absent;
                None
            }
            Event::InitApply(found) => {
                *listed = offer(found);
                None
            }
            Event::InitDone => Some(listed.clone()),
            Event::Apply(found) => Some(offer(found)),
            Event::Delete(_) => Some(Offer::Absent),
        }))
    });
    offers.flat_map(stream::iter)
}

fn offer(found: ConfigMap) -> Offer {
    match found.data.and_then(|mut data| data.remove(KEY)) {
        Some(text) => Offer::Text(text),
        None => Offer::Unreadable(format!("it has no key {KEY}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;

    use super::*;

    fn with(key: &str, text: &str) -> ConfigMap {
        ConfigMap { data: Some(BTreeMap::from([(key.to_owned(), text.to_owned())])), ..ConfigMap::default() }
    }

    fn text(text: &str) -> Offer {
        Offer::Text(text.to_owned())
    }

    #[rstest]
    #[case::absent(vec![Event::Init, Event::InitDone], vec![Offer::Absent])]
    #[case::there(vec![Event::Init, Event::InitApply(with(KEY, "a")), Event::InitDone], vec![text("a")])]
    #[case::list_not_complete(vec![Event::Init, Event::InitApply(with(KEY, "a"))], vec![])]
    #[case::changed_and_deleted(
        vec![Event::Apply(with(KEY, "a")), Event::Apply(with(KEY, "b")), Event::Delete(with(KEY, "b"))],
        vec![text("a"), text("b"), Offer::Absent]
    )]
    #[case::gone_while_the_watch_was_down(
        vec![Event::Init, Event::InitApply(with(KEY, "a")), Event::InitDone, Event::Init, Event::InitDone],
        vec![text("a"), Offer::Absent]
    )]
    #[case::another_key(
        vec![Event::Apply(with("config.yml", "a"))],
        vec![Offer::Unreadable("it has no key config.yaml".to_owned())]
    )]
    #[tokio::test]
    async fn what_is_offered(#[case] events: Vec<Event<ConfigMap>>, #[case] expected: Vec<Offer>) {
        assert_eq!(collect(stream::iter(events)).collect::<Vec<_>>().await, expected);
    }
}
