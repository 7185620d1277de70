//! Generates `docs/lint.md` from the table of checks.

use std::fmt::Write as _;

use super::{Check, checks, severity_letter};
use crate::finding::Severity;

const HEAD: &str = "\
# Lint checks

These checks find settings of a pod that break RDMA or NCCL, or slow them down (`FP`), and training jobs that never start, hang or lose
their work (`TR`). Three commands report them:

- The webhook returns errors and warnings, five at most, as admission warnings for pods that use a fabric, and
  FP045 for every pod. It never runs FP049, nor FP052 to FP059 and FP062, the checks about the mesh. FP021, FP046, FP050 and FP051 come
  as warnings of the rules.
- `trainmesh preview` shows the findings of pods that select a profile, request or claim an adapter, or set an NCCL
  variable; of other pods, only those about the whole job (also `TR`), labels, claims, unknown fields and the mesh. Like the webhook,
  it does not compare the settings of a launcher with the adapters of the other roles (FP003, FP044), as `lint` does.
- `trainmesh lint -f FILE` checks any manifest. It exits with code 1 if a finding reaches the severity `--fail-on`.

Checks that need facts of the cluster, such as nodes and quotas, report nothing if these are not available. The checks about
the mesh read Services, PeerAuthentications and DestinationRules of the input, and of the cluster with `preview --cluster`;
`trainmesh doctor` runs them on running pods. The `TR` checks compare
the roles of a job with each other and with the Services, claims for volumes, PodGroups and pods of etcd in the input; an admission
review contains one pod, so that the webhook does not run them. Give all manifests of a job in one command.

Settings are read from the environment of a container, from the configuration file that trainmesh mounts, and from the
command: `export NAME=VALUE` and `mpirun -x NAME=VALUE`. For a manifest, the checks also consider the other roles of the job,
with the adapters that their fabric profiles add. The table shows the default severity; checks document cases with another severity.

| severity | meaning |
|---|---|
| E | error: the pod or job fails |
| W | warning: likely a mistake |
| I | information |

To disable a check or change its severity, set `fabric.lint` in the configuration or `lint` in a profile:

```yaml
fabric:
  lint:
    disable: [FP010]
    severity: {FP013: I}
```

This page is generated from the table of checks. To update it, run `UPDATE_DOCS=1 cargo test --test unit docs::`.

";

const VENDORS: &str = "
## Manifests of vendors

The checks are held against manifests that vendors publish. `trainmesh lint -R -f .` in the checkouts of 2026-11-23 reads 386 pods,
and finds 6 errors, 22 warnings and 269 times information, without FP052 to FP059. These remain:

| finding | manifests | reason |
|---|---|---|
| FP049 E | 2 in one pod: awslabs/awsome-distributed-ai, `5.nsight/EKS/fsdp.yaml` | `nvidia.com/gpu:` has no value, so that the pod gets no GPU: fill it in before you apply the manifest |
| FP049 E | 4: GoogleCloudPlatform/cluster-toolkit, `gke-tpu-7x-job.yaml` (2), `bug-report-pod.yaml` (2) | `<CHIPS_PER_NODE>` and `<number_of_gpus>` are to be replaced: the apiserver rejects them |
| FP009 W | 4: crusoecloud/solutions-library, `torchtitan-llama3-70b-objectstore.yaml` (2); oracle-quickstart/oci-hpc-oke, `BM.GPU.GB200.4.yaml`, `BM.GPU.GB200-v2.4.yaml` | `mlx5_1` without `=` also selects `mlx5_10` and later adapters, if the node has them |
| FP013 W | 14: GoogleCloudPlatform/container-engine-accelerators, `gpudirect-tcpx` (10); GoogleCloudPlatform/cluster-toolkit, TCPX (3); Azure/aks-rdma-infiniband, `rccl/mpi-job.yaml` (1) | several GPUs without a volume at `/dev/shm`. The tests run because NCCL 2.24 and newer may use cuMem instead |
| FP026 W | 3: crusoecloud/solutions-library, `nccl-h100.yaml`, `nccl-h200.yaml`, `nccl-b200.yaml` | `NCCL_DEBUG=TRACE` slows NCCL down |
| FP044 W | 1: crusoecloud/solutions-library, `nccl-gb200.yaml` | `^m1x5_0` is a typing error for `^mlx5_0`, so that NCCL also uses this adapter |

If the placeholders of the manifests are filled in, 496 pods are read, with 2 further reasons: `/dev/shm` of 200Gi beside a smaller memory
limit (FP013, 3, DeepEP of awslabs/awsome-distributed-ai), and `NCCL_P2P_DISABLE=1` (FP026, 4, QLoRA of the same).

Of the checks of training jobs, 6 findings remain in 128 pods of six of these repositories, read on 2026-11-24 with placeholders filled in:

| finding | manifests | reason |
|---|---|---|
| TR006 W | 5: oracle-quickstart/oci-hpc-oke, `rccl-tests/kueue` | `restartPolicy: OnFailure` in the pod template of the workers: mpi-operator uses that of the replica spec |
| TR007 E | 1: awslabs/awsome-distributed-ai, `task-governance/3-imagenet-gpu-team-b-higher-prio.yaml` | `torchrun --nnodes=3` in a job of two Workers |

Commits: AI-Hypercomputer/gpu-recipes `2e1fd5e`, Azure/AKS `8d1c890`, Azure/ai-infrastructure-on-azure `a01b073`, Azure/aks-rdma-infiniband
`700dabb`, GoogleCloudPlatform/cluster-toolkit `1047080`, GoogleCloudPlatform/container-engine-accelerators `992db81`,
Mellanox/k8s-rdma-shared-dev-plugin `410b0f3`, Mellanox/network-operator `b06827e`, NVIDIA/aicr `bc05c6b`,
awslabs/awsome-distributed-ai `95b939c`, coreweave/nccl-tests `cb86553`, crusoecloud/solutions-library `8becda6`, kubeflow/trainer
`8c0f505`, kubernetes-sigs/dranet `f258477`, llm-d/llm-d `f458af2`, nebius/ml-cookbook `a2fb44d`, nebius/nebius-solution-library `b2a14f0`,
nebius/nebius-solutions-library `0616445`, nebius/soperator `c238d99`, oracle-quickstart/oci-hpc-oke `61d210a`.
";

/// Renders the page that documents every check.
#[must_use]
pub fn reference_page() -> String {
    let mut page = HEAD.to_owned();
    page += "| ID | severity | finding |\n|---|---|---|\n";
    for Check { id, severity, title, .. } in checks() {
        // Writing to a string cannot fail.
        let _ =
            writeln!(page, "| [{id}](#{}) | {} | {title} |", id.to_string().to_lowercase(), severity_letter(*severity));
    }
    for check in checks() {
        write_check(&mut page, check);
    }
    page + VENDORS
}

fn write_check(page: &mut String, check: &Check) {
    let Check { id, severity, title, why, fix, example, .. } = check;
    let severity_name = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Ok => "information",
    };
    let letter = severity_letter(*severity);
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## {id}\n\n{letter} ({severity_name}): {title}.\n\n{why}\n\nFix: {fix}.\n\n");
    let given = if example.given.is_empty() { String::new() } else { format!(" ({})", example.given) };
    let _ = write!(page, "Wrong{given}:\n\n```yaml\n{}```\n\nFixed:\n\n```yaml\n{}```\n", example.wrong, example.fixed);
}
