//! Whether a cluster gives a pod what the preview shows: only what trainmesh writes is compared, because defaults and
//! other webhooks change the rest.

use json_patch::PatchOperation;
use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::PodReport;
use crate::keys;

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// JSON pointer of the field.
    pub field: String,
    /// What the preview shows there; `None` where it shows nothing.
    pub shown: Option<String>,
    /// What the cluster gives.
    pub live: Option<String>,
}

/// A copy of `pod` that can be created beside whatever exists: with a generated name.
#[must_use]
pub fn probe(pod: &Value) -> Value {
    let mut probe = pod.clone();
    if let Some(metadata) = probe.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.remove("resourceVersion");
        metadata.remove("uid");
        metadata.insert("generateName".to_owned(), "trainmesh-preview-".into());
    }
    probe
}

/// The fields in which `live`, the cluster's answer, differs from what `report` shows that trainmesh writes.
#[must_use]
pub fn drift(report: &PodReport, live: &Value) -> Vec<Drift> {
    let applied = PointerBuf::from_tokens(["metadata", "annotations", keys::APPLIED]);
    let written = report.patch.operations().iter().filter_map(leaf).map(ToString::to_string);
    // The cluster may also write where the preview does not: its mark tells.
    let unexpected = report.patch.is_empty().then(|| applied.to_string());
    let compare = |field: String| {
        let (shown, live) = (text(&report.pod, &field), text(live, &field));
        (shown != live).then_some(Drift { field, shown, live })
    };
    written.chain(unexpected).filter_map(compare).collect()
}

/// The field of an operation that writes a value; the making of a parent is none.
fn leaf(operation: &PatchOperation) -> Option<&str> {
    match operation {
        PatchOperation::Add(add) if add.value.is_object() => None,
        other => Some(other.path().as_str()),
    }
}

fn text(pod: &Value, field: &str) -> Option<String> {
    pod.pointer(field).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::config::Configuration;
    use crate::manifest::Document;
    use crate::preview::{ManifestContext, Preview, Previewed};

    fn report(labels: &str) -> PodReport {
        let labels = (!labels.is_empty()).then(|| (labels.to_owned(), "enabled".to_owned()));
        let injected = ("istio-injection".to_owned(), "enabled".to_owned());
        let context = ManifestContext::new(Some(labels.into_iter().chain([injected]).collect()));
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}});
        let document = Document { source: "a".into(), document: 0, item: None, line: 1, namespace: None, value: pod };
        match Preview::new(Configuration::embedded(), context, "team".to_owned()).document(&document).unwrap() {
            Previewed::Pods { mut reports, .. } => reports.remove(0),
            other => panic!("{other:?}"),
        }
    }

    const HOLD: &str = "/metadata/annotations/proxy.istio.io~1config";
    const APPLIED: &str = "/metadata/annotations/trainmesh.dev~1applied";

    #[rstest]
    #[case::the_same(
        "trainmesh.dev/inject",
        json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true", "trainmesh.dev/applied": "mesh.hold", "other": "x"}),
        &[]
    )]
    #[case::not_installed("trainmesh.dev/inject", json!({}), &[HOLD, APPLIED])]
    #[case::another_version(
        "trainmesh.dev/inject",
        json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true", "trainmesh.dev/applied": "mesh.hold,more"}),
        &[APPLIED]
    )]
    #[case::only_there("", json!({"trainmesh.dev/applied": "mesh.hold"}), &[APPLIED])]
    #[case::nowhere("", json!({"other": "x"}), &[])]
    fn what_trainmesh_writes_is_compared(#[case] labels: &str, #[case] annotations: Value, #[case] expected: &[&str]) {
        let live =
            json!({"metadata": {"name": "b", "annotations": annotations}, "spec": {"dnsPolicy": "ClusterFirst"}});
        let fields: Vec<String> = drift(&report(labels), &live).into_iter().map(|drift| drift.field).collect();
        assert_eq!(fields, expected);
    }
}
