//! Watches the `ConfigMap` that contains the configuration.

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

/// Time limit for reading the uid of the object that an event refers to.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the configuration from the `ConfigMap` of `namespace`.
pub(super) async fn read(client: &Client, namespace: &str) -> Result<ConfigUpdate, RequestError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let read = find(&format!("read ConfigMap {namespace}/{CONFIG_MAP}"), api.get(CONFIG_MAP)).await?;
    Ok(read.as_ref().map_or(ConfigUpdate::Absent, update))
}

/// Yields the configuration in the `ConfigMap` of `namespace`: the current one, and each change. The stream never ends.
pub fn updates(client: Client, namespace: &str) -> impl Stream<Item = ConfigUpdate> + use<> {
    let (api, index) = (Api::namespaced(client, namespace), Arc::new(Index::default()));
    let reduce = |object: &ConfigMap, _: Option<&ConfigUpdate>| Some(update(object));
    let changes =
        index::watch(api, index::named(CONFIG_MAP), Arc::clone(&index), Options::required(CONFIG_MAP), reduce);
    changes.map(move |()| index.read(current))
}

/// Returns an event's reference to the `ConfigMap` of `namespace`.
pub async fn reference(client: &Client, namespace: &str) -> ObjectReference {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = tokio::time::timeout(READ_TIMEOUT, api.get_metadata_opt(CONFIG_MAP)).await;
    let uid = found.ok().and_then(Result::ok).flatten().and_then(|found| found.metadata.uid);
    events::reference::<ConfigMap>(namespace, CONFIG_MAP, uid.as_deref())
}

/// Returns the content of the only object, if it exists.
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
    #[case::present(Some(with(CONFIG_KEY, "a")), ConfigUpdate::Text("a".to_owned()))]
    #[case::another_key(
        Some(with("config.yml", "a")),
        ConfigUpdate::Unreadable("it has no key config.yaml".to_owned())
    )]
    fn reads_the_configuration_key(#[case] object: Option<ConfigMap>, #[case] expected: ConfigUpdate) {
        let objects = object.iter().map(|object| (CONFIG_MAP.to_owned(), update(object))).collect();
        assert_eq!(current(Some(&objects)), expected);
    }
}
