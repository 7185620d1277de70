//! The `ConfigMap` with the configuration, watched.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::{Api, Client};

use super::ask::{AskError, found};
use super::events;
use super::index::{self, Index, Objects, Options};
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
    Ok(read.as_ref().map_or(Offer::Absent, offer))
}

/// What the `ConfigMap` of `namespace` holds: now, and whenever it changes. Ends only when it is dropped.
pub fn offers(client: Client, namespace: &str) -> impl Stream<Item = Offer> + use<> {
    let (api, index) = (Api::namespaced(client, namespace), Arc::new(Index::default()));
    let reduce = |object: &ConfigMap, _: Option<&Offer>| Some(offer(object));
    let changes = index::watch(api, index::named(NAME), Arc::clone(&index), Options::required(NAME), reduce);
    changes.map(move |()| index.read(current))
}

/// The `ConfigMap` of `namespace`, as events refer to it.
pub async fn reference(client: &Client, namespace: &str) -> ObjectReference {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = tokio::time::timeout(READ_TIMEOUT, api.get_metadata_opt(NAME)).await;
    let uid = found.ok().and_then(Result::ok).flatten().and_then(|found| found.metadata.uid);
    events::reference::<ConfigMap>(namespace, NAME, uid.as_deref())
}

/// What the only object holds, if there is one.
fn current(objects: Option<&Objects<Offer>>) -> Offer {
    objects.and_then(|objects| objects.values().next().cloned()).unwrap_or(Offer::Absent)
}

fn offer(object: &ConfigMap) -> Offer {
    match object.data.as_ref().and_then(|data| data.get(KEY)) {
        Some(text) => Offer::Text(text.clone()),
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

    #[rstest]
    #[case::absent(None, Offer::Absent)]
    #[case::there(Some(with(KEY, "a")), Offer::Text("a".to_owned()))]
    #[case::another_key(
        Some(with("config.yml", "a")),
        Offer::Unreadable("it has no key config.yaml".to_owned())
    )]
    fn what_is_offered(#[case] object: Option<ConfigMap>, #[case] expected: Offer) {
        let objects = object.iter().map(|object| (NAME.to_owned(), offer(object))).collect();
        assert_eq!(current(Some(&objects)), expected);
    }
}
