//! Tests that every example of the repository renders to pods that decode as a Pod and are identified again.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod as ApiPod;
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::template::testing::render_with;
use super::{PodIdentity, RolePod, RuntimeReference, Runtimes, StockRuntimes, find, identify};
use crate::manifest::Document;
use crate::pod::Pod;
use crate::yaml;

/// A role of an example: its name, its replicas, and the `kind/name` of the workload that its pod is identified as.
type Expected = (&'static str, u64, &'static str);

/// Workload of a plain `Pod`.
const NO_WORKLOAD: &str = "";

const EXAMPLES: &[(&str, &[Expected])] = &[
    ("appwrapper.yaml", &[("Master", 1, "PyTorchJob/qwen-sft"), ("Worker", 3, "PyTorchJob/qwen-sft")]),
    ("claims.yaml", &[("Worker", 2, "PyTorchJob/llama")]),
    ("cronjob.yaml", &[("Pod", 1, "Job/nightly-eval-00000000")]),
    ("daemonset.yaml", &[("Pod", 1, "DaemonSet/dcgm-exporter")]),
    ("deployment.yaml", &[("Pod", 2, "Deployment/reranker")]),
    ("elasticjob.yaml", &[("dlrover-master", 1, "ElasticJob/glm-pretrain"), ("worker", 4, "ElasticJob/glm-pretrain")]),
    ("hyperpodpytorchjob.yaml", &[("workers", 4, "HyperPodPyTorchJob/llama-fsdp")]),
    ("jaxjob.yaml", &[("Worker", 2, "JAXJob/gemma-tune")]),
    ("job-cloud-sql-proxy.yaml", &[("Pod", 1, "Job/llama-sft-eval")]),
    ("job.yaml", &[("Pod", 4, "Job/llama-sft")]),
    (
        "jobset.yaml",
        &[("reward", 1, "JobSet/rlhf-70b"), ("learner", 2, "JobSet/rlhf-70b"), ("sampler", 4, "JobSet/rlhf-70b")],
    ),
    ("leaderworkerset.yaml", &[("leader", 2, "LeaderWorkerSet/vllm-405b"), ("worker", 2, "LeaderWorkerSet/vllm-405b")]),
    ("list.yaml", &[("Pod", 1, "Job/vit-ablation-00000"), ("Pod", 1, "Deployment/tensorboard")]),
    ("mpijob-v1.yaml", &[("Launcher", 1, "MPIJob/bert-horovod"), ("Worker", 2, "MPIJob/bert-horovod")]),
    ("mpijob-v2beta1.yaml", &[("Launcher", 1, "MPIJob/nccl-tests"), ("Worker", 4, "MPIJob/nccl-tests")]),
    ("paddlejob.yaml", &[("Worker", 3, "PaddleJob/ppocr-rec")]),
    ("pod-proxy-config.yaml", &[("Pod", 1, NO_WORKLOAD)]),
    ("pod.yaml", &[("Pod", 1, NO_WORKLOAD)]),
    (
        "podcliqueset.yaml",
        &[
            ("router", 1, "PodCliqueSet/llama"),
            ("leader", 2, "PodCliqueSet/llama"),
            ("worker", 6, "PodCliqueSet/llama"),
        ],
    ),
    ("pytorchjob-elastic.yaml", &[("Worker", 4, "PyTorchJob/resnet-elastic-00000")]),
    ("pytorchjob.yaml", &[("Master", 1, "PyTorchJob/llama-pretrain"), ("Worker", 3, "PyTorchJob/llama-pretrain")]),
    (
        "raycluster.yaml",
        &[("head", 1, "RayCluster/tune"), ("gpu", 4, "RayCluster/tune"), ("data", 8, "RayCluster/tune")],
    ),
    (
        "rayjob.yaml",
        &[
            ("head", 1, "RayCluster/dlrm-train-00000"),
            ("trainers", 4, "RayCluster/dlrm-train-00000"),
            ("submitter", 1, "RayJob/dlrm-train"),
        ],
    ),
    ("rayservice.yaml", &[("head", 1, "RayCluster/chat-00000"), ("gpu", 2, "RayCluster/chat-00000")]),
    ("replicaset.yaml", &[("Pod", 6, "ReplicaSet/embed-workers")]),
    ("replicationcontroller.yaml", &[("Pod", 2, "ReplicationController/param-server")]),
    ("statefulset.yaml", &[("Pod", 3, "StatefulSet/vectors")]),
    (
        "tfjob.yaml",
        &[
            ("Chief", 1, "TFJob/ranking"),
            ("Worker", 4, "TFJob/ranking"),
            ("PS", 2, "TFJob/ranking"),
            ("Evaluator", 1, "TFJob/ranking"),
        ],
    ),
    // The initializer's Job has the label of its TrainJob; its pod does not.
    ("trainjob.yaml", &[("dataset-initializer", 1, "JobSet/alpaca-lora"), ("node", 2, "TrainJob/alpaca-lora")]),
    ("volcano-job.yaml", &[("master", 1, "Job/gpt-pretrain"), ("worker", 4, "Job/gpt-pretrain")]),
    ("xgboostjob.yaml", &[("Master", 1, "XGBoostJob/fraud-scores"), ("Worker", 2, "XGBoostJob/fraud-scores")]),
];

/// Fails for an example that is not in [`EXAMPLES`].
#[rstest]
fn every_example_renders(#[files("../examples/*.yaml")] path: PathBuf) {
    let file = path.file_name().unwrap().to_str().unwrap();
    let (_, expected) = EXAMPLES.iter().find(|(known, _)| *known == file).expect("a line in EXAMPLES");
    let documents = read(&path);
    let mut found = Vec::new();
    for roles in render_all(&documents) {
        for role in roles.unwrap() {
            serde_json::from_value::<ApiPod>(role.pod.clone()).expect("a pod");
            let member = identify(Pod::new(&role.pod));
            // The role in the pod's labels matches the role in the manifest.
            let labeled = member.and_then(|member| member.role).unwrap_or(&role.name);
            assert!(labeled.eq_ignore_ascii_case(&role.name), "{labeled} is {}", role.name);
            let workload = member.map(|member| format!("{}/{}", member.kind.kind, member.workload)).unwrap_or_default();
            found.push((role.name.clone(), role.replicas.unwrap(), workload));
        }
    }
    let found: Vec<_> = found.iter().map(|(role, replicas, job)| (role.as_str(), *replicas, job.as_str())).collect();
    assert_eq!(found, *expected);
}

/// Replaces each field of an example with `invalid`: rendering returns pods, or an error that names the field.
#[rstest]
fn an_invalid_field_never_panics(
    #[files("../examples/*.yaml")] path: PathBuf,
    #[values(Value::Null, json!("x"), json!([null]))] invalid: Value,
) {
    let mut documents = Value::Array(read(&path));
    let mut pointers = Vec::new();
    collect(&documents, String::new(), &mut pointers);
    // Fields deep inside a container are copied verbatim.
    pointers.retain(|pointer| pointer.rsplit_once("ontainers/").is_none_or(|(_, below)| below.split('/').count() < 4));
    for pointer in pointers {
        let original = std::mem::replace(documents.pointer_mut(&pointer).unwrap(), invalid.clone());
        for roles in documents.as_array().map(|documents| render_all(documents)).unwrap_or_default() {
            match roles {
                // A plain pod is returned unchanged.
                Ok(roles) => assert!(
                    roles.iter().all(|role| role.pod == documents[0] || role.pod["spec"].is_object()),
                    "{pointer}"
                ),
                Err(error) => assert!(error.contains(['.', ' ']), "{pointer}: {error}"),
            }
        }
        *documents.pointer_mut(&pointer).unwrap() = original;
    }
}

/// The labels of a pod's kind, and of the kind whose object is its gang, are sufficient to identify the pod and its gang. The
/// controller decodes those of all kinds.
#[rstest]
fn identity_labels_identify_a_pod(#[files("../examples/*.yaml")] path: PathBuf) {
    for role in render_all(&read(&path)).into_iter().flatten().flatten() {
        let mut pod = role.pod.clone();
        let labels = |pod: &mut Value, change: &dyn Fn(&mut Map<String, Value>)| {
            if let Some(labels) = pod.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
                change(labels);
            }
        };
        // The pod of a later replica, of a restarted job.
        labels(&mut pod, &|labels| {
            for value in labels.values_mut().filter(|value| **value == "0") {
                *value = json!("1");
            }
        });
        let mut decoded = pod.clone();
        let kind = identify(Pod::new(&pod)).map(|member| member.kind);
        let kinds = || kind.into_iter().chain(kind.and_then(|kind| kind.gang.object));
        let is_own = |key: &str| kinds().any(|kind| kind.labels.contains(&key));
        labels(&mut decoded, &|labels| labels.retain(|key, _| is_own(key)));
        assert_eq!(identity(&decoded), identity(&pod), "{pod}");
    }
}

/// Returns the identity of `pod`, and the ID, UID and position of its gang.
fn identity(pod: &Value) -> Option<(PodIdentity<'_>, impl PartialEq + Debug)> {
    let pod = Pod::new(pod);
    let member = identify(pod)?;
    let of_object = &member.kind.gang.object.unwrap_or(member.kind).gang;
    Some((member, ((member.kind.gang.id)(pod, member), (of_object.uid)(pod), (of_object.position)(pod))))
}

/// Reads the manifests of a file; a `List` is flattened.
#[allow(clippy::disallowed_methods, reason = "the test reads the examples of the repository")]
fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let documents = text.split("\n---\n").map(|document| yaml::parse(document).unwrap());
    let items = |document: Value| document["items"].as_array().cloned().unwrap_or_else(|| vec![document]);
    documents.flat_map(items).collect()
}

/// Renders the roles of each workload in `documents`, with the training runtimes in `documents`.
fn render_all(documents: &[Value]) -> Vec<Result<Vec<RolePod>, String>> {
    let runtimes = documents.iter().filter(|document| document["kind"] == "ClusterTrainingRuntime");
    let by_name: BTreeMap<_, _> = runtimes
        .map(|runtime| {
            (
                RuntimeReference {
                    namespace: None,
                    name: runtime["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
                },
                Document::generated("runtime", runtime.clone()).into(),
            )
        })
        .collect();
    let runtimes = Runtimes { by_name, stock: StockRuntimes::None };
    let is_workload = |document: &&Value| {
        let known = document["apiVersion"].as_str().zip(document["kind"].as_str());
        known.and_then(|(api_version, kind)| find(api_version, kind)).is_some()
    };
    let workloads = documents.iter().filter(is_workload);
    workloads.map(|document| render_with(document, &runtimes).map_err(|error| error.to_string())).collect()
}

fn collect(value: &Value, pointer: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, format!("{pointer}/{key}"), into);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{pointer}/{index}"), into);
            }
        }
        _ => {}
    }
    into.push(pointer);
}
