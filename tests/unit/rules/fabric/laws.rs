//! What holds whatever the user has set, one by one and in pairs: nothing of theirs is overridden, a pod gets all or
//! nothing, and a second run finds nothing to do.

use serde_json::{Value, json};
use trainmesh_core::mutate::Patch;

use super::{WHOLE, World, fabric, patched, pod, said, with};

/// Two containers with accelerators and one without.
fn base() -> Value {
    let pod = with(pod(), "/spec/containers/-", json!({"name": "log", "image": "i"}));
    let limits = json!({"limits": {"nvidia.com/gpu": "4", "memory": "1Gi"}});
    with(pod, "/spec/containers/-", json!({"name": "second", "image": "i", "resources": limits}))
}

/// Every single field of the patch as the user might have written it before: the same, or something of their own.
fn edits(whole: &Patch) -> Vec<(String, Value)> {
    let operations = serde_json::to_value(whole).unwrap();
    let mut edits = Vec::new();
    for operation in operations.as_array().unwrap() {
        let (path, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
        let made_for_another = *value == json!({}) || *value == json!([]);
        if made_for_another || path.contains("trainmesh.dev~1") {
            continue;
        }
        edits.push((path.to_owned(), value.clone()));
        edits.extend(variants(value).into_iter().map(|variant| (path.to_owned(), variant)));
    }
    edits
}

/// `value` with one of its leaves changed, for each leaf.
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
        Value::String(_) => vec![json!("own")],
        _ => Vec::new(),
    }
}

/// Whether everything of `before` still stands in `after`. Lists grow at their end; the two annotations that list
/// networks keep what they held.
fn stands(before: &Value, after: &Value, path: &str) -> Result<(), String> {
    let lists_networks =
        ["/metadata/annotations/k8s.v1.cni.cncf.io/networks", "/metadata/annotations/networking.gke.io/interfaces"];
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .try_for_each(|(key, value)| stands(value, new.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}"))),
        (Value::Array(old), Value::Array(new)) if old.len() <= new.len() => old
            .iter()
            .zip(new)
            .enumerate()
            .try_for_each(|(index, (old, new))| stands(old, new, &format!("{path}/{index}"))),
        (Value::String(old), Value::String(new)) if lists_networks.contains(&path) => {
            let kept = new.starts_with(old.trim_end_matches(']'));
            if kept { Ok(()) } else { Err(format!("{path}: {old} became {new}")) }
        }
        _ if before == after => Ok(()),
        _ => Err(format!("{path}: {before} became {after}")),
    }
}

/// Runs the engine over a pod that the user has edited, and checks the laws.
fn check(world: &World, pod: &Value, edited: &str) {
    let outcome = world.run(pod);
    let after = patched(&outcome, pod);
    assert!(outcome.failure.is_none(), "{edited}: {:?}", outcome.failure);
    match said(&outcome).as_str() {
        "applied FabricAdded" => {
            assert_eq!(stands(pod, &after, ""), Ok(()), "{edited}");
            let again = world.run(&after);
            assert_eq!(said(&again), "skipped FabricPresent", "{edited}: {:#?}", fabric(&again));
            assert!(again.patch.is_empty(), "{edited}: not idempotent: {:#?}", again.patch);
        }
        "refused FabricContradicted" => {
            assert!(outcome.patch.is_empty(), "{edited}: half a fabric: {:#?}", outcome.patch);
            assert_eq!(outcome.warnings.len(), 1, "{edited}: {:?}", outcome.warnings);
        }
        other => assert_eq!(other, "", "{edited}: {:#?}", fabric(&outcome)),
    }
}

#[test]
fn one_field_of_the_user() {
    let world = World::new(WHOLE);
    let edits = edits(&world.run(&base()).patch);
    assert!(edits.len() > 80, "{}", edits.len());
    for (path, value) in edits {
        check(&world, &with(base(), &path, value.clone()), &format!("{path} = {value}"));
    }
}

#[test]
fn two_fields_of_the_user() {
    let world = World::new(WHOLE);
    let patch = world.run(&base()).patch;
    let whole = serde_json::to_value(&patch).unwrap();
    let mut edits = edits(&patch);
    // One container with accelerators stands for all, and what is the same as ours was tried one by one.
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
                    &world,
                    &with(one.clone(), other_path, other.clone()),
                    &format!("{path} = {value}, {other_path} = {other}"),
                );
            }
        }
    }
}

#[test]
fn any_part_of_the_patch_may_be_there_already() {
    let world = World::new(WHOLE);
    let operations = serde_json::to_value(&world.run(&base()).patch).unwrap();
    let operations = operations.as_array().unwrap();
    for end in 0..=operations.len() {
        let mut pod = base();
        for operation in &operations[..end] {
            pod = with(pod, operation["path"].as_str().unwrap(), operation["value"].clone());
        }
        let outcome = world.run(&pod);
        let mut whole = patched(&outcome, &pod);
        assert!(world.run(&whole).patch.is_empty(), "after {end} operations: {:#?}", world.run(&whole).patch);
        // What a copied template claims is made true, and says the same.
        let applied = whole["metadata"]["annotations"]["trainmesh.dev/applied"].take();
        assert!(applied == "fabric=f" || outcome.patch.is_empty(), "{applied}");
    }
}
