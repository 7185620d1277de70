//! Compares the preview of a pod with the pod that a cluster creates. Only fields that trainmesh writes are compared,
//! because defaults and other webhooks change other fields.

use json_patch::PatchOperation;
use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::PodReport;
use crate::keys;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// JSON pointer of the field.
    pub field: String,
    /// Value in the preview; `None` if absent.
    pub shown: Option<String>,
    /// Value in the cluster; `None` if absent.
    pub live: Option<String>,
}

/// Returns a copy of `pod` for a dry run, with a generated name to prevent conflicts with existing pods.
#[must_use]
pub fn dry_run_pod(pod: &Value) -> Value {
    let mut copy = pod.clone();
    if let Some(metadata) = copy.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.remove("resourceVersion");
        metadata.remove("uid");
        metadata.insert("generateName".to_owned(), "trainmesh-preview-".into());
    }
    copy
}

/// Returns a copy of `pod` without the workload that owns it; `None` if it names none.
#[must_use]
pub fn without_owners(pod: &Value) -> Option<Value> {
    let mut copy = pod.clone();
    copy.get_mut("metadata")?.as_object_mut()?.remove("ownerReferences")?;
    Some(copy)
}

/// Returns the fields written by trainmesh in which `live`, the pod that the cluster returned, differs from `report`.
#[must_use]
pub fn find_differences(report: &PodReport, live: &Value) -> Vec<FieldDifference> {
    let applied = PointerBuf::from_tokens(["metadata", "annotations", keys::APPLIED]);
    let written = report.patch.operations().iter().filter_map(written_field).map(ToString::to_string);
    // If the preview changes nothing, the annotation shows that trainmesh in the cluster still changed the pod.
    let unexpected = report.patch.is_empty().then(|| applied.to_string());
    let compare = |field: String| {
        let (shown, live) = (text(&report.pod, &field), text(live, &field));
        (shown != live).then_some(FieldDifference { field, shown, live })
    };
    written.chain(unexpected).filter_map(compare).collect()
}

/// Returns the field of an operation, or `None` if it only creates a parent object.
fn written_field(operation: &PatchOperation) -> Option<&str> {
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
    use crate::preview::{DocumentPreview, ManifestContext, Preview};

    fn report(labels: &str) -> PodReport {
        let labels = (!labels.is_empty()).then(|| (labels.to_owned(), "enabled".to_owned()));
        let injected = ("istio-injection".to_owned(), "enabled".to_owned());
        let context = ManifestContext::new(Some(labels.into_iter().chain([injected]).collect()));
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}});
        let document = Document::generated("a", pod);
        match Preview::new(Configuration::embedded(), context, "team".to_owned()).document(&document).unwrap() {
            DocumentPreview::Pods { mut reports, .. } => reports.remove(0),
            other => panic!("{other:?}"),
        }
    }

    const HOLD: &str = "/metadata/annotations/proxy.istio.io~1config";
    const APPLIED: &str = "/metadata/annotations/trainmesh.dev~1applied";

    #[rstest]
    #[case::equal(
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
    #[case::only_in_cluster("", json!({"trainmesh.dev/applied": "mesh.hold"}), &[APPLIED])]
    #[case::neither("", json!({"other": "x"}), &[])]
    fn only_fields_written_by_trainmesh_are_compared(
        #[case] labels: &str,
        #[case] annotations: Value,
        #[case] expected: &[&str],
    ) {
        let live =
            json!({"metadata": {"name": "b", "annotations": annotations}, "spec": {"dnsPolicy": "ClusterFirst"}});
        let fields: Vec<String> =
            find_differences(&report(labels), &live).into_iter().map(|difference| difference.field).collect();
        assert_eq!(fields, expected);
    }
}
