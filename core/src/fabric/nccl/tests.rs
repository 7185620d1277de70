use std::collections::BTreeSet;

use rstest::rstest;

use super::*;

/// Validates a setting and returns the error; empty if the setting is valid.
fn error(name: &str, value: &str) -> String {
    match check(name, value) {
        Ok(()) => String::new(),
        Err(InvalidSetting::Name(message)) => format!("name: {message}"),
        Err(InvalidSetting::Value(message)) => format!("value: {message}"),
    }
}

#[rstest]
#[case::prefix("NCCL_SOCKET_IFNAME", "eth")]
#[case::exact("NCCL_SOCKET_IFNAME", "=eth0,eth1")]
#[case::excluded("NCCL_SOCKET_IFNAME", "^lo,docker,veth,eni,pod-id-link0")]
#[case::exactly_excluded("NCCL_SOCKET_IFNAME", "^=docker0")]
#[case::adapter("NCCL_IB_HCA", "mlx5")]
#[case::port_rail_plane("NCCL_IB_HCA", "=mlx5_0:1:0:0,mlx5_1::0:1")]
#[case::timeout("NCCL_IB_TIMEOUT", "22")]
#[case::in_hexadecimal("NCCL_IB_TC", "0x34")]
#[case::no_gid_index("NCCL_IB_GID_INDEX", "-1")]
#[case::addresses("NCCL_IB_ADDR_RANGE", "fd02::/16")]
#[case::level("NCCL_NET_GDR_LEVEL", "PIX")]
#[case::legacy_level("NCCL_P2P_LEVEL", "4")]
#[case::level_number_above_five("NCCL_NET_GDR_LEVEL", "9")]
#[case::nvlink_bridge("NCCL_P2P_LEVEL", "NVB")]
#[case::c2c("NCCL_P2P_LEVEL", "C2C")]
#[case::pci_and_c2c("NCCL_NET_GDR_LEVEL", "P2C")]
#[case::through_another_gpu("NCCL_NET_GDR_LEVEL", "PXN")]
#[case::port("NCCL_NET_MERGE_LEVEL", "PORT")]
#[case::policy_in_any_case("NCCL_NETDEVS_POLICY", "max:2")]
#[case::merge_policy_in_any_case("NCCL_NET_MERGE_POLICY", "rail")]
#[case::check_mode_in_any_case("NCCL_CHECK_MODE", "debug_local")]
#[case::many_channels("NCCL_MAX_NCHANNELS", "128")]
#[case::zero_channels("NCCL_MIN_NCHANNELS", "0")]
#[case::default_time_stamp("NCCL_DEBUG_TIMESTAMP_FORMAT", "[%F %T] ")]
#[case::no_time_stamp("NCCL_DEBUG_TIMESTAMP_FORMAT", "")]
#[case::adapter_out_of_band("NCCL_OOB_NET_IFNAME", "=mlx5_1:1")]
#[case::boolean("NCCL_SET_THREAD_NAME", "true")]
#[case::dump_all("NCCL_PARAM_DUMP_ALL", "TRUE")]
#[case::no_cache("NCCL_NO_CACHE", "ALL")]
#[case::debug_info("NCCL_WARN_ENABLE_DEBUG_INFO", "1")]
#[case::rail_policy("NCCL_IB_RAIL_POLICY", "CX9:ALT")]
#[case::partition_by_value("NCCL_IB_PKEY_VALUE", "0x8111")]
#[case::removed("NCCL_SHM_USE_CUDA_MEMCPY", "1")]
#[case::of_ibext("NCCL_IBEXT_DISABLE", "1")]
#[case::of_the_example_profiler("NCCL_PROFILE_EVENT_MASK", "4095")]
#[case::of_the_copy_engine_profiler("NCCL_PROFILER_CE_TIMING", "1")]
#[case::of_the_example_tuner("NCCL_TUNER_CONFIG_FILE", "tuner.csv")]
#[case::of_expert_parallelism("NCCL_EP_TIMEOUT_MS", "100")]
#[case::of_resharding("NCCL_RESHARD_MAX_CTA", "4")]
#[case::of_checkpoint("NCCL_CHECKPOINT_KVS_PATH", "/x")]
#[case::of_nccl_tests("NCCL_TESTS_SPLIT_MASK", "0x7")]
#[case::plugin_with_a_blank("NCCL_NET", "AWS Libfabric")]
#[case::keyword_in_lower_case("NCCL_DEBUG", "warn")]
#[case::protocols("NCCL_PROTO", "Simple,LL128")]
#[case::algorithms_by_function("NCCL_ALGO", "ring,collnetdirect;allreduce:^tree")]
#[case::devices("NCCL_NETDEVS_POLICY", "MAX:2")]
#[case::ipv6_rendezvous("NCCL_COMM_ID", "[fd02::1]:28028")]
#[case::host_and_port("NCCL_RAS_ADDR", "localhost:28028")]
#[case::undocumented("NCCL_NVLSTREE_MAX_CHUNKSIZE", "131072")]
#[case::coreweave("NCCL_IB_NET_LATENCY", "50")]
#[case::fastrak("NCCL_FASTRAK_USE_SNAP", "whatever")]
#[case::tcpx("NCCL_GPUDIRECTTCPX_TX_BINDINGS", "eth1:8-21,112-125;eth2:8-21,112-125")]
#[case::config_checker("NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "/lib/a.textproto")]
#[case::gloo("GLOO_SOCKET_IFNAME", "eth0")]
#[case::gloo_with_two_interfaces("GLOO_SOCKET_IFNAME", "eth0,eth1")]
#[case::ucx("UCX_TLS", "")]
#[case::libfabric("FI_EFA_USE_HUGE_PAGE", "true")]
fn accepts(#[case] name: &str, #[case] value: &str) {
    assert_eq!(error(name, value), "");
}

#[rstest]
#[case::misspelled("NCCL_IB_HAC", "a", "name: NCCL has no variable NCCL_IB_HAC: did you mean NCCL_IB_HCA?")]
#[case::unknown("NCCL_BANANA", "a", "name: NCCL has no variable NCCL_BANANA")]
#[case::word_for_a_flag("NCCL_IB_DISABLE", "true", "value: expected 0 or 1, found \"true\"")]
#[case::empty("NCCL_IB_SL", "", "value: expected a number from 0 to 15, found \"\"")]
#[case::above_maximum("NCCL_IB_TIMEOUT", "100", "value: expected a number from 1 to 31, found \"100\"")]
#[case::never_times_out("NCCL_IB_TIMEOUT", "0", "value: expected a number from 1 to 31, found \"0\"")]
#[case::of_no_release("NCCL_PSK", "0123456789abcdef0123456789abcdef", "name: NCCL has no variable NCCL_PSK")]
#[case::retries("NCCL_IB_RETRY_CNT", "20", "value: expected a number from 0 to 7, found \"20\"")]
#[case::zero_queue_pairs("NCCL_IB_QPS_PER_CONNECTION", "0", "value: expected a number from 1 to 128, found \"0\"")]
#[case::traffic_class("NCCL_IB_TC", "256", "value: expected a number from 0 to 255, found \"256\"")]
#[case::threads("NCCL_SOCKET_NTHREADS", "17", "value: expected a number from 1 to 16, found \"17\"")]
#[case::negative_size("NCCL_BUFFSIZE", "-1", "value: expected a number from 1, found \"-1\"")]
#[case::octal("NCCL_IB_TIMEOUT", "022", "value: NCCL reads 022 as octal 18: write 18")]
#[case::unit("NCCL_BUFFSIZE", "4M", "value: expected a number from 1, found \"4M\"")]
#[case::trailing_space("NCCL_IB_SL", "1 ", "value: expected a number from 0 to 15, found \"1 \"")]
#[case::too_large_for_any(
    "NCCL_P2P_MAX_PEERS",
    "9223372036854775808",
    "value: expected an integer, found \"9223372036854775808\""
)]
#[case::lower_case_level(
    "NCCL_NET_GDR_LEVEL",
    "pix",
    "value: expected LOC, NVL, PIX, PXB, PHB or SYS, in capitals, found \"pix\""
)]
#[case::family("NCCL_SOCKET_FAMILY", "AF_INET4", "value: expected AF_INET or AF_INET6, found \"AF_INET4\"")]
#[case::modifier_in_the_list(
    "NCCL_SOCKET_IFNAME",
    "=eth0,=eth1",
    "value: ^ and = are allowed only at the start of the list, found \"=eth1\" in it"
)]
#[case::modifiers_swapped(
    "NCCL_SOCKET_IFNAME",
    "=^docker",
    "value: ^ and = are allowed only at the start of the list, found \"^docker\" in it"
)]
#[case::one_character(
    "NCCL_SOCKET_IFNAME",
    "e",
    "value: expected interfaces such as \"=eth0\", found \"e\", which NCCL ignores"
)]
#[case::space_in_list(
    "NCCL_SOCKET_IFNAME",
    "=eth0, eth1",
    "value: expected interfaces such as \"=eth0,eth1\", found \" eth1\" in it"
)]
#[case::empty_entry(
    "NCCL_IB_HCA",
    "mlx5_0,,mlx5_1",
    "value: expected adapters such as \"=mlx5_0,mlx5_1:1\", found \"\" in it"
)]
#[case::long_name(
    "NCCL_SOCKET_IFNAME",
    "=eth0,sixteenletters00",
    "value: expected names of at most 15 characters, found \"sixteenletters00\""
)]
#[case::port(
    "NCCL_IB_HCA",
    "=mlx5_0:one",
    "value: expected adapter:port:rail:plane with numbers after the name, found \"mlx5_0:one\""
)]
#[case::five_parts(
    "NCCL_IB_HCA",
    "a:1:1:1:1",
    "value: expected adapter:port:rail:plane with numbers after the name, found \"a:1:1:1:1\""
)]
#[case::address_range(
    "NCCL_IB_ADDR_RANGE",
    "fd02::/129",
    "value: expected an address range such as fd02::/16, found \"fd02::/129\""
)]
#[case::graph_mixing("NCCL_GRAPH_MIXING_SUPPORT", "2", "value: expected 0 or 1, found \"2\"")]
#[case::local_register("NCCL_LOCAL_REGISTER", "2", "value: expected 0 or 1, found \"2\"")]
#[case::stream_ordering("NCCL_GRAPH_STREAM_ORDERING", "-1", "value: expected 0 or 1, found \"-1\"")]
#[case::relative("NCCL_TOPO_FILE", "topo.xml", "value: expected an absolute path, found \"topo.xml\"")]
#[case::no_port(
    "NCCL_COMM_ID",
    "10.0.0.1",
    "value: expected host:port, or [address]:port for IPv6, found \"10.0.0.1\""
)]
#[case::bare_ipv6(
    "NCCL_COMM_ID",
    "fd02::1:80",
    "value: expected host:port, or [address]:port for IPv6, found \"fd02::1:80\""
)]
#[case::protocol("NCCL_PROTO", "Simple,LL64", "value: expected LL, LL128 or Simple, found \"Simple,LL64\"")]
#[case::devices("NCCL_NETDEVS_POLICY", "MAX:0", "value: expected AUTO, ALL or MAX:4, found \"MAX:0\"")]
#[case::empty_text("NCCL_NET", "", "value: expected text without leading or trailing spaces, found \"\"")]
#[case::gloo_excludes(
    "GLOO_SOCKET_IFNAME",
    "^lo",
    "value: expected the full name of an interface such as eth0, without ^ and =, found \"^lo\""
)]
#[case::tensorpipe_exact(
    "TP_SOCKET_IFNAME",
    "=eth0",
    "value: expected the full name of an interface such as eth0, without ^ and =, found \"=eth0\""
)]
fn rejects(#[case] name: &str, #[case] value: &str, #[case] expected: &str) {
    assert_eq!(error(name, value), expected);
}

#[rstest]
#[case::prefix("eth", "eth10", true)]
#[case::other("eth", "net1", false)]
#[case::exact("=mlx5_1", "mlx5_1", true)]
#[case::exact_is_not_a_prefix("=mlx5_1", "mlx5_10", false)]
#[case::with_a_port("=mlx5_0:1,mlx5_1:1", "mlx5_1", true)]
#[case::excluded("^docker,lo", "lo", false)]
#[case::not_excluded("^docker", "lo", true)]
#[case::exactly_excluded("^=docker0", "docker1", true)]
fn a_list_allows_devices(#[case] list: &str, #[case] device: &str, #[case] expected: bool) {
    assert_eq!(DeviceList::parse(list).allows(device), expected);
}

#[test]
fn limits_values_to_what_the_file_holds() {
    assert_eq!(error("NCCL_HOSTID", &"x".repeat(1023)), "");
    assert_eq!(error("NCCL_HOSTID", &"x".repeat(1024)), "value: expected at most 1023 bytes, found 1024");
}

#[test]
fn limits_adapters_to_32() {
    let adapters = |count: usize| format!("=mlx5_0{}", ",mlx5_1".repeat(count - 1));
    assert_eq!(error("NCCL_IB_HCA", &adapters(32)), "");
    assert_eq!(error("NCCL_IB_HCA", &adapters(33)), "value: expected at most 32 adapters, found 33");
}

#[rstest]
#[case::neither(&[], None)]
#[case::one(&[("NCCL_SOCKET_NTHREADS", "16")], None)]
#[case::sixty_four(&[("NCCL_SOCKET_NTHREADS", "16"), ("NCCL_NSOCKS_PERTHREAD", "4")], None)]
#[case::eighty(
    &[("NCCL_SOCKET_NTHREADS", "16"), ("NCCL_NSOCKS_PERTHREAD", "5")],
    Some("NCCL_SOCKET_NTHREADS 16 times NCCL_NSOCKS_PERTHREAD 5: expected at most 64 sockets")
)]
fn limits_sockets_per_connection(#[case] settings: &[(&str, &str)], #[case] expected: Option<&str>) {
    let lookup = |name: &str| settings.iter().find(|setting| setting.0 == name).map(|setting| setting.1);
    assert_eq!(check_combination(lookup).as_deref(), expected);
}

#[rstest]
#[case::flag("NCCL_IB_DISABLE", true, true, false)]
#[case::number("NCCL_IB_TIMEOUT", true, false, false)]
#[case::list("NCCL_IB_HCA", false, false, false)]
#[case::renamed("NCCL_IB_GDR_LEVEL", false, true, true)]
#[case::removed("NCCL_WORK_FIFO_DEPTH", false, false, true)]
#[case::pytorch("NCCL_ASYNC_ERROR_HANDLING", true, true, true)]
fn classifies_variables(#[case] name: &str, #[case] integer: bool, #[case] debugging: bool, #[case] deprecated: bool) {
    let variable = variable(name).unwrap();
    assert_eq!(
        (variable.is_integer(), variable.is_debugging(), variable.deprecated.is_some()),
        (integer, debugging, deprecated)
    );
}

#[test]
fn tables_do_not_overlap() {
    let tables = [system::VARIABLES, debugging::VARIABLES].into_iter().flatten().copied();
    let names: Vec<&str> =
        tables.chain(undocumented::variables()).chain(removed::variables()).map(|variable| variable.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(names.iter().all(|name| name.starts_with("NCCL_") && !is_plugin_variable(name)));
}
