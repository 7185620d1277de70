//! The section `fabric`, and the schema of profiles.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{Configuration, Profiles, builtin_profiles, profile_source, schema};
use trainmesh_core::lint::checks;

use super::check;
use super::json_schema::accepts;

#[rstest]
#[case::all_fields("fabric: {enabled: false, default: tcp, podSecurityDefault: baseline, profiles: [], lint: {disable: [FP010], severity: {FP021: E}}}\n", &[])]
#[case::only_the_default("fabric: {default: none}\n", &[])]
#[case::own_profile_as_default("fabric: {default: site, profiles: [{name: site, transport: roce}]}\n", &[])]
#[case::unknown_default(
    "fabric:\n  default: ib-shred\n",
    &["line 4: fabric.default: unknown fabric profile ib-shred: did you mean ib-shared?"]
)]
#[case::unknown_default_without_suggestion("fabric: {default: nonsense}\n", &["line 3: fabric.default: unknown fabric profile nonsense"])]
#[case::default_is_not_a_name(
    "fabric: {default: IB}\n",
    &[r#"line 3: fabric.default: expected a name of lowercase letters, digits and - (not none), found "IB""#]
)]
#[case::unknown_level(
    "fabric: {podSecurityDefault: strict}\n",
    &[r#"line 3: fabric.podSecurityDefault: unknown value "strict": expected unknown, privileged, baseline or restricted"#]
)]
#[case::named_none(
    "fabric:\n  profiles:\n  - name: none\n    transport: tcp\n",
    &[r#"line 5: fabric.profiles[0].name: expected a name of lowercase letters, digits and - (not none), found "none""#]
)]
#[case::missing_name(
    "fabric:\n  profiles:\n  - transport: tcp\n",
    &["line 5: fabric.profiles[0].name: missing: expected the profile's name"]
)]
#[case::missing_transport(
    "fabric:\n  profiles:\n  - name: a\n",
    &["line 5: fabric.profiles[0].transport: missing: expected ib, roce, efa, tcpx, tcpxo, gib or tcp"]
)]
#[case::unknown_transport(
    "fabric: {profiles: [{name: a, transport: rdma}]}\n",
    &[r#"line 3: fabric.profiles[0].transport: unknown value "rdma": expected ib, roce, efa, tcpx, tcpxo, gib or tcp"#]
)]
#[case::duplicate_name(
    "fabric:\n  profiles:\n  - {name: a, transport: ib}\n  - {name: a, transport: tcp}\n",
    &["line 6: fabric.profiles[1].name: duplicate entry for a: expected unique names"]
)]
#[case::mapping_for_a_list("fabric: {profiles: {a: 1}}\n", &["line 3: fabric.profiles: expected a list, found a mapping"])]
#[case::unknown_severity(
    "fabric: {lint: {severity: {FP021: deny}}}\n",
    &[r#"line 3: fabric.lint.severity: FP021: unknown value "deny": expected E, W or I"#]
)]
fn errors_name_the_field_and_line(#[case] body: &str, #[case] expected: &[&str]) {
    check(body, expected);
}

#[test]
fn the_schema_and_the_parser_know_the_same_checks() {
    let known: BTreeSet<String> = checks().iter().map(|check| check.id.to_string()).collect();
    let [pods, jobs] = ["FP", "TR"].map(|prefix| known.iter().rfind(|id| id.starts_with(prefix)).unwrap());
    let schema = schema();
    let numbered =
        ["FP", "TR"].into_iter().flat_map(|prefix| (0..100).map(move |number| format!("{prefix}{number:03}")));
    for id in numbered.chain(["FP01", "XFP001", "TR01", "TR0011"].map(str::to_owned)) {
        let body = format!("fabric: {{lint: {{disable: [{id}]}}}}\n");
        let problem = format!(
            "line 3: fabric.lint.disable: item 1: expected a check from FP001 to {pods} or from TR001 to {jobs}, found {id:?}"
        );
        let problems: &[&str] = if known.contains(&id) { &[] } else { &[&problem] };
        check(&body, problems);
        let lint = json!({"disable": [id], "severity": {id.clone(): "I"}});
        let document = json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration", "fabric": {"lint": lint}});
        assert_eq!(accepts(&schema, &document), known.contains(&id), "{id}");
    }
}

/// Returns a configuration that contains `profile`, as JSON.
fn configuration_with(profile: &Value) -> Value {
    json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration", "fabric": {"profiles": [profile]}})
}

#[test]
fn the_schema_accepts_every_built_in_profile_as_written_and_in_full() {
    for (name, entry) in builtin_profiles().all() {
        let written: Value = serde_saphyr::from_str(profile_source(name).unwrap()).unwrap();
        assert!(accepts(&schema(), &configuration_with(&written)), "{name}");
        assert!(accepts(&schema(), &configuration_with(&json!(entry.profile))), "{name} in full");
    }
}

/// Sets each field of a profile to values of every type: the schema, which editors use, and the parser must agree.
#[rstest]
fn the_schema_and_the_parser_agree_on_a_profile(
    #[values(
        json!(null), json!(true), json!(false), json!(0), json!(1), json!(1.5), json!(""), json!("a"), json!("none"), json!("ib"), json!("skip"),
        json!("tcp"), json!("warn"), json!([]), json!({}), json!(["a"]), json!([{}]), json!({"a": 1}), json!({"a": "b"}), json!("8"), json!("rdma/ib"), json!(["rdma/ib"]), json!("/a"), json!("1Gi"),
    )]
    value: Value,
) {
    let full = json!(Profiles::default().find("gke-mrdma-dra").unwrap().profile);
    let schema = schema()["properties"]["fabric"]["properties"]["profiles"]["items"].take();
    let mut paths = Vec::new();
    collect_paths(&full, &mut String::new(), &mut paths);
    assert!(paths.len() > 60, "{paths:?}");
    for path in paths {
        let mut profile = full.clone();
        *profile.pointer_mut(&path).unwrap() = value.clone();
        let parsed = Configuration::parse(&configuration_with(&profile).to_string());
        let inexpressible = INEXPRESSIBLE.iter().any(|start| path.starts_with(start)) && accepts(&schema, &profile);
        // YAML 1.1 reads a bare `off` as a boolean; the parser accepts it, the schema does not.
        let bare_off = path == "/mesh/istio" && value == false;
        if !inexpressible && !bare_off {
            assert_eq!(parsed.is_ok(), accepts(&schema, &profile), "{path}: {value}: {:?}", parsed.err());
        }
    }
}

/// Paths whose rules the schema cannot express: NCCL's grammar, fields that depend on each other, non-empty lists.
const INEXPRESSIBLE: [&str; 8] = [
    "/transport",
    "/env/",
    "/mesh",
    "/match/initContainers",
    "/match/gpuResources",
    "/networks/gke/defaultInterface",
    "/securityContext",
    "/failClosed/ncclNet",
];

/// Collects the paths of all fields below `value`.
fn collect_paths(value: &Value, path: &mut String, paths: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.first().map(|value| ("0".to_owned(), value)).into_iter().collect(),
        _ => Vec::new(),
    };
    for (name, value) in children {
        let mut below = format!("{path}/{}", name.replace('/', "~1"));
        paths.push(below.clone());
        collect_paths(value, &mut below, paths);
    }
}
