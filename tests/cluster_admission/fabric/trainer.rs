//! A pod that tells what its container was given, and ends.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Namespace, PATIENCE, eventually};

/// Tells what a container has, each part below a line of its own.
const TELL: &str = "echo ==env; env; echo ==status; cat /proc/1/status; echo ==shm; df -k /dev/shm | tail -n 1; \
                    echo ==conf; [ ! -e /etc/nccl.conf ] || cat /etc/nccl.conf";

/// `CAP_IPC_LOCK` in the kernel's sets.
const IPC_LOCK: u64 = 1 << 14;

/// What a container was given.
#[derive(Debug)]
pub struct Given {
    /// The bytes of `/etc/nccl.conf`; empty where there is none.
    pub conf: String,
    pub env: BTreeMap<String, String>,
    status: String,
    shm: String,
}

/// A pod whose container `train` asks for this many GPUs, beside one that asks for none.
pub fn pod(name: &str, gpus: u32) -> Value {
    let container = |name: &str| {
        json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", TELL]})
    };
    let mut train = container("train");
    train["resources"] = json!({"limits": {"nvidia.com/gpu": gpus}});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container("helper"), train]}})
}

/// The container `train`.
pub fn train(pod: &mut Value) -> &mut Value {
    &mut pod["spec"]["containers"][1]
}

/// Waits for the pod's end, and reads what a container was given.
pub fn given(namespace: &Namespace, pod: &str, container: &str) -> Given {
    eventually(PATIENCE, "the pod has succeeded", || {
        let pod = namespace.get("pod", pod).expect("the pod is there");
        if pod["status"]["phase"] == "Succeeded" { Ok(()) } else { Err(pod["status"].to_string()) }
    });
    let log = namespace.kubectl(&["logs", pod, "-c", container], "").success().stdout;
    let part = |name: &str, next: &str| {
        let (_, rest) = log.split_once(&format!("=={name}\n")).expect("the part is there");
        rest.split(next).next().expect("a first part").to_owned()
    };
    let env = part("env", "==status\n");
    let pairs = env.lines().filter_map(|line| line.split_once('='));
    Given {
        env: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        status: part("status", "==shm\n"),
        shm: part("shm", "==conf\n"),
        // Nothing comes after it: the file is read to its last byte.
        conf: log.split_once("==conf\n").expect("the part is there").1.to_owned(),
    }
}

impl Given {
    /// How many devices of a resource the kubelet has allocated.
    pub fn devices(&self, variable: &str) -> usize {
        self.env.get(variable).map_or(0, |names| names.split(',').count())
    }

    /// Whether the process may lock memory without a limit.
    pub fn locks_memory(&self) -> bool {
        let effective = self.status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("a set");
        u64::from_str_radix(effective.trim(), 16).expect("a number") & IPC_LOCK != 0
    }

    /// The size of `/dev/shm`.
    pub fn shm_mebibytes(&self) -> u64 {
        let size = self.shm.split_whitespace().nth(1).expect("the second column");
        size.parse::<u64>().expect("a number") / 1024
    }
}
