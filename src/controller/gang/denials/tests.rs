use kube::Client;
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;

use super::*;
use crate::cluster::gang::groups::Groups;
use trainmesh_core::gang::GangMode;

const API: GroupApi = GroupApi::Volcano;
const PATH: &str = "POST /apis/scheduling.volcano.sh/v1beta1/namespaces/team-a/podgroups";
const DENIED: CheckResult = CheckResult::Denied(Denial::Policy);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Returns the announced APIs and denials.
fn announced(denials: &Denials) -> (Vec<GroupApi>, Vec<(GangMode, String)>) {
    let apis = [GroupApi::NativeV1Beta1, API].into();
    let mut announcement = Announcement { apis, ..Announcement::default() };
    denials.withhold(&mut announcement);
    (announcement.apis.into_iter().collect(), announcement.denied.into_iter().collect())
}

fn both() -> Vec<GroupApi> {
    vec![GroupApi::NativeV1Beta1, API]
}

fn deny(denials: &mut Denials, namespace: &str, denial: Denial, second: i64) {
    denials.record_denied(API, namespace.to_owned(), denial, &any_group(), at(second));
}

fn check(denials: &mut Denials, namespace: &str, result: CheckResult, second: i64) {
    denials.record_check(API, namespace.to_owned(), result, at(second));
}

/// Returns the namespaces to check.
fn due(denials: &Denials, second: i64) -> Vec<String> {
    denials.due(at(second)).into_iter().map(|(_, namespace, _)| namespace).collect()
}

#[test]
fn a_check_decides_about_the_namespace_of_a_denied_object() {
    let mut denials = Denials::default();
    assert_eq!(denials.next_check(), None);
    deny(&mut denials, "team-a", Denial::Policy, 1);
    assert_eq!(due(&denials, 1), ["team-a"]);
    assert_eq!(announced(&denials), (both(), vec![]));
    check(&mut denials, "team-a", CheckResult::Permitted, 1);
    assert!(due(&denials, 1).is_empty(), "another object is permitted");

    deny(&mut denials, "team-a", Denial::Policy, 2);
    check(&mut denials, "team-a", DENIED, 2);
    let expected = vec![(GangMode::Volcano, "team-a".to_owned())];
    assert_eq!(announced(&denials), (both(), expected.clone()));
    deny(&mut denials, "team-a", Denial::Policy, 7);
    assert_eq!(denials.next_check(), Some(at(62)), "a repeated write does not delay the check");
    check(&mut denials, "team-b", CheckResult::Permitted, 8);
    denials.record_check(GroupApi::NativeV1Beta1, "team-a".to_owned(), CheckResult::Permitted, at(8));
    assert_eq!(announced(&denials), (both(), expected));
    check(&mut denials, "team-a", CheckResult::Permitted, 62);
    assert_eq!(announced(&denials), (both(), vec![]));
}

#[test]
fn a_check_that_fails_for_another_reason_is_repeated() {
    let mut denials = Denials::default();
    deny(&mut denials, "team-a", Denial::Policy, 1);
    check(&mut denials, "team-a", CheckResult::Unknown, 1);
    assert!(due(&denials, 60).is_empty());
    assert_eq!(due(&denials, 61), ["team-a"]);
    check(&mut denials, "team-a", DENIED, 61);
    check(&mut denials, "team-a", CheckResult::Unknown, 121);
    assert_eq!(announced(&denials).1.len(), 1);
    assert_eq!(denials.next_check(), Some(at(181)));
    deny(&mut denials, "team-b", Denial::Permission, 122);
    check(&mut denials, "team-b", CheckResult::Unknown, 182);
    assert_eq!(announced(&denials), (vec![GroupApi::NativeV1Beta1], vec![]));
    assert_eq!(due(&denials, 242), ["team-b", "team-a"]);
}

#[test]
fn a_missing_permission_applies_to_all_namespaces() {
    let mut denials = Denials::default();
    deny(&mut denials, "team-a", Denial::Permission, 2);
    assert_eq!(announced(&denials), (vec![GroupApi::NativeV1Beta1], vec![]));
    for namespace in ["team-a", "team-b"] {
        deny(&mut denials, namespace, Denial::Permission, 7);
        deny(&mut denials, namespace, Denial::Policy, 7);
    }
    assert!(due(&denials, 61).is_empty(), "a repeated write does not delay the check");
    assert_eq!(due(&denials, 62), ["team-a"]);
    // The permission was granted, and a quota remains.
    check(&mut denials, "team-a", DENIED, 62);
    assert_eq!(announced(&denials).0, both());
}

#[test]
fn namespaces_beyond_the_limit_withdraw_the_api() {
    let mut denials = Denials::default();
    for index in 0..=Announcement::MAX_DENIED {
        check(&mut denials, &format!("team-{index}"), DENIED, 1);
    }
    assert_eq!(announced(&denials), (vec![GroupApi::NativeV1Beta1], vec![]));
    check(&mut denials, "team-0", CheckResult::Permitted, 2);
    check(&mut denials, &format!("team-{}", Announcement::MAX_DENIED), DENIED, 2);
    let (apis, denied) = announced(&denials);
    assert_eq!((apis.len(), denied.len()), (2, Announcement::MAX_DENIED));
}

#[test]
fn an_object_like_others_of_the_namespace_is_checked() {
    let group = |queue: &str, priority: &str| NewGroup {
        minimum: Some(8),
        owned: true,
        queue: queue.into(),
        priority_class: priority.into(),
        ..any_group()
    };
    let mut denials = Denials::default();
    let checked = |denials: &Denials| {
        let due = denials.due(at(1));
        due.into_iter()
            .map(|(_, _, NewGroup { minimum, queue, priority_class, .. })| (minimum, queue, priority_class))
            .collect::<Vec<_>>()
    };
    denials.record_denied(API, "team-a".to_owned(), Denial::Policy, &group("unknown", "high"), at(1));
    assert_eq!(checked(&denials), [(Some(1), "".into(), "high".into())]);
    check(&mut denials, "team-a", DENIED, 1);
    denials.record_created(API, "team-a".to_owned(), &group("a", "low"));
    assert_eq!(announced(&denials), (both(), vec![]), "an object was created");
    denials.record_denied(API, "team-a".to_owned(), Denial::Policy, &group("unknown", "high"), at(1));
    assert_eq!(checked(&denials), [(Some(1), "a".into(), "low".into())]);
}

#[test]
fn the_number_of_namespaces_is_limited() {
    let mut denials = Denials::default();
    deny(&mut denials, "suspected", Denial::Policy, 1);
    for index in 0..2 * MAX_SAMPLES {
        denials.record_created(API, format!("team-{index}"), &any_group());
    }
    assert!(denials.samples.len() <= MAX_SAMPLES);
    assert!(denials.samples.contains_key(&(API, "suspected".to_owned())));
    for index in 0..2 * MAX_SUSPECTED {
        deny(&mut denials, &format!("team-{index}"), Denial::Policy, 1);
    }
    assert_eq!(denials.suspected.len(), MAX_SUSPECTED);
}

fn failure(code: u16, reason: &str, message: &str, details: &Value) -> Value {
    json!({"kind": "Status", "metadata": {}, "code": code, "reason": reason, "message": message, "details": details})
}

#[rstest]
#[case::permitted(json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "a"}}), CheckResult::Permitted)]
#[case::exists(failure(409, "AlreadyExists", "exists", &json!({})), CheckResult::Permitted)]
#[case::quota(failure(403, "Forbidden", "podgroups \"g\" is forbidden: exceeded quota: q", &json!({})), DENIED)]
#[case::busy(failure(429, "TooManyRequests", "busy", &json!({})), CheckResult::Unknown)]
#[case::unavailable(failure(503, "ServiceUnavailable", "busy", &json!({})), CheckResult::Unknown)]
#[case::webhook_without_dry_run(failure(400, "BadRequest", "admission webhook \"a\" does not support dry run", &json!({})), CheckResult::Unknown)]
#[case::no_namespace(failure(404, "NotFound", "namespaces \"team-a\" not found", &json!({})), CheckResult::Permitted)]
#[case::namespace_is_deleted(
    failure(403, "Forbidden", "podgroups \"g\" is forbidden: terminating", &json!({"causes": [{"reason": "NamespaceTerminating"}]})),
    CheckResult::Permitted
)]
#[tokio::test]
async fn only_a_clear_response_decides(#[case] response: Value, #[case] expected: CheckResult) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Apiserver::start(vec![(PATH, response)]);
    let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
    let response = Groups::new(client, API).create_dry_run("team-a", &any_group()).await;
    assert_eq!(CheckResult::new(&response), expected, "{response:?}");
}
