//! Logs of NCCL, PyTorch and Gloo.

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, Diagnosis, DiagnosisReport, LogName, LogReader, MAX_LINE, MAX_LOG, MAX_LOG_CONTAINERS, MAX_LOGS,
    Selection, SnapshotError, diagnose,
};

use super::fixes::job_of;
use super::objects::{NOW, START, ago, rank, with};

const INFINIBAND: &str = "node-0:12:34 [0] NCCL INFO Using network IB";
const WARNING: &str = "node-0:12:34 [0] misc/ibvwrap.cc:123 NCCL WARN";
const TCP: &str = "node-1:12:34 [0] NCCL INFO Using network Socket";
const NO_ADAPTER: &str = "node-1:12:34 [0] NCCL INFO NET/IB : No device found.";
/// Logged with and without an adapter.
const ADAPTERS: &str = "node-1:12:34 [0] NCCL INFO NET/IB : Using ; OOB eth0:10.0.0.2<0>";
const DIRECT: &str = "node-0:12:40 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA";
const INDIRECT: &str = "node-0:12:40 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0";

/// Returns the log of a pod, as its file would contain it.
fn read(stem: &str, text: &str) -> LogReader {
    let mut reader = LogReader::new(LogName::from_file_stem(stem));
    reader.push(text.as_bytes());
    reader
}

/// Diagnoses pods with the logs of the master and the workers, one for each pod.
fn report(pods: &[Value], logs: &[&str]) -> DiagnosisReport {
    let stems = ["team-a_llama-master-0_pytorch", "team-a_llama-worker-0", "llama-worker-1"];
    let logs = stems.iter().zip(logs).flat_map(|(stem, text)| read(stem, text).finish());
    report_of(pods, logs.collect())
}

fn report_of(pods: &[Value], logs: Vec<trainmesh_core::diagnosis::ContainerLog>) -> DiagnosisReport {
    let mut snapshot = ClusterSnapshot::default();
    for pod in pods {
        assert!(snapshot.add(pod, "default").unwrap());
    }
    for log in logs {
        snapshot.add_log(log).unwrap();
    }
    diagnose(&snapshot, &Selection::default(), NOW.parse::<Timestamp>().unwrap())
}

/// Returns the findings in short form, with their messages.
fn short(report: &DiagnosisReport) -> Vec<String> {
    let short = report.diagnoses.iter().map(|found| format!("{} {}", found.code.code(), found.finding.message));
    short.collect()
}

/// Returns the findings in short form: their codes, and the answers whether the problem disappears by itself.
fn with_recovery(report: &DiagnosisReport) -> Vec<String> {
    let short = |found: &Diagnosis| format!("{} {}", found.code.code(), found.recovery.recovers().name());
    report.diagnoses.iter().map(short).collect()
}

/// Checks the findings about pods that request RDMA.
fn check(logs: &[&str], expected: &[&str]) {
    assert_eq!(short(&report(&pods(logs.len(), &json!({"rdma/ib": 8})), logs)), expected, "{logs:#?}");
}

/// Checks the findings about pods that do not request RDMA.
fn check_plain(logs: &[&str], expected: &[&str]) {
    assert_eq!(short(&report(&pods(logs.len(), &json!({})), logs)), expected, "{logs:#?}");
}

/// Only a profile of RDMA that the pod itself selects is a request of RDMA.
#[rstest]
#[case::tcp(json!({"trainmesh.dev/fabric": "ib-shared"}), TCP, &["RankOnTcp worker-0 uses TCP, although the pod requests RDMA (profile refused: FabricContradicted)", REFUSED])]
#[case::profile_of_the_namespace(json!({}), TCP, &["NetworksDiffer the ranks have no network in common: IB, Socket", REFUSED])]
#[case::profile_of_the_configuration(json!({"trainmesh.dev/fabric": "own"}), TCP, &["NetworksDiffer the ranks have no network in common: IB, Socket", REFUSED])]
#[case::rdma_without_the_profile(json!({"trainmesh.dev/fabric": "ib-shared"}), INFINIBAND, &[])]
fn ranks_with_a_refused_profile(#[case] labels: Value, #[case] log: &str, #[case] expected: &[&str]) {
    let mut pods = pods(2, &json!({}));
    let annotations = json!({"trainmesh.dev/refused": "fabric=FabricContradicted"});
    pods[1] = with(pods[1].clone(), json!({"metadata": {"annotations": annotations, "labels": labels}}));
    assert_eq!(short(&report(&pods, &[INFINIBAND, log])), expected);
}

const REFUSED: &str = "FabricRefused the fabric profile of worker-0 was refused: FabricContradicted";

fn pods(count: usize, limits: &Value) -> Vec<Value> {
    (0..count)
        .map(|index| {
            let mut pod = with(rank(index), json!({"status": {"podIP": format!("10.0.0.{index}")}}));
            let limits = with(json!({"nvidia.com/gpu": 8}), limits.clone());
            pod["spec"]["containers"][0]["resources"]["limits"] = limits;
            pod
        })
        .collect()
}

#[rstest]
#[case::infiniband(&[INFINIBAND, INFINIBAND], &[])]
#[case::tcp(&[INFINIBAND, TCP], &["RankOnTcp worker-0 uses TCP, although the pod requests RDMA (rdma/ib)"])]
#[case::all_on_tcp(&[TCP, TCP], &["RankOnTcp master-0, worker-0 use TCP, although the pods request RDMA (rdma/ib)"])]
#[case::connection(
    &["a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0", INFINIBAND],
    &["RankOnTcp master-0 uses TCP, although the pod requests RDMA (rdma/ib)"]
)]
#[case::adapters_decide_nothing(&[ADAPTERS, INFINIBAND], &[])]
#[case::no_adapter_decides_nothing(&[NO_ADAPTER, INFINIBAND], &[])]
#[case::only_the_main_containers_count(&["[pod/llama-master-0/istio-proxy] a:1:2 [0] NCCL INFO Using network Socket", INFINIBAND], &[])]
#[case::another_network(&["a:1:2 [0] NCCL INFO Using network gIB", "a:1:2 [0] NCCL INFO Using network gIB"], &[])]
#[case::libfabric(
    &["a:1:2 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)\na:1:2 [0] NCCL INFO Using network Libfabric", "a:1:2 [0] NCCL INFO Using network AWS Libfabric\na:1:2 [0] NCCL INFO Using network Libfabric"],
    &[]
)]
#[case::libfabric_over_tcp(
    &["a:1:2 [0] NCCL INFO NET/OFI Selected Provider is tcp (found 1 nics)", INFINIBAND],
    &["RankOnTcp master-0 uses TCP, although the pod requests RDMA (rdma/ib)"]
)]
#[case::python(&["Using network Socket", INFINIBAND], &[])]
#[case::alone(&[TCP], &[])]
fn networks_against_requests(#[case] logs: &[&str], #[case] expected: &[&str]) {
    check(logs, expected);
}

#[rstest]
#[case::tcp(&[TCP, TCP], &[])]
#[case::mixed(&[INFINIBAND, TCP], &["NetworksDiffer the ranks have no network in common: IB, Socket"])]
#[case::one_is_unknown(&[INFINIBAND, "loss 3.2"], &[])]
#[case::one_in_common(&[&format!("{INFINIBAND}\n{TCP}"), TCP], &[])]
fn networks_against_each_other(#[case] logs: &[&str], #[case] expected: &[&str]) {
    check_plain(logs, expected);
}

/// The transport of a profile of the configuration follows from its settings in the pod.
#[rstest]
#[case::built_in("mesh.hold,fabric=ib-shared", json!([]), Some("mesh.hold,fabric=ib-shared"))]
#[case::built_in_without_rdma("fabric=tcp", json!([{"name": "NCCL_IB_HCA", "value": "mlx5"}]), None)]
#[case::example("fabric=gke-tcpxo", json!([]), Some("fabric=gke-tcpxo"))]
#[case::own("fabric=own", json!([{"name": "NCCL_SOCKET_IFNAME", "value": "=eth0"}, {"name": "NCCL_DEBUG", "value": "INFO"}]), None)]
#[case::own_with_adapters("fabric=own", json!([{"name": "NCCL_IB_HCA", "value": "mlx5"}]), Some("fabric=own"))]
#[case::own_with_a_network("fabric=own", json!([{"name": "NCCL_NET", "value": "gIB"}]), Some("fabric=own"))]
#[case::own_with_tcp("fabric=own", json!([{"name": "NCCL_NET", "value": "Socket"}, {"name": "NCCL_IB_DISABLE", "value": "1"}]), None)]
#[case::own_with_tcp_and_adapters("fabric=own", json!([{"name": "NCCL_NET", "value": "socket"}, {"name": "NCCL_IB_HCA", "value": "mlx5"}]), None)]
#[case::own_with_tcpxo("mesh.hold,fabric=own", json!([{"name": "NCCL_FASTRAK_CTRL_DEV", "value": "eth0"}]), Some("NCCL_FASTRAK_CTRL_DEV"))]
#[case::tcpx_without_a_profile("mesh.hold", json!([{"name": "NCCL_GPUDIRECTTCPX_CTRL_DEV", "value": "eth0"}]), Some("NCCL_GPUDIRECTTCPX_CTRL_DEV"))]
#[case::adapters_without_a_profile("mesh.hold", json!([{"name": "NCCL_IB_HCA", "value": "mlx5"}]), None)]
fn a_profile_requests_rdma(#[case] applied: &str, #[case] env: Value, #[case] expected: Option<&str>) {
    let mut pods = pods(2, &json!({}));
    for pod in &mut pods {
        *pod = with(pod.clone(), json!({"metadata": {"annotations": {"trainmesh.dev/applied": applied}}}));
        pod["spec"]["containers"][0]["env"] = env.clone();
    }
    let message = |request| format!("RankOnTcp master-0, worker-0 use TCP, although the pods request RDMA ({request})");
    assert_eq!(short(&report(&pods, &[TCP, TCP])), Vec::from_iter(expected.map(message)));
}

/// Logs do not show whether the connections of other plugins use the memory of accelerators.
#[test]
fn gpudirect_is_checked_for_rdma_only() {
    let log = "a:1:2 [0] NCCL INFO Using network FasTrak\na:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/FasTrak/0";
    let mut pods = pods(2, &json!({}));
    for pod in &mut pods {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "NCCL_FASTRAK_CTRL_DEV", "value": "eth0"}]);
    }
    assert_eq!(short(&report(&pods, &[log, log])), Vec::<String>::new());
}

#[test]
fn the_variable_that_disables_rdma_is_evidence() {
    let mut pods = pods(2, &json!({"rdma/ib": 8}));
    pods[1]["spec"]["containers"][0]["env"] = json!([{"name": "NCCL_IB_DISABLE", "value": "1"}]);
    let report = report(&pods, &[INFINIBAND, &format!("{NO_ADAPTER}\n{TCP}")]);
    let fields: Vec<String> =
        report.diagnoses[0].evidence.iter().map(|e| format!("{}: {}", e.field, e.value)).collect();
    let expected =
        ["log: Using network Socket", "log: NET/IB : No device found.", "NCCL_IB_DISABLE of container pytorch: 1"];
    assert_eq!(fields, expected);
    assert!(report.diagnoses[0].finding.fix.unwrap().starts_with("remove the variable"), "{report:?}");
}

#[rstest]
#[case::before_2_30("Failed to open libibverbs.so[.1]", TCP, &["LibibverbsMissing worker-0 cannot load libibverbs, so NCCL uses TCP"])]
#[case::since_2_30("Count not open libibverbs.so.1", TCP, &["LibibverbsMissing worker-0 cannot load libibverbs, so NCCL uses TCP"])]
#[case::the_next_name_is_found("Count not open libibverbs.so", INFINIBAND, &[])]
#[case::another_network("Failed to open libibverbs.so[.1]", "a:1:2 [0] NCCL INFO Using network IB", &[])]
fn libraries(#[case] line: &str, #[case] network: &str, #[case] expected: &[&str]) {
    check(&[INFINIBAND, &format!("a:1:2 [0] NCCL INFO {line}\n{network}")], expected);
}

#[rstest]
#[case::direct(DIRECT, &[])]
#[case::indirect(INDIRECT, &["GpuDirectUnused no connection of master-0 uses GPUDirect RDMA"])]
#[case::one_is_direct(&format!("{INDIRECT}\n{DIRECT}"), &[])]
#[case::no_connection(INFINIBAND, &[])]
fn copies(#[case] log: &str, #[case] expected: &[&str]) {
    check(&[log, INFINIBAND], expected);
}

#[test]
fn the_connection_without_gpudirect_is_the_evidence() {
    let log = format!("{INFINIBAND}\n{INDIRECT}");
    let report = report(&pods(2, &json!({"rdma/ib": 8})), &[&log, INFINIBAND]);
    let values: Vec<&str> = report.diagnoses[0].evidence.iter().map(|evidence| &*evidence.value).collect();
    assert_eq!(values, [INDIRECT.rsplit("NCCL INFO ").next().unwrap()]);
}

#[rstest]
#[case::same(&["NCCL version 2.27.7+cuda12.9", "a:1:2 [0] NCCL INFO NCCL version 2.27.7+cuda12.9"], &[])]
#[case::rank_0_only(&["NCCL version 2.21.5+cuda12.4", INFINIBAND], &[])]
#[case::different(
    &["NCCL version 2.27.7+cuda12.9", "NCCL version 2.21.5+cuda12.4"],
    &["NcclVersionsDiffer the ranks use different versions of NCCL: 2.21.5+cuda12.4, 2.27.7+cuda12.9"]
)]
#[case::warning(
    &["[2026-01-01 11:00:00] a:1:2 [0] init.cc:9 (f) NCCL WARN Mismatched NCCL version detected : rank 1 version 22105 rank 0 version 22707", INFINIBAND],
    &["NcclVersionsDiffer the ranks use different versions of NCCL"]
)]
fn versions(#[case] logs: &[&str], #[case] expected: &[&str]) {
    check(logs, expected);
}

#[rstest]
#[case::versions(
    ["NCCL version 2.27.7+cuda12.9", "NCCL version 2.27.7+cuda12.9", "NCCL version 2.21.5+cuda12.4"],
    "the ranks use different versions of NCCL: 2.21.5+cuda12.4, 2.27.7+cuda12.9; worker-1 differs from master-0"
)]
#[case::networks([INFINIBAND, INFINIBAND, TCP], "the ranks have no network in common: IB, Socket; worker-1 differs from master-0")]
fn the_rank_that_differs_is_named_and_is_the_first_evidence(#[case] logs: [&str; 3], #[case] expected: &str) {
    let report = report(&pods(3, &json!({})), &logs);
    let found = &report.diagnoses[0];
    let values: Vec<&str> = found.evidence.iter().map(|evidence| &*evidence.value).collect();
    assert_eq!(found.finding.message, expected);
    assert_eq!(values, [logs[2], logs[0]].map(|line| line.rsplit("NCCL INFO ").next().unwrap()));
}

#[rstest]
#[case::interface("Bootstrap : no socket interface found", Some("NoSocketInterface no"))]
#[case::socket("NET/Socket : no interface found", Some("NoSocketInterface no"))]
#[case::listening("NET/Socket : No usable listening interface found", Some("NoSocketInterface no"))]
#[case::ip("NET/IB : No IP interface found.", Some("NoSocketInterface no"))]
#[case::memory("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", Some("LockedMemoryTooSmall no"))]
#[case::queue("Call to ibv_create_qp failed with error Cannot allocate memory", Some("LockedMemoryTooSmall no"))]
#[case::completion_queue(
    "Call to ibv_create_cq failed with error Cannot allocate memory",
    Some("LockedMemoryTooSmall no")
)]
#[case::no_peer_memory("Call to ibv_reg_mr failed with error Bad address", None)]
#[case::gid("Call to ibv_modify_qp failed with error Invalid argument", Some("WrongGid no"))]
#[case::no_route("Call to ibv_modify_qp failed with error Network is unreachable", None)]
#[case::retries(
    "NET/IB : Got completion from peer 10.0.0.1<42> with error 12, opcode 0, len 0, vendor err 129",
    Some("FabricTimeout unknown")
)]
#[case::status("NET/IB: Got completion from peer 10.0.0.1<42> with status=12 opcode=0", Some("FabricTimeout unknown"))]
#[case::status_name(
    "NET/IB: Got completion from peer 10.0.0.1<42> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)",
    Some("FabricTimeout unknown")
)]
#[case::flushed("NET/IB: Got completion from peer 10.0.0.1<42> with status=5 opcode=0", None)]
#[case::shared_memory("Error: failed to extend /dev/shm/nccl-AbC to 33030532 bytes", Some("SharedMemoryTooSmall no"))]
#[case::no_space(
    "Error while creating shared memory segment /dev/shm/nccl-AbC, error: No space left on device (28)",
    Some("SharedMemoryTooSmall no")
)]
#[case::plugin("Failed to initialize any NET plugin", Some("NetPluginMissing no"))]
#[case::duplicate("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000", Some("AcceleratorShared no"))]
#[case::same_device("Multiple Ranks are using the same GPU/Partition.", Some("AcceleratorShared no"))]
#[case::other("Something else", None)]
fn warnings(#[case] text: &str, #[case] expected: Option<&str>) {
    let findings = |level: &str| {
        let line = format!("[2026-01-01 11:00:00] a:1:2 [0] file.cc:9 (function) NCCL {level} {text}");
        with_recovery(&report(&pods(2, &json!({"rdma/ib": 8})), &[&line, INFINIBAND]))
    };
    assert_eq!(findings("WARN"), [expected.unwrap_or("UnexplainedError unknown")]);
    assert_eq!(findings("INFO"), [""; 0], "NCCL tests what the node supports");
}

#[rstest]
#[case::network([INFINIBAND, TCP], "RankOnTcp no")]
#[case::library([INFINIBAND, &format!("node-1:12:34 [0] NCCL INFO Failed to open libibverbs.so[.1]\n{TCP}")], "LibibverbsMissing no")]
#[case::copies([INDIRECT, INFINIBAND], "GpuDirectUnused no")]
#[case::versions(["NCCL version 2.27.7+cuda12.9", "NCCL version 2.21.5+cuda12.4"], "NcclVersionsDiffer no")]
#[case::timeout([&watchdog("[rank0]:[Rank 0] ", 7), INFINIBAND], "CollectiveTimeout unknown")]
#[case::peer(["RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.1]:33177", INFINIBAND], "PeerLost unknown")]
#[case::no_lines(["loss 3.2", "loss 3.2"], "NcclDebugUnset unknown")]
fn recoveries(#[case] logs: [&str; 2], #[case] expected: &str) {
    assert_eq!(with_recovery(&report(&pods(2, &json!({"rdma/ib": 8})), &logs)), [expected]);
}

#[test]
fn the_ranks_keep_their_networks() {
    assert_eq!(with_recovery(&report(&pods(2, &json!({})), &[INFINIBAND, TCP])), ["NetworksDiffer no"]);
}

#[test]
fn gloo_needs_an_interface() {
    let line = "RuntimeError: [enforce fail at device.cc:84] ifa != nullptr. Unable to find address for: ^lo";
    check(
        &[line, INFINIBAND],
        &["NoSocketInterface master-0: no network interface matches the settings, so the rank cannot start"],
    );
}

#[rstest]
#[case::loopback("lo:127.0.0.1<0>", true)]
#[case::link_local("veth:169.254.170.2<0>", true)]
#[case::loopback_v6("lo:::1<0>", true)]
#[case::interface("eth0:10.0.0.1<0>", false)]
fn bootstrap_addresses(#[case] address: &str, #[case] is_local: bool) {
    let message = "BootstrapUnreachable master-0 listens for its peers at an address of its own node";
    for text in ["Bootstrap : Using", "Bootstrap: Using"] {
        let line = format!("a:1:2 [0] NCCL INFO {text} {address}");
        let expected: &[&str] = if is_local { &[message] } else { &[] };
        check(&[&line, INFINIBAND], expected);
    }
}

#[test]
fn several_bootstrap_addresses() {
    let line = "a:1:2 [0] NCCL INFO Bootstrap: Using lo:127.0.0.1<0>";
    let message = "BootstrapUnreachable master-0, worker-0 listen for their peers at addresses of their own nodes";
    check(&[line, line], &[message]);
}

/// Nodes have the same address on the bridge of Docker, and only their own ranks reach it.
#[rstest]
#[case::other_nodes("docker0:172.17.0.1<0>", false, true)]
#[case::one_node("docker0:172.17.0.1<0>", true, false)]
fn the_same_address_on_several_nodes(#[case] address: &str, #[case] one_node: bool, #[case] is_found: bool) {
    let line = format!("a:1:2 [0] NCCL INFO Bootstrap: Using {address}");
    let mut pods = pods(2, &json!({}));
    if one_node {
        pods[1]["spec"]["nodeName"] = pods[0]["spec"]["nodeName"].clone();
    }
    let message = "BootstrapUnreachable master-0, worker-0 listen for their peers at addresses of their own nodes";
    assert_eq!(short(&report(&pods, &[&line, &line])), if is_found { vec![message] } else { Vec::new() });
}

/// Errors without a known cause are quoted, unless the log shows one.
#[rstest]
#[case::warning(
    "a:1:2 [0] NCCL WARN socketStartConnect: Connect to 192.168.5.1<48231> failed : No route to host",
    true
)]
#[case::adapter("a:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", true)]
#[case::watchdog("[rank0]:[E1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress", true)]
#[case::store("torch.distributed.DistNetworkError: The client socket has timed out after 900000ms", true)]
#[case::device("RuntimeError: CUDA error: an illegal memory access was encountered", true)]
#[case::device_memory("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", true)]
#[case::python("the batch of CUDA out of memory is halved", false)]
#[case::backend(
    "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1970, unhandled system error",
    true
)]
#[case::code("RuntimeError: NCCL Error 2: unhandled system error", true)]
#[case::explanation(
    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
    true
)]
#[case::refused("a:1:2 [0] NCCL INFO socketStartConnect: Connect to 10.0.0.9<4242> failed : Connection refused", false)]
#[case::heartbeat(
    "[rank2]:[E1] [PG 0 Rank 2] Heartbeat monitor timed out! Process will be terminated after dumping debug info.",
    true
)]
#[case::first_heartbeat("[rank2]:[E1] First PG on this rank that detected no heartbeat of its watchdog.", true)]
#[case::watchdog_hang(
    "[rank2]:[F1] Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.",
    true
)]
#[case::mismatch("RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: x", true)]
#[case::port(
    "RuntimeError: The server socket has failed to listen on any local network address. name: EADDRINUSE",
    true
)]
#[case::device_of_a_warning("UserWarning: CUDA initialization: Found no NVIDIA driver on your system.", false)]
#[case::ipv6("[c10d] The IPv6 network addresses of (llama-master-0, 23456) cannot be retrieved (gai error: -2)", false)]
#[case::second_agent("[E1] [c10d] The server socket has failed to listen on any local network address.", false)]
#[case::daemons("ORTE was unable to reliably start one or more daemons.", true)]
#[case::host_name("ssh: Could not resolve hostname m-worker-1.m: Name or service not known", true)]
#[case::information("a:1:2 [0] NCCL INFO CUDA error: x", false)]
#[case::explained("a:1:2 [0] NCCL WARN x\na:1:2 [0] NCCL WARN Duplicate GPU detected", false)]
fn errors_without_a_finding_are_quoted(#[case] log: &str, #[case] is_quoted: bool) {
    let report = report(&pods(2, &json!({})), &[log, INFINIBAND]);
    let found = report.diagnoses.iter().find(|found| found.code.code() == "UnexplainedError");
    assert_eq!(found.is_some(), is_quoted, "{report:?}");
    assert!(found.is_none_or(|found| log.ends_with(&*found.evidence[0].value)), "{found:?}");
}

/// The lines of some errors name their cause.
#[rstest]
#[case::device_memory(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "lower its batch size"
)]
#[case::port(
    "RuntimeError: The server socket has failed to listen on any local network address. name: EADDRINUSE",
    "give each job its own"
)]
#[case::port_in_newer_versions(
    "torch.distributed.DistNetworkError: The server socket has failed to bind to [::]:23456 (errno: 98 - Address already in use).",
    "give each job its own"
)]
#[case::mismatch(
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: x",
    "different operations"
)]
#[case::no_device("RuntimeError: No CUDA GPUs are available", "run nvidia-smi in the container")]
#[case::other(
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "an error of CUDA or of an adapter"
)]
fn fixes_of_errors(#[case] log: &str, #[case] fix: &str) {
    let found = report(&pods(2, &json!({})), &[log, INFINIBAND]).diagnoses.remove(0);
    assert_eq!(found.code.code(), "UnexplainedError");
    assert!(found.finding.fix.unwrap().contains(fix), "{found:?}");
}

const BACKEND: &str = "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1970, unhandled system error\n\
    ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:";

/// An error that a program may survive is a note.
#[rstest]
#[case::nccl(
    "a:1:2 [0] NCCL WARN NUMA auto balancing enabled",
    None,
    "I master-0 logged an error that no other finding explains: NUMA auto balancing enabled"
)]
#[case::loop_of_a_script(
    "ssh: Could not resolve hostname m-0.m: Name or service not known",
    None,
    "I master-0 logged an error that no other finding explains: ssh: Could not resolve hostname m-0.m: Name or service not known"
)]
#[case::store(
    "DistStoreError: Timed out after 901 seconds waiting for clients.",
    None,
    "W master-0 logged an error that no other finding explains: DistStoreError: Timed out after 901 seconds waiting for clients."
)]
#[case::completed(
    "DistStoreError: Timed out after 901 seconds waiting for clients.",
    Some(0),
    "I master-0 logged an error that no other finding explains: DistStoreError: Timed out after 901 seconds waiting for clients."
)]
#[case::failed(
    "DistStoreError: Timed out after 901 seconds waiting for clients.",
    Some(1),
    "W master-0 logged an error that no other finding explains: DistStoreError: Timed out after 901 seconds waiting for clients."
)]
#[case::continued(
    &format!("{} DistStoreError: lost\n{}", ago(600), steps(5, 60, 300)),
    None,
    "I master-0 logged an error that no other finding explains: DistStoreError: lost"
)]
#[case::few_lines_after_it(
    &format!("{} DistStoreError: lost\n{}", ago(600), steps(4, 60, 300)),
    None,
    "W master-0 logged an error that no other finding explains: DistStoreError: lost"
)]
#[case::steps_before_it(
    &format!("{}\n{} DistStoreError: lost", steps(9, 60, 660), ago(600)),
    None,
    "W master-0 logged an error that no other finding explains: DistStoreError: lost"
)]
#[case::a_warning_after_it(
    "DistStoreError: lost\na:1:2 [0] NCCL WARN x",
    None,
    "W master-0 logged an error that no other finding explains: DistStoreError: lost"
)]
#[case::client_socket(
    "TimeoutError: The client socket has timed out after 60s while trying to connect to (llama-master-0, 23456).",
    None,
    "W master-0 logged an error that no other finding explains: TimeoutError: The client socket has timed out after 60s while trying to connect to (llama-master-0, 23456)."
)]
#[case::closed(
    "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
    None,
    "W master-0 logged an error that no other finding explains: torch.distributed.elastic.rendezvous.api.RendezvousClosedError"
)]
#[case::etcd(
    "etcd.EtcdConnectionFailed: Connection to etcd failed",
    None,
    "W master-0 logged an error that no other finding explains: etcd.EtcdConnectionFailed: Connection to etcd failed"
)]
#[case::no_address(
    "[c10d] The IPv4 network addresses of (llama-master-0, 23456) cannot be retrieved (gai error: -2)",
    None,
    "I master-0 logged an error that no other finding explains: [c10d] The IPv4 network addresses of (llama-master-0, 23456) cannot be retrieved (gai error: -2)"
)]
#[case::no_device(
    "RuntimeError: No CUDA GPUs are available",
    None,
    "W master-0 logged an error that no other finding explains: RuntimeError: No CUDA GPUs are available"
)]
#[case::address(&format!("{BACKEND}\nsocketStartConnect: Connect to 192.168.19.14<52822> failed : No route to host"), None,
    "W master-0 cannot connect to 192.168.19.14")]
#[case::no_route(
    "a:1:2 [0] misc/socket.cc:559 NCCL WARN socketPollConnect: Connect to 10.0.0.9<46123> returned 113(No route to host) errno 115(Operation now in progress)",
    None,
    "W master-0 cannot connect to 10.0.0.9"
)]
#[case::pod(&format!("{BACKEND}\nsocketPollConnect: connect to 10.0.0.1<52822> returned Connection refused, exceeded error retry count (35)"),
    None, "W master-0 cannot connect to worker-0 (10.0.0.1)")]
#[case::duplicate(&format!("{BACKEND}\nDuplicate GPU detected : rank 0 and rank 1 both on CUDA device 1a000"), None,
    "E master-0: two ranks use the same accelerator, so initialization fails")]
fn severities_of_errors(#[case] log: &str, #[case] exit_code: Option<i64>, #[case] expected: &str) {
    let mut pods = pods(2, &json!({}));
    if let Some(exit_code) = exit_code {
        pods[0]["status"]["containerStatuses"][0]["state"] =
            json!({"terminated": {"exitCode": exit_code, "startedAt": START, "finishedAt": ago(60)}});
    }
    let report = report(&pods, &[&format!("{INFINIBAND}\n{log}"), INFINIBAND]);
    let found = report.diagnoses.iter().map(|found| {
        let severity = serde_json::to_value(found.finding.severity).unwrap();
        format!("{} {}", severity.as_str().unwrap(), found.finding.message)
    });
    assert!(found.clone().any(|found| found == expected), "{:#?}", found.collect::<Vec<_>>());
}

#[rstest]
#[case::ecc("RuntimeError: CUDA error: uncorrectable ECC error encountered", "AcceleratorUnhealthy no")]
#[case::nvlink(
    "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
    "AcceleratorUnhealthy no"
)]
#[case::data_loader(
    "RuntimeError: DataLoader worker (pid 123) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
    "SharedMemoryTooSmall no"
)]
#[case::bus_error(
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
    "SharedMemoryTooSmall no"
)]
#[case::another_signal("RuntimeError: DataLoader worker (pid 123) is killed by signal: Killed.", "")]
fn errors_of_pytorch_with_a_cause(#[case] line: &str, #[case] expected: &str) {
    let found = with_recovery(&report(&pods(2, &json!({})), &[&format!("{INFINIBAND}\n{line}"), INFINIBAND]));
    assert_eq!(found, Vec::from_iter(Some(expected).filter(|expected| !expected.is_empty())));
}

/// The lines of logs are evidence of the same finding as a condition or mark of the node.
#[rstest]
#[case::condition(1, json!({"status": {"conditions": [{"type": "XidError", "status": "True"}]}}), &["AcceleratorUnhealthy no 2"])]
#[case::mark(1, marked(), &["AcceleratorUnhealthy no 2"])]
#[case::another_node(0, marked(), &["AcceleratorUnhealthy unknown 1", "AcceleratorUnhealthy no 1"])]
fn a_node_and_a_log_report_accelerators(#[case] index: usize, #[case] patch: Value, #[case] expected: &[&str]) {
    let logs = [INFINIBAND, "RuntimeError: CUDA error: uncorrectable ECC error encountered"];
    let mut pods = pods(2, &json!({}));
    let alone = report(&pods, &logs);
    let message = &alone.diagnoses[0].finding.message;
    assert!(message.starts_with("worker-0 logged an uncorrectable error of an accelerator on "), "{message}");
    let name = pods[index]["spec"]["nodeName"].clone();
    pods.push(with(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}), patch));
    let both = report(&pods, &logs);
    let is_accelerator = |found: &&Diagnosis| found.code.code() == "AcceleratorUnhealthy";
    let accelerators: Vec<&Diagnosis> = both.diagnoses.iter().filter(is_accelerator).collect();
    let short = |found: &&Diagnosis| {
        format!("AcceleratorUnhealthy {} {}", found.recovery.recovers().name(), found.evidence.len())
    };
    let mut found: Vec<String> = accelerators.iter().map(short).collect();
    found.sort_by(|one, other| other.cmp(one));
    assert_eq!(found, expected, "{both:#?}");
    let mut of_log =
        accelerators.iter().filter(|found| found.evidence.iter().any(|part| part.field.starts_with("log")));
    assert!(of_log.all(|found| found.finding.fix.unwrap().starts_with("cordon the node")), "{both:#?}");
}

/// A node that HyperPod has marked.
fn marked() -> Value {
    json!({"metadata": {"labels": {"sagemaker.amazonaws.com/node-health-status": "UnschedulablePendingReboot"}}})
}

/// Returns a list of ranks that is longer than a name.
fn many_ranks() -> String {
    (1000..1200).map(|rank| rank.to_string()).collect::<Vec<_>>().join(", ")
}

/// Rank 0 names the ranks for which it waited.
#[rstest]
#[case::one("RuntimeError: Rank 2 failed to pass monitoredBarrier in 1800000 ms", Some("rank 2"))]
#[case::with_a_prefix("[Rank 0]: Rank 2 failed to pass monitoredBarrier in 1800000 ms", Some("rank 2"))]
#[case::several("[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 1800000 ms", Some("ranks 1, 2"))]
#[case::with_gloo(&format!("Rank 2 failed to pass monitoredBarrier in 1800000 ms\n{GLOO}"), Some("rank 2"))]
#[case::many(&format!("[Rank 0]: Ranks {} failed to pass monitoredBarrier in 1800000 ms", many_ranks()), Some("ranks 1000, 1001, 1002, 1003 and 196 more"))]
#[case::no_rank_after_a_comma("Ranks 1, x failed to pass monitoredBarrier in 1800000 ms", None)]
#[case::no_rank("Rank x failed to pass monitoredBarrier in 1800000 ms", None)]
#[case::another_rank("Rank 1 successfully reached monitoredBarrier, but received errors", None)]
fn barriers(#[case] line: &str, #[case] ranks: Option<&str>) {
    let message = |ranks| {
        format!(
            "CollectiveTimeout monitoredBarrier timed out; not reached by {ranks} of its process group: look there first"
        )
    };
    let report = report(&pods(2, &json!({})), &[&format!("{INFINIBAND}\n{line}"), INFINIBAND]);
    assert_eq!(short(&report), Vec::from_iter(ranks.map(message)));
}

/// Programs and collectors of logs color lines.
#[rstest]
#[case::at_the_end("node-1:12:34 [0] NCCL INFO Using network Socket \u{1b}[0m", true)]
#[case::around("\u{1b}[1;33mnode-1:12:34 [0] NCCL INFO Using network Socket\u{1b}[0m", true)]
#[case::within("\u{1b}[mnode-1:12:34 [0] NCCL \u{1b}[31mINFO Using\u{1b}[K network Socket", true)]
#[case::another_sequence("node-1:12:34 [0] NCCL INFO Using network Socket\u{1b}]", false)]
fn escape_sequences(#[case] line: &str, #[case] is_tcp: bool) {
    let report = report(&pods(2, &json!({"rdma/ib": 8})), &[line, INFINIBAND]);
    let codes: Vec<&str> = report.diagnoses.iter().map(|found| found.code.code()).collect();
    assert_eq!(codes.contains(&"RankOnTcp"), is_tcp, "{codes:?}");
}

#[test]
fn the_first_and_the_last_error_are_quoted() {
    let log = ["1", "2", "3"].map(|number| format!("a:1:2 [0] NCCL WARN error {number}\n")).concat();
    let report = report(&pods(2, &json!({})), &[&log, INFINIBAND]);
    let values: Vec<&str> = report.diagnoses[0].evidence.iter().map(|evidence| &*evidence.value).collect();
    assert_eq!(values, ["error 1", "error 3"]);
}

/// Returns a line of the watchdog of a rank in a group.
fn watchdog(prefix: &str, sequence: u64) -> String {
    format!(
        "{prefix}Watchdog caught collective operation timeout: WorkNCCL(SeqNum={sequence}, OpType=ALLREDUCE, NumelIn=1, \
         NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
    )
}

/// Returns the line of a rank without the group, and the next one.
fn detected(rank: usize, sequence: u64) -> String {
    let timeout = watchdog(&format!("[rank{rank}]:[Rank {rank}] "), sequence);
    format!(
        "{timeout}\n[rank{rank}]:{GROUP}{rank}]  failure detected by watchdog at work sequence id: {sequence} PG status: last \
             enqueued work: {sequence}"
    )
}

/// The same of PyTorch 2.5.
fn detected_by_2_5(rank: usize, sequence: u64) -> String {
    let timeout = watchdog(&format!("[rank{rank}]:[Rank {rank}] "), sequence);
    format!(
        "{timeout}\n[rank{rank}]:{GROUP}{rank}] Exception (either an error or timeout) detected by watchdog at work: {sequence}, last \
             enqueued NCCL work: {sequence}, last completed NCCL work: {sequence}."
    )
}

const GROUP: &str = "[E101 11:30:00.1 ProcessGroupNCCL.cpp:629] [PG ID 0 PG GUID 0(default_pg) Rank ";

#[rstest]
#[case::all([watchdog(&format!("[rank0]:{GROUP}0] "), 7), watchdog(&format!("[rank1]:{GROUP}1] "), 7)],
    "ALLREDUCE timed out; every log contains a time-out, and they do not show which rank was late")]
#[case::one_is_behind([watchdog(&format!("[rank0]:{GROUP}0] "), 7), watchdog(&format!("[rank1]:{GROUP}1] "), 6)],
    "ALLREDUCE timed out; behind the others: rank 1 on worker-0 (SeqNum 6)")]
#[case::other_group([watchdog("[rank0]:[PG ID 1 PG GUID 1 Rank 0] ", 7), watchdog("[rank1]:[PG ID 2 PG GUID 2 Rank 0] ", 6)],
    "ALLREDUCE timed out; every log contains a time-out, and they do not show which rank was late")]
#[case::unknown_group([watchdog("[Rank 0] ", 7), watchdog("[Rank 0] ", 6)],
    "ALLREDUCE timed out; every log contains a time-out, without its process group, so that the numbers do not prove which rank was \
     late; the lowest: worker-0 (SeqNum 6): look there first")]
#[case::unknown_group_and_the_same_number([watchdog("[Rank 0] ", 7), watchdog("[Rank 0] ", 7)],
    "ALLREDUCE timed out; every log contains a time-out, and they do not show which rank was late")]
#[case::one_known_group([watchdog(&format!("[rank0]:{GROUP}0] "), 7), watchdog("[Rank 0] ", 6)],
    "ALLREDUCE timed out; every log contains a time-out, and they do not show which rank was late")]
#[case::other_operation([watchdog(&format!("[rank0]:{GROUP}0] "), 7), watchdog(&format!("[rank1]:{GROUP}1] "), 7).replace("ALLREDUCE", "ALLGATHER")],
    "ALLREDUCE timed out; rank 0 on master-0 (SeqNum 7) called ALLREDUCE, and rank 1 on worker-0 (SeqNum 7) called ALLGATHER: different code paths")]
#[case::sends_and_receives([watchdog(&format!("[rank0]:{GROUP}0] "), 7).replace("ALLREDUCE", "SEND"), watchdog(&format!("[rank1]:{GROUP}1] "), 7).replace("ALLREDUCE", "RECV")],
    "SEND timed out; every log contains a time-out, and they do not show which rank was late")]
#[case::group_in_the_next_line([detected(0, 7), detected(1, 6)],
    "ALLREDUCE timed out; behind the others: rank 1 on worker-0 (SeqNum 6)")]
#[case::group_in_the_next_line_of_pytorch_2_5([detected_by_2_5(0, 7), detected_by_2_5(1, 6)],
    "ALLREDUCE timed out; behind the others: rank 1 on worker-0 (SeqNum 6)")]
#[case::no_timeout([watchdog("[rank0]:[Rank 0] ", 7), "loss 3.2".to_owned()],
    "ALLREDUCE timed out; no time-out in the log of worker-0: look there first")]
fn timeouts(#[case] logs: [String; 2], #[case] message: &str) {
    let logs = logs.map(|log| format!("{INFINIBAND}\n{log}"));
    check(&[&logs[0], &logs[1]], &[&format!("CollectiveTimeout {message}")]);
}

/// Without a rank that is late, there is none to look at.
#[rstest]
#[case::all([7, 7], "the operation may hang in the network or on a device")]
#[case::one_is_behind([7, 6], "look at the ranks that are behind")]
fn the_fix_depends_on_the_ranks(#[case] numbers: [u64; 2], #[case] fix: &str) {
    let [first, second] = numbers;
    let logs = [detected(0, first), detected(1, second)].map(|log| format!("{INFINIBAND}\n{log}"));
    let found = report(&pods(2, &json!({})), &[&logs[0], &logs[1]]).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[test]
fn the_lowest_number_without_a_group_comes_first() {
    let logs = [watchdog("[Rank 0] ", 10), watchdog("[Rank 1] ", 10), watchdog("[Rank 2] ", 8)];
    let logs = logs.map(|log| format!("{INFINIBAND}\n{log}"));
    let report = report(&pods(3, &json!({"rdma/ib": 8})), &[&logs[0], &logs[1], &logs[2]]);
    let objects: Vec<&str> = report.diagnoses[0].evidence.iter().map(|evidence| &*evidence.object).collect();
    assert_eq!(objects, ["Pod team-a/llama-worker-1", "Pod team-a/llama-master-0", "Pod team-a/llama-worker-0"]);
}

#[rstest]
#[case::set(json!([{"name": "NCCL_IB_GID_INDEX", "value": "3"}]), "remove NCCL_IB_GID_INDEX")]
#[case::not_set(json!([]), "on RoCE, attach the network of the adapter")]
fn the_fix_for_an_address_names_what_the_pod_sets(#[case] env: Value, #[case] fix: &str) {
    let mut pods = pods(2, &json!({"rdma/ib": 8}));
    for pod in &mut pods {
        pod["spec"]["containers"][0]["env"] = env.clone();
    }
    let log = format!("{WARNING} Call to ibv_modify_qp failed with error Invalid argument");
    let found = report(&pods, &[&log, INFINIBAND]).diagnoses.remove(0);
    assert!(found.code.code() == "WrongGid" && found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// Lines of a process that aborts, as PyTorch 2.6 writes them: the group is in another one than the first, and the last one lacks the
/// rank.
fn aborted(rank: usize, sequence: u64) -> String {
    let timeout = watchdog(&format!("[Rank {rank}] "), sequence);
    let group = format!("[PG ID 0 PG GUID 0(default_pg) Rank {rank}] ");
    let exception = format!("{group}Process group watchdog thread terminated with exception: {timeout}");
    format!("[rank{rank}]:{timeout}\n[rank{rank}]:{exception}\n  what():  {exception}")
}

#[test]
fn a_process_that_aborts_repeats_its_timeout() {
    let logs = [aborted(0, 7), aborted(1, 6)].map(|log| format!("{INFINIBAND}\n{log}"));
    let report = report(&pods(2, &json!({"rdma/ib": 8})), &[&logs[0], &logs[1]]);
    let found = &report.diagnoses[0];
    assert_eq!(found.finding.message, "ALLREDUCE timed out; behind the others: rank 1 on worker-0 (SeqNum 6)");
    assert_eq!(found.evidence.len(), 2, "{found:?}");
}

/// The cause may be in the log of a rank that was not passed.
#[test]
fn ranks_without_a_log_are_named() {
    let log = format!("{INFINIBAND}\n{}", watchdog("[rank0]:[Rank 0] ", 7));
    let report = report(&pods(2, &json!({"rdma/ib": 8})), &[&log]);
    let message = &report.diagnoses[0].finding.message;
    assert_eq!(message, "ALLREDUCE timed out; no log of worker-0 was read: look there first");
}

const GLOO: &str = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 30000ms for recv \
    operation to complete";

#[rstest]
#[case::receive(GLOO, true)]
#[case::send("Timed out waiting 1800000ms for send operation to complete", true)]
#[case::another_message("Timed out waiting for the peers", false)]
#[case::another_library("Timed out waiting for operation to complete", false)]
#[case::another_unit("Timed out waiting 30s for recv operation to complete", false)]
#[case::another_operation("Timed out waiting 30000ms for the operation to complete", false)]
fn operations_of_gloo(#[case] line: &str, #[case] is_timeout: bool) {
    let found = [
        "CollectiveTimeout a collective operation timed out; no time-out in the log of worker-0: look there first",
        "NcclDebugUnset no log contains a line of NCCL, so the network that it uses is not known",
    ];
    check_plain(&[line, "step 1"], &found[usize::from(!is_timeout)..]);
}

/// Master 0 has failed for good ten minutes ago.
fn failed() -> Vec<Value> {
    let ended = json!({"terminated": {"exitCode": 1, "startedAt": START, "finishedAt": ago(600)}});
    let status = json!([{"name": "pytorch", "restartCount": 0, "state": ended}]);
    let mut pods = pods(2, &json!({}));
    pods[0] =
        with(pods[0].clone(), json!({"spec": {"restartPolicy": "Never"}, "status": {"containerStatuses": status}}));
    pods
}

/// A failure of which the log shows the cause comes after it, though it is worse for the API.
#[rstest]
#[case::waited_for_a_peer([GLOO, "step 1"], &["E CollectiveTimeout", "W RankFailed"])]
#[case::another_rank_waited(["step 1", GLOO], &["E RankFailed", "E CollectiveTimeout"])]
#[case::interface(["NCCL WARN Bootstrap : no socket interface found", ""], &["E NoSocketInterface", "W RankFailed"])]
#[case::warning(["Connection closed by peer [10.0.0.1]:1", ""], &["E RankFailed", "W PeerLost"])]
#[case::memory([&format!("{WARNING} Call to ibv_reg_mr failed with error Cannot allocate memory"), ""],
    &["E LockedMemoryTooSmall", "W RankFailed"])]
#[case::gid([&format!("{WARNING} Call to ibv_modify_qp failed with error Invalid argument"), ""], &["E WrongGid", "W RankFailed"])]
#[case::switch([&format!("{WARNING} NET/IB : Got completion from peer 10.0.0.1 with status=12 opcode=0"), ""],
    &["E FabricTimeout", "W RankFailed"])]
#[case::shared_memory([&format!("{WARNING} Error: failed to extend /dev/shm/nccl-1 to 4 bytes"), ""],
    &["E SharedMemoryTooSmall", "W RankFailed"])]
#[case::plugin([&format!("{WARNING} Failed to initialize any NET plugin"), ""], &["E NetPluginMissing", "W RankFailed"])]
#[case::accelerator([&format!("{WARNING} Duplicate GPU detected : rank 0 and rank 1"), ""], &["E AcceleratorShared", "W RankFailed"])]
#[case::slow([TCP, TCP], &["E RankFailed", "E RankOnTcp"])]
fn failures_with_a_cause_in_the_log(#[case] logs: [&str; 2], #[case] expected: &[&str]) {
    let logs = logs.map(|line| format!("{INFINIBAND}\n{line}"));
    let mut pods = failed();
    for pod in &mut pods {
        pod["spec"]["containers"][0]["resources"]["limits"]["rdma/ib"] = 8.into();
    }
    let report = report(&pods, &[&logs[0], &logs[1]]);
    let found = report.diagnoses.iter().map(|found| {
        let severity = serde_json::to_value(found.finding.severity).unwrap();
        format!("{} {}", severity.as_str().unwrap(), found.code.code())
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// The evidence about the limit of a Job needs no cause in a log, unlike its pods.
#[rstest]
#[case::below_the_limit(json!({"failed": 1}), "tr-1", "W RankFailed")]
#[case::limit_reached(json!({"failed": 2}), "tr-1", "W RankFailed")]
#[case::about_to_fail(json!({"conditions": [{"type": "FailureTarget", "status": "True", "lastTransitionTime": START}]}), "tr-1", "W RankFailed")]
#[case::another_pod(json!({"failed": 2}), "tr-0", "E RankFailed")]
fn failures_of_a_job_with_a_cause_in_the_log(#[case] status: Value, #[case] pod: &str, #[case] expected: &str) {
    let log = read(&format!("team-a_{pod}"), &format!("{WARNING} Error: failed to extend /dev/shm/nccl-1 to 4 bytes"));
    let report = report_of(&job_of(status), log.finish());
    let found = report.diagnoses.iter().find(|found| found.code.code() == "RankFailed").unwrap();
    let severity = serde_json::to_value(found.finding.severity).unwrap();
    assert_eq!(format!("{} RankFailed", severity.as_str().unwrap()), expected, "{report:?}");
}

#[test]
fn a_malformed_timeout_is_ignored() {
    for line in [watchdog("[Rank 0] ", 1).replace("SeqNum=1", "SeqNum=x"), watchdog("", 1).replace("WorkNCCL", "Work")]
    {
        check(&[&format!("{INFINIBAND}\n{line}"), INFINIBAND], &[]);
    }
}

#[rstest]
#[case::address("RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.1]:33177", "worker-0")]
#[case::reset("[pair.cc:538] Read error [10.0.0.1]:60313: Connection reset by peer", "worker-0")]
#[case::unknown("[pair.cc:534] Connection closed by peer [10.9.9.9]:33177", "10.9.9.9")]
#[case::host_name(
    "a:1:2 [0] misc/socket.cc:9 NCCL WARN socketProgress: Connection closed by remote peer llama-worker-0.team-a.svc<41234>",
    "worker-0"
)]
#[case::none_of_envoy("[pair.cc:534] Connection closed by peer [127.0.0.60]:33177", "127.0.0.60")]
fn lost_peers(#[case] line: &str, #[case] peer: &str) {
    let log = format!("{INFINIBAND}\n{line}");
    check(&[&log, INFINIBAND], &[&format!("PeerLost master-0 lost the connection to {peer}")]);
}

/// From this address, Envoy connects to the containers of its own pod.
#[rstest]
#[case::gloo("RuntimeError: [pair.cc:534] Connection closed by peer [127.0.0.6]:43121")]
#[case::mapped("[pair.cc:538] Read error [::ffff:127.0.0.6]:43121: Connection reset by peer")]
#[case::nccl("a:1:2 [0] misc/socket.cc:9 NCCL WARN socketProgress: Connection closed by remote peer 127.0.0.6<41234>")]
fn connections_of_envoy(#[case] line: &str) {
    let log = format!("{INFINIBAND}\n{line}");
    check(&[&log, INFINIBAND], &["TrafficCaptured connections of master-0 pass through Envoy, and were closed"]);
}

/// Returns a log with a line each `step` seconds, the last one `age` seconds before [`NOW`].
fn steps(count: i64, step: i64, age: i64) -> String {
    let lines = (0..count).rev().map(|index| format!("{} {INFINIBAND}", ago(age + index * step)));
    lines.collect::<Vec<_>>().join("\n")
}

#[rstest]
#[case::together([steps(60, 30, 0), steps(60, 30, 20)], &[])]
#[case::silent([steps(60, 30, 0), steps(60, 30, 14 * 60)], &["RankSilent worker-0 logged last 14 min before the others"])]
#[case::at_the_limit([steps(60, 30, 0), steps(60, 30, 300)], &["RankSilent worker-0 logged last 5 min before the others"])]
#[case::below_the_limit([steps(60, 30, 0), steps(60, 30, 299)], &[])]
#[case::logs_rarely([steps(60, 30, 0), steps(60, 300, 14 * 60)], &[])]
#[case::logged_at_start_only([steps(60, 30, 0), steps(60, 1, 14 * 60)], &[])]
#[case::all([steps(60, 30, 14 * 60), steps(60, 30, 14 * 60)], &[])]
#[case::no_times([INFINIBAND.to_owned(), INFINIBAND.to_owned()], &[])]
fn silence(#[case] logs: [String; 2], #[case] expected: &[&str]) {
    check(&[&logs[0], &logs[1]], expected);
}

#[test]
fn a_container_that_has_terminated_is_not_silent() {
    let mut pods = pods(2, &json!({}));
    pods[1]["status"]["containerStatuses"][0]["state"] =
        json!({"terminated": {"exitCode": 0, "startedAt": START, "finishedAt": ago(840)}});
    assert_eq!(short(&report(&pods, &[&steps(60, 30, 0), &steps(60, 30, 840)])), [""; 0]);
}

#[test]
fn lines_that_were_not_read_are_no_pause() {
    let mut reader = read("team-a_llama-worker-0", &steps(20, 30, 3_000));
    reader.mark_gap();
    reader.push(steps(20, 30, 840).as_bytes());
    let logs = [read("team-a_llama-master-0", &steps(60, 30, 0)).finish(), reader.finish()].concat();
    let report = report_of(&pods(2, &json!({})), logs);
    assert_eq!(short(&report), ["RankSilent worker-0 logged last 14 min before the others"]);
    assert_eq!(with_recovery(&report), ["RankSilent unknown"]);
}

#[rstest]
#[case::unset(json!([]), "loss 3.2", &["NcclDebugUnset no log contains a line of NCCL, so the network that it uses is not known"])]
#[case::set(json!([{"name": "NCCL_DEBUG", "value": "WARN"}]), "loss 3.2", &[])]
#[case::logs(json!([]), INFINIBAND, &[])]
#[case::version_only(json!([]), "NCCL version 2.27.7+cuda12.9", &[])]
fn the_network_is_unknown(#[case] env: Value, #[case] log: &str, #[case] expected: &[&str]) {
    let mut pods = pods(2, &json!({}));
    pods[0]["spec"]["containers"][0]["env"] = env;
    assert_eq!(short(&report(&pods, &[log, "loss 3.2"])), expected);
    assert!(report(&pods, &[]).diagnoses.is_empty(), "no log was read");
}

#[rstest]
#[case::container("team-a_llama-master-0_pytorch", true)]
#[case::pod("team-a_llama-master-0", true)]
#[case::pod_only("llama-master-0", true)]
#[case::other_container("team-a_llama-master-0_istio-proxy", false)]
#[case::other_namespace("team-b_llama-master-0", false)]
#[case::empty_part("team-a__pytorch", false)]
#[case::four_parts("team-a_llama-master-0_pytorch_1", false)]
fn names_of_files(#[case] stem: &str, #[case] is_found: bool) {
    let report = report_of(&pods(2, &json!({"rdma/ib": 8})), read(stem, TCP).finish());
    assert_eq!(report.diagnoses.len(), usize::from(is_found), "{report:#?}");
}

#[test]
fn prefixes_of_lines_name_pod_time_and_rank() {
    let line = "[pod/llama-worker-0/pytorch] 2026-01-01T11:59:00.123456789Z [1,0]<stdout>:[default0]:(RayTrainWorker pid=9) node-1:12:34 [0] NCCL INFO Using network Socket";
    let reader = read("all", line);
    let report = report_of(&pods(2, &json!({"rdma/ib": 8})), reader.finish());
    let evidence = &report.diagnoses[0].evidence[0];
    assert_eq!((evidence.object.as_str(), evidence.field.as_str()), ("Pod team-a/llama-worker-0", "log of pytorch"));
    assert_eq!((evidence.value.as_str(), evidence.time.is_some()), ("Using network Socket", true));
}

#[test]
fn lines_may_arrive_in_parts() {
    let mut reader = LogReader::new(LogName::from_file_stem("llama-master-0"));
    for byte in TCP.replace("Socket", "Söcket\u{0}").bytes().chain(*b"\r\n").chain(TCP.bytes()) {
        reader.push(&[byte]);
    }
    assert_eq!(report_of(&pods(2, &json!({"rdma/ib": 8})), reader.finish()).diagnoses.len(), 1);
}

#[test]
fn the_length_of_lines_is_limited() {
    for (length, expected) in [(MAX_LINE - TCP.len() - 1, 1), (MAX_LINE, 0)] {
        let log = format!("{} {TCP}\nshort", "x".repeat(length));
        assert_eq!(report(&pods(2, &json!({"rdma/ib": 8})), &[&log, INFINIBAND]).diagnoses.len(), expected, "{length}");
    }
}

#[test]
fn the_size_of_a_log_is_limited() {
    let mut reader = LogReader::new(LogName::from_file_stem("llama-master-0"));
    let chunk = format!("{}\n", "x".repeat(1024 * 1024 - 1));
    for _ in 1..MAX_LOG / chunk.len() {
        assert!(reader.push(chunk.as_bytes()));
    }
    assert!(!reader.push(chunk.as_bytes()));
    assert!(!reader.push(TCP.as_bytes()));
    assert_eq!(report_of(&pods(2, &json!({"rdma/ib": 8})), reader.finish()).diagnoses.len(), 1, "nothing of the rest");
}

#[test]
fn the_number_of_containers_and_logs_is_limited() {
    let lines = (0..=MAX_LOG_CONTAINERS).map(|index| format!("[pod/a-{index}/b] {TCP}\n"));
    let logs = read("all", &lines.collect::<String>()).finish();
    assert_eq!(logs.len(), MAX_LOG_CONTAINERS);
    let mut snapshot = ClusterSnapshot::default();
    for _ in 0..MAX_LOGS {
        snapshot.add_log(logs[0].clone()).unwrap();
    }
    assert_eq!(snapshot.add_log(logs[0].clone()), Err(SnapshotError::TooManyLogs));
}

#[test]
fn repeated_lines_are_limited() {
    let line = |index: u64| {
        let name = "n".repeat(4_000);
        let timeout = watchdog(&format!("[rank{index}]:[PG ID 1 PG GUID {index}{name} Rank 0] "), index);
        let peer = format!("Connection closed by peer [{index}{name}]:1");
        let network = format!("a:{index}:2 [0] NCCL INFO Using network {index}{name}");
        format!("{timeout}\n{peer}\n{network}\nNCCL version {index}{name}\n")
    };
    let log: String = (0..1_000).map(line).collect();
    let report = report(&pods(2, &json!({})), &[&log, &log]);
    let size: usize = report.diagnoses.iter().map(|found| found.to_json().to_string().len()).sum();
    assert!(size < 64 * 1024, "{size}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_line_is_read(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "[", "]", ":", "[pod/", "/", "] ", "2026-01-01T11:00:00Z ", "9999-12-31T23:59:59Z ", "[rank", "NCCL INFO ",
                "NCCL WARN ", "Using network ", " via NET/", "Watchdog caught collective operation timeout: ", "WorkNCCL(",
                "SeqNum=", "PG GUID ", " Rank ", "NET/OFI Selected ", "rovider is ", "Bootstrap: Using ", "lo:", "<", "é", "\n",
                "Connection closed by peer [", "12", "a:1:2 ", "NCCL version ", "\0", "99999999999999999999",
            ]),
            0..24,
        ),
    ) {
        let text = parts.concat();
        let report = report(&pods(2, &json!({"rdma/ib": 1})), &[&text, &text]);
        let latest: Timestamp = NOW.parse::<Timestamp>().unwrap() + SignedDuration::ZERO;
        proptest::prop_assert_eq!(report.now, latest);
    }
}
