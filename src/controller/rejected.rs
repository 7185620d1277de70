//! Publishes an event for a rejected configuration on its `ConfigMap`.

use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;

use super::publish::{FindingCode, Publisher};
use crate::cluster::config_map;
use crate::reload::Settings;

/// Publishes rejections until `stop`; `namespace` is that of the `ConfigMap`.
pub(super) async fn publish(
    client: Client,
    namespace: String,
    settings: Arc<Settings>,
    publisher: Arc<Publisher>,
    stop: CancellationToken,
) {
    let mut updates = settings.subscribe();
    loop {
        let rejected = updates.borrow_and_update().clone();
        if let Some(rejected) = rejected {
            let note = rejected.note();
            let object = config_map::reference(&client, &namespace).await;
            publisher.publish(&object, FindingCode::ConfigRejected, note).await;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            changed = updates.changed() => if changed.is_err() { return },
        }
    }
}
