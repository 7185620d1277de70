//! Jobs of the real training-operator complete when the proxies of their pods terminate.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::controller::{ContainerState, Group, OPTED_IN, ObservedPod, PROXY, container};

/// Timeout for the operator, which runs along with many other tests.
const OPERATOR_TIMEOUT: Duration = TIMEOUT.saturating_mul(3);
/// The operator reconciles when a pod changes; it does nothing more this long after the last change.
const QUIET_PERIOD: SignedDuration = SignedDuration::from_secs(5);

/// A job that would never complete without the controller.
struct Job {
    kind: &'static str,
    /// Field of the replica specs, and the container name that the operator requires.
    names: [&'static str; 2],
    /// Role, replicas, restart policy and script.
    roles: &'static [(&'static str, usize, &'static str, &'static str)],
    /// The role that the operator restarts.
    retried: Option<&'static str>,
}

const PYTORCH: Job = Job {
    kind: "PyTorchJob",
    names: ["pytorchReplicaSpecs", "pytorch"],
    roles: &[
        // As in training, all wait for each other: a Master that is not ready has no DNS name for its Workers.
        ("Master", 1, "OnFailure", "until [ $(ls /shared | wc -l) = 2 ]; do sleep 0.1; done"),
        ("Worker", 2, "OnFailure", "touch /shared/$HOSTNAME"),
    ],
    retried: None,
};

/// A Worker that fails only at its first start, with an exit code that the operator retries.
const RETRIED: Job = Job {
    roles: &[
        ("Master", 1, "Never", "until [ -e /shared/done ]; do sleep 0.1; done"),
        ("Worker", 1, "ExitCode", "mkdir /shared/failed && exit 137; touch /shared/done"),
    ],
    retried: Some("worker"),
    ..PYTORCH
};

const TENSORFLOW: Job = Job {
    kind: "TFJob",
    names: ["tfReplicaSpecs", "tensorflow"],
    roles: &[("Worker", 2, "Never", "true")],
    retried: None,
};

impl Job {
    fn manifest(&self, group: &Group, shared: &str) -> Value {
        let [field, name] = self.names;
        let (key, value) = group.label();
        let mut spec = json!({"runPolicy": {"cleanPodPolicy": "None"}});
        for (role, replicas, policy, script) in self.roles {
            let mut main = container(name, script);
            main["volumeMounts"] = json!([{"name": "shared", "mountPath": "/shared"}]);
            spec[field][role] = json!({"replicas": replicas, "restartPolicy": policy, "template": {
                "metadata": {"labels": {key: value}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [main],
                    "volumes": [{"name": "shared", "hostPath": {"path": shared, "type": "Directory"}}]}}});
        }
        json!({"apiVersion": "kubeflow.org/v1", "kind": self.kind, "metadata": {"name": "train"}, "spec": spec})
    }

    fn pods(&self) -> usize {
        self.roles.iter().map(|(_, replicas, ..)| replicas).sum()
    }

    /// Returns the condition types of the job, sorted.
    fn conditions(&self, namespace: &Namespace) -> Vec<String> {
        let job = namespace.get(self.kind, "train").expect("the job exists");
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let mut types: Vec<_> =
            conditions.iter().filter_map(|condition| condition["type"].as_str()).map(str::to_owned).collect();
        types.sort_unstable();
        types
    }
}

#[rstest]
#[case::pytorchjob(&PYTORCH)]
#[case::tfjob(&TENSORFLOW)]
#[case::pytorchjob_with_a_retry(&RETRIED)]
fn a_job_completes_only_with_the_controller(#[case] job: &Job) {
    Cluster::get().start_operator("training-operator");
    let group = Group::new();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    let _ = namespace.create(&job.manifest(&group, shared.path().to_str().unwrap())).success();

    let main = job.names[1];
    // The Master of the retried job waits for the second attempt of its Worker.
    let expected_terminations = if job.retried.is_some() { 1 } else { job.pods() };
    let before = eventually(
        OPERATOR_TIMEOUT,
        "the main containers terminated a while ago, and the operator saw them run",
        || {
            let pods: Vec<_> = namespace.pods("").into_iter().map(ObservedPod).collect();
            // Proxies that have started: the kubelet starts them last.
            let hanging = pods.iter().filter(|pod| pod.state(PROXY) == ContainerState::Running);
            let terminations: Vec<_> = hanging.filter_map(|pod| pod.terminated_at(main)).collect();
            let quiet =
                terminations.iter().max().is_some_and(|end| Timestamp::now().duration_since(*end) > QUIET_PERIOD);
            let conditions = job.conditions(&namespace);
            let observed_running = conditions.iter().any(|condition| condition == "Running");
            if terminations.len() == expected_terminations && quiet && observed_running {
                Ok(pods)
            } else {
                Err(format!("{conditions:?}\n{}", describe(&pods)))
            }
        },
    );
    for pod in before.iter().filter(|pod| pod.terminated_at(main).is_some()) {
        assert_eq!([pod.phase(), &format!("{:?}", pod.state(PROXY))], ["Running", "Running"], "{pod}");
    }
    assert_eq!(job.conditions(&namespace), ["Created", "Running"]);

    let _controller = group.start();
    eventually(OPERATOR_TIMEOUT, "the job succeeds", || {
        let conditions = job.conditions(&namespace);
        if conditions == ["Created", "Running", "Succeeded"] { Ok(()) } else { Err(format!("{conditions:?}")) }
    });
    let after: Vec<_> = namespace.pods("").into_iter().map(ObservedPod).collect();
    assert_eq!(after.len(), job.pods(), "{}", describe(&after));
    for pod in &after {
        assert!(matches!(pod.state(PROXY), ContainerState::Terminated { code: 0, .. }) || !pod.is_finished(), "{pod}");
        let role = pod.0["metadata"]["labels"]["training.kubeflow.org/replica-type"].as_str();
        let same = before.iter().any(|before| before.0["metadata"]["uid"] == pod.0["metadata"]["uid"]);
        assert_eq!(same, job.retried.is_none() || role != job.retried, "{pod}");
    }
}

fn describe(pods: &[ObservedPod]) -> String {
    pods.iter().map(ObservedPod::to_string).collect::<Vec<_>>().join("\n")
}
