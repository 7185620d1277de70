//! Process groups of a Job, for which no operator creates variables or a Service.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::objects::{START, rank, with};
use super::super::{check, report};

const HEALTHY: &str = "torchrun --nnodes=3 --node-rank=INDEX --master-addr=llama-0.llama --master-port=29500 t.py";

/// Returns a pod of the Job that runs `command`, in which INDEX stands for its index.
fn pod(index: usize, command: &str) -> Value {
    let name = format!("llama-{index}-x");
    let index = index.to_string();
    let labels = json!({"batch.kubernetes.io/job-name": "llama", "batch.kubernetes.io/job-completion-index": index});
    let mut pod = rank(0);
    pod["metadata"]["labels"] = labels;
    pod["metadata"]["name"] = name.as_str().into();
    pod["metadata"]["uid"] = name.into();
    pod["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "llama", "controller": true}]);
    let command: Vec<String> = command.split(' ').map(|word| word.replace("INDEX", &index)).collect();
    pod["spec"]["containers"][0]["command"] = json!(command);
    with(pod, json!({"spec": {"hostname": format!("llama-{index}"), "subdomain": "llama", "restartPolicy": "Never"}}))
}

/// Returns the pods of a Job of three, its object and a Service.
fn job(command: &str, service: &str) -> Vec<Value> {
    let template = json!({"spec": {"containers": [super::super::objects::main_container()]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "llama", "creationTimestamp": START},
        "spec": {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "template": template}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": service},
        "spec": {"clusterIP": "None", "selector": {"batch.kubernetes.io/job-name": "llama"}}});
    (0..3).map(|index| pod(index, command)).chain([job, service]).collect()
}

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Returns a variable with a field of the pod.
fn field(name: &str, map: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.{map}['{INDEX}']")}}})
}

/// The ranks of an Indexed Job are in the labels and annotations of its pods. The kubelet replaces references to earlier variables.
#[rstest]
#[case::label("2", json!([field("RANK", "labels")]), &["E RanksCollide no"])]
#[case::annotation("2", json!([field("RANK", "annotations")]), &["E RanksCollide no"])]
#[case::reference("2", json!([field("I", "labels"), {"name": "RANK", "value": "$(I)"}]), &["E RanksCollide no"])]
#[case::later_variable("2", json!([{"name": "RANK", "value": "$(I)"}, field("I", "labels")]), &[])]
#[case::healthy("3", json!([field("RANK", "labels")]), &[])]
fn ranks_by_index(#[case] size: &str, #[case] rank: Value, #[case] expected: &[&str]) {
    let mut objects = job("python t.py", "llama");
    for pod in &mut objects[..3] {
        pod["metadata"]["annotations"] = json!({INDEX: pod["metadata"]["labels"][INDEX]});
        let group = json!([{"name": "MASTER_ADDR", "value": "llama-0.llama"}, {"name": "MASTER_PORT", "value": "29500"},
            {"name": "WORLD_SIZE", "value": size}]);
        let group = group.as_array().unwrap().iter().chain(rank.as_array().unwrap());
        pod["spec"]["containers"][0]["env"] = group.cloned().collect();
    }
    check(&objects, expected);
    if let Some(found) = report(&objects).diagnoses.first() {
        assert_eq!(found.finding.message, "RANK=2 is not less than WORLD_SIZE");
        assert!(found.finding.fix.unwrap().starts_with("set WORLD_SIZE to the number of pods"), "{found:?}");
    }
}

#[rstest]
#[case::same_rank(job(&HEALTHY.replace("INDEX", "0"), "llama"), "E RanksCollide no", "3 pods have --node-rank=0", "--node-rank=$(JOB_COMPLETION_INDEX)")]
#[case::rank_too_large(job(&HEALTHY.replace("nnodes=3", "nnodes=2"), "llama"), "E RanksCollide no", "--node-rank=2 is not less than --nnodes", "below the number of nodes")]
#[case::no_service(
    job(HEALTHY, "other"),
    "E MasterUnresolvable no",
    "Service team-a/llama, which --master-addr names, does not exist",
    "create a headless Service"
)]
#[case::loopback(
    job(&HEALTHY.replace("llama-0.llama", "localhost"), "llama"),
    "E MasterUnresolvable no",
    "--master-addr leads llama-1-x, llama-2-x to themselves instead of the master",
    "set the address in the pod template"
)]
#[case::loopback_of_the_store(
    job(&HEALTHY.replace("--master-addr=llama-0.llama --master-port=29500", "--rdzv-backend=c10d --rdzv-endpoint=localhost:29500"), "llama"),
    "E MasterUnresolvable no",
    "--rdzv-endpoint leads llama-1-x, llama-2-x to themselves instead of the master",
    "set the address in the pod template"
)]
#[case::no_service_of_the_store(
    job(&HEALTHY.replace("--master-addr=llama-0.llama --master-port=29500", "--rdzv-backend=etcd --rdzv-endpoint=etcd:2379"), "llama"),
    "E StoreLost unknown",
    "Service team-a/etcd, which --rdzv-endpoint names, does not exist",
    "create the Service"
)]
#[case::differing(job(&HEALTHY.replace("29500", "2950INDEX"), "llama"), "E SettingsDiffer no", "the members of the process group have different values of --master-port", "they have one template")]
fn nothing_sets_up_the_group(
    #[case] objects: Vec<Value>,
    #[case] expected: &str,
    #[case] message: &str,
    #[case] fix: &str,
) {
    check(&objects, &[expected]);
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.finding.message, message);
    assert!(!found.evidence.is_empty(), "{found:?}");
    let text = found.finding.fix.unwrap();
    assert!(text.contains(fix) && !text.contains("operator"), "{text}");
}

#[test]
fn a_healthy_job_has_no_finding() {
    check(&job(HEALTHY, "llama"), &[]);
}

/// An operator may own a Job that is not in the input.
#[rstest]
#[case::same_rank(job(&HEALTHY.replace("INDEX", "0"), "llama"), "E RanksCollide no")]
#[case::no_service(job(HEALTHY, "other"), "E MasterUnresolvable unknown")]
fn a_job_that_is_not_in_the_input_may_have_an_operator(#[case] mut objects: Vec<Value>, #[case] expected: &str) {
    objects.remove(3);
    check(&objects, &[expected]);
    assert!(report(&objects).diagnoses[0].finding.fix.unwrap().contains("operator"));
}

/// The sizes, which are the same, come after all ranks.
#[test]
fn all_ranks_are_evidence() {
    let found = report(&job(&HEALTHY.replace("INDEX", "0"), "llama")).diagnoses.remove(0);
    let ranks = found.evidence.iter().filter(|evidence| evidence.field.starts_with("--node-rank"));
    assert_eq!(ranks.count(), 3, "{found:?}");
    assert!(found.evidence[2].field.starts_with("--node-rank"), "{found:?}");
}
