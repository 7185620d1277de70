//! Detects pods that the webhook should have changed but was not called for.
//!
//! With failurePolicy `Ignore`, a failed call leaves the pod unchanged without notice. So the controller runs each new
//! pod without the webhook's annotations through the engine ([`trainmesh_core::mutate::missed_rules`]).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::core::Request;
use kube::core::params::GetParams;
use kube::{Client, Resource as _};
use serde_json::Value;

use trainmesh_core::lifecycle::PodFacts;
use trainmesh_core::scope::Mode;

/// Maximum length of the JSON text of a pod that is checked, in bytes. Parsed, it takes up to a hundred times as much
/// memory, and its content is untrusted; real pods have a tenth of this.
const MAX_BYTES: usize = 256 * 1024;

/// Returns true if the webhook, had it been called, would have annotated the pod. `since` is the time at which the
/// current namespace labels were first observed: the labels at the creation of older pods are unknown.
pub(super) fn is_candidate(facts: &PodFacts, mode: Mode, since: Timestamp) -> bool {
    // Audit mode leaves no annotation.
    let leaves_annotation = mode != Mode::Audit;
    // Creation timestamps are whole seconds.
    let new = facts.created.is_some_and(|created| created.as_second() >= since.as_second());
    // The apiserver's selector keeps opted-out pods from the webhook.
    leaves_annotation && new && !facts.has_webhook_mark && !facts.opted_out && !facts.deleting
}

/// Reads the complete pod; `None` if it is longer than [`MAX_BYTES`].
pub(super) async fn fetch(client: &Client, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
    let request = Request::new(Pod::url_path(&(), Some(namespace)))
        .get(name, &GetParams::default())
        .map_err(kube::Error::BuildRequest)?;
    decode(&client.request_text(request).await?)
}

fn decode(text: &str) -> Result<Option<Value>, kube::Error> {
    if text.len() > MAX_BYTES {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(kube::Error::SerdeError)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use trainmesh_core::pod;

    #[rstest]
    #[case::usual(17 * 1024, true)]
    #[case::longest(MAX_BYTES, true)]
    #[case::too_long(MAX_BYTES + 1, false)]
    fn pods_above_the_limit_are_not_parsed(#[case] length: usize, #[case] expected: bool) {
        let pod = json!({"metadata": {"name": "a"}}).to_string();
        let text = pod.clone() + &" ".repeat(length - pod.len());
        assert_eq!(decode(&text).unwrap().is_some(), expected);
    }

    #[rstest]
    #[case::new(json!({}), Mode::Enabled, true)]
    #[case::of_istio_aux(json!({}), Mode::IstioAux, true)]
    #[case::audit_mode(json!({}), Mode::Audit, false)]
    #[case::created_before(json!({"creationTimestamp": "2026-01-01T00:00:00Z"}), Mode::Enabled, false)]
    #[case::marked(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}), Mode::Enabled, false)]
    #[case::opted_out(json!({"labels": {"trainmesh.dev/inject": "disabled"}}), Mode::Enabled, false)]
    #[case::being_deleted(json!({"deletionTimestamp": "2026-01-01T00:00:02Z"}), Mode::Enabled, false)]
    fn new_pods_without_annotations_are_candidates(
        #[case] overrides: Value,
        #[case] mode: Mode,
        #[case] expected: bool,
    ) {
        let mut pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:01Z"}});
        for (key, value) in overrides.as_object().unwrap() {
            pod["metadata"][key] = value.clone();
        }
        let facts = PodFacts::read(pod::Pod::new(&pod));
        assert_eq!(is_candidate(&facts, mode, "2026-01-01T00:00:01.5Z".parse().unwrap()), expected);
    }
}
