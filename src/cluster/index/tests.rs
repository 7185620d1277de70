//! Events of watches, and the limits of namespaces.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use rstest::rstest;

use super::*;

fn object(name: &str) -> ConfigMap {
    let metadata =
        ObjectMeta { namespace: Some("team-a".to_owned()), name: Some(name.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

/// Expects the known objects after each event, `=` if the event changes nothing.
#[rstest]
#[case::incomplete_list(vec![Event::Init, Event::InitApply(object("x"))], &["=", "="])]
#[case::empty_list(vec![Event::Init, Event::InitDone], &["=", ""])]
#[case::list(vec![Event::Init, Event::InitApply(object("x")), Event::InitDone], &["=", "=", "team-a/x"])]
#[case::same_value(
    vec![Event::Init, Event::InitDone, Event::Apply(object("x")), Event::Apply(object("x"))],
    &["=", "", "team-a/x", "="]
)]
#[case::left_out(vec![Event::Init, Event::InitDone, Event::Apply(object("other"))], &["=", "", "="])]
#[case::deleted(
    vec![Event::Init, Event::InitApply(object("x")), Event::InitDone, Event::Delete(object("x")), Event::Delete(object("x"))],
    &["=", "=", "team-a/x", "", "="]
)]
#[case::gone_while_the_watch_was_down(
    vec![Event::Init, Event::InitApply(object("x")), Event::InitDone, Event::Init, Event::InitApply(object("x2")), Event::InitDone],
    &["=", "=", "team-a/x", "=", "=", "team-a/x2"]
)]
#[case::the_same_list_again(
    vec![Event::Init, Event::InitApply(object("x")), Event::InitDone, Event::Init, Event::InitApply(object("x")), Event::InitDone],
    &["=", "=", "team-a/x", "=", "=", "="]
)]
fn applies_watch_events(#[case] events: Vec<Event<ConfigMap>>, #[case] expected: &[&str]) {
    let index = Index::default();
    let reduce = |map: &ConfigMap, _: Option<&String>| map.name_any().starts_with('x').then(|| map.name_any());
    let found: Vec<String> = events
        .iter()
        .map(|event| {
            if index.apply(event, reduce) {
                index.read(|objects| objects.unwrap().keys().cloned().collect())
            } else {
                "=".to_owned()
            }
        })
        .collect();
    assert_eq!(found, expected);
}

fn in_namespace(namespace: &str, name: &str) -> ConfigMap {
    let mut object = object(name);
    object.metadata.namespace = Some(namespace.to_owned());
    object
}

/// Applies a list, and expects the kept objects, followed by the namespaces from which objects were left out.
#[rstest]
#[case::objects((2, 100), (9, 999), "team-a/a team-a/b team-a1/d team/e; team-a")]
#[case::size((9, 10), (9, 999), "team-a/a team-a1/d team/e; team-a")]
#[case::enough((3, 27), (5, 44), "team-a/a team-a/b team-a/c team-a1/d team/e; ")]
#[case::objects_of_all((3, 27), (4, 999), "team-a/a team-a/b team-a/c team-a1/d; team")]
#[case::size_of_all((3, 27), (5, 43), "team-a/a team-a/b team-a/c team-a1/d; team")]
fn a_bounded_number_of_objects_is_kept(
    #[case] of_namespace: (usize, usize),
    #[case] of_all: (usize, usize),
    #[case] expected: &str,
) {
    let index = Index::with_limit(limit(of_namespace, of_all));
    let names = [("team-a", "a"), ("team-a", "b"), ("team-a", "c"), ("team-a1", "d"), ("team", "e")];
    let listed = names.map(|(namespace, name)| Event::InitApply(in_namespace(namespace, name)));
    for event in [Event::Init].into_iter().chain(listed).chain([Event::InitDone]) {
        index.apply(&event, |map: &ConfigMap, _| Some(map.name_any()));
    }
    assert_eq!(kept(&index), expected);
}

/// Returns limits of the number of objects and their size.
fn limit(of_namespace: (usize, usize), of_all: (usize, usize)) -> Limit<String> {
    let [of_namespace, of_all] = [of_namespace, of_all].map(|(objects, size)| Amount { objects, size });
    Limit { of_namespace, of_all, size_of: String::len }
}

fn kept(index: &Index<String>) -> String {
    let join = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    index.read_known(|known| {
        let Known { objects, truncated } = known.unwrap();
        format!("{}; {}", join(objects.keys().collect()), join(truncated.iter().collect()))
    })
}

#[test]
fn a_namespace_stays_truncated_until_the_next_list() {
    let index = Index::with_limit(limit((1, 16), (9, 99)));
    let apply = |event: Event<ConfigMap>, value: &str| index.apply(&event, |_, _| Some(value.to_owned()));
    let a = || in_namespace("team-a", "a");
    let b = || in_namespace("team-a", "b");
    assert!(!apply(Event::Init, ""));
    assert!(!apply(Event::InitApply(a()), "x"));
    assert!(apply(Event::InitDone, ""));
    assert_eq!(kept(&index), "team-a/a; ");
    assert!(apply(Event::Apply(b()), "x"), "readers must learn that an object is missing");
    assert!(!apply(Event::Apply(b()), "x"));
    assert!(!index.is_outdated());
    assert!(apply(Event::Delete(a()), ""));
    assert!(index.is_outdated(), "a list would find the object that was left out");
    assert_eq!(kept(&index), "; team-a");
    assert!(apply(Event::Apply(b()), "x"));
    assert!(apply(Event::Apply(b()), "longer than 8"), "the former value is no longer true");
    assert_eq!(kept(&index), "; team-a");
    for event in [Event::Init, Event::InitApply(b())] {
        assert!(!apply(event, "x"));
    }
    assert!(apply(Event::InitDone, ""));
    assert!(!index.is_outdated());
    assert_eq!(kept(&index), "team-a/b; ");
}

#[test]
fn a_value_may_depend_on_the_previous_one() {
    let index = Index::default();
    let count = |_: &ConfigMap, before: Option<&u32>| Some(before.map_or(1, |count| count + 1));
    let list = || [Event::Init, Event::InitApply(object("x")), Event::InitDone];
    for event in list().into_iter().chain([Event::Apply(object("x"))]).chain(list()) {
        index.apply(&event, count);
    }
    assert_eq!(index.get("team-a/x"), Some(3));
    index.clear();
    assert_eq!((index.get("team-a/x"), index.is_complete()), (None, false));
}
