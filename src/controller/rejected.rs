//! Tells of a configuration that was refused, on the `ConfigMap` that holds it.

use std::sync::Arc;

use super::reconcile::Context;
use crate::cluster::config_map;
use crate::cluster::events::Told;

/// Tells what is refused until told to end; `namespace` is that of the `ConfigMap`, none where a file is read.
pub(super) async fn tell(context: Arc<Context>, namespace: Option<String>) {
    let Some(namespace) = namespace else { return };
    let mut updates = context.settings.subscribe();
    loop {
        let refused = updates.borrow_and_update().clone();
        if let Some(refused) = refused {
            let note = format!("{refused}\nthe running configuration is kept");
            let told = Told { warning: true, reason: "ConfigRejected", action: "Reload", note };
            let object = config_map::reference(&context.client, &namespace).await;
            context.events.tell(&object, told).await;
        }
        tokio::select! {
            biased;
            () = context.stop.cancelled() => return,
            changed = updates.changed() => if changed.is_err() { return },
        }
    }
}
