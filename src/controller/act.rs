//! Watches pods and acts on them as the configuration says.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::reconcile::Context;
use super::watch::{Selection, watch};
use crate::cluster::server;
use crate::reload::Settings;

/// Watches and acts as the configuration says, and anew when it says something else, until told to end.
pub(super) async fn act(context: Arc<Context>) {
    let Context { client, settings, memory, stop, .. } = &*context;
    let streams_lists = server::streams_lists(client).await;
    while !stop.is_cancelled() {
        let present = selections(settings);
        if present.is_empty() {
            // Nobody watches: there is nothing to count.
            memory.forget_idle(Timestamp::MAX);
        }
        let over = stop.child_token();
        let mut watches = JoinSet::new();
        for selection in present.clone() {
            watches.spawn(watch(Arc::clone(&context), selection, streams_lists, over.clone()));
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = other_selections(settings, &present) => over.cancel(),
        }
        while watches.join_next().await.is_some() {}
    }
}

/// Which pods are watched: those that may have to be ended, and those that the webhook has marked, for helpers to end or
/// for their fabric. None where there is no configuration, or both are off.
fn selections(settings: &Settings) -> Vec<Selection> {
    let Some(active) = settings.active() else { return Vec::new() };
    let (termination, fabric) = (&active.config.termination, &active.config.fabric);
    let configured = termination.enabled.then(|| Selection::Configured(termination.pod_selector.as_str().to_owned()));
    let marked = (termination.enabled || fabric.enabled).then_some(Selection::Marked);
    configured.into_iter().chain(marked).collect()
}

/// Waits until other pods are to be watched than those of `present`.
async fn other_selections(settings: &Settings, present: &[Selection]) {
    let mut updates = settings.subscribe();
    // The settings outlive all who wait for them.
    while selections(settings) == present && updates.changed().await.is_ok() {}
}
