//! Publishes the rules that the webhook refused for a new pod as an event on the pod, where the owner of a job looks.
//! The webhook warns only the client that creates the pod, which for a job is its operator.

use std::time::Duration;

use jiff::Timestamp;

use super::context::Context;
use super::histories::Step;
use super::pod::WatchedPod;
use super::publish::{FindingCode, Publisher};
use crate::bucket::Bucket;
use crate::cluster::events;
use crate::cluster::namespaces::Namespaces as _;
use trainmesh_core::lifecycle::PodFacts;
use trainmesh_core::mutate::Refusal;
use trainmesh_core::scope::Mode;

/// Rate per second and burst of events. A job with thousands of pods gets as many events, which are not urgent.
const EVENTS: (u32, u32) = (5, 20);
/// Maximum age of a pod whose refusals are published. The apiserver keeps events for an hour, and without a limit every
/// new leader would repeat those of all pods.
const MAX_AGE: Duration = Duration::from_hours(1);

/// Returns the rate limit of the events.
pub(super) fn events() -> Bucket {
    Bucket::new(EVENTS.0, EVENTS.1)
}

/// Returns true, once per pod, if the refusals of `pod` must be published now. If the rate limit is reached, they stay
/// due.
pub(super) fn take_due(pod: &WatchedPod, context: &Context) -> bool {
    let WatchedPod { facts, refusals, .. } = pod;
    if refusals.is_empty() {
        return false;
    }
    let labels = context.namespaces.cached(&facts.namespace);
    let mode = labels.and_then(|labels| context.installation.namespace_mode(&facts.namespace, &labels).ok());
    is_candidate(facts, mode, Timestamp::now())
        && context.histories.is_due(&facts.uid, Step::RefusalEvent)
        && context.refusal_events.try_take()
        && context.histories.mark_done(&facts.uid, Step::RefusalEvent)
}

/// Publishes the refusals of `pod`.
pub(super) async fn publish(pod: &WatchedPod, publisher: &Publisher) {
    let WatchedPod { facts, refusals, .. } = pod;
    let object = events::pod(&facts.namespace, &facts.name, &facts.uid);
    publisher.publish(&object, FindingCode::RuleRefused, note(facts, refusals)).await;
}

/// Returns true if the refusals of a pod are recent, and the webhook can have written them in a namespace with `mode`.
/// In other namespaces the annotation was copied.
fn is_candidate(facts: &PodFacts, mode: Option<Mode>, now: Timestamp) -> bool {
    let is_recent = facts.created.is_some_and(|created| now.duration_since(created).unsigned_abs() <= MAX_AGE);
    mode == Some(Mode::Enabled) && is_recent && !facts.opted_out && !facts.deleting
}

fn note(facts: &PodFacts, refusals: &[Refusal]) -> String {
    let refusals = refusals
        .iter()
        .map(|Refusal { rule, reason }| format!("{} ({}): {}", rule.name(), reason.code(), reason.text()));
    let refusals: Vec<String> = refusals.collect();
    let PodFacts { namespace, name, .. } = facts;
    format!("refused {}. Details: trainmesh preview {name} -n {namespace} --cluster", refusals.join("; "))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use trainmesh_core::pod;

    #[rstest]
    #[case::new(json!({}), Some(Mode::Enabled), true)]
    #[case::audit_mode(json!({}), Some(Mode::Audit), false)]
    #[case::istio_aux(json!({}), Some(Mode::IstioAux), false)]
    #[case::not_opted_in(json!({}), None, false)]
    #[case::opted_out(json!({"labels": {"trainmesh.dev/inject": "disabled"}}), Some(Mode::Enabled), false)]
    #[case::deleted(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), Some(Mode::Enabled), false)]
    #[case::an_hour_old(json!({"creationTimestamp": "2025-12-31T23:10:00Z"}), Some(Mode::Enabled), true)]
    #[case::older(json!({"creationTimestamp": "2025-12-31T23:00:00Z"}), Some(Mode::Enabled), false)]
    #[case::clocks_differ(json!({"creationTimestamp": "2026-01-01T00:11:00Z"}), Some(Mode::Enabled), true)]
    fn refusals_of_new_pods_are_published(
        #[case] overrides: Value,
        #[case] mode: Option<Mode>,
        #[case] expected: bool,
    ) {
        let mut pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}});
        json_patch::merge(&mut pod["metadata"], &overrides);
        let facts = PodFacts::read(pod::Pod::new(&pod));
        assert_eq!(is_candidate(&facts, mode, "2026-01-01T00:10:00Z".parse().unwrap()), expected);
    }

    #[test]
    fn notes_contain_only_text_of_trainmesh() {
        let pod = json!({"metadata": {"name": "a", "namespace": "team-a", "annotations": {"trainmesh.dev/refused": "fabric=UnknownFabric,x=\u{1b}"}}});
        let pod: WatchedPod = serde_json::from_value(pod).unwrap();
        assert_eq!(
            note(&pod.facts, &pod.refusals),
            "refused fabric (UnknownFabric): no fabric profile has this name. Details: trainmesh preview a -n team-a --cluster"
        );
    }
}
