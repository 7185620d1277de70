//! Labels and annotations of trainmesh itself, and decisions of its rules.

use super::super::{decisions, own_keys};
use super::{Check, Example, OPTED_OUT, OWN_KEYS, REFUSED_RULES, RUNNING_SIDECARS};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: OWN_KEYS,
        severity: Severity::Warning,
        title: "a label or annotation of trainmesh or Istio that has no effect",
        why: "Kubernetes accepts any key and value. trainmesh ignores a misspelled key, a value that it does not support, and \
          a label that is written as an annotation: the pod or namespace is treated as if the key were absent. Istio does \
              not inject the pods of a namespace whose label istio-injection has another value than enabled, and ignores \
              values of istio.io/dataplane-mode other than ambient and none, and since 1.27 of sidecar.istio.io/inject other than \
              true and false; older versions inject with y, yes and on, and do not inject with other values. Every value of \
              sidecar.istio.io/nativeSidecar but false requests a native sidecar, also False. In the ambient mesh, ztunnel \
              redirects the traffic of pods, whatever their traffic mode. A gang mode and a fabric profile have no effect on \
              pods of a kind, or with devices, that they are not for. An annotation about capture with which Istio's \
              injector rejects the pod is an error, if the labels of the namespace are known.",
        fix: "correct or remove it; users set the labels inject, fabric, gang and mesh-traffic, and on pods the annotations \
          payload-containers, helper-containers, settle, mesh-ports, checkpoint-write-time and node-mtbf, all under \
          trainmesh.dev/",
        example: Example {
            given: "",
            wrong: r#"metadata:
  labels: {trainmesh.dev/inject: "false"}
"#,
            fixed: r"metadata:
  labels: {trainmesh.dev/inject: disabled}
",
        },
        run: own_keys::without_effect,
    },
    Check {
        id: REFUSED_RULES,
        severity: Severity::Warning,
        title: "a rule of trainmesh that is refused",
        why: "A setting of the pod or a guard prevents a change that the namespace or the pod requests. The pod starts \
          without the change: for example over TCP instead of RDMA, or before its proxy is ready. A profile with \
          onConflict: tcp that falls back is reported, too. An annotation with which Istio rejects the pod is an \
          error, if the labels of the namespace are known. If the profile of a job in a queue of Kueue lacks only the \
          instance type, which a ResourceFlavor may supply, the finding is information.",
        fix: "follow the message, or opt out of the rule with a label of the pod; docs/rules.md lists the reasons",
        example: Example {
            given: "no profile is named `eks-efaa`",
            wrong: r"metadata:
  labels: {trainmesh.dev/fabric: eks-efaa}
spec:
  nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
            fixed: r"metadata:
  labels: {trainmesh.dev/fabric: eks-efa}
spec:
  nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        run: decisions::refused_rules,
    },
    Check {
        id: CheckId::new(47),
        severity: Severity::Info,
        title: "an adapter without a fabric profile",
        why: "The pod requests or claims an RDMA adapter itself. A profile also adds what the platform needs beside \
              it, such as NCCL settings, shared memory or networks.",
        fix: "preview the profile with --fabric PROFILE, then label the pod or its namespace trainmesh.dev/fabric; the \
              value none stops this finding",
        example: Example {
            given: "neither the pod nor its namespace selects a profile",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
",
            fixed: r"metadata:
  labels: {trainmesh.dev/fabric: eks-efa}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
",
        },
        run: decisions::profile_not_selected,
    },
    Check {
        id: RUNNING_SIDECARS,
        severity: Severity::Warning,
        title: "a sidecar that the controller cannot terminate",
        why: "The controller cannot terminate the sidecar after the main containers complete. Unless the sidecar exits by \
              itself, the pod keeps running, and its job does not complete. The daemons of GPUDirect-TCPX and -TCPXO are not \
              sidecars in the catalog of the controller; they are reported as regular containers, unless a command in the pod contains \
              kill. So are containers of Fluent Bit whose image has no -debug tag, and thus no kill, by which the controller terminates \
              them. A container that trainmesh.dev/payload-containers leaves out, and that the catalog does not contain, is information: \
              it is neither awaited nor terminated.",
        fix: "set termination.portForward: true, or name an entry of the catalog by trainmesh.dev/helper-containers; \
              docs/termination.md lists them",
        example: Example {
            given: "`termination.portForward` is false",
            wrong: r"spec:
  restartPolicy: Never
  containers:
  - name: train
  - name: vault-agent
",
            fixed: r"spec:
  restartPolicy: Never
  initContainers:
  - name: vault-agent
    restartPolicy: Always
  containers:
  - name: train
",
        },
        run: decisions::running_sidecars,
    },
    Check {
        id: OPTED_OUT,
        severity: Severity::Info,
        title: "a pod that opts out of trainmesh, but is injected",
        why: "The controller does not terminate the proxy of a pod with the label trainmesh.dev/inject=disabled. A classic sidecar \
              keeps the pod running after its main containers have completed, so that its job does not complete. With the \
              annotation sidecar.istio.io/nativeSidecar=false this is a warning; otherwise Istio may inject a native sidecar, which \
              Kubernetes terminates. Commands that call the proxy's quitquitquit endpoint are not reported.",
        fix: "also label the pod sidecar.istio.io/inject=false, or remove the opt-out; docs/rollout.md shows how to keep the \
              termination",
        example: Example {
            given: "the namespace has the label `istio-injection=enabled`",
            wrong: r"metadata:
  labels: {trainmesh.dev/inject: disabled}
spec:
  restartPolicy: Never
  containers:
  - name: train
",
            fixed: r"metadata:
  labels: {trainmesh.dev/inject: disabled, sidecar.istio.io/inject: 'false'}
spec:
  restartPolicy: Never
  containers:
  - name: train
",
        },
        run: decisions::opted_out,
    },
];
