//! Restarts and storage of training jobs, and settings on the wrong level of the manifest.

use super::super::training;
use super::{Check, Example, MISPLACED_KEYS};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::training(2),
        severity: Severity::Warning,
        title: "checkpoints without a restart",
        why: "A job resumes from its checkpoints only if something starts its failed ranks again: a restart policy (OnFailure or \
              ExitCode), retries of its Job or AppWrapper, the failure policy of a JobSet, or a policy of a Volcano Job. The check applies to pods \
              that mount a volume for checkpoints, or have an option or a variable with their directory.",
        fix: "set restartPolicy: OnFailure or ExitCode, or allow retries",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      restartPolicy: Never
      template: {spec: {containers: [{name: pytorch, image: i, args: [--checkpoint-dir=/data/checkpoints]}]}}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      restartPolicy: ExitCode
      template: {spec: {containers: [{name: pytorch, image: i, args: [--checkpoint-dir=/data/checkpoints]}]}}
",
        },
        run: training::never_restarted,
    },
    Check {
        id: CheckId::training(3),
        severity: Severity::Warning,
        title: "a claim for one node that several pods share",
        why: "A volume that is ReadWriteOnce is attached to one node: pods on other nodes wait with Multi-Attach errors, \
              and the ranks that run wait for them. ReadWriteOncePod allows one pod only (error). The claim is found in the input. \
              Pods that are placed on one node are not reported.",
        fix: "use ReadWriteMany, or a claim for each pod",
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
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
          containers: [{name: pytorch, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce]}
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
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
          containers: [{name: pytorch, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany]}
",
        },
        run: training::shared_claim,
    },
    Check {
        id: CheckId::training(4),
        severity: Severity::Info,
        title: "an NFS volume for many pods",
        why: "With more than 8 pods, opening and listing files on one NFS server often takes longer than reading them. The check \
              recognizes volumes of type nfs, and claims in the input whose storage class is named after NFS.",
        fix: "read data from object storage or a parallel file system, and write checkpoints sharded or asynchronously",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 16
      template:
        spec:
          volumes: [{name: data, nfs: {server: nfs.example.com, path: /data}}]
          containers: [{name: pytorch, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 8
      template:
        spec:
          volumes: [{name: data, nfs: {server: nfs.example.com, path: /data}}]
          containers: [{name: pytorch, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
",
        },
        run: training::shared_nfs,
    },
    Check {
        id: CheckId::training(5),
        severity: Severity::Warning,
        title: "checkpoints on a volume that is deleted with the pod",
        why: "An emptyDir lives as long as its pod. After an eviction, a node failure or a restart of the job, the pods start from \
              the beginning. The check recognizes volumes, directories, options and variables with checkpoint or ckpt in their \
              names. Volumes that several containers mount are not reported, because one of them may copy the files.",
        fix: "write checkpoints to a persistent volume or to object storage",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          volumes: [{name: out, emptyDir: {}}]
          containers:
          - name: pytorch
            image: i
            args: [torchrun, train.py, --checkpoint-dir, /out/llama]
            volumeMounts: [{name: out, mountPath: /out}]
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
          containers:
          - name: pytorch
            image: i
            args: [torchrun, train.py, --checkpoint-dir, /out/llama]
            volumeMounts: [{name: out, mountPath: /out}]
",
        },
        run: training::lost_checkpoints,
    },
    Check {
        id: MISPLACED_KEYS,
        severity: Severity::Warning,
        title: "a setting on the wrong level of the manifest, or a misspelled key of a gang scheduler",
        why: "Labels and annotations of Istio, of gang schedulers and of Kueue's topologies belong to pods: on the job they have \
              no effect, unless its operator copies them. istio.io/rev is information, because common labels add it to all \
              objects. The operators of Kubeflow replace the restart policy of a pod template \
              by that of the replica spec. A label, annotation or scheduler whose name is similar to one of a gang scheduler or of \
              Kueue has no effect either: the pods start one by one, or stay Pending.",
        fix: "correct the name, or move the setting to the level where it is read: the metadata of the pod template, or the replica spec",
        example: Example {
            given: "",
            wrong: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama, labels: {sidecar.istio.io/inject: 'false'}}
spec:
  pytorchReplicaSpecs:
    Worker:
      template: {spec: {containers: [{name: pytorch, image: i}]}}
",
            fixed: r"apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        metadata: {labels: {sidecar.istio.io/inject: 'false'}}
        spec: {containers: [{name: pytorch, image: i}]}
",
        },
        run: training::overridden_policy,
    },
];
