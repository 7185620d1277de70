//! Labels of a pod.

use serde_json::Value;

use super::read::truncate;
use crate::pod::Pod;

/// Maximum number of labels of a pod.
const MAX_LABELS: usize = 64;
/// Maximum length of a label in bytes: prefix, name and value have limits in Kubernetes.
const MAX_LABEL: usize = 253 + 1 + 63 + 1 + 63;

/// Labels of a pod, in one allocation: a snapshot contains those of all pods.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnosis) struct Labels(Box<str>);

impl Labels {
    pub(super) fn read(pod: Pod<'_>) -> Self {
        let labels = pod.raw().pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        let lines = labels.take(MAX_LABELS).filter_map(|(key, value)| {
            let line = format!("{key}={}", value.as_str()?);
            (!line.contains('\n')).then(|| truncate(&line, MAX_LABEL))
        });
        Self(lines.collect::<Vec<_>>().join("\n").into())
    }

    /// Returns the value of a label.
    pub(in crate::diagnosis) fn value(&self, key: &str) -> Option<&str> {
        self.0.lines().filter_map(|line| line.split_once('=')).find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Returns true if the pod has all labels of a selector.
    pub(in crate::diagnosis) fn matches(&self, selector: &[(Box<str>, Box<str>)]) -> bool {
        selector.iter().all(|(key, value)| self.value(key) == Some(value))
    }
}
