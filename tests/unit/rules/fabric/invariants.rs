//! Invariants for any user setting, one at a time and in pairs: nothing is overridden, a profile is applied completely
//! or not at all, and a second run changes nothing.

use serde_json::{Value, json};
use trainmesh_core::mutate::Patch;
use trainmesh_testing::marks::changes_more_than_marks;

use super::{FULL_PROFILE, Scenario, decision, fabric, patched, pod, with};

/// Returns a pod with two containers with accelerators and one without.
fn base() -> Value {
    let pod = with(pod(), "/spec/containers/-", json!({"name": "log", "image": "i"}));
    let limits = json!({"limits": {"nvidia.com/gpu": "4", "memory": "1Gi"}});
    with(pod, "/spec/containers/-", json!({"name": "second", "image": "i", "resources": limits}))
}

/// Returns every field of the patch as a user edit: with the same value, and with other values.
fn edits(whole: &Patch) -> Vec<(String, Value)> {
    let operations = serde_json::to_value(whole).unwrap();
    let mut edits = Vec::new();
    for operation in operations.as_array().unwrap() {
        let (path, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
        let creates_parent = *value == json!({}) || *value == json!([]);
        if creates_parent || path.contains("trainmesh.dev~1") {
            continue;
        }
        edits.push((path.to_owned(), value.clone()));
        edits.extend(variants(value).into_iter().map(|variant| (path.to_owned(), variant)));
    }
    edits
}

/// Returns variants of `value` with one scalar changed, for each scalar.
fn variants(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().flat_map(|(name, field)| {
                variants(field).into_iter().map(move |variant| {
                    let mut changed = value.clone();
                    changed[name] = variant;
                    changed
                })
            });
            fields.collect()
        }
        Value::Array(items) => items.iter().flat_map(variants).map(|variant| json!([variant])).collect(),
        Value::Bool(flag) => vec![json!(!flag)],
        Value::String(text) if text.starts_with('[') => {
            vec![json!(r#"[{"interfaceName": "eth7", "network": "own"}]"#), json!("{")]
        }
        Value::String(text) if text.contains("rdma,") => {
            vec![json!("own/net"), json!(r#"[{"name": "own"}]"#), json!("a b")]
        }
        Value::String(text) if text.parse::<u64>().is_ok() => vec![json!("3"), json!("0")],
        Value::String(text) if text.starts_with('/') => vec![json!("/own")],
        Value::String(_) => vec![json!("ib-own")],
        _ => Vec::new(),
    }
}

/// Checks that `after` contains everything in `before`. Lists may grow at the end; the two annotations that list
/// networks keep their content.
fn contains(before: &Value, after: &Value, path: &str) -> Result<(), String> {
    let lists_networks =
        ["/metadata/annotations/k8s.v1.cni.cncf.io/networks", "/metadata/annotations/networking.gke.io/interfaces"];
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => old.iter().try_for_each(|(key, value)| {
            contains(value, new.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}"))
        }),
        (Value::Array(old), Value::Array(new)) if old.len() <= new.len() => old
            .iter()
            .zip(new)
            .enumerate()
            .try_for_each(|(index, (old, new))| contains(old, new, &format!("{path}/{index}"))),
        (Value::String(old), Value::String(new)) if lists_networks.contains(&path) => {
            let preserved = new.starts_with(old.trim_end_matches(']'));
            if preserved { Ok(()) } else { Err(format!("{path}: {old} became {new}")) }
        }
        _ if before == after => Ok(()),
        _ => Err(format!("{path}: {before} became {after}")),
    }
}

/// Runs the engine over a pod with a user's edits and checks the invariants.
fn check(scenario: &Scenario, pod: &Value, edited: &str) {
    let outcome = scenario.run(pod);
    let after = patched(&outcome, pod);
    assert!(outcome.failure.is_none(), "{edited}: {:?}", outcome.failure);
    match decision(&outcome).as_str() {
        "applied FabricAdded" => {
            assert_eq!(contains(pod, &after, ""), Ok(()), "{edited}");
            let again = scenario.run(&after);
            assert_eq!(decision(&again), "skipped FabricPresent", "{edited}: {:#?}", fabric(&again));
            assert!(again.patch.is_empty(), "{edited}: not idempotent: {:#?}", again.patch);
        }
        "refused FabricContradicted" => {
            assert!(!changes_more_than_marks(&outcome.patch), "{edited}: partially applied: {:#?}", outcome.patch);
            let is_refusal = |warning: &String| warning.starts_with("fabric f not applied: ");
            assert!(!outcome.warnings.is_empty(), "{edited}");
            assert!(outcome.warnings.iter().all(is_refusal), "{edited}: {:?}", outcome.warnings);
        }
        other => assert_eq!(other, "", "{edited}: {:#?}", fabric(&outcome)),
    }
}

#[test]
fn invariants_hold_for_one_user_setting() {
    let scenario = Scenario::new(FULL_PROFILE);
    let edits = edits(&scenario.run(&base()).patch);
    assert!(edits.len() > 80, "{}", edits.len());
    for (path, value) in edits {
        check(&scenario, &with(base(), &path, value.clone()), &format!("{path} = {value}"));
    }
}

#[test]
fn invariants_hold_for_pairs_of_user_settings() {
    let scenario = Scenario::new(FULL_PROFILE);
    let patch = scenario.run(&base()).patch;
    let whole = serde_json::to_value(&patch).unwrap();
    let mut edits = edits(&patch);
    // One container with accelerators stands for all; values equal to the patch are covered one at a time.
    let same = |(path, value): &(String, Value)| {
        whole.as_array().unwrap().iter().any(|operation| operation["path"] == **path && operation["value"] == *value)
    };
    edits.retain(|edit| !edit.0.starts_with("/spec/containers/2") && !same(edit));
    assert!(edits.len() > 40, "{}", edits.len());
    for (index, (path, value)) in edits.iter().enumerate() {
        let one = with(base(), path, value.clone());
        for (other_path, other) in &edits[index + 1..] {
            if path != other_path || path.ends_with("/-") {
                check(
                    &scenario,
                    &with(one.clone(), other_path, other.clone()),
                    &format!("{path} = {value}, {other_path} = {other}"),
                );
            }
        }
    }
}

#[test]
fn invariants_hold_when_part_of_the_patch_is_present() {
    let scenario = Scenario::new(FULL_PROFILE);
    let operations = serde_json::to_value(&scenario.run(&base()).patch).unwrap();
    let operations = operations.as_array().unwrap();
    for end in 0..=operations.len() {
        let mut pod = base();
        for operation in &operations[..end] {
            pod = with(pod, operation["path"].as_str().unwrap(), operation["value"].clone());
        }
        let outcome = scenario.run(&pod);
        let mut whole = patched(&outcome, &pod);
        assert!(scenario.run(&whole).patch.is_empty(), "after {end} operations: {:#?}", scenario.run(&whole).patch);
        // The annotation of a copied template is recomputed to the same value.
        let applied = whole["metadata"]["annotations"]["trainmesh.dev/applied"].take();
        assert!(applied == "fabric=f" || outcome.patch.is_empty(), "{applied}");
    }
}
