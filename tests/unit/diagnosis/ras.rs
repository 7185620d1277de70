//! Reports of NCCL's RAS subsystem.

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, DiagnosisReport, LogName, LogReader, MAX_RAS_RESPONSE, RasError, RasReport, RasResult, RasTarget,
    Recovers, Selection, diagnose, ras_targets,
};

use super::objects::{NOW, rank, with};

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// Returns pods with the addresses 10.0.0.0 and so on.
fn pods(count: usize) -> Vec<Value> {
    (0..count).map(|index| with(rank(index), json!({"status": {"podIP": format!("10.0.0.{index}")}}))).collect()
}

fn snapshot(pods: &[Value], logs: &[(&str, &str)]) -> ClusterSnapshot {
    let mut snapshot = ClusterSnapshot::default();
    for pod in pods {
        assert!(snapshot.add(pod, "default").unwrap());
    }
    for (stem, text) in logs {
        let mut reader = LogReader::new(LogName::from_file_stem(stem));
        reader.push(text.as_bytes());
        reader.finish().into_iter().for_each(|log| snapshot.add_log(log).unwrap());
    }
    snapshot
}

fn targets(snapshot: &ClusterSnapshot) -> Vec<RasTarget> {
    ras_targets(snapshot, &Selection::default(), now())
}

/// Returns a rank that has launched `count` operations, as RAS reports it.
fn state(rank: usize, count: u64) -> Value {
    json!({"rank": rank, "host": format!("10.0.0.{rank}"), "pid": 40 + rank, "cuda_dev": 0, "nvml_dev": 0,
        "status": {"init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false, "abort_flag": false},
        "collective_counts": {"AllGather": 7, "AllReduce": count}})
}

fn missing(rank: usize, unresponsive: bool, considered_dead: bool) -> Value {
    json!({"rank": rank, "host": format!("10.0.0.{rank}"), "pid": 40 + rank, "cuda_dev": 0, "nvml_dev": 0,
        "status": {"unresponsive": unresponsive, "considered_dead": considered_dead}})
}

fn report(ranks: &[Value], missing: &[Value]) -> String {
    let communicator = json!({"hash": "0xae94", "secondary_hash": "0x1:0x2", "size": ranks.len() + missing.len(),
        "ranks_count": ranks.len(), "missing_ranks_count": missing.len(), "ranks": ranks, "missing_ranks": missing});
    json!({"nccl_version": "2.29.1", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
        "timestamp": "2026-01-01 12:00:00", "communicators_count": 1, "communicators": [communicator],
        "ras": {"collection_time_sec": 0.1, "timeouts_count": 0}})
    .to_string()
}

/// Diagnoses two pods with two reports.
fn diagnose_polls(reports: [&str; 2], logs: &[(&str, &str)]) -> DiagnosisReport {
    let mut snapshot = snapshot(&pods(2), logs);
    let target = targets(&snapshot).remove(0);
    let reports = reports.map(|text| RasReport::parse(text).unwrap());
    snapshot.add_ras(target.record(RasResult::Polled(Box::new(reports))));
    diagnose(&snapshot, &Selection::default(), now())
}

fn short(report: &DiagnosisReport) -> Vec<String> {
    report.diagnoses.iter().map(|found| format!("{} {}", found.code.code(), found.finding.message)).collect()
}

fn check(reports: [&str; 2], expected: &[&str]) {
    assert_eq!(short(&diagnose_polls(reports, &[])), expected);
}

const BEHIND: &str = "RankBehind ranks are behind the others, and none advances: worker-0, process 41";

#[rstest]
#[case::behind([[9, 8], [9, 8]], &[BEHIND])]
#[case::the_first_rank([[8, 9], [8, 9]], &["RankBehind ranks are behind the others, and none advances: master-0, process 40"])]
#[case::one_mismatch_is_normal([[8, 8], [9, 8]], &[])]
#[case::the_others_advance([[9, 8], [10, 8]], &[])]
#[case::it_advances([[9, 7], [9, 8]], &[])]
#[case::equal([[9, 9], [9, 9]], &[])]
fn counts(#[case] launched: [[u64; 2]; 2], #[case] expected: &[&str]) {
    let [before, after] = launched.map(|[a, b]| report(&[state(0, a), state(1, b)], &[]));
    check([&before, &after], expected);
}

#[test]
fn evidence_names_the_operation() {
    let same = report(&[state(0, 9), state(1, 8)], &[]);
    let found = diagnose_polls([&same, &same], &[]);
    let evidence = &found.diagnoses[0].evidence[0];
    assert_eq!(evidence.object, "Pod team-a/llama-master-0");
    assert_eq!(evidence.field, "RAS: worker-0, process 41");
    assert_eq!(evidence.value, "rank 1 of 2 in communicator 0xae94: has launched 8 of 9 AllReduce");
}

#[test]
fn communicators_are_compared_with_themselves() {
    let one = report(&[state(0, 9), state(1, 8)], &[]);
    check([&one, &one.replace("0xae94", "0xbbbb")], &[]);
    check([&one, &one.replace("0x1:0x2", "0x1:0x3")], &[]);
}

const UNRESPONSIVE: &str = "RankUnresponsive ranks do not respond: worker-0, process 41";

#[rstest]
#[case::dead([vec![missing(1, true, true)], vec![missing(1, true, true)]], &[UNRESPONSIVE])]
#[case::unresponsive([vec![missing(1, true, false)], vec![missing(1, true, false)]], &[UNRESPONSIVE])]
#[case::once([vec![], vec![missing(1, true, false)]], &[])]
#[case::has_returned([vec![missing(1, true, false)], vec![]], &[])]
#[case::has_left([vec![missing(1, false, false)], vec![missing(1, false, false)]], &[])]
fn missing_ranks(#[case] absent: [Vec<Value>; 2], #[case] expected: &[&str]) {
    let [before, after] = absent.map(|absent| report(&[state(0, 9)], &absent));
    check([&before, &after], expected);
}

#[rstest]
#[case::error("async_error", 6, &["CommunicatorFailed ranks report an error: worker-0, process 41"])]
#[case::initialization("init_state", 2, &["CommunicatorFailed ranks report an error: worker-0, process 41"])]
#[case::in_progress("init_state", 7, &[])]
#[case::success("async_error", 0, &[])]
fn states(#[case] field: &str, #[case] code: i64, #[case] expected: &[&str]) {
    let mut failed = state(1, 9);
    failed["status"][field] = code.into();
    let one = report(&[state(0, 9), failed], &[]);
    check([&one, &one], expected);
}

/// Returns a rank that reports an error.
fn failed() -> Value {
    with(state(1, 9), json!({"status": {"async_error": 6}}))
}

#[rstest]
#[case::unresponsive(&report(&[state(0, 9)], &[missing(1, true, true)]), "RankUnresponsive unknown")]
#[case::error(&report(&[state(0, 9), failed()], &[]), "CommunicatorFailed unknown")]
#[case::behind(&report(&[state(0, 9), state(1, 8)], &[]), "RankBehind unknown")]
fn recoveries(#[case] same: &str, #[case] expected: &str) {
    let found = diagnose_polls([same, same], &[]).diagnoses.remove(0);
    assert_eq!(format!("{} {}", found.code.code(), found.recovery.recovers().name()), expected);
}

#[test]
fn a_healthy_report_does_not_explain_a_timeout() {
    let healthy = report(&[state(0, 9), state(1, 9)], &[]);
    let log = "a:1:2 [0] NCCL INFO Using network IB\n[Rank 0] Watchdog caught collective operation timeout: \
               WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.";
    let found = diagnose_polls([&healthy, &healthy], &[("llama-master-0", log)]);
    let codes: Vec<&str> = found.diagnoses.iter().map(|found| found.code.code()).collect();
    assert_eq!(codes, ["CollectiveTimeout", "RasInconclusive"]);
    assert_eq!(found.diagnoses[1].recovery.recovers(), Recovers::Unknown);
    let stalled = report(&[state(0, 9), state(1, 8)], &[]);
    let found = diagnose_polls([&stalled, &stalled], &[("llama-master-0", log)]);
    let codes: Vec<&str> = found.diagnoses.iter().map(|found| found.code.code()).collect();
    assert_eq!(codes, ["CollectiveTimeout", "RankBehind"]);
}

/// The text of a version without JSON.
fn text(problems: &str) -> String {
    format!(
        "NCCL version 2.27.7 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 13000\n\nJob summary\n\
         ===========\n\nCommunicators... (0.00s)\n=============\n\nErrors\n======\n\n{problems}"
    )
}

const STALLED_TEXT: &str = "Warnings\n========\n\n#0-0 (27a0) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n  \
                            1 rank has launched up to operation 9\n  \
                            Rank 1 has launched up to operation 8 -- GPU 0 managed by process 41 on node 10.0.0.1\n";

#[rstest]
#[case::stalled([STALLED_TEXT, STALLED_TEXT], &["RankBehind ranks are behind the others, and none advances"])]
#[case::advances([STALLED_TEXT, &STALLED_TEXT.replace("operation 8", "operation 9")], &[])]
#[case::missing(
    ["INCOMPLETE\n  Missing communicator data from 1 job process\n  Process 41 on node 10.0.0.1 managing GPU 5\n"; 2],
    &["RankUnresponsive processes of the job do not respond"]
)]
#[case::dead(
    ["DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n  Process 41 on node 10.0.0.1 managing GPU 5\n"; 2],
    &["RankUnresponsive processes of the job do not respond"]
)]
#[case::once(["", "INCOMPLETE\n  Missing communicator data from 1 job process\n"], &[])]
#[case::healthy(["", ""], &[])]
fn texts(#[case] problems: [&str; 2], #[case] expected: &[&str]) {
    let [before, after] = problems.map(text);
    check([&before, &after], expected);
}

#[rstest]
#[case::not_a_report("HTTP/1.1 400 Bad Request", RasError::Malformed)]
#[case::not_json("{", RasError::Malformed)]
#[case::another_type("{\"communicators\": 1}", RasError::Malformed)]
#[case::too_long(&"x".repeat(MAX_RAS_RESPONSE + 1), RasError::TooLong)]
#[case::too_many(&format!("{{\"communicators\": [{{}}{}]}}", ", {}".repeat(4_096)), RasError::TooMany)]
#[case::too_many_ranks(
    &format!("{{\"communicators\": [{{\"ranks\": [{{\"rank\": 1}}{}]}}]}}", ", {\"rank\": 1}".repeat(65_536)),
    RasError::TooMany
)]
fn unusable_reports(#[case] response: &str, #[case] error: RasError) {
    assert_eq!(RasReport::parse(response), Err(error));
}

#[test]
fn values_of_a_report_are_truncated() {
    let long = "é".repeat(10_000);
    let counts: serde_json::Map<String, Value> = (0..1_000).map(|index| (format!("c{index}"), 1.into())).collect();
    let mut rank = state(0, 1);
    rank["host"] = long.as_str().into();
    rank["collective_counts"] = counts.into();
    let report = RasReport::parse(&report(&[rank], &[missing(1, true, true)]).replace("2.29.1", &long)).unwrap();
    assert!(report.version.len() <= 128 && report.communicators[0].ranks[0].host.len() <= 128);
    assert_eq!(report.communicators[0].ranks[0].counts.len(), 32);
    let problems = text(&"  a line about process 1 on node x\n".repeat(10_000));
    assert_eq!(RasReport::parse(&problems).unwrap().problems.len(), 256);
}

#[rstest]
#[case::running(json!({}), 1)]
#[case::waiting(json!({"status": {"containerStatuses": null}}), 0)]
fn running_jobs_are_targets(#[case] patch: Value, #[case] expected: usize) {
    let pods: Vec<Value> = pods(2).into_iter().map(|pod| with(pod, patch.clone())).collect();
    assert_eq!(targets(&snapshot(&pods, &[])).len(), expected);
    assert_eq!(targets(&snapshot(&pods[..1], &[])).len(), 0, "a job of one pod");
}

#[test]
fn the_number_of_jobs_is_limited() {
    let pods: Vec<Value> = (0..40)
        .flat_map(|job| (0..2).map(move |index| super::objects::rank_of(&format!("job-{job}"), index)))
        .collect();
    assert_eq!(targets(&snapshot(&pods, &[])).len(), 32);
}

#[rstest]
#[case::default(json!([]), 28028)]
#[case::address(json!([{"name": "NCCL_RAS_ADDR", "value": "localhost:28100"}]), 28100)]
#[case::address_v6(json!([{"name": "NCCL_RAS_ADDR", "value": "[::1]:28100"}]), 28100)]
#[case::malformed(json!([{"name": "NCCL_RAS_ADDR", "value": "localhost"}]), 28028)]
fn the_port_is_that_of_the_pod(#[case] env: Value, #[case] port: u16) {
    let mut pods = pods(2);
    pods[0]["spec"]["containers"][0]["env"] = env;
    assert_eq!(targets(&snapshot(&pods, &[]))[0].port, port);
}

const LOG: (&str, &str) = ("llama-master-0", "node-0:40:99 [0] NCCL INFO Using network IB");

#[rstest]
#[case::the_job(true, &[LOG], &report(&[state(0, 1), state(1, 1)], &[]), true)]
#[case::no_log(true, &[], &report(&[state(0, 1), state(1, 1)], &[]), false)]
#[case::another_process(true, &[LOG], &report(&[state(0, 1), state(1, 1)], &[]).replace(":40,", ":50,"), false)]
#[case::another_node(true, &[LOG], &report(&[state(0, 1), state(7, 1)], &[]), false)]
#[case::a_missing_rank_of_another_node(true, &[LOG], &report(&[state(0, 1)], &[missing(7, true, true)]), false)]
#[case::network_of_the_pod(false, &[], &report(&[state(7, 1)], &[]), true)]
fn reports_are_identified(
    #[case] uses_host_network: bool,
    #[case] logs: &[(&str, &str)],
    #[case] response: &str,
    #[case] expected: bool,
) {
    let spec = json!({"spec": {"hostNetwork": uses_host_network}});
    let pods: Vec<Value> = pods(2).into_iter().map(|pod| with(pod, spec.clone())).collect();
    let target = targets(&snapshot(&pods, logs)).remove(0);
    assert_eq!(target.matches(&RasReport::parse(response).unwrap()), expected);
    assert_eq!(target.attempts(), if uses_host_network { 16 } else { 2 });
}

#[test]
fn an_unidentified_report_is_no_finding_about_the_job() {
    let mut snapshot = snapshot(&pods(2), &[]);
    let target = targets(&snapshot).remove(0);
    snapshot.add_ras(target.record(RasResult::Unidentified));
    let report = diagnose(&snapshot, &Selection::default(), now());
    assert_eq!(
        short(&report),
        ["RasInconclusive RAS answered, and nothing proves that the process belongs to the job"]
    );
    assert!(report.is_healthy());
}

#[test]
fn addresses_of_nodes_stand_for_several_pods() {
    let mut pods = pods(2);
    pods[1]["status"]["podIP"] = "10.0.0.0".into();
    let mut snapshot = snapshot(&pods, &[]);
    let target = targets(&snapshot).remove(0);
    let one = RasReport::parse(&report(&[state(0, 8), state(1, 9)], &[])).unwrap();
    snapshot.add_ras(target.record(RasResult::Polled(Box::new([one.clone(), one]))));
    let report = diagnose(&snapshot, &Selection::default(), now());
    assert_eq!(short(&report), ["RankBehind ranks are behind the others, and none advances: 10.0.0.0, process 40"]);
}
