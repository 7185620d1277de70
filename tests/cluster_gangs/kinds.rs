//! The kinds of jobs under test, each with its real operator.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use trainmesh_testing::cluster::Cluster;

/// A kind of job.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Kind, as in `PyTorchJob`.
    pub name: &'static str,
    /// Resource for `kubectl`.
    pub resource: &'static str,
    /// Label that contains the name of a pod's job.
    pub label: &'static str,
    /// Name of `tests/cluster/cluster operator`, and of its tools; `None` for a kind of Kubernetes.
    pub operator: Option<&'static str>,
    /// True if its pods complete. Otherwise its operator restarts them.
    pub completes: bool,
    /// Returns the manifests of a job of so many pods.
    pub manifests: fn(&Fixture, &str, u32) -> Vec<Value>,
}

impl Kind {
    pub const JOB: Self = Self {
        name: "Job",
        resource: "jobs.batch",
        label: "batch.kubernetes.io/job-name",
        operator: None,
        completes: true,
        manifests: |fixture, name, pods| vec![fixture.job(name, pods)],
    };
    pub const PYTORCH_JOB: Self = Self {
        name: "PyTorchJob",
        resource: "pytorchjobs.kubeflow.org",
        label: "training.kubeflow.org/job-name",
        operator: Some("training-operator"),
        completes: true,
        manifests: |fixture, name, pods| {
            let template = fixture.template(name, "pytorch");
            vec![json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": {
                "runPolicy": {"cleanPodPolicy": "None"},
                "pytorchReplicaSpecs": {
                    "Master": {"replicas": 1, "restartPolicy": "Never", "template": template},
                    "Worker": {"replicas": pods - 1, "restartPolicy": "Never", "template": template},
                },
            }})]
        },
    };
    pub const MPI_JOB: Self = Self {
        name: "MPIJob",
        resource: "mpijobs.kubeflow.org",
        label: "training.kubeflow.org/job-name",
        operator: Some("mpi-operator"),
        completes: true,
        manifests: |fixture, name, pods| {
            let template = fixture.template(name, "mpi");
            vec![json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": name}, "spec": {
                "runPolicy": {"cleanPodPolicy": "All"},
                "mpiReplicaSpecs": {
                    "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": template},
                    "Worker": {"replicas": pods - 1, "restartPolicy": "Never", "template": template},
                },
            }})]
        },
    };
    pub const JOB_SET: Self = Self {
        name: "JobSet",
        resource: "jobsets.jobset.x-k8s.io",
        label: "jobset.sigs.k8s.io/jobset-name",
        operator: Some("jobset"),
        completes: true,
        manifests: |fixture, name, pods| {
            let job = fixture.job(name, pods)["spec"].take();
            vec![json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
                "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job}}]}})]
        },
    };
    pub const TRAIN_JOB: Self = Self {
        name: "TrainJob",
        resource: "trainjobs.trainer.kubeflow.org",
        label: "jobset.sigs.k8s.io/jobset-name",
        operator: Some("trainer"),
        completes: true,
        manifests: |fixture, name, pods| {
            let step = json!({"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"});
            let job = json!({"metadata": {"labels": step}, "spec": {"template": fixture.template(name, "node")}});
            let runtime = json!({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
                "metadata": {"name": name}, "spec": {"mlPolicy": {"numNodes": pods},
                    "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}}});
            let train_job = json!({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                "metadata": {"name": name}, "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": name}}});
            vec![runtime, train_job]
        },
    };
    pub const LEADER_WORKER_SET: Self = Self {
        name: "LeaderWorkerSet",
        resource: "leaderworkersets.leaderworkerset.x-k8s.io",
        label: "leaderworkerset.sigs.k8s.io/name",
        operator: Some("lws"),
        completes: false,
        manifests: |fixture, name, pods| {
            let mut template = fixture.template(name, "worker");
            template["spec"]["restartPolicy"] = "Always".into();
            vec![json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": name}, "spec": {"replicas": 1, "leaderWorkerTemplate": {
                "size": pods, "workerTemplate": template,
            }}})]
        },
    };
    pub const RAY_CLUSTER: Self = Self {
        name: "RayCluster",
        resource: "rayclusters.ray.io",
        label: "ray.io/cluster",
        operator: Some("kuberay"),
        completes: false,
        manifests: |fixture, name, pods| {
            let mut template = fixture.template(name, "ray");
            template["spec"]["restartPolicy"] = "Always".into();
            // The pods run no Ray.
            template["metadata"]["annotations"] = json!({"ray.io/overwrite-container-cmd": "true"});
            vec![json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": {
                "headGroupSpec": {"rayStartParams": {}, "template": template},
                "workerGroupSpecs": [{"groupName": "workers", "replicas": pods - 1, "minReplicas": pods - 1,
                    "maxReplicas": pods - 1, "rayStartParams": {}, "template": template}],
            }})]
        },
    };
    pub const ALL: [Self; 7] = [
        Self::JOB,
        Self::PYTORCH_JOB,
        Self::JOB_SET,
        Self::TRAIN_JOB,
        Self::LEADER_WORKER_SET,
        Self::RAY_CLUSTER,
        Self::MPI_JOB,
    ];

    /// Starts its operator, unless it runs, and stops one that conflicts with it.
    pub fn start_operator(self) {
        let cluster = Cluster::get();
        match self.operator {
            None => return,
            Some("mpi-operator") => cluster.stop_operator("training-operator"),
            Some("training-operator") => cluster.stop_operator("mpi-operator"),
            Some(_) => {}
        }
        cluster.start_operator(self.operator.expect("an operator"));
    }

    /// Returns the kind that owns the `PodGroup` of a job.
    pub fn owner(self) -> &'static str {
        // The pods of a TrainJob belong to its JobSet, which contains their number.
        if self.name == Self::TRAIN_JOB.name { Self::JOB_SET.name } else { self.name }
    }

    /// Returns true if `pod` belongs to the job of any kind with this name.
    pub fn owns(pod: &Value, job: &str) -> bool {
        Self::ALL.iter().any(|kind| pod["metadata"]["labels"][kind.label] == *job)
    }
}
