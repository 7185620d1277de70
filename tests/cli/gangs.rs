//! `trainmesh preview --gang`.

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::trainmesh;

/// Returns the results of the preview of an example.
fn preview(example: &str, mode: &str) -> Vec<Value> {
    let path = trainmesh_testing::repository().join("examples").join(example);
    let path = path.to_str().unwrap();
    let run = trainmesh(&["preview", "-f", path, "--gang", mode, "-o", "json"], "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    output["results"].as_array().unwrap().clone()
}

#[rstest]
#[case::native("native", "/spec/schedulingGroup/podGroupName", "/spec/schedulingPolicy/gang/minCount")]
#[case::volcano("volcano", "/metadata/annotations/scheduling.k8s.io~1group-name", "/spec/minMember")]
#[case::coscheduling("coscheduling", "/metadata/labels/scheduling.x-k8s.io~1pod-group", "/spec/minMember")]
fn the_first_result_lists_the_object_that_all_pods_name(#[case] mode: &str, #[case] key: &str, #[case] minimum: &str) {
    let results = preview("pytorchjob.yaml", mode);
    let objects = results[0]["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 1, "{objects:?}");
    assert_eq!(objects[0]["kind"], "PodGroup");
    assert_eq!(objects[0]["metadata"]["namespace"], results[0]["namespace"]);
    assert_eq!(objects[0]["metadata"]["ownerReferences"][0]["name"], results[0]["name"]);
    assert_eq!(objects[0].pointer(minimum), Some(&Value::from(4)), "a master and 3 workers");
    assert_eq!(results.len(), 2);
    for result in &results {
        assert_eq!(result["pod"].pointer(key), Some(&objects[0]["metadata"]["name"]), "{}", result["role"]);
    }
    assert_eq!(results[1]["objects"], Value::Array(Vec::new()));
}

#[rstest]
#[case::none("pytorchjob.yaml", "none")]
#[case::no_objects("pytorchjob.yaml", "koordinator")]
#[case::no_gang("deployment.yaml", "native")]
#[case::gang_of_its_own("volcano-job.yaml", "volcano")]
fn other_pods_have_no_objects(#[case] example: &str, #[case] mode: &str) {
    for result in preview(example, mode) {
        assert_eq!(result["objects"], Value::Array(Vec::new()));
    }
}

#[test]
fn every_group_of_a_leader_worker_set_has_an_object() {
    let results = preview("leaderworkerset.yaml", "native");
    let groups = results[0]["replicas"].as_u64().unwrap();
    let objects = results[0]["objects"].as_array().unwrap();
    assert_eq!(objects.len() as u64, groups);
    let names: std::collections::BTreeSet<&str> =
        objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), objects.len());
}

const CRON_JOB: &str = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '@daily'\n  jobTemplate: {spec: {completionMode: \
                        Indexed, parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}\n";
const APP_WRAPPER: &str = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec:\n  components:\n  - template: \
                           {apiVersion: batch/v1, kind: Job, metadata: {name: b}, spec: {completionMode: Indexed, parallelism: 2, completions: 2, template: \
                           {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}\n";

#[rstest]
#[case::cron_job(CRON_JOB, "a-00000000")]
#[case::app_wrapper(APP_WRAPPER, "b")]
fn the_job_that_an_object_creates_is_a_gang(#[case] manifest: &str, #[case] owner: &str) {
    let labels = "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=direct";
    let config = "config: {mesh: {podCIDRs: [10.0.0.0/8]}}";
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    std::fs::write(&values, config).unwrap();
    let values = values.to_str().unwrap();
    let arguments =
        ["preview", "-f", "-", "--gang", "native", "-o", "json", "--config", values, "--namespace-labels", labels];
    let run = trainmesh(&arguments, manifest);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let result = &output["results"][0];
    let group = &result["objects"][0];
    assert_eq!(group["metadata"]["ownerReferences"][0]["name"], owner, "{run:#?}");
    assert_eq!(group.pointer("/spec/schedulingPolicy/gang/minCount"), Some(&Value::from(2)));
    assert_eq!(result.pointer("/pod/spec/schedulingGroup/podGroupName"), Some(&group["metadata"]["name"]));
    assert!(result["rules"].to_string().contains("TrafficDirect"), "{result}");
}

#[test]
fn each_component_is_a_gang_of_its_own() {
    let component = |name: &str, pods: u64| {
        format!(
            "  - template: {{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{completionMode: Indexed, parallelism: \
             {pods}, completions: {pods}, template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: i}}]}}}}}}}}\n"
        )
    };
    let head =
        "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec:\n  components:\n";
    let manifest = format!("{head}{}{}", component("b", 2), component("c", 3));
    let run = trainmesh(&["preview", "-f", "-", "--gang", "native", "-o", "json"], &manifest);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = output["results"].as_array().unwrap();
    let objects = results[0]["objects"].as_array().unwrap();
    let found = |object: &Value| {
        let owner = object["metadata"]["ownerReferences"][0]["name"].as_str().unwrap().to_owned();
        (owner, object.pointer("/spec/schedulingPolicy/gang/minCount").and_then(Value::as_u64).unwrap())
    };
    assert_eq!(objects.iter().map(found).collect::<Vec<_>>(), [("b".to_owned(), 2), ("c".to_owned(), 3)], "{run:#?}");
    for (result, object) in results.iter().zip(objects) {
        assert_eq!(result.pointer("/pod/spec/schedulingGroup/podGroupName"), Some(&object["metadata"]["name"]));
    }
}

#[rstest]
#[case::tensorflow("TFJob", "tfReplicaSpecs", ("PS", 2), "tensorflow")]
#[case::one_master("PyTorchJob", "pytorchReplicaSpecs", ("Master", 1), "pytorch")]
fn roles_of_different_modes_have_different_objects(
    #[case] kind: &str,
    #[case] specs: &str,
    #[case] (first, pods): (&str, u32),
    #[case] container: &str,
) {
    let role = |name: &str, pods: u32, mode: &str| {
        format!(
            "    {name}: {{replicas: {pods}, template: {{metadata: {{labels: {{trainmesh.dev/gang: {mode}}}}}, spec: {{containers: \
             [{{name: {container}, image: i}}]}}}}}}\n"
        )
    };
    let (first, worker) = (role(first, pods, "volcano"), role("Worker", 2, "native"));
    let job =
        format!("apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  {specs}:\n{first}{worker}");
    let run = trainmesh(&["preview", "-f", "-", "-o", "json"], &job);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let objects = output["results"][0]["objects"].as_array().unwrap();
    let versions: Vec<&str> = objects.iter().map(|object| object["apiVersion"].as_str().unwrap()).collect();
    assert_eq!(versions, ["scheduling.volcano.sh/v1beta1", "scheduling.k8s.io/v1beta1"]);
}

/// Returns a manifest with the label of a queue, of a kind that creates objects of others.
fn queued(api_version: &str, kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a, labels: {{kueue.x-k8s.io/queue-name: gpu}}}}\nspec: {spec}\n"
    )
}

#[rstest]
#[case::job(QUEUED.to_owned(), "batch/job")]
#[case::app_wrapper(
    queued(
        "workload.codeflare.dev/v1beta2",
        "AppWrapper",
        "{components: [{template: {apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a}, spec: {pytorchReplicaSpecs: \
         {Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}}]}"
    ),
    "workload.codeflare.dev/appwrapper"
)]
#[case::train_job(
    queued("trainer.kubeflow.org/v1alpha1", "TrainJob", "{runtimeRef: {name: torch-distributed}}"),
    "trainer.kubeflow.org/trainjob"
)]
#[case::ray_job(
    queued(
        "ray.io/v1",
        "RayJob",
        "{rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: ray, image: i}]}}}}}"
    ),
    "ray.io/rayjob"
)]
fn the_integration_is_that_of_the_object_in_the_queue(#[case] input: String, #[case] integration: &str) {
    let arguments = ["preview", "-f", "-", "--gang", "kueue", "-o", "json"];
    let run = trainmesh(&arguments, &input);
    let needs = format!("queue gpu: Kueue needs its integration {integration}\"");
    assert!(run.stdout.contains(&needs), "{run:#?}");
    let run = trainmesh(&arguments, &input.replace("queue-name: gpu", "queue-name: ''"));
    let warning = format!("label the job with a queue, and enable {integration}\"");
    let detail = format!("enable its integration {integration}, and label the job");
    assert!(run.stdout.contains(&warning) && run.stdout.contains(&detail), "{run:#?}");
}

#[test]
fn text_output_names_the_objects() {
    let path = trainmesh_testing::repository().join("examples/pytorchjob.yaml");
    for format in ["diff", "explain"] {
        let run = trainmesh(&["preview", "-f", path.to_str().unwrap(), "--gang", "native", "-o", format], "");
        let created = run.stdout.lines().find(|line| line.contains("creates PodGroup research/llama-pretrain-"));
        assert!(created.is_some_and(|line| line.ends_with("minimum 4")), "{}", run.stdout);
    }
}

#[test]
fn an_unknown_mode_is_an_error() {
    let run = trainmesh(&["preview", "-f", "-", "--gang", "vulcano"], "");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("tip: a similar value exists"), "{}", run.stderr);
}

const QUEUED: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kueue.x-k8s.io/queue-name: gpu}}\nspec: \
                      {parallelism: 2, completions: 2, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n";

#[test]
fn a_queued_job_has_no_warning_about_its_queue() {
    let arguments = ["preview", "-f", "-", "--gang", "kueue", "--summary", "--fail-on", "warning"];
    let run = trainmesh(&arguments, QUEUED);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let run = trainmesh(&arguments, &QUEUED.replace("queue-name: gpu", "queue-name: ''"));
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(
        run.stderr.contains("set it to the name of a LocalQueue, and enable Kueue's integration batch/job"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_queued_job_gets_no_gang() {
    let created = |input: &str| {
        let run = trainmesh(&["preview", "-f", "-", "--gang", "native", "-o", "explain"], input);
        assert_eq!(run.code, Some(0), "{run:#?}");
        run.stdout
    };
    let queued = created(QUEUED);
    assert!(queued.contains("GangKeyPresent") && !queued.contains("creates PodGroup"), "{queued}");
    let unset = created(&QUEUED.replace("queue-name: gpu", "queue-name: ''"));
    assert!(unset.contains("creates PodGroup"), "{unset}");
}

/// As in a cluster, pods get no key of a `PodGroup` that nothing creates.
#[rstest]
#[case::disabled("controller: {enabled: false}", "volcano", "refused", "GangControllerMissing")]
#[case::enabled("controller: {enabled: true}", "volcano", "applied", "GangJoined")]
#[case::no_objects("controller: {enabled: false}", "koordinator", "applied", "GangJoined")]
fn values_without_a_controller_create_no_objects(
    #[case] values: &str,
    #[case] mode: &str,
    #[case] outcome: &str,
    #[case] reason: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    std::fs::write(&file, format!("{values}\nconfig: {{termination: {{enabled: false}}}}\n")).unwrap();
    let path = trainmesh_testing::repository().join("examples/pytorchjob.yaml");
    let (file, path) = (file.to_str().unwrap(), path.to_str().unwrap());
    let run = trainmesh(&["preview", "-f", path, "--gang", mode, "--config", file, "-o", "json"], "");
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let result = &output["results"][0];
    let rule = result["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == "gang").unwrap();
    assert_eq!((rule["outcome"].as_str(), rule["reason"].as_str()), (Some(outcome), Some(reason)), "{rule}");
    let is_created = result["objects"].as_array().is_some_and(|objects| !objects.is_empty());
    assert_eq!(is_created, reason == "GangJoined" && mode == "volcano", "{result}");
    assert_eq!(
        rule["message"].as_str().unwrap().contains("set controller.enabled: true"),
        outcome == "refused",
        "{rule}"
    );
}
