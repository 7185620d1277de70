//! Errors in profiles.

use rstest::rstest;
use trainmesh_core::config::Configuration;

use super::{HEADER, check};

/// Parses `body` as the rest of a profile `site`, which starts on line 5 of the configuration.
#[track_caller]
fn check_profile(body: &str, expected: &[&str]) {
    let body = body.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
    let expected: Vec<String> =
        expected.iter().map(|problem| problem.replacen(": ", ": fabric.profiles[0].", 1)).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check(&format!("fabric:\n  profiles:\n  - name: site\n    transport: ib\n{body}"), &expected);
}

#[rstest]
#[case::empty_body("", &[])]
#[case::unknown_field("hostNetwork: true\n", &["line 7: hostNetwork: unknown field: expected name, description, transport, match, delivery, env, resources, networks, dra, securityContext, volumes, pod, sidecars, mesh, failClosed, guards, onConflict, lint or namespaces"])]
#[case::misspelled_field("resource: []\n", &["line 7: resource: unknown field: did you mean resources?"])]
#[case::link_layer("linkLayer: ethernet\n", &["line 7: linkLayer: unknown field: expected name, description, transport, match, delivery, env, resources, networks, dra, securityContext, volumes, pod, sidecars, mesh, failClosed, guards, onConflict, lint or namespaces"])]
#[case::source_of_the_file("delivery: {confSource: x}\n", &["line 7: delivery.confSource: unknown field: expected nccl or confPath"])]
#[case::medium_of_shared_memory("volumes: {shm: {medium: Memory}}\n", &["line 7: volumes.shm.medium: unknown field: expected mount, sizeLimit or ifMissing"])]
#[case::namespaces(
    "namespaces:\n  names: [team-a]\n  selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}, {key: e, operator: Exists}]}\n",
    &[]
)]
#[case::empty_namespaces(
    "namespaces: {}\n",
    &["line 7: namespaces: expected names, a selector, or both"]
)]
#[case::empty_names(
    "namespaces: {names: []}\n",
    &["line 7: namespaces: expected names, a selector, or both"]
)]
#[case::invalid_namespace_name(
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
#[case::missing_values(
    "namespaces: {selector: {matchExpressions: [{key: a, operator: NotIn}]}}\n",
    &["line 7: namespaces.selector.matchExpressions[0].values: operator is NotIn: expected at least one value"]
)]
#[case::needless_values(
    "namespaces:\n  selector:\n    matchExpressions:\n    - {key: a, operator: Exists, values: [b]}\n",
    &["line 10: namespaces.selector.matchExpressions[0].values: operator is Exists: expected no values"]
)]
#[case::missing_key(
    "namespaces: {selector: {matchExpressions: [{operator: Exists}]}}\n",
    &["line 7: namespaces.selector.matchExpressions[0].key: missing: expected the key of a label"]
)]
#[case::empty_match(
    "match: {gpuResources: []}\n",
    &["line 7: match.gpuResources: empty: expected a resource such as nvidia.com/gpu"]
)]
#[case::zero_gpus("match: {minGpus: 0}\n", &["line 7: match.minGpus: expected a number from 1, found 0"])]
#[case::restartable_without_container_names(
    "match: {initContainers: restartableNamed}\n",
    &["line 7: match.initContainers: restartableNamed requires containerNames"]
)]
#[case::unknown_variable(
    "env:\n- name: NCCL_IB_HAC\n  value: mlx5\n",
    &["line 8: env[0].name: NCCL has no variable NCCL_IB_HAC: did you mean NCCL_IB_HCA?"]
)]
#[case::out_of_range(
    "env:\n- name: NCCL_IB_TIMEOUT\n  value: \"100\"\n",
    &[r#"line 9: env[0].value: expected a number from 1 to 31, found "100""#]
)]
#[case::infinite_timeout(
    "env:\n- name: NCCL_IB_TIMEOUT\n  value: \"0\"\n",
    &[r#"line 9: env[0].value: expected a number from 1 to 31, found "0""#]
)]
#[case::bare_number(
    "env: [{name: NCCL_IB_SL, value: 0}]\n",
    &["line 7: env[0].value: expected one line of at most 1023 bytes, in quotes if it is a number, found a number"]
)]
#[case::multi_line_value(
    "env: [{name: UCX_TLS, value: \"a\\nb\"}]\n",
    &[r#"line 7: env[0].value: expected one line of at most 1023 bytes, in quotes if it is a number, found "a\nb""#]
)]
#[case::variable_within_a_node(
    "env: [{name: NCCL_P2P_DISABLE, value: \"1\"}]\n",
    &["line 7: env[0].name: NCCL_P2P_DISABLE disables a transport within the node: remove it"]
)]
#[case::set_twice(
    "env: [{name: UCX_TLS, value: tcp}, {name: UCX_TLS, value: sm}]\n",
    &["line 7: env[1].name: duplicate entry for UCX_TLS: expected unique names, or conditions on different machines"]
)]
#[case::too_many_sockets(
    "env: [{name: NCCL_SOCKET_NTHREADS, value: \"16\"}, {name: NCCL_NSOCKS_PERTHREAD, value: \"8\"}]\n",
    &["line 7: env: NCCL_SOCKET_NTHREADS 16 times NCCL_NSOCKS_PERTHREAD 8: expected at most 64 sockets"]
)]
#[case::force("env: [{name: A, value: b, policy: force}]\n", &[r#"line 7: env[0].policy: unknown value "force": expected ifUnset"#])]
#[case::invalid_condition(
    "env: [{name: A, value: b, when: {gpuCount: many}}]\n",
    &[r#"line 7: env[0].when.gpuCount: expected a number of GPUs such as ">=8", found "many""#]
)]
#[case::duplicate_resource(
    "resources: [{name: rdma/ib}, {name: rdma/ib, count: 2}]\n",
    &["line 7: resources[1].name: duplicate entry for rdma/ib: expected unique names"]
)]
#[case::lines_of_items(
    "env:\n- {name: NCCL_IB_TC, value: 5}\n- name: NCCL_DEBUG\n  value: INFO\n- value: WARN\n  name: NCCL_DEBUG\n- name: NCCL_NET\n  value: Socket\n",
    &[
        "line 8: env[0].value: expected one line of at most 1023 bytes, in quotes if it is a number, found a number",
        "line 12: env[2].name: duplicate entry for NCCL_DEBUG: expected unique names, or conditions on different machines",
        "line 14: env[3].value: NCCL_NET=Socket selects another transport; the transport is ib",
    ]
)]
#[case::lines_of_mounts(
    "volumes:\n  shm: {}\n  hostPaths:\n  - {hostPath: /a, mountPath: /x}\n  - hostPath: /b\n    mountPath: /dev/shm/\n  configMaps:\n  - name: c\n    mountPath: /x\n",
    &[
        "line 12: volumes.hostPaths[1].mountPath: duplicate mount path /dev/shm/: expected unique paths",
        "line 15: volumes.configMaps[0].mountPath: duplicate mount path /x: expected unique paths",
    ]
)]
#[case::mounts_of_a_sidecar(
    "sidecars: [{ref: d, image: i, hostPaths: [{hostPath: /a, mountPath: /x}, {hostPath: /b, mountPath: /x}]}]\n",
    &["line 7: sidecars[0].hostPaths[1].mountPath: duplicate mount path /x: expected unique paths"]
)]
#[case::proxy_as_sidecar(
    "sidecars: [{ref: istio-proxy, image: i}]\n",
    &["line 7: sidecars[0].ref: istio-proxy is a container of Istio: expected another name"]
)]
#[case::resource_of_a_quota(
    "resources: [{name: requests.foo.com/x}]\n",
    &[r#"line 7: resources[0].name: expected a resource such as rdma/ib or hugepages-2Mi, found "requests.foo.com/x""#]
)]
#[case::accelerator_as_adapter(
    "resources: [{name: nvidia.com/gpu, count: 4}]\n",
    &[]
)]
#[case::part_of_a_huge_page(
    "resources: [{name: hugepages-2Mi, quantity: 5121Mi}]\n",
    &["line 7: resources[0].quantity: expected a multiple of 2Mi, because the apiserver rejects others, found 5121Mi"]
)]
#[case::huge_pages("resources: [{name: hugepages-2Mi, quantity: 5120Mi}]\n", &[])]
#[case::interface_twice(
    "networks: {gke: {interfaces: [{interfaceName: eth1, network: a}, {interfaceName: eth1, network: b}]}}\n",
    &["line 7: networks.gke.interfaces[1].interfaceName: duplicate entry for eth1: expected unique names"]
)]
#[case::unknown_default_interface(
    "networks: {gke: {defaultInterface: eth9, interfaces: [{interfaceName: eth1, network: a}]}}\n",
    &["line 7: networks.gke.defaultInterface: eth9 is not in interfaces: expected the interface of the default route"]
)]
#[case::default_interface_without_interfaces("networks: {gke: {defaultInterface: eth9}}\n", &[])]
#[case::default_interface_of_the_pod_outside_of_the_list(
    "networks: {gke: {defaultInterface: eth0, interfaces: [{interfaceName: eth1, network: a}]}}\n",
    &["line 7: networks.gke.defaultInterface: eth0 is not in interfaces: expected the interface of the default route"]
)]
#[case::default_interface_in_the_list(
    "networks: {gke: {defaultInterface: eth0, interfaces: [{interfaceName: eth0, network: default}]}}\n",
    &[]
)]
#[case::name_of_two_attachments(
    "networks: {multus: {attach: [{name: a, ifName: net1}, {name: b, ifName: net1}]}}\n",
    &["line 7: networks.multus.attach[1].ifName: duplicate entry for net1: expected unique names"]
)]
#[case::zero_count("resources: [{name: rdma/ib, count: 0}]\n", &["line 7: resources[0].count: expected a number from 1, found 0"])]
#[case::ratio_without_mode(
    "resources: [{name: rdma/ib, ratio: \"2\"}]\n",
    &["line 7: resources[0].ratio: requires mode: perGpu"]
)]
#[case::count_with_mode_per_gpu(
    "resources: [{name: rdma/ib, mode: perGpu, count: 2}]\n",
    &["line 7: resources[0].count: expected ratio instead of count with mode: perGpu"]
)]
#[case::invalid_ratio(
    "resources: [{name: rdma/ib, mode: perGpu, ratio: 1.5}]\n",
    &[r#"line 7: resources[0].ratio: expected devices per accelerator such as "4" or "1/2", found 1.5; or a mapping by instance type"#]
)]
#[case::ratio_of_a_pattern(
    "resources:\n- {name: vpc.amazonaws.com/efa, mode: perGpu, ratio: {p4d: \"1/2\", p5*: \"4\"}}\n",
    &["line 8: resources[0].ratio: p5*: expected an instance type or its family, such as p5.48xlarge or p5"]
)]
#[case::hugepages_with_count(
    "resources: [{name: hugepages-2Mi, count: 1}]\n",
    &[
        "line 7: resources[0].name: hugepages-2Mi is memory: expected only quantity",
        "line 7: resources[0].quantity: missing: expected an amount such as 5120Mi",
    ]
)]
#[case::devices_with_quantity(
    "resources: [{name: rdma/ib, quantity: 1Gi}]\n",
    &["line 7: resources[0].quantity: rdma/ib is a device: expected mode, count or ratio"]
)]
#[case::per_resource_without_resources(
    "networks: {multus: {attach: [{name: a, count: perResource}]}}\n",
    &["line 7: networks: count: perResource requires a device in resources"]
)]
#[case::interface_name_for_two_networks(
    "networks: {multus: {attach: [{name: a, count: 2, ifName: net1}]}}\n",
    &["line 7: networks.multus.attach[0].ifName: expected count: 1: several interfaces cannot have the same name"]
)]
#[case::replace(
    "networks: {multus: {merge: replace}}\n",
    &[r#"line 7: networks.multus.merge: unknown value "replace": expected append"#]
)]
#[case::memlock_and_ipc_lock(
    "securityContext: {capabilities: {add: [IPC_LOCK]}, memlock: nodeUnlimited}\n",
    &["line 7: securityContext.memlock: expected either nodeUnlimited or the capability IPC_LOCK, found both"]
)]
#[case::misspelled_capability(
    "securityContext: {capabilities: {add: [SYS_PTRACE, IPC_LOK]}}\n",
    &["line 7: securityContext.capabilities.add: unknown capability IPC_LOK: did you mean IPC_LOCK?"]
)]
#[case::misspelled_capability_of_a_sidecar(
    "sidecars: [{ref: a, image: i, capabilities: [NET_ADMN, OF_A_NEWER_KERNEL]}]\n",
    &["line 7: sidecars[0].capabilities: unknown capability NET_ADMN: did you mean NET_ADMIN?"]
)]
#[case::capability_with_prefix(
    "securityContext: {capabilities: {add: [CAP_IPC_LOCK]}}\n",
    &[r#"line 7: securityContext.capabilities.add: item 1: expected a capability such as IPC_LOCK, found "CAP_IPC_LOCK""#]
)]
#[case::replace_existing_mount(
    "volumes: {shm: {ifMissing: false}}\n",
    &["line 7: volumes.shm.ifMissing: expected true: user mounts are never replaced"]
)]
#[case::path_with_parent_directory(
    "volumes: {hostPaths: [{hostPath: /a/../b, mountPath: /c}]}\n",
    &[r#"line 7: volumes.hostPaths[0].hostPath: expected an absolute path without .. and :, found "/a/../b""#]
)]
#[case::plain_sidecar(
    "sidecars: [{ref: d, image: i, native: false}]\n",
    &["line 7: sidecars[0].native: expected true: with a plain container the job would never complete"]
)]
#[case::interfaces_without_exclude_interfaces(
    "mesh: {interfaces: [net1]}\n",
    &["line 7: mesh.interfaces: requires istio: excludeInterfaces"]
)]
#[case::reserved_label(
    "pod: {labels: {trainmesh.dev/inject: disabled}}\n",
    &["line 7: pod.labels: trainmesh.dev/inject is reserved: a profile must not set it"]
)]
#[case::reserved_annotation(
    "pod: {annotations: {a: b, sidecar.istio.io/inject: \"false\"}}\n",
    &["line 7: pod.annotations: sidecar.istio.io/inject is reserved: a profile must not set it"]
)]
#[case::label_of_another_program("pod: {labels: {istio.io/dataplane-mode: none}}\n", &[])]
#[case::fields_requested_twice(
    "dra: {claims: [{x: a}]}\n",
    &[
        "line 7: dra.claims[0].name: missing: expected the claim's name within the pod",
        "line 7: dra.claims[0].resourceClaimTemplateName: missing: expected the name of a ResourceClaimTemplate",
        "line 7: dra.claims[0].x: unknown field: expected name or resourceClaimTemplateName",
    ]
)]
#[case::bare_off("mesh: {istio: off}\n", &[])]
#[case::deny_on_conflict("onConflict: deny\n", &[r#"line 7: onConflict: unknown value "deny": expected skip or tcp"#])]
#[case::deny_in_a_guard("guards: {psa: deny}\n", &[r#"line 7: guards.psa: unknown value "deny": expected skip or warn"#])]
#[case::enforce_lint("lint: {enforce: true}\n", &["line 7: lint.enforce: unknown field: expected disable or severity"])]
#[case::several_errors(
    "onConflict: deny\nresources:\n- name: rdma\nenv:\n- {name: NCCL_NETT, value: IB}\nguards: {quota: deny}\n",
    &[
        r#"line 7: onConflict: unknown value "deny": expected skip or tcp"#,
        r#"line 9: resources[0].name: expected a resource such as rdma/ib or hugepages-2Mi, found "rdma""#,
        "line 11: env[0].name: NCCL has no variable NCCL_NETT: did you mean NCCL_NET?",
        r#"line 12: guards.quota: unknown value "deny": expected skip or warn"#,
    ]
)]
fn errors_in_a_profile_name_the_field_and_line(#[case] body: &str, #[case] expected: &[&str]) {
    check_profile(body, expected);
}

/// Parses the only profile of a configuration. Each problem has its field below the profile.
#[rstest]
#[case::transport(
    "{name: a, transport: infiniband, resources: [{name: rdma/ib}, {name: rdma/ib}]}",
    &["resources[1].name: duplicate entry for rdma/ib", "transport: unknown value"]
)]
#[case::name("{name: A_b, transport: ib, env: [{name: A, value: b}, {name: A, value: c}]}", &["env[1].name: duplicate entry for A", "name: expected a name"])]
#[case::name_and_transport(
    "{transport: 5, volumes: {shm: {mount: /a}, hostPaths: [{hostPath: /b, mountPath: /a}]}, namespaces: {}}",
    &["name: missing", "namespaces: expected names", "transport: expected", "volumes.hostPaths[0].mountPath: duplicate mount path /a"]
)]
#[case::settings("{name: A_b, transport: efa, env: [{name: NCCL_NET, value: IB}, {name: NCCL_IB_HAC}, {name: NCCL_P2P_DISABLE}]}", &[
    "env[0].value: NCCL_NET=IB selects another", "env[1].name: NCCL has no variable", "env[1].value: missing", "env[2].name: NCCL_P2P_DISABLE disables",
    "env[2].value: missing", "name: expected",
])]
#[case::every_duplicate(
    "{name: a, transport: ib, env: [{name: A, value: b}, {name: A, value: b}, {name: B, value: c}, {name: B, value: d}, {name: B, value: e}], resources: [{name: rdma/a}, {name: rdma/a, count: x}, {name: rdma/b}, {name: rdma/b}]}",
    &[
        "env[1].name: duplicate entry for A", "env[3].name: duplicate entry for B", "env[4].name: duplicate entry for B",
        "resources[1].count: expected", "resources[1].name: duplicate entry for rdma/a", "resources[3].name: duplicate entry for rdma/b",
    ]
)]
#[case::entries_of_a_mapping(
    "{name: a, transport: ib, pod: {nodeSelector: {a b: c, d: -e}}}",
    &["pod.nodeSelector: expected a key such as example.com/name, found \"a b\"; d: expected"]
)]
#[case::counts("{name: a, transport: ib, resources: [{name: hugepages-1Gi, mode: x, count: 0}]}", &[
    "resources[0].count: expected a number from 1", "resources[0].mode: unknown value", "resources[0].name: hugepages-1Gi is memory",
    "resources[0].quantity: missing",
])]
// Problems that others cause are left out.
#[case::ratio_of_an_unknown_mode("{name: a, transport: ib, resources: [{name: rdma/a, mode: x, ratio: 1}]}", &["resources[0].mode: unknown value"])]
#[case::invalid_quantity("{name: a, transport: ib, resources: [{name: hugepages-1Gi, quantity: x}]}", &["resources[0].quantity: expected"])]
#[case::invalid_resource("{name: a, transport: ib, resources: [{name: b}], networks: {multus: {attach: [{name: a, count: perResource}]}}}", &["resources[0].name: expected"])]
#[case::invalid_labels("{name: a, transport: ib, pod: {podAntiAffinity: hostname, labels: {a: b c}}}", &["pod.labels: a: expected"])]
#[case::invalid_containers("{name: a, transport: ib, match: {initContainers: restartableNamed, containerNames: [A]}}", &["match.containerNames: item 1"])]
#[case::invalid_interfaces("{name: a, transport: ib, mesh: {istio: excludeInterfaces, interfaces: [5]}}", &["mesh.interfaces: item 1"])]
#[case::invalid_bypass("{name: a, transport: ib, mesh: {istio: x, interfaces: [net1]}}", &["mesh.istio: unknown value"])]
#[case::invalid_selector("{name: a, transport: ib, namespaces: {selector: 5}}", &["namespaces.selector: expected"])]
fn problems_of_a_profile_are_reported_at_once(#[case] profile: &str, #[case] expected: &[&str]) {
    check_starts(&format!("fabric: {{profiles: [{profile}]}}\n"), "fabric.profiles[0].", expected);
}

#[rstest]
#[case::transport("{default: a, profiles: [{name: a, transport: x}]}", &["profiles[0].transport"])]
#[case::name("{default: a, profiles: [{name: 5, transport: ib}]}", &["profiles[0].name"])]
#[case::misspelled_name("{default: a, profiles: [{nmae: a, transport: ib}]}", &["profiles[0].name: missing", "profiles[0].nmae: unknown field"])]
#[case::list("{default: a, profiles: {name: a, transport: ib}}", &["profiles: expected a list"])]
#[case::item("{default: a, profiles: [a]}", &["profiles[0]: expected a mapping"])]
#[case::misspelled_list("{default: a, profils: [{name: a, transport: ib}]}", &["profils: unknown field"])]
#[case::another_name("{default: b, profiles: [{name: a, transport: x}]}", &["default: unknown fabric profile b", "profiles[0].transport"])]
#[case::empty_list("{default: b, profiles: []}", &["default: unknown fabric profile b"])]
#[case::duplicate_of_an_invalid_profile("{profiles: [{name: a, transport: x}, {name: a, transport: ib}]}", &["profiles[0].transport", "profiles[1].name: duplicate entry for a"])]
fn the_default_may_be_an_invalid_profile(#[case] fabric: &str, #[case] expected: &[&str]) {
    check_starts(&format!("fabric: {fabric}\n"), "fabric.", expected);
}

/// Compares the start of each problem, sorted by field.
#[track_caller]
fn check_starts(body: &str, prefix: &str, expected: &[&str]) {
    let problems = Configuration::parse(&format!("{HEADER}{body}")).expect_err("no problem");
    let mut found: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    found.sort();
    let is_expected = |(found, expected): (&String, &&str)| found.starts_with(&format!("{prefix}{expected}"));
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_expected), "{found:#?}");
}
