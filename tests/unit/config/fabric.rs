//! The section `fabric`, and what a profile cannot say.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{Configuration, Profiles, builtin_profiles, profile_source, schema};

use super::check;
use super::judge::accepts;

/// Reads `body` as the rest of a profile `site`, which starts on line 5 of the configuration.
#[track_caller]
fn check_profile(body: &str, expected: &[&str]) {
    let body = body.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
    let expected: Vec<String> =
        expected.iter().map(|problem| problem.replacen(": ", ": fabric.profiles[0].", 1)).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check(&format!("fabric:\n  profiles:\n  - name: site\n    transport: ib\n{body}"), &expected);
}

#[rstest]
#[case::all_of_it("fabric: {enabled: false, default: tcp, podSecurityDefault: baseline, profiles: [], lint: {disable: [FP010], severity: {FP021: E}}}\n", &[])]
#[case::nothing("fabric: {default: none}\n", &[])]
#[case::own_as_default("fabric: {default: site, profiles: [{name: site, transport: roce}]}\n", &[])]
#[case::unknown_default(
    "fabric:\n  default: ib-shred\n",
    &["line 4: fabric.default: no profile is called ib-shred: did you mean ib-shared?"]
)]
#[case::unlike_any("fabric: {default: nonsense}\n", &["line 3: fabric.default: no profile is called nonsense"])]
#[case::default_is_no_name(
    "fabric: {default: IB}\n",
    &[r#"line 3: fabric.default: expected a name of lower-case letters, digits and - (not none), found "IB""#]
)]
#[case::unknown_level(
    "fabric: {podSecurityDefault: strict}\n",
    &[r#"line 3: fabric.podSecurityDefault: unknown value "strict": expected unknown, privileged, baseline or restricted"#]
)]
#[case::called_none(
    "fabric:\n  profiles:\n  - name: none\n    transport: tcp\n",
    &[r#"line 5: fabric.profiles[0].name: expected a name of lower-case letters, digits and - (not none), found "none""#]
)]
#[case::nameless(
    "fabric:\n  profiles:\n  - transport: tcp\n",
    &["line 5: fabric.profiles[0].name: missing: expected the profile's name"]
)]
#[case::no_transport(
    "fabric:\n  profiles:\n  - name: a\n",
    &["line 5: fabric.profiles[0].transport: missing: expected ib, roce, efa, tcpx, tcpxo, gib or tcp"]
)]
#[case::unknown_transport(
    "fabric: {profiles: [{name: a, transport: rdma}]}\n",
    &[r#"line 3: fabric.profiles[0].transport: unknown value "rdma": expected ib, roce, efa, tcpx, tcpxo, gib or tcp"#]
)]
#[case::twice(
    "fabric:\n  profiles:\n  - {name: a, transport: ib}\n  - {name: a, transport: tcp}\n",
    &["line 6: fabric.profiles[1].name: a second profile a: the names differ"]
)]
#[case::no_list("fabric: {profiles: {a: 1}}\n", &["line 3: fabric.profiles: expected a list, found a mapping"])]
#[case::unknown_check(
    "fabric: {lint: {disable: [FP036]}}\n",
    &[r#"line 3: fabric.lint.disable: item 1: expected a check from FP001 to FP035, found "FP036""#]
)]
#[case::unknown_weight(
    "fabric: {lint: {severity: {FP021: deny}}}\n",
    &[r#"line 3: fabric.lint.severity: FP021: unknown value "deny": expected E, W or I"#]
)]
fn what_is_wrong_is_named_with_its_line(#[case] body: &str, #[case] expected: &[&str]) {
    check(body, expected);
}

#[rstest]
#[case::nothing_more("", &[])]
#[case::unknown_field("hostNetwork: true\n", &["line 7: hostNetwork: unknown field: expected name, description, transport, linkLayer, match, delivery, env, resources, networks, dra, securityContext, volumes, pod, sidecars, mesh, failClosed, guards, onConflict, lint or namespaces"])]
#[case::misspelt_field("resource: []\n", &["line 7: resource: unknown field: did you mean resources?"])]
#[case::namespaces(
    "namespaces:\n  names: [team-a]\n  selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}, {key: e, operator: Exists}]}\n",
    &[]
)]
#[case::no_namespaces(
    "namespaces: {}\n",
    &["line 7: namespaces: names nothing and selects nothing: expected names, a selector, or both"]
)]
#[case::no_names(
    "namespaces: {names: []}\n",
    &["line 7: namespaces: names nothing and selects nothing: expected names, a selector, or both"]
)]
#[case::no_name(
    "namespaces:\n  names: [Team]\n",
    &[r#"line 8: namespaces.names: item 1: expected the name of a namespace, found "Team""#]
)]
#[case::bad_label(
    "namespaces: {selector: {matchLabels: {a b: c}}}\n",
    &[r#"line 7: namespaces.selector.matchLabels: expected a key such as example.com/name, found "a b""#]
)]
#[case::unknown_operator(
    "namespaces: {selector: {matchExpressions: [{key: a, operator: Gt, values: [b]}]}}\n",
    &[r#"line 7: namespaces.selector.matchExpressions[0].operator: unknown value "Gt": expected In, NotIn, Exists or DoesNotExist"#]
)]
#[case::no_values(
    "namespaces: {selector: {matchExpressions: [{key: a, operator: NotIn}]}}\n",
    &["line 7: namespaces.selector.matchExpressions[0].values: operator is NotIn: expected at least one value"]
)]
#[case::needless_values(
    "namespaces:\n  selector:\n    matchExpressions:\n    - {key: a, operator: Exists, values: [b]}\n",
    &["line 10: namespaces.selector.matchExpressions[0].values: operator is Exists: expected no values"]
)]
#[case::no_key(
    "namespaces: {selector: {matchExpressions: [{operator: Exists}]}}\n",
    &["line 7: namespaces.selector.matchExpressions[0].key: missing: expected the key of a label"]
)]
#[case::empty_match(
    "match: {gpuResources: []}\n",
    &["line 7: match.gpuResources: empty: expected a resource such as nvidia.com/gpu"]
)]
#[case::no_gpus("match: {minGpus: 0}\n", &["line 7: match.minGpus: expected a number from 1, found 0"])]
#[case::sidecars_without_names(
    "match: {initContainers: restartableNamed}\n",
    &["line 7: match.initContainers: restartableNamed: expected containerNames beside it"]
)]
#[case::unknown_variable(
    "env:\n- name: NCCL_IB_HAC\n  value: mlx5\n",
    &["line 8: env[0].name: NCCL knows no variable NCCL_IB_HAC: did you mean NCCL_IB_HCA?"]
)]
#[case::out_of_range(
    "env:\n- name: NCCL_IB_TIMEOUT\n  value: \"100\"\n",
    &[r#"line 9: env[0].value: expected a number from 0 to 31, found "100""#]
)]
#[case::bare_number(
    "env: [{name: NCCL_IB_SL, value: 0}]\n",
    &["line 7: env[0].value: expected one line of at most 1023 bytes, in quotes where it is a number, found a number"]
)]
#[case::two_lines(
    "env: [{name: UCX_TLS, value: \"a\\nb\"}]\n",
    &[r#"line 7: env[0].value: expected one line of at most 1023 bytes, in quotes where it is a number, found "a\nb""#]
)]
#[case::never(
    "env: [{name: NCCL_P2P_DISABLE, value: \"1\"}]\n",
    &["line 7: env[0].name: NCCL_P2P_DISABLE switches off a transport within a node: leave it out"]
)]
#[case::set_twice(
    "env: [{name: UCX_TLS, value: tcp}, {name: UCX_TLS, value: sm}]\n",
    &["line 7: env: UCX_TLS is set twice: expected one entry for each name"]
)]
#[case::too_many_sockets(
    "env: [{name: NCCL_SOCKET_NTHREADS, value: \"16\"}, {name: NCCL_NSOCKS_PERTHREAD, value: \"8\"}]\n",
    &["line 7: env: NCCL_SOCKET_NTHREADS 16 times NCCL_NSOCKS_PERTHREAD 8: expected at most 64 sockets"]
)]
#[case::force("env: [{name: A, value: b, policy: force}]\n", &[r#"line 7: env[0].policy: unknown value "force": expected ifUnset"#])]
#[case::no_condition(
    "env: [{name: A, value: b, when: {gpuCount: many}}]\n",
    &[r#"line 7: env[0].when.gpuCount: expected a number of GPUs such as ">=8", found "many""#]
)]
#[case::doubled_resource(
    "resources: [{name: rdma/ib}, {name: rdma/ib, count: 2}]\n",
    &["line 7: resources: rdma/ib is asked for twice: expected one entry for each name"]
)]
#[case::none_of_it("resources: [{name: rdma/ib, count: 0}]\n", &["line 7: resources[0].count: expected a number from 1, found 0"])]
#[case::ratio_without_its_mode(
    "resources: [{name: rdma/ib, ratio: \"2\"}]\n",
    &["line 7: resources[0].ratio: expected mode: perGpu beside it"]
)]
#[case::count_of_a_ratio(
    "resources: [{name: rdma/ib, mode: perGpu, count: 2}]\n",
    &["line 7: resources[0].count: mode is perGpu: expected ratio"]
)]
#[case::no_ratio(
    "resources: [{name: rdma/ib, mode: perGpu, ratio: 1.5}]\n",
    &[r#"line 7: resources[0].ratio: expected devices for each accelerator such as "4" or "1/2", found 1.5; or a mapping by machine"#]
)]
#[case::counted_pages(
    "resources: [{name: hugepages-2Mi, count: 1}]\n",
    &["line 7: resources[0].quantity: missing: expected an amount such as 5120Mi"]
)]
#[case::weighed_devices(
    "resources: [{name: rdma/ib, quantity: 1Gi}]\n",
    &["line 7: resources[0].quantity: rdma/ib is counted: expected mode, count or ratio"]
)]
#[case::for_each_of_nothing(
    "networks: {multus: {attach: [{name: a, count: perResource}]}}\n",
    &["line 7: networks: count: perResource, but there is no resource to count"]
)]
#[case::one_name_for_two(
    "networks: {multus: {attach: [{name: a, count: 2, ifName: net1}]}}\n",
    &["line 7: networks.multus.attach[0].ifName: one name for several interfaces: expected count: 1"]
)]
#[case::replace(
    "networks: {multus: {merge: replace}}\n",
    &[r#"line 7: networks.multus.merge: unknown value "replace": expected append"#]
)]
#[case::both_ways_to_lock(
    "securityContext: {capabilities: {add: [IPC_LOCK]}, memlock: nodeUnlimited}\n",
    &["line 7: securityContext.memlock: nodeUnlimited beside IPC_LOCK: expected one of both"]
)]
#[case::capability_with_its_prefix(
    "securityContext: {capabilities: {add: [CAP_IPC_LOCK]}}\n",
    &[r#"line 7: securityContext.capabilities.add: item 1: expected a capability such as IPC_LOCK, found "CAP_IPC_LOCK""#]
)]
#[case::mount_over(
    "volumes: {shm: {ifMissing: false}}\n",
    &["line 7: volumes.shm.ifMissing: expected true: a mount of the user's is never replaced"]
)]
#[case::path_that_climbs(
    "volumes: {hostPaths: [{hostPath: /a/../b, mountPath: /c}]}\n",
    &[r#"line 7: volumes.hostPaths[0].hostPath: expected an absolute path without .. and :, found "/a/../b""#]
)]
#[case::plain_sidecar(
    "sidecars: [{ref: d, image: i, native: false}]\n",
    &["line 7: sidecars[0].native: expected true: a plain container keeps its job alive for ever"]
)]
#[case::interfaces_without_the_switch(
    "mesh: {interfaces: [net1]}\n",
    &["line 7: mesh.interfaces: expected istio: excludeInterfaces beside it"]
)]
#[case::bare_off("mesh: {istio: off}\n", &[])]
#[case::deny_on_conflict("onConflict: deny\n", &[r#"line 7: onConflict: unknown value "deny": expected skip or tcp"#])]
#[case::deny_by_a_guard("guards: {psa: deny}\n", &[r#"line 7: guards.psa: unknown value "deny": expected skip or warn"#])]
#[case::enforced_lint("lint: {enforce: true}\n", &["line 7: lint.enforce: unknown field: expected disable or severity"])]
#[case::all_at_once(
    "onConflict: deny\nresources:\n- name: rdma\nenv:\n- {name: NCCL_NETT, value: IB}\nguards: {quota: deny}\n",
    &[
        r#"line 7: onConflict: unknown value "deny": expected skip or tcp"#,
        r#"line 9: resources[0].name: expected a resource such as rdma/ib or hugepages-2Mi, found "rdma""#,
        "line 11: env[0].name: NCCL knows no variable NCCL_NETT: did you mean NCCL_NET?",
        r#"line 12: guards.quota: unknown value "deny": expected skip or warn"#,
    ]
)]
fn what_a_profile_cannot_say(#[case] body: &str, #[case] expected: &[&str]) {
    check_profile(body, expected);
}

/// A configuration with `profile` in it, as JSON.
fn around(profile: &Value) -> Value {
    json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration", "fabric": {"profiles": [profile]}})
}

#[test]
fn the_schema_accepts_every_built_in_profile_and_what_is_written_of_it() {
    for (name, entry) in builtin_profiles().all() {
        let written: Value = serde_saphyr::from_str(profile_source(name).unwrap()).unwrap();
        assert!(accepts(&schema(), &around(&written)), "{name}");
        assert!(accepts(&schema(), &around(&json!(entry.profile))), "{name} in full");
    }
}

/// One field of a profile after the other, with values of every type: the editor and the parser say the same.
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
    collect(&full, &mut String::new(), &mut paths);
    assert!(paths.len() > 60, "{paths:?}");
    for path in paths {
        let mut profile = full.clone();
        *profile.pointer_mut(&path).unwrap() = value.clone();
        let parsed = Configuration::parse(&around(&profile).to_string());
        let beyond = BEYOND.iter().any(|start| path.starts_with(start)) && accepts(&schema, &profile);
        // A bare `off`, which YAML 1.1 reads as a boolean, is a courtesy that no editor needs to know.
        let courtesy = path == "/mesh/istio" && value == false;
        if !beyond && !courtesy {
            assert_eq!(parsed.is_ok(), accepts(&schema, &profile), "{path}: {value}: {:?}", parsed.err());
        }
    }
}

/// What no schema can tell: NCCL's grammar, fields that need each other, and lists that must not be empty.
const BEYOND: [&str; 6] =
    ["/env/", "/mesh", "/match/initContainers", "/match/gpuResources", "/securityContext", "/failClosed/ncclNet"];

/// The paths of all fields below `value`.
fn collect(value: &Value, path: &mut String, paths: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.first().map(|value| ("0".to_owned(), value)).into_iter().collect(),
        _ => Vec::new(),
    };
    for (name, value) in children {
        let mut below = format!("{path}/{}", name.replace('/', "~1"));
        paths.push(below.clone());
        collect(value, &mut below, paths);
    }
}
