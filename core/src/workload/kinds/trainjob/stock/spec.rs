//! The specs of runtimes.

use serde_json::{Value, json};

use super::super::{ANCESTOR, DATASET_INITIALIZER, LAUNCHER, MODEL_INITIALIZER, NODE, TRAINER};
use super::{V2_0, V2_1, V2_2, V2_3};
use crate::workload::runtimes::TrainerVersion;

/// Returns the spec of a runtime with a policy and the spec of its `JobSet`.
fn spec(framework: &str, policy: &Value, job_set: &Value) -> Value {
    json!({"mlPolicy": {"numNodes": 1, framework: policy}, "template": {"spec": job_set}})
}

/// Returns a replicated job for a step of the `TrainJob`, with the spec of its pods.
fn replicated_job(name: &str, step: Option<&str>, depends_on: &[(&str, &str)], pod: &Value) -> Value {
    let mut job = json!({"name": name, "template": {"spec": {"template": {"spec": pod}}}});
    if let Some(step) = step {
        job["template"]["metadata"] = json!({"labels": {ANCESTOR: step}});
    }
    if !depends_on.is_empty() {
        job["dependsOn"] = depends_on.iter().map(|(name, status)| json!({"name": name, "status": status})).collect();
    }
    job
}

/// Returns the replicated job of the training step; `container` contains additional fields of its container.
pub(super) fn node(image: &str, container: Value) -> Value {
    replicated_job(NODE, Some(TRAINER), &[], &node_pod(image, container))
}

fn node_pod(image: &str, mut container: Value) -> Value {
    container["name"] = NODE.into();
    container["image"] = image.into();
    json!({"containers": [container]})
}

pub(super) fn plain(framework: &str, image: &str) -> Value {
    spec(framework, &json!({}), &json!({"replicatedJobs": [node(image, json!({}))]}))
}

pub(super) fn torch(version: TrainerVersion, replicated_jobs: &[Value]) -> Value {
    let policy = if version < V2_2 { json!({"numProcPerNode": "auto"}) } else { json!({}) };
    spec("torch", &policy, &json!({"replicatedJobs": replicated_jobs}))
}

pub(super) fn torch_image(version: TrainerVersion) -> String {
    let tag = match version {
        V2_0 | V2_1 => "2.7.1-cuda12.8",
        V2_2 => "2.10.0-cuda12.8",
        V2_3 => "2.13.0-cuda13.0",
    };
    format!("pytorch/pytorch:{tag}-cudnn9-runtime")
}

pub(super) fn with_cache(_: &str, version: TrainerVersion) -> Value {
    let field =
        json!({"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}});
    let job_name = json!({"name": "TRAIN_JOB_NAME", "valueFrom": field});
    let image = json!({"name": "CACHE_IMAGE", "value": "ghcr.io/kubeflow/trainer/data-cache"});
    let mut initializer = initializer_pod(DATASET_INITIALIZER, json!({"env": [image, job_name]}));
    initializer["serviceAccountName"] = "kubeflow-trainer-cache-initializer".into();
    let pod = node_pod(&torch_image(version), json!({"env": [job_name]}));
    torch(
        version,
        &[
            replicated_job(DATASET_INITIALIZER, Some(DATASET_INITIALIZER), &[], &initializer),
            replicated_job(NODE, Some(TRAINER), &[(DATASET_INITIALIZER, "Complete")], &pod),
        ],
    )
}

fn initializer_pod(step: &str, mut container: Value) -> Value {
    container["name"] = step.into();
    container["image"] = format!("ghcr.io/kubeflow/trainer/{step}").into();
    json!({"containers": [container]})
}

/// Returns the spec of a runtime whose launcher also runs ranks. Since v2.3 the launcher waits for the other nodes.
pub(super) fn mpi(image: &str, version: TrainerVersion) -> Value {
    let security = json!({"runAsUser": 1000});
    let mut launcher = node_pod(image, json!({"securityContext": security}));
    let mut worker = node_pod(
        image,
        json!({
            "securityContext": security,
            "command": ["/usr/sbin/sshd"],
            "args": ["-De", "-f", "/home/mpiuser/.sshd_config"],
            "readinessProbe": {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5},
        }),
    );
    let replicated_jobs = if version < V2_3 {
        [replicated_job(LAUNCHER, Some(TRAINER), &[], &launcher), replicated_job(NODE, None, &[], &worker)]
    } else {
        for pod in [&mut launcher, &mut worker] {
            pod["securityContext"] = json!({"fsGroup": 1000});
        }
        let launcher = replicated_job(LAUNCHER, Some(TRAINER), &[(NODE, "Ready")], &launcher);
        [replicated_job(NODE, None, &[], &worker), launcher]
    };
    let policy = json!({
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "runLauncherAsNode": true,
    });
    let success = json!({"operator": "All", "targetReplicatedJobs": [LAUNCHER]});
    let job_set = json!({"network": {"publishNotReadyAddresses": true}, "successPolicy": success, "replicatedJobs": replicated_jobs});
    spec("mpi", &policy, &job_set)
}

/// Returns the spec of a runtime that fine-tunes a model of Hugging Face with a configuration of torchtune.
pub(super) fn torchtune(name: &str, version: TrainerVersion, model: &str, config: &str) -> Value {
    let mounts = json!([{"name": "initializer", "mountPath": "/workspace"}]);
    let uri = |uri: &str| json!([{"name": "STORAGE_URI", "value": format!("hf://{uri}")}]);
    let dataset = initializer_pod(DATASET_INITIALIZER, json!({"env": uri("tatsu-lab/alpaca"), "volumeMounts": mounts}));
    let model = initializer_pod(MODEL_INITIALIZER, json!({"env": uri(model), "volumeMounts": mounts}));
    let tokenizer: &[&str] = if config.starts_with("qwen") {
        &["tokenizer.path=/workspace/model/vocab.json", "tokenizer.merges_file=/workspace/model/merges.txt"]
    } else {
        &["tokenizer.path=/workspace/model/original/tokenizer.model"]
    };
    let mut command =
        vec!["tune", "run", "--rdzv_endpoint=localhost:29500", "full_finetune_distributed", "--config", config];
    command.extend([
        "dataset=torchtune.datasets.instruct_dataset",
        "dataset.source=parquet",
        "dataset.data_dir=/workspace/dataset/data",
        "output_dir=/workspace/output",
    ]);
    command.extend(tokenizer);
    command.push("checkpointer.checkpoint_dir=/workspace/model");
    let container = json!({"command": command, "resources": {"limits": {"nvidia.com/gpu": 2}}, "volumeMounts": mounts});
    let mut pods = [dataset, model, node_pod("ghcr.io/kubeflow/trainer/torchtune-trainer", container)];
    if version < V2_2 {
        for pod in &mut pods {
            pod["volumes"] = json!([{"name": "initializer", "persistentVolumeClaim": {"claimName": name}}]);
        }
    }
    let [dataset, model, node] = pods;
    let after_dataset: &[(&str, &str)] = &[(DATASET_INITIALIZER, "Complete")];
    let after_both: &[(&str, &str)] = &[(DATASET_INITIALIZER, "Complete"), (MODEL_INITIALIZER, "Complete")];
    // Until v2.0 the initializers run one after the other.
    let (before_model, before_node) =
        if version < V2_1 { (after_dataset, &after_both[1..]) } else { (&[][..], after_both) };
    let mut spec = torch(
        version,
        &[
            replicated_job(DATASET_INITIALIZER, Some(DATASET_INITIALIZER), &[], &dataset),
            replicated_job(MODEL_INITIALIZER, Some(MODEL_INITIALIZER), before_model, &model),
            replicated_job(NODE, Some(TRAINER), before_node, &node),
        ],
    );
    if version >= V2_2 {
        spec["template"]["spec"]["volumeClaimPolicies"] =
            json!([{"templates": [{"metadata": {"name": "initializer"}}]}]);
    }
    spec
}
