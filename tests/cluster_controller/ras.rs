//! `trainmesh diagnose --logs --ras`, through a real port-forward to processes that serve NCCL's RAS protocol.

use serde_json::{Value, json};
use trainmesh_testing::cli::{Run, assert_exit, trainmesh};
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::ras::{communicator, rank, serve};

/// Creates an indexed Job of two pods that run `script`, and waits until both run.
fn create_job(namespace: &Namespace, name: &str, uses_host_network: bool, script: &str) {
    let address = json!({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}});
    let container = json!({"name": "train", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
        "command": ["sh", "-c", script], "env": [address]});
    // Without a grace period, a pod may be gone before its processes release the port of a node.
    let spec = json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "hostNetwork": uses_host_network,
        "containers": [container]});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 0, "template": {"spec": spec}}});
    let _ = namespace.create(&job).success();
    eventually(TIMEOUT, "both pods run and log", || {
        let pods = namespace.pods(&format!("job-name={name}"));
        let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count();
        let logs = namespace.kubectl(&["logs", "-l", &format!("job-name={name}"), "--prefix", "--timestamps"], "");
        let logged = logs.stdout.matches("NCCL INFO").count();
        if running == 2 && logged >= 2 { Ok(()) } else { Err(format!("{running} run, {logged} lines")) }
    });
}

/// Runs the command until its notes on standard error contain none of `transient`.
fn diagnose_after(namespace: &Namespace, name: &str, transient: &[&str]) -> Run {
    eventually(TIMEOUT, "the port of RAS is reached", || {
        let run = trainmesh(&["diagnose", &format!("job/{name}"), "-n", &namespace.name, "--logs", "--ras"], "");
        if transient.iter().any(|text| run.stderr.contains(text)) { Err(run.stderr) } else { Ok(run) }
    })
}

/// For a second, the kubelet does not find a pod that has just started.
const NOT_FORWARDED: &str = "could not forward port";

/// Diagnoses a job of which no process serves RAS.
fn diagnose_silent(namespace: &Namespace, name: &str) -> Run {
    diagnose_after(namespace, name, &[NOT_FORWARDED])
}

/// Diagnoses a job whose processes serve RAS: they listen some time after they log.
fn diagnose(namespace: &Namespace, name: &str) -> Run {
    diagnose_after(namespace, name, &[NOT_FORWARDED, "nothing listens on port"])
}

/// A line of NCCL's log: index 0 uses InfiniBand, index 1 TCP. Its process is the container's first one.
const LOG: &str = "[ $JOB_COMPLETION_INDEX = 0 ] && network=IB || network=Socket\n\
                   echo \"$(hostname):1:9 [0] NCCL INFO Using network $network\"\n";

#[test]
fn a_rank_that_is_behind_is_found() {
    let namespace = Cluster::get().namespace(&[]);
    let report = communicator(&[rank(0, "$POD_IP", 1, "9"), rank(1, "10.9.9.9", 7, "8")]);
    create_job(&namespace, "stalled", false, &format!("{LOG}{}", serve(&report)));
    let run = diagnose(&namespace, "stalled");
    assert_exit(
        &run,
        1,
        &[
            "RankBehind",
            "10.9.9.9, process 7",
            "has launched 8 of 9 AllReduce",
            "NetworksDiffer",
            "IB, Socket",
            "2 logs",
        ],
        "",
    );
}

#[test]
fn a_job_that_advances_has_no_finding() {
    let namespace = Cluster::get().namespace(&[]);
    let report = communicator(&[rank(0, "$POD_IP", 1, "$(date +%s)"), rank(1, "10.9.9.9", 7, "8")]);
    let log = LOG.replace("Socket", "IB");
    create_job(&namespace, "advances", false, &format!("{log}{}", serve(&report)));
    let run = diagnose(&namespace, "advances");
    assert_exit(&run, 0, &["nothing found", "2 logs"], "");
    assert!(!run.stderr.contains("RAS"), "both reports must be read: {run:#?}");
}

#[test]
fn a_job_without_ras_is_named() {
    let namespace = Cluster::get().namespace(&[]);
    create_job(&namespace, "silent", false, &format!("{}sleep 1h", LOG.replace("Socket", "IB")));
    let run = diagnose_silent(&namespace, "silent");
    assert_exit(&run, 0, &["nothing found"], "RAS of Job");
    assert_exit(&run, 0, &[], "nothing listens on port 28028");
}

#[test]
fn on_the_network_of_a_node_the_process_must_match() {
    let namespace = Cluster::get().namespace(&[]);
    let log = LOG.replace("Socket", "IB");
    // Both pods have the address of the node, and one of them listens.
    let listen = |report: &Value| format!("{log}[ $JOB_COMPLETION_INDEX = 0 ] || exec sleep 1h\n{}", serve(report));
    let own = communicator(&[rank(0, "$POD_IP", 1, "9"), rank(1, "$POD_IP", 1, "8")]);
    create_job(&namespace, "own", true, &listen(&own));
    assert_exit(&diagnose(&namespace, "own"), 1, &["RankBehind"], "");
    let _ = namespace.kubectl(&["delete", "job", "own", "--cascade=foreground", "--wait"], "").success();
    let other = communicator(&[rank(0, "$POD_IP", 99, "9"), rank(1, "$POD_IP", 99, "8")]);
    create_job(&namespace, "other", true, &listen(&other));
    let run = diagnose(&namespace, "other");
    assert_exit(&run, 0, &["RasInconclusive", "nothing proves that the process belongs to the job"], "");
}
