//! Pods that are exempt from all rules.

use super::{Reason, verify};
use crate::pod::Pod;
use crate::{json, keys};

/// Maximum length of a container name and of a label value, in bytes.
const MAX_NAME_LENGTH: usize = 63;

/// Returns the reason for which `pod` is exempt from all rules, if it is.
pub(super) fn exemption(pod: Pod<'_>) -> Option<Reason> {
    if verify::exceeds_annotation_limit(pod.raw()) {
        return Some(Reason::AnnotationsTooLarge);
    }
    if has_overlong_value(pod) {
        return Some(Reason::NotAPod);
    }
    if pod.annotation(keys::MIRROR_POD).is_some() {
        return Some(Reason::MirrorPod);
    }
    if keys::YUNIKORN_PLACEHOLDERS.iter().any(|key| pod.annotation(key) == Some("true")) {
        return Some(Reason::PlaceholderPod);
    }
    if pod.is_windows() {
        return Some(Reason::WindowsPod);
    }
    pod.is_being_deleted().then_some(Reason::BeingDeleted)
}

/// Returns true if the name of a container or the value of a label is so long that the apiserver will reject the pod.
/// Messages contain the name or value once for each part of a fabric profile, so its length must be bounded.
fn has_overlong_value(pod: Pod<'_>) -> bool {
    let labels = pod.metadata().and_then(|metadata| json::field(metadata, "labels")?.as_object());
    let mut values = labels.into_iter().flatten().filter_map(|(_, value)| value.as_str());
    values.any(|value| value.len() > MAX_NAME_LENGTH)
        || pod.containers().any(|container| container.name().len() > MAX_NAME_LENGTH)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::mirror(json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "abc"}}}), Some(Reason::MirrorPod))]
    #[case::placeholder(json!({"metadata": {"annotations": {"yunikorn.apache.org/placeholder": "true"}}}), Some(Reason::PlaceholderPod))]
    #[case::newer_placeholder(json!({"metadata": {"annotations": {"internal.yunikorn.apache.org/placeholder": "true"}}}), Some(Reason::PlaceholderPod))]
    #[case::no_placeholder(json!({"metadata": {"annotations": {"yunikorn.apache.org/placeholder": "false"}}}), None)]
    #[case::windows(json!({"spec": {"os": {"name": "windows"}}}), Some(Reason::WindowsPod))]
    #[case::deleted(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), Some(Reason::BeingDeleted))]
    #[case::annotations_at_the_limit(json!({"metadata": {"annotations": {"a": "x".repeat(256 * 1024 - 1)}}}), None)]
    #[case::annotations(json!({"metadata": {"annotations": {"a": "x".repeat(256 * 1024)}}}), Some(Reason::AnnotationsTooLarge))]
    #[case::label(json!({"metadata": {"labels": {"a": "x".repeat(64)}}}), Some(Reason::NotAPod))]
    #[case::container(json!({"spec": {"containers": [{"name": "x".repeat(64)}]}}), Some(Reason::NotAPod))]
    #[case::names_at_the_limit(json!({"metadata": {"labels": {"a": "x".repeat(63)}}, "spec": {"containers": [{"name": "x".repeat(63)}]}}), None)]
    #[case::ordinary(json!({"metadata": {"deletionTimestamp": null}, "spec": {"containers": []}}), None)]
    fn exempt_pods(#[case] pod: Value, #[case] expected: Option<Reason>) {
        assert_eq!(exemption(Pod::new(&pod)), expected);
    }
}
