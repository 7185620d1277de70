//! Process groups of training jobs.

use super::super::training;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::training(1),
        severity: Severity::Error,
        title: "ranks that never meet, because their settings or the Service of rank 0 differ",
        why: "All ranks need the same backend, identifier and port. A Service with a cluster IP forwards only the ports that it \
              lists, and must select the pod of rank 0; a headless one resolves to the pods that it selects, on any port. The \
              pods stay Running until the time-out of the process group. Of a PyTorchJob, the roles are compared; of all training \
              jobs, a Service in the input that MASTER_ADDR or --master-addr names. The name of one pod, such as JOB-0.SERVICE of an \
              Indexed Job, resolves only if the subdomain of the pods is the Service. If all nodes of torchrun are pods of an Indexed Job, \
              --master-addr must name one of them. A name in the subdomain of a JobSet must be that of one of its pods. If the \
              Service of such a name is not in the input, but one with a similar name that selects the pods is, it is a warning.",
        fix: "use the same values for all roles, list MASTER_PORT in the Service or set clusterIP: None, and set subdomain to its name",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --master-port=29500, train.py]}]}}
    Worker:
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --master-port=29501, train.py]}]}}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --master-port=29500, train.py]}]}}
    Worker:
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --master-port=29500, train.py]}]}}
",
        },
        run: training::different_settings,
    },
    Check {
        id: CheckId::training(7),
        severity: Severity::Error,
        title: "--nnodes or PET_NNODES that differs from the number of pods, or processes from GPUs",
        why: "torchrun waits until as many agents have joined as --nnodes requires. If the job has fewer pods, the group never \
              forms. If it has more, the others wait or form another group (warning). Without the option, PET_NNODES counts, also \
              that of the operator. Pods whose command is another Python program do not count. A value that the command computes, \
              jobs whose pods may be independent of each other with --nnodes=1, and those that an elastic policy with metrics \
              scales, are not reported, nor are StatefulSets and Deployments. In a LeaderWorkerSet, only more nodes than a group \
              has pods are reported, unless they are those of several whole groups. Pods and Jobs of a JobSet that are in the input themselves do \
              not show the size of their job. More processes (--nproc-per-node) than a container has GPUs are a warning, fewer are \
              information, except for one process, several agents, claims, and a command or environment that hides GPUs.",
        fix: "set --nnodes to the number of pods, or remove it where the operator sets PET_NNODES",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --nnodes=4, train.py]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --nnodes=4, train.py]}]}}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --nnodes=3, train.py]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i, args: [torchrun, --nnodes=3, train.py]}]}}
",
        },
        run: training::wrong_number_of_nodes,
    },
    Check {
        id: CheckId::training(8),
        severity: Severity::Error,
        title: "a rendezvous address without a host, or one that only its own pod reaches, or one rank for all pods",
        why: "torchrun rejects an endpoint without a host, such as :29400. With localhost, or with the backend c10d and no endpoint, \
              each pod waits for peers at its own address, and the pods never form a group. Without a backend and --master-addr, torchrun \
              uses 127.0.0.1, and without --node-rank, each pod has rank 0; the variables are PET_MASTER_ADDR and PET_NODE_RANK, not \
              MASTER_ADDR and RANK. The completion index of a Job is no rank if the Job is not Indexed, has more completions than --nnodes, or is \
              one of several of a JobSet with a common group. Jobs of one pod, --standalone, \
              and kinds that count as serving, such as LeaderWorkerSets and StatefulSets, are not reported, nor are settings that \
              envFrom or an expansion in the command may contain.",
        fix: "set --rdzv-endpoint to the name and port of one pod of the job, such as that of rank 0",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: pytorch, image: i, args: [torchrun, --nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=localhost:29400', train.py]}]
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: pytorch, image: i, args: [torchrun, --nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=llama-worker-0:29400', train.py]}]
",
        },
        run: training::unreachable_address,
    },
    Check {
        id: CheckId::training(9),
        severity: Severity::Error,
        title: "an etcd that does not serve the API of torchrun's backend",
        why: "The backends etcd and etcd-v2 of torchrun both use version 2 of etcd's API. etcd 3.4 and 3.5 serve it only with \
              --enable-v2, and 3.6 does not have it: the agents never connect. The etcd is found by its Service and its pods in \
              the input.",
        fix: "use the backend c10d, or etcd 3.5 with --enable-v2=true",
        example: Example {
            given: "the manifest also contains the Service `etcd`, which selects pods with `app: etcd`",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  elasticPolicy: {rdzvBackend: etcd-v2, rdzvHost: etcd, rdzvPort: 2379}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i, command: [torchrun, train.py]}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: etcd, labels: {app: etcd}}
spec: {containers: [{name: etcd, image: 'quay.io/coreos/etcd:v3.6.9'}]}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  elasticPolicy: {rdzvBackend: etcd-v2, rdzvHost: etcd, rdzvPort: 2379}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: i, command: [torchrun, train.py]}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: etcd, labels: {app: etcd}}
spec: {containers: [{name: etcd, image: 'quay.io/coreos/etcd:v3.5.21', args: [--enable-v2=true]}]}
",
        },
        run: training::store_without_v2,
    },
];
