//! Checks of environment variables and configuration files.

use rstest::rstest;

use super::scenario::{Scenario, check, env, pod, train, with_env};

const RDMA: &str = "nvidia.com/gpu: 8, rdma/ib: 1";
const EFA: &str = "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4";

/// Returns a pod whose NCCL configuration file contains `conf`, through trainmesh's annotation.
pub fn in_file(conf: &str, environment: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{annotations: {{trainmesh.dev/nccl-conf: {conf:?}}}}}, spec: {{\
           volumes: [{{name: conf, downwardAPI: {{items: [\
             {{path: conf, fieldRef: {{fieldPath: \"metadata.annotations['trainmesh.dev/nccl-conf']\"}}}}]}}}}], \
           containers: [{{name: train, env: [{environment}], \
             volumeMounts: [{{name: conf, mountPath: /etc/nccl.conf, subPath: conf}}]}}]}}}}"
    ))
}

#[rstest]
#[case::socket(with_env(RDMA, &[("NCCL_NET", "socket")]), Some("container train: NCCL_NET=Socket: NCCL does not use rdma/ib"))]
#[case::ib(with_env(RDMA, &[("NCCL_NET", "IB")]), None)]
#[case::socket_without_rdma(with_env("nvidia.com/gpu: 8", &[("NCCL_NET", "Socket")]), None)]
#[case::disabled(with_env(RDMA, &[("NCCL_IB_DISABLE", "1")]), Some("container train: NCCL_IB_DISABLE is set: NCCL does not use rdma/ib"))]
#[case::non_numeric_value_is_zero(with_env(RDMA, &[("NCCL_IB_DISABLE", "true")]), None)]
#[case::ignored_by_plugins(with_env(EFA, &[("NCCL_IB_DISABLE", "1")]), None)]
#[case::no_plugin(with_env(EFA, &[("NCCL_NET_PLUGIN", "none")]), Some("container train: NCCL_NET_PLUGIN=none excludes the plugin of the network: NCCL does not use EFA"))]
#[case::no_plugin_for_infiniband(with_env(RDMA, &[("NCCL_NET_PLUGIN", "none")]), None)]
#[case::provider(with_env(EFA, &[("FI_PROVIDER", "tcp")]), Some("container train: FI_PROVIDER=tcp selects another provider of libfabric: NCCL does not use EFA"))]
#[case::provider_efa(with_env(EFA, &[("FI_PROVIDER", "efa")]), None)]
#[case::another_network(with_env(EFA, &[("NCCL_NET", "IB")]), Some("container train: NCCL_NET=IB selects another transport: NCCL does not use EFA"))]
#[case::network_of_efa(with_env(EFA, &[("NCCL_NET", "AWS Libfabric")]), None)]
#[case::misspelled_network(with_env(EFA, &[("NCCL_NET", "Libfabrc")]), Some("container train: NCCL_NET=Libfabrc is no known network (Libfabric is): NCCL does not use EFA"))]
fn fp003_rdma_disabled(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP003", scenario, expected);
}

#[rstest]
#[case::word(env(&[("NCCL_IB_DISABLE", "true")]), Some("container train: NCCL_IB_DISABLE=true is not a number: NCCL reads 0"))]
#[case::trailing(env(&[("NCCL_NVLS_ENABLE", "1x")]), Some("container train: NCCL_NVLS_ENABLE=1x is not a number: NCCL reads 1"))]
#[case::number(env(&[("NCCL_IB_DISABLE", "0x1")]), None)]
#[case::empty_is_unset(env(&[("NCCL_IB_DISABLE", "")]), None)]
#[case::another_library(env(&[("FI_EFA_ENABLE", "true")]), None)]
#[case::unknown_value(train("env: [{name: NCCL_IB_DISABLE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), None)]
#[case::expanded_later(env(&[("NCCL_IB_DISABLE", "$(SWITCH)")]), None)]
#[case::in_the_file(
    in_file("NCCL_IB_DISABLE=true\n", ""),
    Some("container train: NCCL_IB_DISABLE=true is not a number: NCCL reads 0")
)]
#[case::the_environment_overrides_the_file(
    in_file("NCCL_IB_DISABLE=true\n", "{name: NCCL_IB_DISABLE, value: '1'}"),
    None
)]
#[case::the_last_entry_wins(
    train("env: [{name: NCCL_IB_DISABLE, value: 'yes'}, {name: NCCL_IB_DISABLE, value: '0'}]"),
    None
)]
#[case::number_with_a_unit(env(&[("NCCL_BUFFSIZE", "8M")]), Some("container train: NCCL_BUFFSIZE=8M is not a number: NCCL reads 8"))]
#[case::switch_with_another_name(env(&[("NCCL_IGNORE_CPU_AFFINITY", "yes")]), Some("container train: NCCL_IGNORE_CPU_AFFINITY=yes is not a number: NCCL reads 0"))]
#[case::bounded_number(env(&[("NCCL_IB_QPS_PER_CONNECTION", "four")]), Some("container train: NCCL_IB_QPS_PER_CONNECTION=four is not a number: NCCL reads 0"))]
#[case::word_of_another_variable(env(&[("NCCL_NET_GDR_LEVEL", "SYS"), ("NCCL_CROSS_NIC", "2")]), None)]
fn fp004_not_a_number(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP004", scenario, expected);
}

#[rstest]
#[case::timeout(env(&[("NCCL_IB_TIMEOUT", "32")]), Some("container train: NCCL_IB_TIMEOUT is 32: a lost connection hangs forever"))]
#[case::timeout_at_the_bound(env(&[("NCCL_IB_TIMEOUT", "31")]), None)]
#[case::not_a_number(env(&[("NCCL_IB_QPS_PER_CONNECTION", "four")]), None)]
#[case::retries(env(&[("NCCL_IB_RETRY_CNT", "20")]), Some("container train: NCCL_IB_RETRY_CNT is 20, expected 0 to 7"))]
#[case::octal(env(&[("NCCL_IB_RETRY_CNT", "010")]), Some("container train: NCCL_IB_RETRY_CNT is 8, expected 0 to 7"))]
#[case::retries_at_the_bound(env(&[("NCCL_IB_RETRY_CNT", "07")]), None)]
#[case::no_connections(env(&[("NCCL_IB_QPS_PER_CONNECTION", "0")]), Some("container train: NCCL_IB_QPS_PER_CONNECTION is 0, expected 1 to 128"))]
#[case::connections(env(&[("NCCL_IB_QPS_PER_CONNECTION", "128")]), None)]
#[case::sockets(
    env(&[("NCCL_SOCKET_NTHREADS", "8"), ("NCCL_NSOCKS_PERTHREAD", "9")]),
    Some("container train: 72 sockets (threads x sockets per thread) exceed the limit of 64")
)]
#[case::just_as_many_sockets(env(&[("NCCL_SOCKET_NTHREADS", "8"), ("NCCL_NSOCKS_PERTHREAD", "8")]), None)]
#[case::timeout_zero(env(&[("NCCL_IB_TIMEOUT", "0")]), Some("container train: NCCL_IB_TIMEOUT is 0: a lost connection hangs forever"))]
#[case::default_beyond_64_bits(env(&[("NCCL_IB_RETRY_CNT", "99999999999999999999")]), None)]
#[case::for_the_ranks(
    train("command: [sh, -c, 'mpirun -x NCCL_IB_RETRY_CNT=20 run']"),
    Some("container train: NCCL_IB_RETRY_CNT is 20, expected 0 to 7")
)]
#[case::exported(
    train("command: [bash, -c], args: ['export NCCL_IB_RETRY_CNT=\"20\"; python a.py']"),
    Some("container train: NCCL_IB_RETRY_CNT is 20, expected 0 to 7")
)]
#[case::the_export_overrides_the_environment(
    train("command: [bash, -c, 'export NCCL_IB_RETRY_CNT=7; run it'], env: [{name: NCCL_IB_RETRY_CNT, value: '20'}]"),
    None
)]
fn fp005_out_of_range(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP005", scenario, expected);
}

#[rstest]
#[case::inside(env(&[("NCCL_SOCKET_IFNAME", "=eth0,=eth1")]), Some("container train: NCCL_SOCKET_IFNAME==eth0,=eth1 has ^ or = inside the list"))]
#[case::wrong_order(env(&[("NCCL_SOCKET_IFNAME", "=^eth0")]), Some("container train: NCCL_SOCKET_IFNAME==^eth0 has ^ or = inside the list"))]
#[case::right_order(env(&[("NCCL_SOCKET_IFNAME", "^=docker0,lo")]), None)]
#[case::loopback(env(&[("NCCL_SOCKET_IFNAME", "^docker")]), Some("container train: NCCL_SOCKET_IFNAME=^docker does not exclude lo"))]
#[case::adapters_out_of_band(env(&[("NCCL_OOB_NET_IFNAME", "^mlx5_0")]), None)]
#[case::without_loopback(env(&[("NCCL_SOCKET_IFNAME", "^docker,lo")]), None)]
#[case::one_character(env(&[("NCCL_SOCKET_IFNAME", "e")]), Some("container train: NCCL_SOCKET_IFNAME=e has one character, so NCCL ignores it"))]
#[case::blank(env(&[("NCCL_SOCKET_IFNAME", "eth0, eth1")]), Some("container train: NCCL_SOCKET_IFNAME=\"eth0, eth1\" contains a space"))]
#[case::exact(env(&[("NCCL_SOCKET_IFNAME", "=eth0,eth1")]), None)]
fn fp006_interface_list_syntax(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP006", scenario, expected);
}

fn attached(annotation: &str, interface: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{annotations: {{{annotation}}}}}, \
          spec: {{containers: [{{name: train, env: [{{name: NCCL_SOCKET_IFNAME, value: {interface:?}}}]}}]}}}}"
    ))
}

#[rstest]
#[case::node_interface(env(&[("NCCL_SOCKET_IFNAME", "ens")]), Some("container train: NCCL_SOCKET_IFNAME=ens matches none of eth0"))]
#[case::exactly_a_prefix(env(&[("NCCL_SOCKET_IFNAME", "=eth")]), Some("container train: NCCL_SOCKET_IFNAME==eth matches none of eth0"))]
#[case::prefix(env(&[("NCCL_SOCKET_IFNAME", "eth")]), None)]
#[case::exceptions(env(&[("NCCL_SOCKET_IFNAME", "^ens,lo")]), None)]
#[case::host_network(
    pod("{spec: {hostNetwork: true, containers: [{name: train, env: [{name: NCCL_SOCKET_IFNAME, value: ens}]}]}}"),
    None
)]
#[case::numbered_by_attachment(attached("k8s.v1.cni.cncf.io/networks: 'a, team/b'", "=net2"), None)]
#[case::number_out_of_range(
    attached("k8s.v1.cni.cncf.io/networks: a@rdma0", "=net1"),
    Some("container train: NCCL_SOCKET_IFNAME==net1 matches none of eth0, rdma0")
)]
#[case::named_in_json(
    attached(r#"k8s.v1.cni.cncf.io/networks: '[{"name": "a", "interface": "rdma0"}]'"#, "=rdma0"),
    None
)]
#[case::invalid_json(attached("k8s.v1.cni.cncf.io/networks: '[{'", "=rdma0"), None)]
#[case::gke(
    attached(r#"networking.gke.io/interfaces: '[{"interfaceName": "eth2", "network": "rdma-0"}]'"#, "=eth2"),
    None
)]
#[case::gke_with_the_default_interface(
    attached(
        r#"networking.gke.io/interfaces: '[{"interfaceName": "eth0", "network": "default"}, {"interfaceName": "eth2", "network": "rdma-0"}]'"#,
        "=eth9"
    ),
    Some("container train: NCCL_SOCKET_IFNAME==eth9 matches none of eth0, eth2")
)]
#[case::plugin_of_gke(
    pod(
        r#"{metadata: {annotations: {networking.gke.io/interfaces: '[{"interfaceName": "eth9", "network": "vpc1"}, {"interfaceName": "eth2", "network": "vpc2"}]'}},
         spec: {containers: [{name: train, env: [{name: NCCL_FASTRAK_IFNAME, value: 'eth1,eth2'}]}]}}"#
    ),
    Some("container train: NCCL_FASTRAK_IFNAME lists eth1, which the pod lacks")
)]
#[case::prefix_of_interfaces_of_a_plugin(
    pod(
        r#"{metadata: {annotations: {networking.gke.io/interfaces: '[{"interfaceName": "eth1", "network": "vpc1"}]'}},
         spec: {containers: [{name: train, env: [{name: NCCL_FASTRAK_IFNAME, value: 'eth'}]}]}}"#
    ),
    None
)]
#[case::modifier_of_a_plugin(
    pod(
        r#"{metadata: {annotations: {networking.gke.io/interfaces: '[{"interfaceName": "eth1", "network": "vpc1"}]'}},
         spec: {containers: [{name: train, env: [{name: NCCL_FASTRAK_IFNAME, value: '^lo,docker0'}]}]}}"#
    ),
    None
)]
#[case::plugin_of_the_ranks_of_a_launcher(
    pod(
        r#"{metadata: {annotations: {networking.gke.io/interfaces: '[{"interfaceName": "eth1", "network": "vpc1"}]'}},
         spec: {containers: [{name: train, command: [mpirun, -x, 'NCCL_FASTRAK_IFNAME=eth9', train]}]}}"#
    ),
    None
)]
#[case::plugin_of_gke_without_networks(env(&[("NCCL_FASTRAK_IFNAME", "eth1,eth2")]), None)]
#[case::claimed(
    pod(
        "{spec: {resourceClaims: [{name: nic}], containers: [{name: train, env: [{name: NCCL_SOCKET_IFNAME, value: ens}]}]}}"
    ),
    None
)]
#[case::adapter_out_of_band(env(&[("NCCL_OOB_NET_IFNAME", "=mlx5_1")]), None)]
#[case::for_other_pods(train("command: [sh, -c, 'mpirun -x NCCL_SOCKET_IFNAME=ens3 run']"), None)]
#[case::for_ranks_in_the_pod(
    train("command: [mpirun, -x, NCCL_SOCKET_IFNAME=ens3, run], resources: {limits: {nvidia.com/gpu: 8}}"),
    Some("container train: NCCL_SOCKET_IFNAME=ens3 matches none of eth0")
)]
fn fp007_unknown_interface(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP007", scenario, expected);
}

#[rstest]
#[case::gloo(env(&[("GLOO_SOCKET_IFNAME", "=eth0")]), Some("container train: GLOO_SOCKET_IFNAME==eth0: only NCCL supports ^ and ="))]
#[case::tensor_pipe(env(&[("TP_SOCKET_IFNAME", "^lo")]), Some("container train: TP_SOCKET_IFNAME=^lo: only NCCL supports ^ and ="))]
#[case::name(env(&[("GLOO_SOCKET_IFNAME", "eth0")]), None)]
#[case::nccl(env(&[("NCCL_SOCKET_IFNAME", "=eth0")]), None)]
fn fp008_interface_prefix_for_another_library(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP008", scenario, expected);
}

#[rstest]
#[case::one_digit(env(&[("NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1")]), Some("container train: NCCL_IB_HCA mlx5_1 also matches mlx5_10 to mlx5_19"))]
#[case::exceptions(env(&[("NCCL_IB_HCA", "^mlx5_3")]), Some("container train: NCCL_IB_HCA mlx5_3 also matches mlx5_30 to mlx5_39"))]
#[case::another_separator(env(&[("NCCL_IB_HCA", "mlx5_0 mlx5_1")]), None)]
#[case::exact(env(&[("NCCL_IB_HCA", "=mlx5_0,mlx5_1")]), None)]
#[case::prefix_of_all_adapters(env(&[("NCCL_IB_HCA", "mlx")]), None)]
#[case::prefix_of_a_driver(env(&[("NCCL_IB_HCA", "mlx5")]), None)]
#[case::no_adapter_starts_with_zero(env(&[("NCCL_IB_HCA", "mlx5_0")]), None)]
#[case::two_digits(env(&[("NCCL_IB_HCA", "mlx5_12")]), None)]
#[case::more_than_nccl_uses(env(&[("NCCL_IB_HCA", "mlx5_4,mlx5_9")]), None)]
#[case::few_functions(with_env("nvidia.com/gpu: 8, nvidia.com/rdma-vf: 8", &[("NCCL_IB_HCA", "mlx5_1")]), None)]
#[case::many_functions(
    with_env("nvidia.com/gpu: 8, nvidia.com/rdma-vf: 16", &[("NCCL_IB_HCA", "mlx5_1")]),
    Some("container train: NCCL_IB_HCA mlx5_1 also matches mlx5_10 to mlx5_19")
)]
fn fp009_ambiguous_adapter_prefix(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP009", scenario, expected);
}

#[rstest]
#[case::pinned(env(&[("NCCL_IB_GID_INDEX", "3")]), Some("container train: NCCL_IB_GID_INDEX=3 overrides NCCL's detection"))]
#[case::of_the_profile(env(&[("NCCL_IB_GID_INDEX", "3")]).profile("transport: roce\nenv: [{name: NCCL_IB_GID_INDEX, value: '3'}]"), None)]
#[case::other_than_the_profile(env(&[("NCCL_IB_GID_INDEX", "1")]).profile("transport: roce\nenv: [{name: NCCL_IB_GID_INDEX, value: '3'}]"), Some("container train: NCCL_IB_GID_INDEX=1 overrides NCCL's detection"))]
#[case::of_the_profile_with_a_shared_adapter(
    with_env("nvidia.com/gpu: 8, rdma/rdma_shared_device_a: 1", &[("NCCL_IB_GID_INDEX", "3")])
        .original("{spec: {containers: [{name: train}]}}")
        .profile("transport: roce\nenv: [{name: NCCL_IB_GID_INDEX, value: '3'}]"),
    Some("profile site: container train: NCCL_IB_GID_INDEX=3 overrides NCCL's detection")
)]
#[case::found_by_nccl(env(&[("NCCL_IB_GID_INDEX", "-1")]), None)]
fn fp010_gid_index(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP010", scenario, expected);
}

#[rstest]
#[case::lower_case(env(&[("NCCL_NET_GDR_LEVEL", "sys")]), Some("container train: NCCL_NET_GDR_LEVEL=sys is unknown: NCCL ignores it: did you mean SYS?"))]
#[case::misspelled_level(env(&[("NCCL_NET_GDR_LEVEL", "PBH")]), Some("container train: NCCL_NET_GDR_LEVEL=PBH is unknown: NCCL ignores it: did you mean PHB?"))]
#[case::other_word(env(&[("NCCL_P2P_LEVEL", "NVSWITCH")]), Some("container train: NCCL_P2P_LEVEL=NVSWITCH is unknown: NCCL ignores it"))]
#[case::legacy_number(env(&[("NCCL_P2P_LEVEL", "2")]), Some("container train: NCCL_P2P_LEVEL=2 is a legacy number"))]
#[case::known(env(&[("NCCL_NET_GDR_LEVEL", "PHB"), ("NCCL_P2P_LEVEL", "NVL")]), None)]
#[case::undocumented(env(&[("NCCL_NET_GDR_LEVEL", "P2C"), ("NCCL_P2P_LEVEL", "NVB")]), None)]
#[case::debug_level(
    env(&[("NCCL_DEBUG", "WARNING")]),
    Some("container train: NCCL_DEBUG=WARNING is unknown: NCCL ignores it: expected VERSION, WARN, INFO, ABORT or TRACE")
)]
#[case::address_family(
    env(&[("NCCL_SOCKET_FAMILY", "ipv4")]),
    Some("container train: NCCL_SOCKET_FAMILY=ipv4 is unknown: NCCL ignores it: expected AF_INET or AF_INET6")
)]
#[case::known_words(env(&[("NCCL_DEBUG", "info"), ("NCCL_SOCKET_FAMILY", "AF_INET6")]), None)]
#[case::words_of_a_template(env(&[("NCCL_DEBUG", "${LEVEL}"), ("NCCL_SOCKET_FAMILY", "")]), None)]
fn fp011_level_names(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP011", scenario, expected);
}

#[rstest]
#[case::renamed(env(&[("NCCL_MAX_NCHANNELS", "8")]), Some("container train: NCCL_MAX_NCHANNELS: deprecated since 2.17; use NCCL_MAX_CTAS"))]
#[case::new_name(env(&[("NCCL_MAX_CTAS", "8")]), None)]
#[case::pytorch(env(&[("NCCL_ASYNC_ERROR_HANDLING", "1")]), Some("container train: NCCL_ASYNC_ERROR_HANDLING: a PyTorch variable; use TORCH_NCCL_ASYNC_ERROR_HANDLING"))]
fn fp024_renamed_variables(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP024", scenario, expected);
}

#[rstest]
#[case::provider(env(&[("FI_PROVIDER", "efa")]), Some("container train: FI_PROVIDER is no longer needed for EFA"))]
#[case::another_provider(env(&[("FI_PROVIDER", "tcp")]), None)]
#[case::protocol(with_env(EFA, &[("NCCL_PROTO", "simple")]), Some("container train: NCCL_PROTO is no longer needed for EFA"))]
#[case::protocol_elsewhere(with_env(RDMA, &[("NCCL_PROTO", "simple")]), None)]
#[case::fork(env(&[("RDMAV_FORK_SAFE", "1")]), Some("container train: RDMAV_FORK_SAFE is no longer needed for EFA"))]
fn fp025_obsolete_efa_settings(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP025", scenario, expected);
}

#[rstest]
#[case::trace(env(&[("NCCL_DEBUG", "trace")]), Some("container train: NCCL_DEBUG=trace is for debugging only"))]
#[case::info(env(&[("NCCL_DEBUG", "INFO")]), None)]
#[case::p2p_disabled(env(&[("NCCL_P2P_DISABLE", "1")]), Some("container train: NCCL_P2P_DISABLE=1 is for debugging only"))]
#[case::p2p_enabled(env(&[("NCCL_P2P_DISABLE", "0"), ("NCCL_SHM_DISABLE", "0")]), None)]
#[case::algorithm(env(&[("NCCL_ALGO", "Ring")]), Some("container train: NCCL_ALGO=Ring is for debugging only"))]
#[case::simple_for_efa(with_env(EFA, &[("NCCL_PROTO", "simple")]), None)]
#[case::another_protocol_with_efa(with_env(EFA, &[("NCCL_PROTO", "LL")]), Some("container train: NCCL_PROTO=LL is for debugging only"))]
fn fp026_debug_settings(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP026", scenario, expected);
}

#[rstest]
#[case::required(env(&[("NCCL_MNNVL_ENABLE", "1")]), Some("container train: NCCL_MNNVL_ENABLE=1 without a ComputeDomain claim"))]
#[case::where_possible(env(&[("NCCL_MNNVL_ENABLE", "2")]), None)]
#[case::claimed(train("resources: {claims: [{name: domain}]}, env: [{name: NCCL_MNNVL_ENABLE, value: '1'}]"), None)]
#[case::injected_channels(env(&[("NCCL_MNNVL_ENABLE", "1"), ("NVIDIA_IMEX_CHANNELS", "0")]), None)]
#[case::launcher(train("command: [sh, -c, 'mpirun -x NCCL_MNNVL_ENABLE=1 run']"), None)]
fn fp030_mnnvl_without_a_claim(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP030", scenario, expected);
}

/// Returns a container with a misspelled variable after `count` variables of an unknown plugin.
fn with_unknown_names(count: usize) -> Scenario {
    let unknown = (0..count).map(|index| format!("{{name: NCCL_ACME_RAIL_{index}, value: a}}"));
    let all: Vec<String> = unknown.chain(["{name: NCCL_IB_TIMEUOT, value: '22'}".to_owned()]).collect();
    train(&format!("env: [{}]", all.join(", ")))
}

#[rstest]
#[case::in_the_environment(env(&[("NCCL_SOCKET_IFNMAE", "eth0")]), Some("container train: NCCL has no variable NCCL_SOCKET_IFNMAE: did you mean NCCL_SOCKET_IFNAME?"))]
#[case::in_the_command(
    train("command: [sh, -c, 'export NCCL_IB_TIMEUOT=22; python train.py']"),
    Some("container train: NCCL has no variable NCCL_IB_TIMEUOT: did you mean NCCL_IB_TIMEOUT?")
)]
#[case::known(env(&[("NCCL_SOCKET_IFNAME", "eth0")]), None)]
#[case::of_a_plugin(env(&[("NCCL_ACME_RAILS", "8")]), None)]
#[case::in_the_prefix(env(&[("NCLL_DEBUG", "INFO")]), Some("container train: NCCL has no variable NCLL_DEBUG: did you mean NCCL_DEBUG?"))]
#[case::of_another_library(env(&[("RCCL_DEBUG", "INFO")]), None)]
#[case::after_many_of_a_plugin(with_unknown_names(32), None)]
#[case::after_some_of_a_plugin(
    with_unknown_names(31),
    Some("container train: NCCL has no variable NCCL_IB_TIMEUOT: did you mean NCCL_IB_TIMEOUT?")
)]
fn fp060_misspelled_names(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP060", scenario, expected);
}
