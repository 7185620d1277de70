//! Gangs of training jobs.

use super::super::training;
use super::{Check, Example, MISSING_QUEUE};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::training(10),
        severity: Severity::Error,
        title: "a gang that contains a launcher which is created later",
        why: "With launcherCreationPolicy: WaitForWorkersReady, the launcher of an MPIJob is created when all workers are ready. If \
              the gang counts the launcher, the workers are never placed. mpi-operator counts it unless minAvailable is set; \
              with other fields of runPolicy.schedulingPolicy only, this is a warning, because a flag of the operator \
              determines whether it uses gangs.",
        fix: "set runPolicy.schedulingPolicy.minAvailable to the number of workers, or launcherCreationPolicy to AtStartup",
        example: Example { given: "", wrong: MPI_JOB_WITH_LAUNCHER, fixed: MPI_JOB_OF_WORKERS },
        run: training::launcher_in_gang,
    },
    Check {
        id: CheckId::training(11),
        severity: Severity::Error,
        title: "a gang that requires more pods than the job has",
        why: "A gang scheduler places no pod until the minimum can be placed. If fewer pods can exist, all stay Pending forever. The \
              minimum of a PodGroup in the input, or in annotations of Koordinator or YuniKorn, is a warning, because pods of another \
              workload may belong to it. YuniKorn reserves resources for the members that do not exist, until a time-out.",
        fix: "set the minimum to the number of pods that start together",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 4}}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i}]}}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 2}}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i}]}}
",
        },
        run: training::minimum_above_pods,
    },
    Check {
        id: CheckId::training(12),
        severity: Severity::Info,
        title: "a gang that does not reserve the devices that trainmesh adds",
        why: "A scheduler admits the gang by minResources, which the template or its author computed without the adapters of the \
              fabric profile. It may place a part of the pods, and wait for adapters with the others.",
        fix: "add the devices to minResources, or request them in the pod template",
        example: Example {
            given: "the namespace selects the profile `ib-shared`, which adds `rdma/hca_shared_devices_a: 1`",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  runPolicy: {schedulingPolicy: {minResources: {nvidia.com/gpu: 16}}}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  runPolicy: {schedulingPolicy: {minResources: {nvidia.com/gpu: 16, rdma/hca_shared_devices_a: 2}}}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}}
",
        },
        run: training::unreserved_devices,
    },
    Check {
        id: CheckId::training(13),
        severity: Severity::Warning,
        title: "pods of one gang with different schedulers",
        why: "Each scheduler counts only the pods with its own schedulerName. The gang reaches its minimum for none of them, so \
              that its pods stay Pending. For a job with a minimum in schedulingPolicy, the training operator sets the scheduler \
              only in pods without one.",
        fix: "set the same schedulerName in all pod templates of the job",
        example: Example {
            given: "",
            wrong: r"apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: llama}
spec:
  tasks:
  - {name: master, replicas: 1, template: {spec: {schedulerName: default-scheduler, containers: [{name: a, image: i}]}}}
  - {name: worker, replicas: 3, template: {spec: {containers: [{name: a, image: i}]}}}
",
            fixed: r"apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: llama}
spec:
  tasks:
  - {name: master, replicas: 1, template: {spec: {containers: [{name: a, image: i}]}}}
  - {name: worker, replicas: 3, template: {spec: {containers: [{name: a, image: i}]}}}
",
        },
        run: training::mixed_schedulers,
    },
    Check {
        id: CheckId::training(14),
        severity: Severity::Warning,
        title: "a gang that a part of the roles joins",
        why: "Without a minimum of the job, a gang needs the pods of all roles. If some pods have another value of trainmesh.dev/gang, are \
              excluded, or have another scheduler, and the others are fewer than the minimum, the gang never reaches it: in a mode \
              with PodGroups, its pods wait until the controller lowers it (event GangReleased), and then start without the others. \
              In the modes koordinator and yunikorn, no controller could: the gang does not count them from the start.",
        fix: "give all pod templates of the job the same trainmesh.dev/gang, or label the namespace",
        example: Example { given: "", wrong: PARTIAL_GANG, fixed: COMPLETE_GANG },
        run: training::partial_gang,
    },
    Check {
        id: CheckId::training(15),
        severity: Severity::Warning,
        title: "pods of one gang with different priorities",
        why: "Schedulers order and preempt pods by their priority, so that they may treat the pods of a gang differently. The controller \
              therefore releases a gang whose pods have different priorities (event GangReleased): they are placed one by one. \
              Two classes may have the same value, which a manifest of a job does not show.",
        fix: "set the same priorityClassName in all pod templates of the job",
        example: Example {
            given: "the namespace selects the gang mode `native`",
            wrong: MIXED_PRIORITIES,
            fixed: ONE_PRIORITY,
        },
        run: training::mixed_priorities,
    },
    Check {
        id: MISSING_QUEUE,
        severity: Severity::Warning,
        title: "a job of gang mode kueue without a queue",
        why: "In gang mode kueue, trainmesh leaves the pods to Kueue, which manages only jobs with the label kueue.x-k8s.io/queue-name. \
              Without it, the pods start outside of every quota and one by one, unless the namespace has a LocalQueue called default, whose \
              label Kueue 0.12 and newer adds, or Kueue manages jobs without a queue. There is no finding if the input contains this \
              LocalQueue, or with `preview --cluster` the cluster. A misspelled label of a queue is reported in every mode. Kueue has no \
              integration for some kinds.",
        fix: "label the job kueue.x-k8s.io/queue-name with the name of a LocalQueue, or select another gang mode",
        example: Example {
            given: "the namespace selects the gang mode `kueue`",
            wrong: WITHOUT_QUEUE,
            fixed: WITH_QUEUE,
        },
        // The preview reports it for the workload.
        run: |_, _| {},
    },
];

const WITHOUT_QUEUE: &str = r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama, labels: {kueue.x-k8s.io/queuename: research}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: pytorch, image: i}]}}
";
const WITH_QUEUE: &str = r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: pytorch, image: i}]}}
";

const MIXED_PRIORITIES: &str = r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {priorityClassName: high, containers: [{name: pytorch, image: i}]}}
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: pytorch, image: i}]}}
";
const ONE_PRIORITY: &str = r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {priorityClassName: high, containers: [{name: pytorch, image: i}]}}
    Worker:
      replicas: 3
      template: {spec: {priorityClassName: high, containers: [{name: pytorch, image: i}]}}
";

const PARTIAL_GANG: &str = r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        metadata: {labels: {trainmesh.dev/gang: volcano}}
        spec: {containers: [{name: pytorch, image: i}]}
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: pytorch, image: i}]}}
";
const COMPLETE_GANG: &str = r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        metadata: {labels: {trainmesh.dev/gang: volcano}}
        spec: {containers: [{name: pytorch, image: i}]}
    Worker:
      replicas: 3
      template:
        metadata: {labels: {trainmesh.dev/gang: volcano}}
        spec: {containers: [{name: pytorch, image: i}]}
";

const MPI_JOB_WITH_LAUNCHER: &str = r"apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: llama}
spec:
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {schedulingPolicy: {minAvailable: 3}}
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: mpi, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: mpi, image: i}]}}}
";
const MPI_JOB_OF_WORKERS: &str = r"apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: llama}
spec:
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {schedulingPolicy: {minAvailable: 2}}
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: mpi, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: mpi, image: i}]}}}
";
