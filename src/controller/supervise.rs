//! Runs the watches that the configuration requires.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::context::Context;
use super::selection::Selection;
use super::watch::watch;
use crate::cluster::apiserver;
use crate::reload::Settings;

/// Watches pods until shutdown, and restarts the watches when the configuration selects other pods.
pub(super) async fn supervise(context: Arc<Context>) {
    let Context { client, settings, histories, stop, .. } = &*context;
    let supports_streaming_lists = apiserver::supports_streaming_lists(client).await;
    while !stop.is_cancelled() {
        let current = selections(settings);
        if current.is_empty() {
            // Without a watch there is no pod to count.
            histories.remove_idle(Timestamp::MAX);
        }
        let cancel_watches = stop.child_token();
        let mut watches = JoinSet::new();
        for selection in current.clone() {
            watches.spawn(watch(Arc::clone(&context), selection, supports_streaming_lists, cancel_watches.clone()));
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = selections_changed(settings, &current) => cancel_watches.cancel(),
        }
        while watches.join_next().await.is_some() {}
    }
}

/// Returns the pods to watch: those that the configured selector matches, and those that the webhook has labeled
/// because of their sidecars, fabric, gang or refused rules. Empty if there is no configuration, or if all features are disabled.
fn selections(settings: &Settings) -> Vec<Selection> {
    let Some(active) = settings.active() else { return Vec::new() };
    let (termination, fabric, gang) = (&active.config.termination, &active.config.fabric, &active.config.gang);
    let configured = termination.enabled.then(|| Selection::Configured(termination.pod_selector.as_str().to_owned()));
    let managed = (termination.enabled || fabric.enabled || gang.enabled).then_some(Selection::Managed);
    configured.into_iter().chain(managed).collect()
}

/// Waits until the configuration selects other pods than `current`.
async fn selections_changed(settings: &Settings, current: &[Selection]) {
    let mut updates = settings.subscribe();
    // The sender outlives all receivers.
    while selections(settings) == current && updates.changed().await.is_ok() {}
}
