//! Every example renders, to pods that the apiserver can read and that are recognised again.

use std::path::Path;

use k8s_openapi::api::core::v1::Pod as Decoded;
use rstest::rstest;
use serde_json::{Value, json};

use super::testing::render;
use crate::pod::Pod;
use crate::workload::{find, identify};

/// `kind/name` of a workload, as its pods tell it.
type Told = Option<&'static str>;

#[rstest]
#[case::pod("pod.yaml", None, &[("Pod", 1)])]
#[case::pod_proxy_config("pod-proxy-config.yaml", None, &[("Pod", 1)])]
#[case::job("job.yaml", Some("Job/llama-sft"), &[("Pod", 4)])]
#[case::cronjob("cronjob.yaml", Some("Job/nightly-eval-00000000"), &[("Pod", 1)])]
#[case::deployment("deployment.yaml", Some("Deployment/reranker"), &[("Pod", 2)])]
#[case::replicaset("replicaset.yaml", Some("ReplicaSet/embed-workers"), &[("Pod", 6)])]
#[case::replicationcontroller("replicationcontroller.yaml", Some("ReplicationController/param-server"), &[("Pod", 2)])]
#[case::statefulset("statefulset.yaml", Some("StatefulSet/vectors"), &[("Pod", 3)])]
#[case::daemonset("daemonset.yaml", Some("DaemonSet/dcgm-exporter"), &[("Pod", 1)])]
#[case::jobset("jobset.yaml", Some("JobSet/rlhf-70b"), &[("reward", 1), ("learner", 2), ("sampler", 4)])]
#[case::leaderworkerset("leaderworkerset.yaml", Some("LeaderWorkerSet/vllm-405b"), &[("leader", 2), ("worker", 2)])]
#[case::raycluster("raycluster.yaml", Some("RayCluster/tune"), &[("head", 1), ("gpu", 4), ("data", 8)])]
#[case::rayservice("rayservice.yaml", Some("RayCluster/chat-00000"), &[("head", 1), ("gpu", 2)])]
#[case::volcano_job("volcano-job.yaml", Some("Job/gpt-pretrain"), &[("master", 1), ("worker", 4)])]
fn renders(#[case] file: &str, #[case] told: Told, #[case] expected: &[(&str, u64)]) {
    check(&read(file), |_| told, expected);
}

#[test]
fn rayjob_renders() {
    let told = |role: &str| Some(if role == "submitter" { "RayJob/dlrm-train" } else { "RayCluster/dlrm-train-00000" });
    check(&read("rayjob.yaml"), told, &[("head", 1), ("trainers", 4), ("submitter", 1)]);
}

#[test]
fn list_renders() {
    let list = read("list.yaml");
    check(&list["items"][0], |_| Some("Job/vit-ablation-00000"), &[("Pod", 1)]);
    check(&list["items"][1], |_| Some("Deployment/tensorboard"), &[("Pod", 1)]);
}

/// Whatever stands wherever in a manifest, rendering ends in pods or in an error that says where.
#[rstest]
fn oddities_do_no_harm(
    #[files("examples/*.yaml")] path: std::path::PathBuf,
    #[values(Value::Null, json!("x"), json!([null]))] odd: Value,
) {
    let example: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut pointers = Vec::new();
    collect(&example, String::new(), &mut pointers);
    // What stands deep in a container is copied unseen.
    pointers.retain(|pointer| pointer.rsplit_once("ontainers/").is_none_or(|(_, below)| below.split('/').count() < 4));
    let mut raw = example;
    for pointer in pointers {
        let kept = std::mem::replace(raw.pointer_mut(&pointer).unwrap(), odd.clone());
        let items = raw["items"].as_array();
        for raw in items.map_or_else(|| vec![&raw], |items| items.iter().collect()) {
            let known = raw["apiVersion"].as_str().zip(raw["kind"].as_str()).and_then(|(api, kind)| find(api, kind));
            if known.is_some_and(|kind| kind.kind != "Pod") {
                match render(raw) {
                    Ok(roles) => assert!(roles.iter().all(|role| role.pod["spec"].is_object()), "{pointer}"),
                    Err(error) => assert!(error.to_string().contains(['.', ' ']), "{pointer}: {error}"),
                }
            }
        }
        *raw.pointer_mut(&pointer).unwrap() = kept;
    }
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

fn read(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
fn check(raw: &Value, told: impl Fn(&str) -> Told, expected: &[(&str, u64)]) {
    let roles = render(raw).unwrap();
    assert_eq!(roles.iter().map(|role| (role.name.as_str(), role.replicas)).collect::<Vec<_>>(), expected);
    for role in roles {
        serde_json::from_value::<Decoded>(role.pod.clone()).expect("a pod");
        let member = identify(Pod::new(&role.pod));
        let found = member.map(|member| format!("{}/{}", member.kind, member.job));
        assert_eq!(found.as_deref(), told(&role.name));
        // A role that the pods tell is called what the manifest calls it.
        assert!(member.and_then(|member| member.role).is_none_or(|told| told == role.name), "{}", role.name);
    }
}
