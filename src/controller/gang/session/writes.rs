//! The writes of a session, and what their outcomes show.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;

use super::{Gang, Session};
use crate::controller::gang::GangController;
use crate::controller::gang::apply::{Action, ApplyOutcome, apply};
use crate::controller::gang::denials::CheckResult;
use trainmesh_core::error::chain;
use trainmesh_core::gang::object::Decision;
use trainmesh_core::objects::WriteOutcome;

/// Number of concurrent writes.
const CONCURRENCY: usize = 16;

/// Carries out `action`.
pub(super) fn write(
    controller: &GangController,
    action: Action,
) -> impl Future<Output = (Action, ApplyOutcome)> + Send + use<> {
    let (publisher, metrics) = (Arc::clone(&controller.publisher), Arc::clone(&controller.metrics));
    async move {
        let outcome = apply(&action, &publisher, &metrics.gang).await;
        (action, outcome)
    }
}

impl Session<'_> {
    /// Carries out these actions. Returns when to repeat the first of those that failed.
    pub(super) async fn write_all(&mut self, actions: Vec<Action>) -> Option<Timestamp> {
        let writes: Vec<_> = actions.into_iter().map(|action| write(self.controller, action)).collect();
        let outcomes: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
        let now = Timestamp::now();
        outcomes.into_iter().filter_map(|(action, outcome)| self.record_write(action, outcome, now)).min()
    }

    /// Records the outcome of an action. Returns when to repeat one that failed.
    pub(super) fn record_write(&mut self, action: Action, outcome: ApplyOutcome, now: Timestamp) -> Option<Timestamp> {
        let Action { key, groups, decision, .. } = action;
        if let Decision::Create(object) = &decision {
            let namespace = key.namespace.clone();
            match outcome {
                ApplyOutcome::Written => self.denials.record_created(groups.api, namespace, object),
                ApplyOutcome::Denied(denial) => {
                    self.denials.record_denied(groups.api, namespace, denial, object, now);
                }
                ApplyOutcome::Conflict | ApplyOutcome::Failed => {}
            }
        }
        let is_done = matches!(outcome, ApplyOutcome::Written | ApplyOutcome::Conflict);
        // An object that exists and remains unknown cannot be kept as required.
        if !(is_done && self.left_out.record_write(&key, &groups, now)) {
            return Some(self.retries.record_failure(&key, now));
        }
        self.retries.record_success(&key);
        None
    }

    /// Changes the object of `gang`, so that its scheduler tries the pods of all gangs again. The next turn is that of another.
    pub(super) fn retry_pods(&mut self, gang: &Gang, now: Timestamp) {
        while self.retrying.try_join_next().is_some() {}
        let (Some(groups), Some(group)) = (self.groups_of(&gang.key), &gang.group) else { return };
        if !self.retrying.is_empty() {
            return;
        }
        let (key, groups, group) = (gang.key.clone(), Arc::clone(groups), group.clone());
        let metrics = Arc::clone(&self.controller.metrics);
        self.retrying.spawn(async move {
            match groups.retry(key.group_name(), &group, now).await {
                Ok(WriteOutcome::Written) => metrics.gang.record_write("update", "written"),
                Ok(WriteOutcome::Conflict) => {}
                Err(error) => {
                    metrics.gang.record_write("update", "failed");
                    tracing::warn!(namespace = key.namespace, group = key.name, "{}", chain(&error));
                }
            }
        });
    }

    /// Checks whether objects are denied in the namespaces of denied objects. A job whose pods wait for such an object may not
    /// exist any more, so that none is written.
    pub(super) async fn check_denials(&mut self) {
        let checks = self.denials.due(Timestamp::now()).into_iter().filter_map(|(api, namespace, object)| {
            let groups = Arc::clone(self.groups.iter().find(|groups| groups.api == api)?);
            Some(async move {
                let result = groups.create_dry_run(&namespace, &object).await;
                (api, namespace, CheckResult::new(&result))
            })
        });
        let results: Vec<_> = stream::iter(checks).buffer_unordered(CONCURRENCY).collect().await;
        for (api, namespace, result) in results {
            self.denials.record_check(api, namespace, result, Timestamp::now());
        }
    }
}
