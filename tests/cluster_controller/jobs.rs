//! The real training-operator: its jobs end when the proxies of their pods do.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::controller::{Group, PROXY, SERVED, Seen, State, container};

/// The operator, beside many other tests.
const OPERATOR: Duration = PATIENCE.saturating_mul(3);
/// The operator looks at a pod whenever it changes: what it has not done so long after the last change, it will not do.
const QUIET: SignedDuration = SignedDuration::from_secs(5);

/// A job that would never end.
struct Job {
    kind: &'static str,
    /// Field of the replicas, and name of the container that is the operator's.
    names: [&'static str; 2],
    /// Role, replicas, restart policy, script.
    roles: &'static [(&'static str, usize, &'static str, &'static str)],
    /// The role that the operator starts anew.
    retried: Option<&'static str>,
}

const PYTORCH: Job = Job {
    kind: "PyTorchJob",
    names: ["pytorchReplicaSpecs", "pytorch"],
    roles: &[
        // As in training, none goes before the others are there: a Master that is not ready has no name for its Workers.
        ("Master", 1, "OnFailure", "until [ $(ls /shared | wc -l) = 2 ]; do sleep 0.1; done"),
        ("Worker", 2, "OnFailure", "touch /shared/$HOSTNAME"),
    ],
    retried: None,
};

/// A Worker that fails at its first start alone, with a code that the operator takes for a reason to start it again.
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

    /// The conditions of the job that have been told of.
    fn conditions(&self, namespace: &Namespace) -> Vec<String> {
        let job = namespace.get(self.kind, "train").expect("the job is there");
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let mut types: Vec<_> = conditions.iter().filter_map(|it| it["type"].as_str()).map(str::to_owned).collect();
        types.sort_unstable();
        types
    }
}

#[rstest]
#[case::pytorchjob(&PYTORCH)]
#[case::tfjob(&TENSORFLOW)]
#[case::a_worker_that_fails_and_is_retried(&RETRIED)]
fn a_job_ends_with_the_controller_and_not_without(#[case] job: &Job) {
    Cluster::get().operator("training-operator");
    let group = Group::new();
    let namespace = Cluster::get().namespace(&SERVED);
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    let _ = namespace.create(&job.manifest(&group, shared.path().to_str().unwrap())).success();

    let main = job.names[1];
    // The Master of the job with a retry waits for a Worker that has a second try.
    let ended = if job.retried.is_some() { 1 } else { job.pods() };
    let before =
        eventually(OPERATOR, "the payloads have ended some time ago, and the operator has seen them run", || {
            let pods: Vec<_> = namespace.pods("").into_iter().map(Seen).collect();
            let ends: Vec<_> = pods.iter().filter_map(|pod| pod.ended(main)).collect();
            let quiet = ends.iter().max().is_some_and(|end| Timestamp::now().duration_since(*end) > QUIET);
            let conditions = job.conditions(&namespace);
            let seen = conditions.iter().any(|condition| condition == "Running");
            if ends.len() == ended && quiet && seen {
                Ok(pods)
            } else {
                Err(format!("{conditions:?}\n{}", told(&pods)))
            }
        });
    for pod in before.iter().filter(|pod| pod.ended(main).is_some()) {
        assert_eq!([pod.phase(), &format!("{:?}", pod.state(PROXY))], ["Running", "Running"], "{pod}");
    }
    assert_eq!(job.conditions(&namespace), ["Created", "Running"]);

    let _controller = group.start();
    eventually(OPERATOR, "the job has succeeded", || {
        let conditions = job.conditions(&namespace);
        if conditions == ["Created", "Running", "Succeeded"] { Ok(()) } else { Err(format!("{conditions:?}")) }
    });
    let after: Vec<_> = namespace.pods("").into_iter().map(Seen).collect();
    assert_eq!(after.len(), job.pods(), "{}", told(&after));
    for pod in &after {
        assert!(matches!(pod.state(PROXY), State::Ended { code: 0, .. }) || !pod.over(), "{pod}");
        let role = pod.0["metadata"]["labels"]["training.kubeflow.org/replica-type"].as_str();
        let same = before.iter().any(|before| before.0["metadata"]["uid"] == pod.0["metadata"]["uid"]);
        assert_eq!(same, job.retried.is_none() || role != job.retried, "{pod}");
    }
}

fn told(pods: &[Seen]) -> String {
    pods.iter().map(Seen::to_string).collect::<Vec<_>>().join("\n")
}
