//! Failures of real ranks: torchrun, Gloo and etcd.

use serde_json::json;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::torch;

use crate::dump::{Dump, FirstFinding, first_finding};
use crate::faults;
use crate::job::{MASTER, TrainingJob, WORKER, run_python, wait_for_log, wait_for_status};

/// Program of each rank: an operation of all ranks each second, each of which may take half a minute. On a loaded machine, one
/// rank can start minutes after the other.
const PROGRAM: &str = r#"
import datetime, os, time
import torch, torch.distributed as dist

with open("/tmp/rank", "w") as file:
    file.write(str(os.getpid()))
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=5))
ranks = dist.new_group(timeout=datetime.timedelta(seconds=30))
while True:
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=ranks)
    print("the sum is %d" % tensor.item(), flush=True)
    time.sleep(1)
"#;
/// Line of a rank whose peer takes part.
const SUM: &str = "the sum is 2";
/// Name of etcd's pod and Service.
const ETCD: &str = "etcd";

/// Creates the pod of etcd, which serves version 2 of the API.
fn create_etcd(namespace: &Namespace) {
    let command = json!([
        "/usr/bin/etcd",
        "--enable-v2=true",
        "--data-dir=/tmp/etcd",
        "--listen-client-urls=http://0.0.0.0:2379",
        "--advertise-client-urls=http://etcd:2379"
    ]);
    let mut container = json!({"name": ETCD, "command": command});
    torch::add_torch(&mut container);
    let packages = Cluster::get().torch();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ETCD, "labels": {"app": ETCD}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container],
            "volumes": torch::volumes(&packages)}});
    let _ = namespace.create(&pod).success();
    wait_for_log(namespace, ETCD, "ready to serve client requests");
}

/// The monitor of each agent fails, its container restarts, and the agents meet again once etcd is back.
#[test]
fn agents_of_torchrun_recover_when_their_etcd_is_back() {
    let namespace = faults::namespace(&[]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": ETCD},
        "spec": {"selector": {"app": ETCD}, "ports": [{"port": 2379}]}});
    let _ = namespace.create(&list([service])).success();
    create_etcd(&namespace);
    let flags = ["--nnodes", "2", "--rdzv_backend", "etcd-v2", "--rdzv_endpoint", "etcd:2379", "--rdzv_id", "llama"];
    TrainingJob::new().torchrun(&flags, PROGRAM).create(&namespace);
    for pod in [MASTER, WORKER] {
        wait_for_log(&namespace, pod, SUM);
    }
    assert_eq!(Dump::read(&namespace).first_finding(), None);

    // The command ends with the container: its exit code does not matter.
    let output = namespace
        .kubectl(&["exec", ETCD, "--", torch::PYTHON, "-c", "import os, signal; os.kill(1, signal.SIGTERM)"], "");
    let lost = || Some(FirstFinding::new("StoreLost", "yes"));
    eventually(TIMEOUT, "etcd is down", || match Dump::read(&namespace).first_finding() {
        found if found == lost() => Ok(()),
        found => Err(format!("{found:?}, {}", output.stderr)),
    });
    for pod in [MASTER, WORKER] {
        wait_for_status(&namespace, pod, "restarted", |status| status["restartCount"].as_u64() >= Some(1));
    }
    assert_eq!(Dump::read(&namespace).first_finding(), lost(), "the crashes of the agents are its consequence");

    let _ = namespace.kubectl(&["delete", "pod", ETCD], "").success();
    create_etcd(&namespace);
    for pod in [MASTER, WORKER] {
        wait_for_log(&namespace, pod, SUM);
    }
    assert_eq!(Dump::read(&namespace).first_finding(), None);
}

/// torchrun keeps all containers running for minutes, so that the API shows nothing. The log of the other rank shows that it
/// has waited.
#[test]
fn a_stopped_rank_is_found_by_the_logs() {
    let namespace = faults::namespace(&[]);
    TrainingJob::new().torchrun(&[], PROGRAM).create(&namespace);
    for pod in [MASTER, WORKER] {
        wait_for_log(&namespace, pod, SUM);
    }
    run_python(&namespace, WORKER, "import os, signal; os.kill(int(open('/tmp/rank').read()), signal.SIGSTOP)");
    wait_for_log(&namespace, MASTER, "operation to complete");

    let dump = Dump::read(&namespace);
    assert_eq!(dump.first_finding(), None, "without the logs");
    let expected = Some(FirstFinding::new("CollectiveTimeout", "unknown"));
    assert_eq!(dump.with_logs(&[MASTER, WORKER]).first_finding(), expected);
    let live = trainmesh(&["diagnose", "-n", &namespace.name, "--logs", "-o", "json"], "");
    assert_eq!(first_finding(&live.stdout), expected, "{live:#?}");
    assert!(live.stdout.contains("no time-out in the log of worker-0"), "{live:#?}");
}
