//! Pods that no rule touches, whatever it would do.

use super::Reason;
use crate::keys;
use crate::pod::Pod;

/// Why no rule may touch `pod`, if so.
pub(super) fn reason(pod: Pod<'_>) -> Option<Reason> {
    if pod.annotation(keys::MIRROR_POD).is_some() {
        return Some(Reason::MirrorPod);
    }
    if keys::YUNIKORN_PLACEHOLDERS.iter().any(|key| pod.annotation(key) == Some("true")) {
        return Some(Reason::PlaceholderPod);
    }
    if pod.windows() {
        return Some(Reason::WindowsPod);
    }
    pod.being_deleted().then_some(Reason::BeingDeleted)
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
    #[case::ordinary(json!({"metadata": {"deletionTimestamp": null}, "spec": {"containers": []}}), None)]
    fn pods_that_no_rule_touches(#[case] pod: Value, #[case] expected: Option<Reason>) {
        assert_eq!(reason(Pod::new(&pod)), expected);
    }
}
