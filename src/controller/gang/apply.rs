//! Carries out a decision about the object of a gang.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use super::members::GangKey;
use crate::cluster::gang::groups::{GroupRecord, Groups};
use crate::cluster::request::{Denial, RequestError};
use crate::controller::publish::{FindingCode, Publisher};
use crate::telemetry::GangMetrics;
use trainmesh_core::error::chain;
use trainmesh_core::gang::GangOwner;
use trainmesh_core::gang::object::{Decision, ReleaseCause, manifest};
use trainmesh_core::objects::WriteOutcome;

/// A decision to carry out.
pub(super) struct Action {
    pub(super) key: GangKey,
    pub(super) groups: Arc<Groups>,
    /// The object that was seen.
    pub(super) group: Option<GroupRecord>,
    /// The job, if it is known.
    pub(super) owner: Option<GangOwner>,
    pub(super) decision: Decision,
}

/// Outcome of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApplyOutcome {
    /// It was carried out.
    Written,
    /// It was not, because the object has changed meanwhile.
    Conflict,
    /// It failed.
    Failed,
    /// The apiserver denies it.
    Denied(Denial),
}

/// Carries out an action.
pub(super) async fn apply(action: &Action, publisher: &Publisher, metrics: &GangMetrics) -> ApplyOutcome {
    let Action { key, decision, .. } = action;
    let verb = match decision {
        Decision::Create(_) => "create",
        Decision::SetMinimum { .. } => "update",
        Decision::Delete { .. } => "delete",
        Decision::Wait { .. } => return ApplyOutcome::Conflict,
    };
    match write(action).await {
        Ok(WriteOutcome::Written) => {
            metrics.record_write(verb, "written");
            tracing::info!(namespace = key.namespace, group = key.name, "{verb} PodGroup: {}", summary(decision));
            if let (Some(cause), Some(owner)) = (release(decision), &action.owner) {
                let note = format!("the pods are not placed all together: {}", cause.text());
                publisher.publish(&reference(&key.namespace, owner), FindingCode::GangReleased, note).await;
            }
            ApplyOutcome::Written
        }
        Ok(WriteOutcome::Conflict) => ApplyOutcome::Conflict,
        Err(error) => {
            metrics.record_write(verb, "failed");
            tracing::error!(namespace = key.namespace, group = key.name, "{}", chain(&error));
            error.denial().map_or(ApplyOutcome::Failed, ApplyOutcome::Denied)
        }
    }
}

async fn write(action: &Action) -> Result<WriteOutcome, RequestError> {
    let Action { key, groups, group, owner, decision } = action;
    let name = key.group_name();
    match (decision, group) {
        (Decision::Create(new), _) => groups.create(name, manifest(groups.api, name, new, owner.as_ref())).await,
        (Decision::SetMinimum { minimum, .. }, Some(group)) => groups.set_minimum(name, group, *minimum).await,
        (Decision::Delete { force, .. }, Some(group)) => groups.delete(name, group, *force).await,
        // Only an object that was seen is changed.
        (Decision::SetMinimum { .. } | Decision::Delete { .. }, None) | (Decision::Wait { .. }, _) => {
            Ok(WriteOutcome::Conflict)
        }
    }
}

/// Returns an event's reference to the job.
pub(super) fn reference(namespace: &str, owner: &GangOwner) -> ObjectReference {
    ObjectReference {
        api_version: Some(owner.api_version.clone()),
        kind: Some(owner.kind.clone()),
        namespace: Some(namespace.to_owned()),
        name: Some(owner.name.clone()),
        uid: Some(owner.uid.clone()),
        ..ObjectReference::default()
    }
}

/// Returns why pods that were meant to start together now may not.
fn release(decision: &Decision) -> Option<ReleaseCause> {
    let cause = match decision {
        Decision::Create(group) => group.release,
        Decision::SetMinimum { cause, .. } => *cause,
        Decision::Delete { .. } | Decision::Wait { .. } => None,
    };
    cause.filter(|cause| cause.breaks_gang())
}

fn summary(decision: &Decision) -> String {
    match decision {
        Decision::Create(group) => {
            let minimum = group.minimum.map_or_else(|| "no minimum".to_owned(), |minimum| format!("minimum {minimum}"));
            group.release.map_or(minimum.clone(), |cause| format!("{minimum}: {}", cause.text()))
        }
        Decision::SetMinimum { minimum, cause } => {
            cause.map_or_else(|| format!("minimum {minimum}"), |cause| format!("minimum {minimum}: {}", cause.text()))
        }
        Decision::Delete { cause, .. } => cause.text().to_owned(),
        Decision::Wait { reason, .. } => reason.text().to_owned(),
    }
}
