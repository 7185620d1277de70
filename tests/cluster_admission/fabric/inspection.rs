//! A pod that prints its container's environment, limits and files, and exits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Namespace, TIMEOUT, eventually};

/// Prints each part after a header line.
const PRINT_SCRIPT: &str = "echo ==env; env; echo ==status; cat /proc/1/status; echo ==shm; df -k /dev/shm | tail -n 1; \
                    echo ==conf; [ ! -e /etc/nccl.conf ] || cat /etc/nccl.conf";

/// `CAP_IPC_LOCK` in the kernel's sets.
const IPC_LOCK: u64 = 1 << 14;

/// Resources and settings of a container.
#[derive(Debug)]
pub struct Inspection {
    /// Content of `/etc/nccl.conf`; empty if absent.
    pub conf: String,
    pub env: BTreeMap<String, String>,
    status: String,
    shm: String,
}

/// Returns a pod whose container `train` requests this many GPUs, next to one that requests none.
pub fn pod(name: &str, gpus: u32) -> Value {
    let container = |name: &str| {
        json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", PRINT_SCRIPT]})
    };
    let mut train = container("train");
    train["resources"] = json!({"limits": {"nvidia.com/gpu": gpus}});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container("sidecar"), train]}})
}

/// Returns the container `train`.
pub fn train(pod: &mut Value) -> &mut Value {
    &mut pod["spec"]["containers"][1]
}

/// Waits until the pod has completed, and parses the output of a container.
pub fn inspect(namespace: &Namespace, pod: &str, container: &str) -> Inspection {
    eventually(TIMEOUT, "the pod succeeds", || {
        let pod = namespace.get("pod", pod).expect("the pod exists");
        if pod["status"]["phase"] == "Succeeded" { Ok(()) } else { Err(pod["status"].to_string()) }
    });
    let log = namespace.kubectl(&["logs", pod, "-c", container], "").success().stdout;
    let part = |name: &str, next: &str| {
        let (_, rest) = log.split_once(&format!("=={name}\n")).expect("the output has this part");
        rest.split(next).next().expect("a first part").to_owned()
    };
    let env = part("env", "==status\n");
    let pairs = env.lines().filter_map(|line| line.split_once('='));
    Inspection {
        env: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        status: part("status", "==shm\n"),
        shm: part("shm", "==conf\n"),
        // The last part: the file is compared to its last byte.
        conf: log.split_once("==conf\n").expect("the output has this part").1.to_owned(),
    }
}

impl Inspection {
    /// Returns the number of devices of a resource that the kubelet has allocated.
    pub fn devices(&self, variable: &str) -> usize {
        self.env.get(variable).map_or(0, |names| names.split(',').count())
    }

    /// Returns true if the process may lock memory without limit.
    pub fn locks_memory(&self) -> bool {
        let effective = self.status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("a set");
        u64::from_str_radix(effective.trim(), 16).expect("a number") & IPC_LOCK != 0
    }

    /// Returns the size of `/dev/shm`.
    pub fn shm_mebibytes(&self) -> u64 {
        let size = self.shm.split_whitespace().nth(1).expect("the second column");
        size.parse::<u64>().expect("a number") / 1024
    }
}
