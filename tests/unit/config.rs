//! Configurations as users write them: what is accepted, and the errors for everything else.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cidr::Cidr;
use trainmesh_core::config::{ConfigDuration, Configuration, Mesh, NativeSidecar, Traffic, schema};
use trainmesh_core::gang::GangMode;
use trainmesh_core::hash;

use json_schema::accepts;

mod chart_values;
mod fabric;
mod json_schema;
mod profile;
mod termination;

const DEFAULT: &str = include_str!("../../config/default.yaml");
const HEADER: &str = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";

/// Parses `body` after the two header lines of every configuration, and compares the errors.
fn check(body: &str, expected: &[&str]) {
    check_text(&format!("{HEADER}{body}"), expected);
}

fn check_text(text: &str, expected: &[&str]) {
    let found: Vec<String> = match Configuration::parse(text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, expected, "in:\n{text}");
}

#[test]
fn an_unknown_gang_mode_is_reported_with_all_modes() {
    let (last, others) = GangMode::names().split_last().unwrap();
    let expected = format!("line 4: gang.default: unknown value \"x\": expected {} or {last}", others.join(", "));
    check("gang:\n  default: x\n", &[&expected]);
    check(
        "gang:\n  default: volcanoo\n",
        &[r#"line 4: gang.default: unknown value "volcanoo": did you mean volcano?"#],
    );
}

#[rstest]
#[case::empty_body("", &[])]
#[case::unknown_field(
    "fabric:\n  lint:\n    replicas: 3\n",
    &["line 5: fabric.lint.replicas: unknown field: expected disable or severity"]
)]
#[case::misspelled_field(
    "mesh:\n  nativeSidcar: prefer\n",
    &["line 4: mesh.nativeSidcar: unknown field: did you mean nativeSidecar?"]
)]
#[case::unknown_section("job: {}\n", &["line 3: job: unknown field: expected apiVersion, kind, mesh, termination, fabric or gang"])]
#[case::misspelled_section("mseh: {}\n", &["line 3: mseh: unknown field: did you mean mesh?"])]
#[case::unknown_value(
    "mesh:\n  nativeSidecar: perfer\n",
    &[r#"line 4: mesh.nativeSidecar: unknown value "perfer": did you mean prefer?"#]
)]
#[case::value_in_another_case(
    "mesh: {traffic: DisableCapture}\n",
    &[r#"line 3: mesh.traffic: unknown value "DisableCapture": did you mean disableCapture?"#]
)]
#[case::empty_value("mesh: {nativeSidecar: ''}\n", &[r#"line 3: mesh.nativeSidecar: unknown value "": expected leave or prefer"#])]
#[case::boolean_for_a_name(
    "mesh:\n  traffic: off\n",
    &["line 4: mesh.traffic: expected leave, direct, disableCapture or disableInjection, found a boolean"]
)]
#[case::list_for_a_name("mesh: {nativeSidecar: [prefer]}\n", &["line 3: mesh.nativeSidecar: expected leave or prefer, found a list"])]
#[case::quoted_boolean(
    "mesh:\n  hold: \"true\"\n",
    &["line 4: mesh.hold: expected a boolean, found a string: write true without quotes"]
)]
#[case::string_for_a_boolean("mesh: {hold: never}\n", &["line 3: mesh.hold: expected a boolean, found a string"])]
#[case::number_for_a_boolean("mesh: {hold: 1}\n", &["line 3: mesh.hold: expected a boolean, found a number"])]
#[case::mapping_for_a_boolean("mesh:\n  hold:\n    x: 1\n", &["line 4: mesh.hold: expected a boolean, found a mapping"])]
#[case::scalar_for_a_section("mesh: true\n", &["line 3: mesh: expected a mapping, found a boolean"])]
#[case::number_for_a_duration(
    "mesh:\n  waitTimeout: 90\n",
    &["line 4: mesh.waitTimeout: expected a duration such as 90s or 1m30s, found a number"]
)]
#[case::several_errors(
    "mesh:\n  enabeld: true\n  hold: 'false'\n  # a comment\n  traffic: none\n",
    &[
        "line 4: mesh.enabeld: unknown field: did you mean enabled?",
        "line 5: mesh.hold: expected a boolean, found a string: write false without quotes",
        r#"line 7: mesh.traffic: unknown value "none": expected leave, direct, disableCapture or disableInjection"#,
    ]
)]
#[case::ranges(
    "mesh:\n  podCIDRs: [10.244.0.0/16, 10.244.1.0/16]\n  excludeIPRanges: ['10.0.0.0/8 ']\n",
    &[
        "line 4: mesh.podCIDRs: item 2: 10.244.1.0/16 has host bits set: did you mean 10.244.0.0/16?",
        r#"line 5: mesh.excludeIPRanges: item 1: expected a CIDR such as 10.244.0.0/16, found "10.0.0.0/8 ""#,
    ]
)]
#[case::range_of_all_addresses(
    "mesh: {podCIDRs: [0.0.0.0/0]}\n",
    &["line 3: mesh.podCIDRs: 0.0.0.0/0 contains every address, not only those of pods: list the ranges of the pods"]
)]
#[case::long_wait("mesh: {waitTimeout: 2h}\n", &[])]
#[case::excluded_range_of_all_addresses("mesh: {excludeIPRanges: ['::/0']}\n", &[])]
#[case::ranges_of_all_addresses("mesh: {podCIDRs: [10.0.0.0/8, 128.0.0.0/2, 0.0.0.0/1, 192.0.0.0/2]}\n", &[])]
#[case::number_for_a_range(
    "mesh: {podCIDRs: [10]}\n",
    &["line 3: mesh.podCIDRs: item 1: expected a CIDR such as 10.244.0.0/16, found a number"]
)]
#[case::text_for_ranges("mesh: {podCIDRs: 10.244.0.0/16}\n", &["line 3: mesh.podCIDRs: expected a list, found a string"])]
#[case::duplicate_alone("mesh:\n  hold: 1\n  hold: 2\n", &[r#"line 5: duplicate key "hold""#])]
#[case::several_duplicates(
    "mesh:\n  hold: true\n  hold: false\nfabric: {}\nfabric: {}\n",
    &[r#"line 5: duplicate key "hold""#, r#"line 7: duplicate key "fabric""#]
)]
#[case::duplicate_section("mesh: {}\nmesh: {}\n", &[r#"line 4: duplicate key "mesh""#])]
#[case::syntax_error_alone("mesh:\n  hold: 1\n enabled: 2\n", &["line 5: while parsing a block mapping, did not find expected key"])]
#[case::two_documents("---\nmesh: {}\n", &["line 4: a second document starts here: expected one document"])]
fn errors_name_the_field_and_line(#[case] body: &str, #[case] expected: &[&str]) {
    check(body, expected);
}

/// Configurations follow the YAML dialect of manifests.
#[rstest]
#[case::booleans("mesh: {enabled: y, hold: n}\ntermination: {enabled: ON, curl: No}\n", &[])]
#[case::no_boolean("mesh: {enabled: tRue}\n", &["line 3: mesh.enabled: expected a boolean, found a string"])]
#[case::boolean_key("mesh:\n  yes: 1\n", &["line 4: mesh.true: unknown field: expected enabled, hold, waitTimeout, nativeSidecar, traffic, podCIDRs or excludeIPRanges"])]
#[case::numbers(
    "termination: {helpers: [{name: a, http: {port: 1.0, path: /}}, {name: b, http: {port: 0o7, path: /}}]}\n",
    &[]
)]
#[case::infinite("mesh:\n  hold: .inf\n", &["line 4: `.inf` cannot be represented in JSON"])]
#[case::null_key("mesh:\n  hold: y\n  ~: 1\n", &["line 5: null cannot be a key: quote it"])]
#[case::alias(
    "mesh: &a\n  traffic: 3\nmseh:\ntermination: {podSelector: a, helpers: *a}\n",
    &[
        "line 4: mesh.traffic: expected leave, direct, disableCapture or disableInjection, found a number",
        "line 5: mseh: unknown field: did you mean mesh?",
        "line 6: termination.helpers: expected a list, found a mapping",
    ]
)]
#[case::below_an_alias(
    "fabric:\n  profiles:\n  - &a\n    name: 1\n    transport: ib\n  - *a\n",
    &[
        "line 6: fabric.profiles[0].name: expected a name of lowercase letters, digits and - (not none), found a number",
        "line 8: fabric.profiles[1].name: expected a name of lowercase letters, digits and - (not none), found a number",
    ]
)]
#[case::merge(
    "mesh:\n  hold: 1\n  enabled: 1\n  <<: {hold: 2, traffic: 2}\n  traffic: 3\n",
    &[
        "line 5: mesh.enabled: expected a boolean, found a number",
        "line 6: mesh.hold: expected a boolean, found a number",
        "line 7: mesh.traffic: expected leave, direct, disableCapture or disableInjection, found a number",
    ]
)]
fn odd_texts_are_read_as_in_a_manifest(#[case] body: &str, #[case] expected: &[&str]) {
    check(body, expected);
}

const PROFILE: &str = "a fabric profile, not a configuration: put it into the list fabric.profiles, as \
    `trainmesh fabric show NAME --as config` does (for Helm: --as values)";
const LIST: &str = "a list of fabric profiles, not a configuration: write it below fabric.profiles, as \
    `trainmesh fabric show NAME --as config` does (for Helm: --as values)";
const EMPTY: &str =
    "empty: a configuration has at least apiVersion: config.trainmesh.dev/v1alpha1 and kind: TrainmeshConfiguration";

#[rstest]
#[case::empty("", &[EMPTY])]
#[case::comment_only("# later\n", &[EMPTY])]
#[case::not_a_mapping("- a\n", &["line 1: expected a mapping, found a list"])]
#[case::profile("name: a\ntransport: ib\n", &[PROFILE])]
#[case::list("- {name: a, transport: ib}\n- {name: b}\n", &[LIST])]
#[case::list_in_its_field("profiles:\n- {name: a, transport: ib}\n", &[LIST])]
#[case::list_of_others("- {name: a}\n- a\n", &["line 1: expected a mapping, found a list"])]
#[case::malformed_profile(
    "name: a\ntransport: rdma\n",
    &[PROFILE, r#"line 2: transport: unknown value "rdma": expected ib, roce, efa, tcpx, tcpxo, gib or tcp"#]
)]
#[case::malformed_helm_values("config:\n  mesh:\n    hold: 1\n", &["line 3: config.mesh.hold: expected a boolean, found a number"])]
#[case::unknown_helm_value(
    "webhook: {replicas: 3}\nconfg: {}\n",
    &["line 2: confg: unknown value of the Helm chart: did you mean config?"]
)]
#[case::neither(
    "# mine\nmesh: {}\n",
    &[
        "line 2: apiVersion: missing: expected config.trainmesh.dev/v1alpha1; Helm values have the sections below config",
        "line 2: kind: missing: expected TrainmeshConfiguration",
    ]
)]
#[case::others(
    "apiVersion: config.trainmesh.dev/v1\nkind: 3\n",
    &[
        r#"line 1: apiVersion: expected config.trainmesh.dev/v1alpha1, found "config.trainmesh.dev/v1""#,
        "line 2: kind: expected TrainmeshConfiguration, found a number",
    ]
)]
#[case::null_kind(
    "apiVersion: config.trainmesh.dev/v1alpha1\nkind:\n",
    &["line 1: kind: missing: expected TrainmeshConfiguration"]
)]
#[case::json(
    r#"{"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration", "mesh": {"hold": 0}}"#,
    &["line 1: mesh.hold: expected a boolean, found a number"]
)]
fn api_version_and_kind_are_required(#[case] text: &str, #[case] expected: &[&str]) {
    check_text(text, expected);
}

#[rstest]
#[case::literal_block(
    "data:\n  other: x\n  config.yaml: |\n    apiVersion: config.trainmesh.dev/v1alpha1\n    kind: Trainmesh\n    mesh:\n      hold: 1\n",
    &[
        r#"line 7: kind: expected TrainmeshConfiguration, found "Trainmesh""#,
        "line 9: mesh.hold: expected a boolean, found a number",
    ]
)]
#[case::block_that_starts_with_blank_lines(
    "data:\n  config.yaml: |-\n\n\n    # mine\n    apiVersion: config.trainmesh.dev/v1alpha1\n    kind: TrainmeshConfiguration\n    hold: 1\n",
    &["line 10: hold: unknown field: expected apiVersion, kind, mesh, termination, fabric or gang"]
)]
#[case::syntax_error_in_a_block("data:\n  config.yaml: |\n    mesh:\n      - a\n     b\n", &["line 7: while parsing a block mapping, did not find expected key"])]
#[case::quoted("data:\n  config.yaml: \"apiVersion: config.trainmesh.dev/v1alpha1\\nkind: TrainmeshConfiguration\\nhold: 1\\n\"\n", &["line 4: hold: unknown field: expected apiVersion, kind, mesh, termination, fabric or gang"])]
#[case::folded("data:\n  config.yaml: >\n    kind: TrainmeshConfiguration\n\n    apiVersion: config.trainmesh.dev/v1alpha1\n\n    hold: 1\n", &["line 5: hold: unknown field: expected apiVersion, kind, mesh, termination, fabric or gang"])]
#[case::no_data("", &[r#"line 1: data["config.yaml"]: missing: expected the text of a configuration"#])]
#[case::another_key("data:\n  config: x\n", &[r#"line 1: data["config.yaml"]: missing: expected the text of a configuration"#])]
#[case::not_a_string("data:\n  config.yaml:\n    mesh: {}\n", &[r#"line 5: data["config.yaml"]: expected the text of a configuration, found a mapping: write it after |"#])]
#[case::empty("data:\n  config.yaml: ''\n", &["line 4: empty: a configuration has at least apiVersion: config.trainmesh.dev/v1alpha1 and kind: TrainmeshConfiguration"])]
fn lines_are_counted_in_the_config_map_file(#[case] data: &str, #[case] expected: &[&str]) {
    check_text(&format!("apiVersion: v1\nkind: ConfigMap\n{data}"), expected);
}

#[test]
fn a_config_map_is_read_as_the_configuration_in_it() {
    let block = Configuration::embedded().to_yaml().replace('\n', "\n    ");
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  config.yaml: |\n    {block}");
    assert_eq!(Configuration::parse(&text), Ok(Configuration::embedded()));
}

#[rstest]
#[case::absent("mesh: {hold: false}\n")]
#[case::null("mesh:\n  enabled: null\n  hold: false\n  nativeSidecar: ~\n  traffic:\n")]
fn absent_and_null_mean_the_default(#[case] body: &str) {
    let text = format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{body}");
    let expected = Configuration { mesh: Mesh { hold: false, ..Mesh::default() }, ..Configuration::default() };
    assert_eq!(Configuration::parse(&text), Ok(expected));
}

#[rstest]
fn printed_configuration_parses_back(
    #[values(false, true)] enabled: bool,
    #[values(false, true)] hold: bool,
    #[values(NativeSidecar::Leave, NativeSidecar::Prefer)] native_sidecar: NativeSidecar,
    #[values(Traffic::Leave, Traffic::Direct, Traffic::DisableCapture, Traffic::DisableInjection)] traffic: Traffic,
) {
    let mut configuration = Configuration::default();
    let mesh = &mut configuration.mesh;
    mesh.enabled = enabled;
    mesh.hold = hold;
    mesh.wait_timeout = hold.then_some(ConfigDuration(Duration::from_secs(90)));
    mesh.native_sidecar = native_sidecar;
    mesh.traffic = traffic;
    mesh.pod_cidrs = hold.then(|| Cidr::parse("10.244.0.0/16").unwrap()).into_iter().collect();
    assert_eq!(Configuration::parse(&configuration.to_yaml()), Ok(configuration.clone()));
    assert_eq!(Traffic::parse(&traffic.to_string()), Some(traffic));
    let same = configuration == Configuration::embedded();
    assert_eq!(configuration.hash() == Configuration::embedded().hash(), same);
}

#[test]
fn traffic_parses_its_label_values() {
    let names = ["leave", "direct", "disableCapture", "disableInjection", "disablecapture", ""];
    let found = names.map(Traffic::parse);
    assert_eq!(
        found,
        [
            Some(Traffic::Leave),
            Some(Traffic::Direct),
            Some(Traffic::DisableCapture),
            Some(Traffic::DisableInjection),
            None,
            None
        ]
    );
}

#[test]
fn the_hash_of_the_default_is_that_of_its_compact_json() {
    let mut file: Value = serde_saphyr::from_str(DEFAULT).unwrap();
    file.as_object_mut().unwrap().retain(|key, _| !["apiVersion", "kind"].contains(&key.as_str()));
    assert_eq!(Configuration::embedded().hash(), hash::of(&file));
}

#[rstest]
#[case::at_the_limit(64, true)]
#[case::above(65, false)]
fn lists_of_ranges_are_limited(
    #[case] count: u8,
    #[case] valid: bool,
    #[values("podCIDRs", "excludeIPRanges")] field: &str,
) {
    let ranges: Vec<String> = (0..count).map(|index| format!("10.{index}.0.0/16")).collect();
    let text = format!("{HEADER}mesh: {{{field}: [{}]}}\n", ranges.join(", "));
    let problems = Configuration::parse(&text).map(drop).map_err(|problems| problems[0].message.clone());
    assert_eq!(problems, if valid { Ok(()) } else { Err("expected at most 64 ranges, found 65".to_owned()) });
}

/// A default is stated in three places: the code, the file and the schema.
#[test]
fn the_default_file_is_complete_and_equals_the_code_and_the_schema() {
    assert_eq!(Configuration::parse(DEFAULT), Ok(Configuration::embedded()));
    let file: Value = serde_saphyr::from_str(DEFAULT).unwrap();
    let code: Value = serde_saphyr::from_str(&Configuration::embedded().to_yaml()).unwrap();
    assert_eq!(file, code);
    assert_eq!(sections(&schema()).len() + 2, file.as_object().unwrap().len());
    for (section, schema) in sections(&schema()) {
        assert_eq!(schema["default"], file[&section], "{section}");
        for (field, schema) in schema["properties"].as_object().unwrap() {
            assert_eq!(schema["default"], file[&section][field], "{section}.{field}");
        }
    }
}

/// To update the file, which `trainmesh config schema` prints: `UPDATE_DOCS=1 cargo test --test unit the_schema_file`.
#[test]
fn the_schema_file_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/schema.json");
    let generated = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &generated).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == generated, "update config/schema.json: UPDATE_DOCS=1 cargo test --test unit the_schema_file");
}

#[rstest]
fn the_schema_and_the_parser_agree(
    #[values(
        json!(null), json!(true), json!(0), json!(1.5), json!("true"), json!(""), json!("leave"), json!("prefer"),
        json!("disableCapture"), json!("disableInjection"), json!("Leave"), json!([]), json!(["leave"]), json!({"a": 1}), json!("90s"), json!("1 s")
    )]
    value: Value,
) {
    let accepted_by_parser = |section: &str, content: &Value| {
        let mut document = json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration"});
        document[section] = content.clone();
        Configuration::parse(&document.to_string()).is_ok()
    };
    for (section, schema) in sections(&schema()) {
        assert_eq!(schema["additionalProperties"], false, "{section}");
        assert_eq!(accepted_by_parser(&section, &value), accepts(&schema, &value), "{section}: {value}");
        for (field, schema) in schema["properties"].as_object().unwrap() {
            // The schema cannot express which profiles exist.
            let names_a_profile = (section.as_str(), field.as_str()) == ("fabric", "default") && value.is_string();
            if names_a_profile {
                continue;
            }
            let content = json!({ field: value });
            assert_eq!(accepted_by_parser(&section, &content), accepts(schema, &value), "{section}.{field}: {value}");
        }
    }
}

/// Returns the sections and their schemas: all properties except `apiVersion` and `kind`, which have no default.
fn sections(schema: &Value) -> Vec<(String, Value)> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let with_default = properties.filter(|(_, schema)| schema.get("default").is_some());
    with_default.map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

#[rstest]
#[case::long(format!("# {}\n", "x".repeat(2 << 20)), "exceeds the limit of 2 MiB")]
#[case::deep(format!("fabric: {}1{}\n", "[".repeat(100), "]".repeat(100)), "64 levels")]
#[case::deep_block(format!("fabric:\n  {}1\n", "- ".repeat(10_000)), "64 levels")]
#[case::nodes(format!("fabric: [{}]\n", "1,".repeat(260_000)), "250000 values")]
#[case::aliases(format!("a: &a [{}]\nb: &b [{}]\nc: [{}]\n", "x, ".repeat(100), "*a, ".repeat(100), "*b, ".repeat(100)), "250000 values")]
#[case::text(format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(20)), "16 MiB")]
fn size_is_limited(#[case] body: String, #[case] limit: &str) {
    let text = format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{body}");
    let problems = Configuration::parse(&text).unwrap_err();
    assert!(problems.len() == 1 && problems[0].message.contains(limit), "{:?}", problems[0]);
}

#[rstest]
#[case::section("webhook: {replicas: 3}\nconfig: {mesh: {hold: false}}\n", false)]
#[case::no_section("certificates: {mode: certManager}\n", true)]
#[case::empty_section("config:\n", true)]
fn helm_values_contain_a_configuration(#[case] text: &str, #[case] hold: bool) {
    assert_eq!(Configuration::parse(text).unwrap().mesh.hold, hold);
}

#[test]
fn helm_values_are_those_of_the_chart() {
    let schema = std::fs::read_to_string("charts/trainmesh/values.schema.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, trainmesh_core::config::HELM_VALUES);
}

/// The schema and the parser agree about the format of ranges; only the parser checks host bits.
#[rstest]
#[case("10.0.0.0/8", true)]
#[case("10.1.2.3/32", true)]
#[case("fd00::/8", true)]
#[case("FD00::1/128", true)]
#[case("::ffff:10.0.0.0/104", true)]
#[case("10.0.0.0/33", false)]
#[case("fd00::/129", false)]
#[case("10.0.0.0", false)]
#[case("10.0.0.0/", false)]
#[case("10.0.0.0/8 ", false)]
#[case("fd00::/8%eth0", false)]
fn formats_of_ranges(#[case] range: &str, #[case] expected: bool) {
    let document = json!({
        "apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration", "mesh": {"podCIDRs": [range]},
    });
    assert_eq!(accepts(&schema(), &document), expected, "{range}");
    assert_eq!(Configuration::parse(&document.to_string()).is_ok(), expected, "{range}");
}
