//! Requests of a job, compared with the quotas, queues and nodes of a cluster.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::trainmesh_with;

/// A job of two pods in a queue of Kueue, to which a profile adds an adapter.
const JOB: &str = "\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    metadata: {labels: {trainmesh.dev/fabric: eks-efa}}
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
      containers:
      - {name: train, image: i, resources: {limits: {cpu: 4, nvidia.com/gpu: 8}}}
";

fn list(items: Value) -> Value {
    json!({"metadata": {}, "items": items})
}

/// Returns a cluster in which quota and queue have exactly what the templates request.
fn cluster() -> Apiserver {
    let quota = json!({"metadata": {"name": "team"}, "spec": {"hard": {"requests.nvidia.com/gpu": 16}},
        "status": {"hard": {"requests.nvidia.com/gpu": 16}, "used": {}}});
    let amount = |name: &str, amount: u64| json!({"name": name, "nominalQuota": amount});
    let flavor = json!({"name": "default", "resources": [amount("cpu", 8), amount("nvidia.com/gpu", 16)]});
    let queue = json!({"metadata": {"name": "gpu"}, "spec": {"resourceGroups": [
        {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [flavor]},
    ]}});
    let node = json!({"metadata": {"name": "a"}, "status": {"allocatable": {
        "cpu": 96, "memory": "2Ti", "pods": 110, "nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": "16Gi",
    }}});
    Apiserver::start(vec![
        (
            "/api/v1/namespaces/default",
            json!({"metadata": {"name": "default", "labels": {"trainmesh.dev/inject": "enabled"}}}),
        ),
        (
            "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
            json!({"metadata": {"name": "trainmesh-config"}, "data": {}}),
        ),
        ("/api/v1/namespaces/default/resourcequotas", list(json!([quota]))),
        (
            "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/team",
            json!({"metadata": {"name": "team"}, "spec": {"clusterQueue": "gpu"}}),
        ),
        ("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/gpu", queue),
        ("/api/v1/nodes", list(json!([node]))),
    ])
}

/// Runs the preview, whose dry run the fake apiserver rejects.
fn preview(cluster: &Apiserver, input: &str, format: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = cluster.kubeconfig(folder.path());
    let arguments = ["preview", "-f", "-", "--cluster", "--quota", "--trainmesh-namespace", "mesh", "-o", format];
    let run = trainmesh_with(&arguments, input, &[("KUBECONFIG", &kubeconfig)]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    run.stdout
}

/// Kueue counts templates, so that it admits a job whose pods exceed its quota.
#[test]
fn a_queue_for_the_templates_admits_the_job() {
    let output = preview(&cluster(), JOB, "json");
    let output: Value = serde_json::from_str(&output).unwrap();
    let quota = &output["results"][0]["quota"];
    let found = |kind: &str| {
        let constraints = quota["constraints"].as_array().unwrap();
        let found = constraints.iter().find(|constraint| constraint["kind"] == kind).unwrap();
        (found["verdict"].as_str().unwrap(), found["counts"].as_str().unwrap(), found["admits"].as_bool().unwrap())
    };
    assert_eq!(found("ClusterQueue"), ("fitsWithoutAdditions", "templates", true), "{quota}");
    assert_eq!(found("ResourceQuota"), ("fits", "pods", true), "{quota}");
    assert_eq!(found("Node"), ("fits", "pods", true), "{quota}");
    assert_eq!(quota["roles"][0]["basis"], "preview");
    assert_eq!(quota["roles"][0]["additions"][0]["requests"]["vpc.amazonaws.com/efa"], "32", "{quota}");
    // Not permitted: the ranges, the workloads of Kueue, and the groups of two schedulers.
    assert_eq!(quota["unknown"].as_array().map(Vec::len), Some(4), "{quota}");
}

#[rstest]
#[case::queue("ClusterQueue gpu: fits without the injected parts only")]
#[case::counted("its controller counts the templates, and admits the job")]
#[case::shortage("vpc.amazonaws.com/efa: 64 requested, 0 in the templates, 0 available")]
#[case::quota("ResourceQuota team: fits")]
#[case::node("largest node: fits")]
#[case::additions("adds to train: 32 vpc.amazonaws.com/efa")]
#[case::role("×2: 4 cpu, 8 nvidia.com/gpu in the template")]
fn text_names_the_verdicts(#[case] expected: &str, #[values("diff", "explain")] format: &str) {
    let output = preview(&cluster(), JOB, format);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&output).contains(expected), "{output}");
}

#[test]
fn a_missing_queue_is_reported() {
    let output = preview(&cluster(), &JOB.replace("queue-name: team", "queue-name: other"), "json");
    assert!(output.contains("read LocalQueue other"), "{output}");
}

/// Kueue labels jobs without a queue if their namespace has a `LocalQueue` called `default`.
#[rstest]
#[case::exists("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/default", json!({"metadata": {"name": "default"}}), false)]
#[case::missing(
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/default",
    json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}),
    true
)]
fn a_default_queue_of_the_cluster_is_found(
    #[case] path: &'static str,
    #[case] queue: Value,
    #[case] is_reported: bool,
) {
    let labels = json!({"trainmesh.dev/inject": "enabled", "trainmesh.dev/gang": "kueue"});
    let cluster = Apiserver::start(vec![
        ("/api/v1/namespaces/default", json!({"metadata": {"name": "default", "labels": labels}})),
        (
            "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
            json!({"metadata": {"name": "trainmesh-config"}, "data": {}}),
        ),
        (path, queue),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = cluster.kubeconfig(folder.path());
    let arguments = ["preview", "-f", "-", "--cluster", "--trainmesh-namespace", "mesh"];
    let job = JOB.replace(", labels: {kueue.x-k8s.io/queue-name: team}", "");
    let run = trainmesh_with(&arguments, &job, &[("KUBECONFIG", &kubeconfig)]);
    assert_eq!(run.stderr.contains("TR016") || run.stderr.contains("but no queue"), is_reported, "{run:#?}");
    assert!(!run.stderr.contains("could not read LocalQueue"), "{run:#?}");
}
