//! The `ConfigMap` with the configuration, watched.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::{Api, Client};

use super::events;
use super::index::{self, Index, Objects, Options};
use super::request::{RequestError, find};
use trainmesh_core::config::ConfigUpdate;
use trainmesh_core::objects::{CONFIG_KEY, CONFIG_MAP};

/// How long an event may wait for the uid of what it is about.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// What the `ConfigMap` of `namespace` holds now.
pub(super) async fn read(client: &Client, namespace: &str) -> Result<ConfigUpdate, RequestError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let read = find(&format!("read ConfigMap {namespace}/{CONFIG_MAP}"), api.get(CONFIG_MAP)).await?;
    Ok(read.as_ref().map_or(ConfigUpdate::Absent, update))
}

/// What the `ConfigMap` of `namespace` holds: now, and whenever it changes. Ends only when it is dropped.
pub fn updates(client: Client, namespace: &str) -> impl Stream<Item = ConfigUpdate> + use<> {
    let (api, index) = (Api::namespaced(client, namespace), Arc::new(Index::default()));
    let reduce = |object: &ConfigMap, _: Option<&ConfigUpdate>| Some(update(object));
    let changes =
        index::watch(api, index::named(CONFIG_MAP), Arc::clone(&index), Options::required(CONFIG_MAP), reduce);
    changes.map(move |()| index.read(current))
}

/// The `ConfigMap` of `namespace`, as events refer to it.
pub async fn reference(client: &Client, namespace: &str) -> ObjectReference {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = tokio::time::timeout(READ_TIMEOUT, api.get_metadata_opt(CONFIG_MAP)).await;
    let uid = found.ok().and_then(Result::ok).flatten().and_then(|found| found.metadata.uid);
    events::reference::<ConfigMap>(namespace, CONFIG_MAP, uid.as_deref())
}

/// What the only object holds, if there is one.
fn current(objects: Option<&Objects<ConfigUpdate>>) -> ConfigUpdate {
    objects.and_then(|objects| objects.values().next().cloned()).unwrap_or(ConfigUpdate::Absent)
}

fn update(object: &ConfigMap) -> ConfigUpdate {
    match object.data.as_ref().and_then(|data| data.get(CONFIG_KEY)) {
        Some(text) => ConfigUpdate::Text(text.clone()),
        None => ConfigUpdate::Unreadable(format!("it has no key {CONFIG_KEY}")),
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
    #[case::absent(None, ConfigUpdate::Absent)]
    #[case::there(Some(with(CONFIG_KEY, "a")), ConfigUpdate::Text("a".to_owned()))]
    #[case::another_key(
        Some(with("config.yml", "a")),
        ConfigUpdate::Unreadable("it has no key config.yaml".to_owned())
    )]
    fn contents(#[case] object: Option<ConfigMap>, #[case] expected: ConfigUpdate) {
        let objects = object.iter().map(|object| (CONFIG_MAP.to_owned(), update(object))).collect();
        assert_eq!(current(Some(&objects)), expected);
    }
}
