//! Events of a watch whose objects are decoded later.

use k8s_openapi::api::core::v1::Namespace;
use kube::core::WatchEvent;
use serde_json::json;

use super::*;

fn object(name: &str, labels: &serde_json::Value) -> Undecoded {
    let object = json!({"metadata": {"name": name, "resourceVersion": "7", "labels": labels}});
    serde_json::from_str(&object.to_string()).unwrap()
}

fn valid() -> Undecoded {
    object("a", &json!({"team": "a"}))
}

fn invalid() -> Undecoded {
    object("b", &json!(["team"]))
}

/// Compares what `events` yield with `expected`: the event and the label of each object, or an error.
fn check(events: Vec<Event<Undecoded>>, expected: &[&str]) {
    let mut is_complete = true;
    let label = |namespace: Namespace| namespace.metadata.labels.unwrap_or_default().remove("team").unwrap_or_default();
    let yielded = events.into_iter().filter_map(|event| decode::<Namespace>(Ok(event), &mut is_complete));
    let texts = yielded.map(|event| match event {
        Ok(Event::Init) => "init".to_owned(),
        Ok(Event::InitApply(object)) => format!("listed {}", label(object)),
        Ok(Event::InitDone) => "complete".to_owned(),
        Ok(Event::Apply(object)) => format!("applied {}", label(object)),
        Ok(Event::Delete(object)) => format!("deleted {}", label(object)),
        Err(_) => "error".to_owned(),
    });
    assert_eq!(texts.collect::<Vec<_>>(), expected);
}

#[test]
fn objects_are_decoded() {
    let list = vec![Event::Init, Event::InitApply(valid()), Event::InitDone];
    check(list, &["init", "listed a", "complete"]);
    check(vec![Event::Apply(valid()), Event::Delete(valid())], &["applied a", "deleted a"]);
}

#[test]
fn a_list_with_an_invalid_object_does_not_complete() {
    let list = || vec![Event::Init, Event::InitApply(invalid()), Event::InitApply(valid()), Event::InitDone];
    check(list(), &["init", "error", "listed a"]);
    let mut then_valid = list();
    then_valid.extend([Event::Init, Event::InitDone, Event::Apply(invalid())]);
    check(then_valid, &["init", "error", "listed a", "init", "complete", "error"]);
}

#[test]
fn events_of_the_apiserver_keep_the_text() {
    let text = r#"{"type": "MODIFIED", "object": {"metadata": {"name": "a", "uid": "u", "resourceVersion": "9"}, "spec": {"x": 1.50}}}"#;
    let WatchEvent::Modified(object) = serde_json::from_str::<WatchEvent<Undecoded>>(text).unwrap() else {
        panic!("another event");
    };
    assert!(object.text.get().contains("1.50"), "{object:?}");
    let metadata = object.meta();
    assert_eq!((metadata.uid.as_deref(), metadata.resource_version.as_deref()), (Some("u"), Some("9")));
}
