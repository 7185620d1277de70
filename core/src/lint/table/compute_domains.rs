//! `NVLink` between nodes, and transports of other libraries.

use super::super::compute_domains;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(36),
        severity: Severity::Warning,
        title: "NVLink between nodes without cuMem",
        why: "NCCL shares memory between nodes by cuMem handles. With NCCL_CUMEM_ENABLE=0 it does not use the NVLink \
              domain, without an error: all traffic between nodes takes the network.",
        fix: "remove NCCL_CUMEM_ENABLE, or set NCCL_MNNVL_ENABLE=0 if the network is intended",
        example: Example {
            given: "",
            wrong: r#"spec:
  resourceClaims: [{name: imex, resourceClaimTemplateName: channel}]
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}, claims: [{name: imex}]}
    env:
    - {name: NCCL_MNNVL_ENABLE, value: "1"}
    - {name: NCCL_CUMEM_ENABLE, value: "0"}
"#,
            fixed: r#"spec:
  resourceClaims: [{name: imex, resourceClaimTemplateName: channel}]
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}, claims: [{name: imex}]}
    env:
    - {name: NCCL_MNNVL_ENABLE, value: "1"}
"#,
        },
        run: compute_domains::cumem_disabled,
    },
    Check {
        id: CheckId::new(37),
        severity: Severity::Warning,
        title: "UCX restricted to TCP beside an adapter",
        why: "UCX_TLS lists the transports that UCX may use. Without rc, dc, ud, ib or cuda, libraries on UCX such as NIXL \
              move GPU memory over TCP. With mpirun -x the variable keeps MPI's own messages off the adapters, which is \
              usual.",
        fix: "remove UCX_TLS from the environment, or add the adapter's transports and cuda",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: serve
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    env:
    - {name: UCX_TLS, value: "tcp"}
"#,
            fixed: r#"spec:
  containers:
  - name: serve
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    env:
    - {name: UCX_TLS, value: "rc,cuda,tcp"}
"#,
        },
        run: compute_domains::ucx_over_tcp,
    },
    Check {
        id: CheckId::new(39),
        severity: Severity::Warning,
        title: "a ComputeDomain whose numNodes differs from the number of pods",
        why: "With numNodes above 0 the domain becomes ready when that many nodes have joined it: if fewer pods \
                      claim it, they stay Pending forever; if more do, the last ones get no channel.",
        fix: "set numNodes to the number of pods that claim the channel, or to 0 with a driver that supports it",
        example: Example {
            given: "the manifest contains the `ComputeDomain` of the template `channel`, with `numNodes: 2`, and the job has 4 pods",
            wrong: DOMAIN_JOB,
            fixed: NO_DOMAIN,
        },
        run: compute_domains::domain_size,
    },
    Check {
        id: CheckId::new(40),
        severity: Severity::Info,
        title: "a ComputeDomain that may be of no use",
        why: "NVLink between nodes needs several pods in one NVLink domain (a rack of an NVL72), each with the 4 GPUs of its \
              node. Pods in different domains communicate over the network.",
        fix: "use affinity with topologyKey nvidia.com/gpu.clique or a topology-aware scheduler, and whole nodes",
        example: Example {
            given: "the manifest contains the `ComputeDomain` of the template `channel`, and the job has 4 pods",
            wrong: DOMAIN_JOB,
            fixed: r"metadata:
  labels: {jobset.sigs.k8s.io/jobset-name: llama, jobset.sigs.k8s.io/replicatedjob-name: worker}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: nvidia.com/gpu.clique
        labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: llama}}
  resourceClaims: [{name: imex, resourceClaimTemplateName: channel}]
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}, claims: [{name: imex}]}
",
        },
        run: compute_domains::domain_placement,
    },
];

const DOMAIN_JOB: &str = r"metadata:
  labels: {jobset.sigs.k8s.io/jobset-name: llama, jobset.sigs.k8s.io/replicatedjob-name: worker}
spec:
  resourceClaims: [{name: imex, resourceClaimTemplateName: channel}]
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}, claims: [{name: imex}]}
";
const NO_DOMAIN: &str = r"metadata:
  labels: {jobset.sigs.k8s.io/jobset-name: llama, jobset.sigs.k8s.io/replicatedjob-name: worker}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}}
";
