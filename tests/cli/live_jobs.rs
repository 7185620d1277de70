//! `trainmesh preview --cluster` of jobs that exist, whose pods belong to objects that they have created. A fake apiserver serves them.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, trainmesh, trainmesh_with};

/// Returns the path of an object in the namespace of the tests, and the object with this kind, name and UID.
fn object(api_version: &str, kind: &str, name: &str, uid: &str, fields: Value) -> (String, Value) {
    let mut object = fields;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object["metadata"]["name"] = name.into();
    object["metadata"]["uid"] = uid.into();
    (format!("/apis/{api_version}/namespaces/default/{}s/{name}", kind.to_lowercase()), object)
}

/// Returns the path of an object that does not exist.
fn absent(api_version: &str, kind: &str, name: &str) -> (String, Value) {
    let (path, _) = object(api_version, kind, name, "", json!({}));
    (path, json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "details": {"name": name}}))
}

/// Returns an Indexed Job of two pods.
fn job(name: &str, uid: &str, status: Value) -> (String, Value) {
    object("batch/v1", "Job", name, uid, json!({"spec": job_spec(), "status": status}))
}

fn job_spec() -> Value {
    let containers = json!([{"name": "train", "image": "i"}]);
    json!({"completionMode": "Indexed", "parallelism": 2, "completions": 2,
        "template": {"spec": {"restartPolicy": "Never", "containers": containers}}})
}

fn ray_cluster_spec() -> Value {
    let template = json!({"spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.44"}]}});
    json!({"headGroupSpec": {"template": template},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "template": template}]})
}

fn ray_job(status: Value) -> (String, Value) {
    let spec = json!({"entrypoint": "python train.py", "rayClusterSpec": ray_cluster_spec()});
    object("ray.io/v1", "RayJob", "tune", "r1", json!({"spec": spec, "status": status}))
}

fn cron_job(active: &[&str]) -> (String, Value) {
    let active: Vec<Value> = active.iter().map(|name| json!({"kind": "Job", "name": name})).collect();
    let spec = json!({"schedule": "@daily", "jobTemplate": {"spec": job_spec()}});
    object("batch/v1", "CronJob", "nightly", "c1", json!({"spec": spec, "status": {"active": active}}))
}

fn app_wrapper(names: &[&str]) -> (String, Value) {
    let component = |name: &&str| {
        let (_, template) = job(name, "", json!({}));
        let mut template = template;
        template["metadata"] = json!({"name": name});
        json!({"template": template})
    };
    let status = |name: &&str| json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "podSets": []});
    let components: Vec<Value> = names.iter().map(component).collect();
    let statuses: Vec<Value> = names.iter().map(status).collect();
    object(
        "workload.codeflare.dev/v1beta2",
        "AppWrapper",
        "wrap",
        "w1",
        json!({
            "spec": {"components": components}, "status": {"phase": "Running", "componentStatus": statuses},
        }),
    )
}

/// Returns the manifest of an object: without what only the cluster adds.
fn manifest(object: &Value) -> String {
    let mut manifest = object.clone();
    let fields = manifest.as_object_mut().unwrap();
    fields.remove("status");
    fields["metadata"] = json!({"name": object["metadata"]["name"]});
    manifest.to_string()
}

/// Returns the `PodGroup` that the controller has created for the object, with the name that an offline preview shows for its UID.
fn group(workload: &Value, minimum: u64) -> (String, Value) {
    let run = trainmesh(&["preview", "-f", "-", "--gang", "native", "-o", "json"], &workload.to_string());
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let planned = &output["results"][0]["objects"][0];
    let owner = &planned["metadata"]["ownerReferences"][0];
    let metadata = &workload["metadata"];
    assert_eq!((&owner["name"], &owner["uid"]), (&metadata["name"], &metadata["uid"]), "{run:#?}");
    let name = planned["metadata"]["name"].as_str().unwrap();
    let fields = json!({
        "metadata": {"labels": {"trainmesh.dev/managed": "true"}, "ownerReferences": [owner]},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
    });
    object("scheduling.k8s.io/v1beta1", "PodGroup", name, "g", fields)
}

/// Previews `manifest` in a cluster with these objects; the apiserver forbids all others.
fn preview(manifest: &str, objects: &[(String, Value)], format: &str) -> (Run, Vec<String>) {
    let labels = json!({"trainmesh.dev/inject": "enabled"});
    let basic = [
        ("/api/v1/namespaces/default", json!({"metadata": {"name": "default", "labels": labels}})),
        (
            "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
            json!({"metadata": {"name": "trainmesh-config"}, "data": {}}),
        ),
    ];
    let objects = objects.iter().map(|(path, object)| (&*path.clone().leak(), object.clone()));
    let apiserver = Apiserver::start(basic.into_iter().chain(objects).collect());
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let arguments =
        ["preview", "-f", "-", "--cluster", "--trainmesh-namespace", "mesh", "--gang", "native", "-o", format];
    let run = trainmesh_with(&arguments, manifest, &[("KUBECONFIG", &kubeconfig)]);
    (run, apiserver.requests())
}

fn results(run: &Run) -> Vec<Value> {
    let output: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:#?}"));
    output["results"].as_array().unwrap().clone()
}

/// Returns kind, name, UID, state and number of pods of each workload.
fn workloads(result: &Value) -> Vec<String> {
    let workload = |found: &Value| {
        let text = |key: &str| found[key].as_str().unwrap().to_owned();
        format!("{} {} {} {} {}", text("kind"), text("name"), text("uid"), text("state"), found["pods"])
    };
    result["cluster"]["workloads"].as_array().into_iter().flatten().map(workload).collect()
}

/// Returns the names of the `PodGroups` that exist, each with its owner.
fn groups(result: &Value) -> Vec<(&Value, &str)> {
    let groups = result["cluster"]["podGroups"].as_array().into_iter().flatten();
    groups.map(|group| (&group["name"], group["owner"].as_str().unwrap())).collect()
}

#[test]
fn the_cluster_of_a_ray_job_has_the_name_of_its_status() {
    let (path, job) = ray_job(json!({"rayClusterName": "tune-x7k2p", "jobDeploymentStatus": "Running"}));
    let cluster = object("ray.io/v1", "RayCluster", "tune-x7k2p", "k1", json!({"spec": ray_cluster_spec()}));
    let group = group(&cluster.1, 3);
    let name = group.1["metadata"]["name"].clone();
    let manifest = manifest(&job);
    let objects = [(path, job), cluster, group];
    let (run, _) = preview(&manifest, &objects, "json");
    let results = results(&run);
    assert_eq!(workloads(&results[0]), ["RayJob tune r1 active null", "RayCluster tune-x7k2p k1 active 3"], "{run:#?}");
    assert_eq!(groups(&results[0]), [(&name, "RayCluster/tune-x7k2p")], "{run:#?}");
    for result in &results[..2] {
        let owner = &result["pod"]["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["name"], &owner["uid"]), (&json!("tune-x7k2p"), &json!("k1")));
        assert_eq!(result["pod"]["spec"]["schedulingGroup"]["podGroupName"], name);
    }
    let (run, _) = preview(&manifest, &objects, "diff");
    assert!(run.stdout.contains("exists RayJob default/tune, active, UID r1\n"), "{run:#?}");
    assert!(run.stdout.contains("exists RayCluster default/tune-x7k2p, active, 3 pods, UID k1\n"), "{run:#?}");
    assert!(run.stdout.contains("exists PodGroup") && !run.stdout.contains("creates PodGroup"), "{run:#?}");
}

#[test]
fn a_ray_job_that_has_ended_needs_no_group() {
    let job = ray_job(json!({"rayClusterName": "tune-x7k2p", "jobDeploymentStatus": "Complete"}));
    let objects = [job.clone(), absent("ray.io/v1", "RayCluster", "tune-x7k2p")];
    let (run, _) = preview(&manifest(&job.1), &objects, "json");
    let result = &results(&run)[0];
    assert_eq!(workloads(result), ["RayJob tune r1 finished null"], "{run:#?}");
    assert_eq!(result["objects"], json!([]));
}

#[test]
fn active_jobs_of_a_cron_job_are_shown_with_their_groups() {
    let cron = cron_job(&["nightly-1", "nightly-2", "nightly-3"]);
    let (first, second) = (job("nightly-1", "u1", json!({})), job("nightly-2", "u2", json!({})));
    let groups_of_jobs = [group(&first.1, 2), group(&second.1, 2)];
    let names = groups_of_jobs.clone().map(|(_, group)| group["metadata"]["name"].clone());
    let manifest = manifest(&cron.1);
    let [first_group, second_group] = groups_of_jobs;
    let objects = [cron, first, second, absent("batch/v1", "Job", "nightly-3"), first_group, second_group];
    let (run, _) = preview(&manifest, &objects, "json");
    let result = &results(&run)[0];
    let expected = ["CronJob nightly c1 active null", "Job nightly-1 u1 active 2", "Job nightly-2 u2 active 2"];
    assert_eq!(workloads(result), expected, "{run:#?}");
    assert_eq!(groups(result), [(&names[0], "Job/nightly-1"), (&names[1], "Job/nightly-2")], "{run:#?}");
    assert_eq!(result["objects"].as_array().map(Vec::len), Some(1), "the group of the next Job");
}

#[test]
fn active_jobs_are_read_within_a_bound() {
    let names: Vec<String> = (1..=12).map(|number| format!("nightly-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cron = cron_job(&names);
    let manifest = manifest(&cron.1);
    let jobs = names.iter().map(|name| job(name, name, json!({})));
    let objects: Vec<(String, Value)> = std::iter::once(cron).chain(jobs).collect();
    let (run, requests) = preview(&manifest, &objects, "json");
    assert_eq!(workloads(&results(&run)[0]).len(), 9, "{run:#?}");
    assert_eq!(requests.iter().filter(|path| path.contains("/jobs/")).count(), 8, "{requests:?}");
    let note = "CronJob default/nightly has created 12 workloads, of which 8 are shown";
    assert!(run.stderr.contains(note), "{run:#?}");
    let groups = requests.iter().filter(|path| path.contains("/podgroups/")).count();
    assert!(groups <= 3, "a scheduler whose PodGroups are forbidden costs one request: {requests:?}");
}

#[test]
fn each_component_of_an_app_wrapper_has_its_own_group() {
    let wrapper = app_wrapper(&["a", "b", "gone"]);
    let finished = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    let (first, second) = (job("a", "u1", json!({})), job("b", "u2", finished));
    let group = group(&first.1, 2);
    let name = group.1["metadata"]["name"].clone();
    let manifest = manifest(&wrapper.1);
    let objects = [wrapper, first, second, absent("batch/v1", "Job", "gone"), group];
    let (run, _) = preview(&manifest, &objects, "json");
    let results = results(&run);
    let expected = ["AppWrapper wrap w1 active null", "Job a u1 active 2", "Job b u2 finished 2"];
    assert_eq!(workloads(&results[0]), expected, "{run:#?}");
    assert_eq!(groups(&results[0]), [(&name, "Job/a")], "{run:#?}");
    let owner = |object: &Value| object["metadata"]["ownerReferences"][0]["name"].as_str().unwrap().to_owned();
    let objects: Vec<String> = results[0]["objects"].as_array().unwrap().iter().map(owner).collect();
    assert_eq!(objects, ["a", "gone"], "{run:#?}");
    let uid = |result: &Value| result["pod"]["metadata"]["ownerReferences"][0]["uid"].clone();
    let uids: Vec<Value> = results.iter().map(uid).collect();
    assert_eq!(uids, [json!("u1"), json!("u2"), json!("00000000-0000-0000-0000-000000000000")]);
}

#[rstest]
#[case::of_the_manifest(false, "RayJobs that exist are shown as new ones", 0)]
#[case::created(true, "RayClusters that RayJobs have created are not shown", 1)]
fn what_may_not_be_read_is_named(#[case] is_readable: bool, #[case] note: &str, #[case] expected: usize) {
    let job = ray_job(json!({"rayClusterName": "tune-x7k2p", "jobDeploymentStatus": "Running"}));
    let manifest = manifest(&job.1);
    let objects: Vec<(String, Value)> = is_readable.then_some(job).into_iter().collect();
    let (run, _) = preview(&manifest, &objects, "json");
    assert_eq!(workloads(&results(&run)[0]).len(), expected, "{run:#?}");
    assert_eq!(run.stderr.matches(note).count(), 1, "{run:#?}");
}
