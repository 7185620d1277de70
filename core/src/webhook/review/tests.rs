//! Tests the parsing of admission reviews.

use rstest::rstest;
use serde_json::json;

use super::*;

fn review(pointer: &str, value: Value) -> Vec<u8> {
    let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u-1", "operation": "CREATE", "namespace": "team-a", "dryRun": false,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": null,
        "object": {"spec": {}}, "oldObject": null, "options": {}}});
    *review.pointer_mut(pointer).unwrap() = value;
    serde_json::to_vec(&review).unwrap()
}

#[rstest]
#[case::create("/request/dryRun", json!(true), Some("team-a"))]
#[case::update("/request/operation", json!("UPDATE"), None)]
#[case::delete("/request/operation", json!("DELETE"), None)]
#[case::connect("/request/operation", json!("CONNECT"), None)]
#[case::subresource("/request/subResource", json!("binding"), None)]
#[case::empty_subresource("/request/subResource", json!(""), Some("team-a"))]
#[case::another_resource("/request/resource/resource", json!("jobs"), None)]
#[case::pods_of_another_group("/request/resource/group", json!("metrics.k8s.io"), None)]
fn only_new_pods_are_selected(#[case] pointer: &str, #[case] value: Value, #[case] namespace: Option<&str>) {
    let review = Review::parse(&review(pointer, value)).unwrap();
    assert_eq!(review.uid, "u-1");
    assert_eq!(review.new_pod().unwrap().map(|new| new.namespace), namespace);
}

#[rstest]
#[case::not_an_object("", json!("AdmissionReview"), "the body is not an admission review")]
#[case::another_version("/apiVersion", json!("admission.k8s.io/v1beta1"), "found admission.k8s.io/v1beta1 AdmissionReview")]
#[case::another_kind("/kind", json!("Pod"), "found admission.k8s.io/v1 Pod")]
#[case::no_request("/request", json!(null), "has no request")]
#[case::no_uid("/request/uid", json!(null), "the body is not an admission review")]
#[case::unknown_operation("/request/operation", json!("PATCH"), "the body is not an admission review")]
#[case::no_object("/request/object", json!(null), "has no object")]
#[case::no_namespace("/request/namespace", json!(""), "has no namespace")]
fn invalid_reviews_are_rejected(#[case] pointer: &str, #[case] value: Value, #[case] expected: &str) {
    let review = Review::parse(&review(pointer, value));
    let error = review.and_then(|review| review.new_pod().map(|_| ())).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn malformed_json_is_rejected() {
    assert!(matches!(Review::parse(b"{\"apiVersion\": "), Err(ReviewError::Malformed(_))));
}
