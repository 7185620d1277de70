//! Pods without the instance type that their profile requires, such as those in a queue of Kueue, whose `ResourceFlavor` may supply it.

use std::io::Write as _;

use rstest::rstest;
use trainmesh_testing::cli::trainmesh;

/// Marks the instance type of the pods.
const SELECTOR: &str = "nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}, ";
const QUEUE: &str = ", labels: {kueue.x-k8s.io/queue-name: gpu}";
const SKIPPED: &str = "InstanceTypeUnknown";
/// Pod without peers.
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}\n";
const REFUSED: &str = "add a nodeSelector for node.kubernetes.io/instance-type";

/// Returns an object of this kind, with additional metadata and fields of its spec before the template, and of the pod.
fn workload(api_version: &str, kind: &str, metadata: &str, spec: [&str; 2], pod: &str) -> String {
    let container = "{name: a, image: i, resources: {limits: {nvidia.com/gpu: 8}}}";
    let [before, after] = spec;
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a{metadata}}}\nspec: {{{before}template: {{spec: \
         {{{pod}restartPolicy: Never, containers: [{container}]}}}}{after}}}\n"
    )
}

fn job(metadata: &str, pod: &str) -> String {
    workload("batch/v1", "Job", metadata, ["", ""], pod)
}

#[rstest]
#[case::job(job(QUEUE, ""), SKIPPED)]
#[case::without_a_queue(job("", ""), REFUSED)]
#[case::selected(job(QUEUE, SELECTOR), "FabricAdded")]
#[case::another_conflict(job(QUEUE, "").replace("image: i,", "image: i, env: [{name: NCCL_NET, value: Socket}],"), "NCCL_NET=Socket")]
#[case::cron_job(
    workload("batch/v1", "CronJob", "", ["schedule: '@daily', jobTemplate: {metadata: {labels: {kueue.x-k8s.io/queue-name: gpu}}, spec: {", "}}"], ""),
    SKIPPED
)]
#[case::managed_as_pods(
    workload("apps/v1", "Deployment", QUEUE, ["selector: {matchLabels: {a: b}}, ", ""], "").replace("restartPolicy: Never, ", ""),
    REFUSED
)]
#[case::group_of_pods(
    workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", QUEUE, ["replicas: 1, leaderWorkerTemplate: {size: 2, ", "}"], "")
        .replace("template: {spec", "workerTemplate: {spec")
        .replace("restartPolicy: Never, ", ""),
    REFUSED
)]
fn the_flavor_may_supply_the_instance_type(#[case] manifest: String, #[case] expected: &str) {
    let arguments = ["-f", "-", "--fabric", "eks-efa"];
    let preview = ["preview", "-o", "json", "--fail-on", "refused"];
    let run = trainmesh(&[&preview, arguments.as_slice()].concat(), &manifest);
    let is_refused = !matches!(expected, SKIPPED | "FabricAdded");
    assert_eq!(run.code, Some(i32::from(is_refused)), "{run:#?}");
    assert!(run.stdout.contains(expected), "{run:#?}");
    assert_eq!(run.stdout.contains(SKIPPED), expected == SKIPPED, "{run:#?}");
    let run = trainmesh(&[&["lint"], arguments.as_slice()].concat(), &manifest);
    let message = "FP046 I fabric depends on the queue: eks-efa: vpc.amazonaws.com/efa depends on the instance type: the \
                   ResourceFlavor of queue gpu may supply node.kubernetes.io/instance-type";
    assert_eq!(run.stdout.contains(message), expected == SKIPPED, "{run:#?}");
    // The profile adds the volume.
    let lacks_volume = run.stdout.contains("FP013");
    assert!(!(lacks_volume && expected == SKIPPED), "{run:#?}");
}

/// No condition of `preview` fails for the job, but the configuration can make it an error of `lint`.
#[test]
fn a_profile_that_depends_on_the_queue_can_be_an_error() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    let text = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {lint: {severity: {FP046: E}}}\n";
    config.write_all(text.as_bytes()).unwrap();
    let configured = ["--config", config.path().to_str().unwrap()];
    let (manifest, arguments) = (job(QUEUE, ""), ["-f", "-", "--fabric", "eks-efa"]);
    for (command, configured, code) in [
        (&["preview", "--fail-on", "refused,unknown,warning"][..], &[][..], 0),
        (&["lint"], &[], 0),
        (&["lint"], &configured, 1),
    ] {
        let run = trainmesh(&[command, &arguments, configured].concat(), &manifest);
        assert_eq!(run.code, Some(code), "{run:#?}");
    }
    let run = trainmesh(&[&["lint"], &arguments[..], &configured].concat(), &manifest);
    assert!(run.stdout.contains("FP046 E fabric depends on the queue"), "{run:#?}");
}

/// The fix of a pod without peers is usually the label.
#[rstest]
#[case::pod(POD.to_owned(), true)]
#[case::job(job("", ""), true)]
#[case::training_job(
    workload("kubeflow.org/v1", "PyTorchJob", "", ["pytorchReplicaSpecs: {Master: {", "}}"], "").replace("name: a, image", "name: pytorch, image"),
    false
)]
#[case::replicas(
    workload("apps/v1", "Deployment", "", ["selector: {matchLabels: {a: b}}, replicas: 2, ", ""], "").replace("restartPolicy: Never, ", ""),
    false
)]
#[case::group_of_pods(
    workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "", ["replicas: 1, leaderWorkerTemplate: {size: 2, ", "}"], "")
        .replace("template: {spec", "workerTemplate: {spec")
        .replace("restartPolicy: Never, ", ""),
    false
)]
fn a_single_pod_may_opt_out(#[case] manifest: String, #[case] expected: bool) {
    for command in [&["lint"][..], &["preview", "--summary", "--fail-on", "refused"]] {
        let run = trainmesh(&[command, &["-f", "-", "--fabric", "eks-efa"]].concat(), &manifest);
        let text = format!("{}{}", run.stdout, run.stderr);
        assert!(text.contains(REFUSED), "{run:#?}");
        assert_eq!(text.contains("or set trainmesh.dev/fabric=none on a pod without peers"), expected, "{run:#?}");
    }
}
