//! Labels of pods that select what their kind or their devices can never use.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::cli::{assert_exit, trainmesh};

/// Returns an object with a pod template at `path`, whose pod has this label and resource.
fn object(api_version: &str, kind: &str, path: &str, label: &str, resource: &str) -> Value {
    let (key, value) = label.split_once('=').unwrap();
    let limits = json!({"limits": {resource: 8}});
    let mut spec = json!({
        "metadata": {"labels": {"app": "a", format!("trainmesh.dev/{key}"): value}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "pytorch", "image": "i", "resources": limits}]}
    });
    for step in path.split('/').rev() {
        spec = match step.parse::<usize>() {
            Ok(_) => json!([spec]),
            Err(_) => json!({step: spec}),
        };
    }
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
    object["spec"] = spec["spec"].take();
    object
}

fn job(label: &str, resource: &str) -> Value {
    object("batch/v1", "Job", "spec/template", label, resource)
}

fn indexed(label: &str) -> Value {
    let mut job = job(label, "nvidia.com/gpu");
    for (key, value) in [("completionMode", json!("Indexed")), ("completions", json!(2)), ("parallelism", json!(2))] {
        job["spec"][key] = value;
    }
    job
}

fn deployment(label: &str) -> Value {
    let mut object = object("apps/v1", "Deployment", "spec/template", label, "nvidia.com/gpu");
    object["spec"]["selector"] = json!({"matchLabels": {"app": "a"}});
    object["spec"]["template"]["spec"].as_object_mut().unwrap().remove("restartPolicy");
    object
}

fn job_set(label: &str) -> Value {
    let mut object = object(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "spec/replicatedJobs/0/template/spec/template",
        label,
        "nvidia.com/gpu",
    );
    object["spec"]["replicatedJobs"][0]["name"] = json!("a");
    object["spec"]["replicatedJobs"][0]["replicas"] = json!(2);
    object
}

/// Job of Volcano, whose controller puts the pods into a gang.
fn volcano_job(label: &str) -> Value {
    let mut object = object("batch.volcano.sh/v1alpha1", "Job", "spec/tasks/0/template", label, "nvidia.com/gpu");
    object["spec"]["tasks"][0]["name"] = json!("w");
    object["spec"]["tasks"][0]["replicas"] = json!(2);
    object
}

/// `RayJob` with a submitter, whose pods are in no gang.
fn ray_job(label: &str) -> Value {
    let mut object =
        object("ray.io/v1", "RayJob", "spec/rayClusterSpec/headGroupSpec/template", label, "nvidia.com/gpu");
    let template = object["spec"]["rayClusterSpec"]["headGroupSpec"]["template"].clone();
    object["spec"]["rayClusterSpec"]["workerGroupSpecs"] =
        json!([{"groupName": "w", "replicas": 1, "template": template}]);
    object["spec"]["submitterPodTemplate"] = template;
    object["spec"]["entrypoint"] = json!("python a.py");
    object
}

#[rstest]
#[case::deployment(
    deployment("gang=volcano"),
    Some("label trainmesh.dev/gang=volcano has no effect: the pod does not belong to a job whose pods start together")
)]
#[case::job(
    job("gang=native", "nvidia.com/gpu"),
    Some(
        "label trainmesh.dev/gang=native has no effect: the pod does not belong to a job whose pods start together: set completionMode: Indexed in its Job"
    )
)]
#[case::indexed(indexed("gang=native"), None)]
#[case::kai_for_a_job(
    indexed("gang=kai"),
    Some(
        "label trainmesh.dev/gang=kai has no effect: KAI-Scheduler does not group the pods of this kind: Job: newer versions"
    )
)]
#[case::kai_for_a_job_set(
    job_set("gang=kai"),
    Some(
        "label trainmesh.dev/gang=kai has no effect: KAI-Scheduler does not group the pods of this kind: JobSet: newer versions"
    )
)]
#[case::job_set(job_set("gang=volcano"), None)]
#[case::volcano(
    volcano_job("gang=native"),
    Some("label trainmesh.dev/gang=native has no effect: the operator of this kind puts all pods into gangs itself")
)]
#[case::scheduler_of_the_cluster(
    volcano_job("gang=auto"),
    Some("label trainmesh.dev/gang=auto has no effect: the operator of this kind puts all pods into gangs itself")
)]
#[case::opted_out_of_volcano(volcano_job("gang=none"), None)]
#[case::opted_out(deployment("gang=none"), None)]
#[case::submitter(ray_job("gang=volcano"), None)]
#[case::ray_service(
    object(
        "ray.io/v1",
        "RayService",
        "spec/rayClusterConfig/headGroupSpec/template",
        "gang=volcano",
        "nvidia.com/gpu"
    ),
    None
)]
#[case::tpu(
    job("fabric=eks-efa", "google.com/tpu"),
    Some(
        "label trainmesh.dev/fabric=eks-efa has no effect: no container requests an accelerator that the fabric profile matches: eks-efa: pytorch requests google.com/tpu, the profile is for nvidia.com/gpu"
    )
)]
#[case::partition(
    job("fabric=eks-efa", "nvidia.com/mig-3g.40gb"),
    Some(
        "label trainmesh.dev/fabric=eks-efa has no effect: no container requests an accelerator that the fabric profile matches: eks-efa: pytorch requests nvidia.com/mig-3g.40gb, the profile is for nvidia.com/gpu"
    )
)]
#[case::no_devices(job("fabric=eks-efa", "cpu"), None)]
#[case::other_resource(job("fabric=eks-efa", "smarter-devices/fuse"), None)]
#[case::no_profile(job("fabric=none", "google.com/tpu"), None)]
fn labels_without_effect_are_reported(#[case] manifest: Value, #[case] expected: Option<&str>) {
    let input = manifest.to_string();
    for command in ["lint", "preview"] {
        let run = trainmesh(&[command, "-f", "-", "-o", "json"], &input);
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:#?}"));
        let results = report["results"].as_array().unwrap();
        let findings = results.iter().flat_map(|result| result["lint"].as_array().into_iter().flatten());
        let unused =
            findings.filter(|finding| finding["id"] == "FP045").map(|finding| finding["message"].as_str().unwrap());
        let unused: Vec<&str> = unused.collect();
        assert_eq!(unused.len(), usize::from(expected.is_some()), "{run:#?}");
        assert!(unused.iter().all(|message| message.starts_with(expected.unwrap_or_default())), "{unused:#?}");
    }
    let is_found = expected.is_some();
    let run = trainmesh(&["preview", "-f", "-", "--summary", "--fail-on", "unknown"], &input);
    assert_exit(&run, i32::from(is_found), &[], if is_found { ": FP045: label trainmesh.dev/" } else { "" });
}

/// Nobody can exclude single kinds from the label of a namespace but by another label.
#[rstest]
#[case::gang("trainmesh.dev/gang=volcano", deployment("app=b"))]
#[case::fabric("trainmesh.dev/fabric=eks-efa", job("app=b", "google.com/tpu"))]
fn labels_of_the_namespace_are_not_reported(#[case] label: &str, #[case] manifest: Value) {
    let labels = format!("trainmesh.dev/inject=enabled,{label}");
    let input = manifest.to_string().replace("trainmesh.dev/app", "app2");
    let run = trainmesh(&["lint", "-f", "-", "--namespace-labels", &labels], &input);
    assert!(!run.stdout.contains("FP045"), "{run:#?}");
}
