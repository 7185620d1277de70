//! Limits of a diagnosis, for any input.

use proptest::prelude::*;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, Diagnosis, MAX_DIAGNOSES, MAX_EVIDENCE, MAX_MESSAGE, MAX_OBJECTS, Selection, SnapshotError,
    diagnose,
};

use super::objects::{NOW, event, job_with, node, pytorchjob, rank, rank_of, waiting, with};
use super::report;

/// Size of one finding in JSON: its message, six values, and names.
const MAX_FINDING: usize = 32 * 1024;

/// Generates arbitrary JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number)),
        "[a-z/~. ]{0,8}".prop_map(Value::from),
        Just("9999-12-31T23:59:59Z".into()),
        Just("-009999-01-01T00:00:00Z".into()),
        Just(NOW.into()),
        Just("é".repeat(2_000).into()),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,6}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Returns the pointers of all values in `value`.
fn pointers(value: &Value, prefix: &str, found: &mut Vec<String>) {
    found.push(prefix.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            pointers(value, &format!("{prefix}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| pointers(value, &format!("{prefix}/{index}"), found));
        }
        _ => {}
    }
}

fn examples() -> Vec<Value> {
    let mut all = job_with(3, waiting("ImagePullBackOff", "not found"));
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "g"}, "spec": {"minMember": 2}});
    let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"namespace": "team-a", "name": "g"}, "spec": {"active": false}});
    all.extend([pytorchjob(2), node("node-0"), event("Node", "node-1", "OOMKilling", "m", 9), group, queue]);
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_value_is_diagnosed(values in prop::collection::vec(any_json(), 0..4)) {
        let mut snapshot = ClusterSnapshot::default();
        for value in &values {
            prop_assert!(snapshot.add(value, "default").is_ok());
        }
        prop_assert!(diagnose(&snapshot, &Selection::default(), NOW.parse().unwrap()).diagnoses.len() <= MAX_DIAGNOSES);
    }

    #[test]
    fn any_value_in_a_field_is_diagnosed(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any_json()), 1..6),
    ) {
        let mut objects = examples();
        for (object, field, value) in changes {
            let object = object.index(objects.len());
            let mut fields = Vec::new();
            pointers(&objects[object], "", &mut fields);
            *objects[object].pointer_mut(&fields[field.index(fields.len())]).unwrap() = value;
        }
        let mut snapshot = ClusterSnapshot::default();
        for object in &objects {
            prop_assert!(snapshot.add(object, "default").is_ok());
        }
        for now in [NOW, "-009999-01-02T01:59:59Z", "9999-12-30T22:00:00Z"] {
            let report = diagnose(&snapshot, &Selection::default(), now.parse().unwrap());
            for found in &report.diagnoses {
                prop_assert!(size(found) <= MAX_FINDING, "{}", size(found));
            }
        }
    }
}

fn size(found: &Diagnosis) -> usize {
    found.to_json().to_string().len()
}

#[test]
fn long_texts_are_truncated() {
    let long = "x".repeat(100_000);
    let mut pods = job_with(2, waiting("ImagePullBackOff", &long));
    pods[1]["spec"]["containers"][0]["image"] = long.as_str().into();
    let report = report(&pods);
    let found = &report.diagnoses[0];
    assert!(found.finding.message.len() <= MAX_MESSAGE && size(found) <= MAX_FINDING, "{}", size(found));
}

#[test]
fn evidence_is_counted_beyond_its_limit() {
    let pods: Vec<Value> = (0..20).map(|index| with(rank(index), waiting("ImagePullBackOff", ""))).collect();
    let report = report(&pods);
    let found = &report.diagnoses[0];
    assert_eq!((found.evidence.len(), found.more_evidence), (MAX_EVIDENCE, 20 - MAX_EVIDENCE));
    assert!(found.finding.message.starts_with("master-0, worker-0, worker-1, worker-2 and 16 more"), "{found:?}");
}

#[test]
fn findings_are_counted_beyond_their_limit() {
    let pods =
        (0..=MAX_DIAGNOSES).map(|index| with(rank_of(&format!("job-{index}"), 0), waiting("ImagePullBackOff", "")));
    let report = report(&pods.collect::<Vec<_>>());
    assert_eq!((report.diagnoses.len(), report.omitted), (MAX_DIAGNOSES, 1));
}

#[test]
fn the_number_of_objects_is_limited() {
    let mut snapshot = ClusterSnapshot::default();
    let first = event("Pod", "a", "Pulled", "", 1);
    let mut event = first.clone();
    for index in 1..MAX_OBJECTS {
        event["metadata"]["name"] = index.to_string().into();
        snapshot.add(&event, "default").unwrap();
    }
    // A repeated object takes no space.
    snapshot.add(&first, "default").unwrap();
    snapshot.add(&first, "default").unwrap();
    event["metadata"]["name"] = "one-more".into();
    assert_eq!(snapshot.add(&event, "default"), Err(SnapshotError::TooMany));
}

#[test]
fn other_kinds_are_ignored() {
    let mut snapshot = ClusterSnapshot::default();
    for object in [json!({"apiVersion": "v1", "kind": "Secret"}), json!({}), json!(1)] {
        assert_eq!(snapshot.add(&object, "default"), Ok(false), "{object}");
    }
}
