//! `trainmesh lint`, and findings in `trainmesh preview`.

use rstest::rstest;
use serde_json::Value;

use trainmesh_testing::cli::{assert_exit, trainmesh};

/// Findings of every severity: E FP005, W FP013, I FP010.
const JOB: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 3
      template:
        spec:
          containers:
          - name: pytorch
            image: i
            resources: {limits: {nvidia.com/gpu: 8}}
            env:
            - {name: NCCL_IB_RETRY_CNT, value: \"100\"}
            - {name: NCCL_IB_GID_INDEX, value: \"3\"}
";

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {istio-injection: enabled}}
";

/// A training job without settings of NCCL.
const PLAIN_JOB: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, image: i}]}}}
";

/// A job whose launcher passes SETTING to the ranks.
const MPI_JOB: &str = "\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: llama}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: launcher, image: i, command: [mpirun, -x, SETTING, train]}]}}}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - {name: worker, image: i, resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}
          volumes: [{name: shm, emptyDir: {medium: Memory}}]
";

/// Components of which one passes SETTING to ranks in the other.
const WRAPPED_MPI_JOB: &str = "\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: llama}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: launcher}
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - {name: launcher, image: i, command: [mpirun, -x, SETTING, -n, '16', train]}
  - template:
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: worker}
      spec:
        replicas: 2
        serviceName: worker
        selector: {matchLabels: {a: b}}
        template:
          metadata: {labels: {a: b}}
          spec:
            containers:
            - name: worker
              image: i
              command: [/usr/sbin/sshd, -De]
              env: [{name: NCCL_DEBUG, value: INFO}]
              resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
              volumeMounts: [{name: shm, mountPath: /dev/shm}]
            volumes: [{name: shm, emptyDir: {medium: Memory}}]
";

/// A job of Kubeflow Trainer whose launcher runs `mpirun`. `AS_NODE` selects whether the launcher also runs ranks.
const MPI_TRAIN_JOB: &str = "\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mpi}
spec:
  mlPolicy: {numNodes: 2, mpi: {numProcPerNode: 8, mpiImplementation: OpenMPI, runLauncherAsNode: AS_NODE}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i, command: [mpirun, -n, '16', train]}]}}}
      - name: node
        template:
          spec:
            template:
              spec: {containers: [{name: node, image: i, command: [/usr/sbin/sshd, -De], resources: {limits: {nvidia.com/gpu: 8}}}]}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama}
spec:
  runtimeRef: {name: mpi, kind: TrainingRuntime}
  trainer: {numNodes: 2, env: [{name: NCCL_IB_HCA, value: mlx5}]}
";

fn manifest_with(id: &str) -> String {
    let value = match id {
        "W" => "{name: NCCL_IB_DISABLE, value: \"true\"}",
        "I" => "{name: NCCL_IB_GID_INDEX, value: \"3\"}",
        _ => "{name: NCCL_DEBUG, value: INFO}",
    };
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - {{name: a, image: i, env: [{value}]}}\n"
    )
}

#[rstest]
#[case::text(&["lint", "-f", "-"], JOB, 1, &["stdin:", "PyTorchJob default/llama Worker", "FP005 E container pytorch: NCCL_IB_RETRY_CNT is 100", "why: ", "fix: set a value", "roles: 1; E: 1, W: 1, I: 2"], "")]
#[case::below_the_threshold(&["lint", "-f", "-"], &manifest_with("W"), 0, &["FP004 W"], "")]
#[case::warnings_fail(&["lint", "-f", "-", "--fail-on", "W"], &manifest_with("W"), 1, &["FP004 W"], "")]
#[case::notes_do_not_fail(&["lint", "-f", "-", "--fail-on", "W"], &manifest_with("I"), 0, &["FP010 I"], "")]
#[case::severity_as_a_word(&["lint", "-f", "-", "--fail-on", "warning"], &manifest_with("W"), 1, &["FP004 W"], "")]
#[case::information_as_a_word(&["lint", "-f", "-", "--fail-on", "info"], &manifest_with("I"), 1, &["FP010 I"], "")]
#[case::severity_that_does_not_exist(&["lint", "-f", "-", "--fail-on", "warnings"], "", 2, &[], "for conditions such as refused, use 'trainmesh preview --fail-on'")]
#[case::condition_of_preview(&["lint", "-f", "-", "--fail-on", "refused"], "", 2, &[], "use 'trainmesh preview --fail-on'")]
#[case::summary(
    &["lint", "-f", "-", "--summary"],
    &format!("{JOB}---\n{}", manifest_with("I")),
    1,
    &["CHECK   SEVERITY   FINDINGS   FILES   TITLE\nFP005   E          1          1       a number out of range\n",
        "FP010   I          2          1       a fixed GID index\n", "\n\nroles: 2; E: 1, W: 1, I: 3\n"],
    ""
)]
#[case::summary_of_a_warning_about_the_workload(
    &["lint", "-f", "-", "--summary", "--fail-on", "W"],
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {trainmesh.dev/inject: disabled}}\nspec: {template: {spec: {containers: [{name: a, image: i}]}}}\n",
    1,
    &["FP045   W          1          1       ", "\n\nroles: 1; E: 0, W: 1, I: 0\n"],
    ""
)]
#[case::summary_without_findings(&["lint", "-f", "-", "--summary"], &manifest_with(""), 0, &["assumed, because the input has no Namespace", "\n\nroles: 1; E: 0, W: 0, I: 0\n"], "")]
#[case::summary_as_json(&["lint", "-f", "-", "--summary", "-o", "json"], "", 2, &[], "cannot be used with")]
#[case::sarif_counts(&["lint", "-f", "-", "-o", "sarif"], JOB, 1, &["sarif-2.1.0"], "note: roles: 1; E: 1, W: 1, I: 2")]
#[case::invalid_namespace(&["lint", "-f", "-", "-n", "Bad NS"], "", 2, &[], "not a valid name of a namespace")]
#[case::explained_once(
    &["lint", "-f", "-", "--namespace-labels", ""],
    &format!("{}---\n{}", manifest_with("W"), manifest_with("W")),
    0,
    &["stdin:6 /spec/containers/0/env/0\n    why: ", "stdin:13 /spec/containers/0/env/0\n\nroles: 2"],
    ""
)]
#[case::another_fix_of_the_same_check(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: f, labels: {istio-injection: enabled}}\n---\n\
     apiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {istio-injection: enabled, trainmesh.dev/inject: enabled}}\n---\n\
     apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: one, namespace: b}\n\
     spec: {pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: a}]}}}}}\n---\n\
     apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: two, namespace: f}\n\
     spec: {pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: a}]}}}}}\n",
    0,
    &["    fix: label the namespace or the pods", "/metadata/annotations\n    fix: label the namespace trainmesh.dev/inject: enabled"],
    ""
)]
#[case::notes_fail(&["lint", "-f", "-", "--fail-on", "i"], &manifest_with("I"), 1, &["FP010 I"], "")]
#[case::clean(&["lint", "-f", "-", "--fail-on", "I"], &manifest_with(""), 0, &["roles: 1; E: 0, W: 0, I: 0"], "")]
#[case::errors_take_precedence(&["lint", "-f", "-"], &format!("{JOB}---\na: [\n"), 2, &["FP005 E"], "document 3")]
#[case::no_pods(&["lint", "-f", "-"], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 0, &["roles: 0"], "no document in the input creates pods")]
#[case::no_such_file(&["lint", "-f", "no/such.yaml"], "", 2, &[], "no/such.yaml")]
#[case::no_such_profile(&["lint", "-f", "-", "--fabric", "tpc"], JOB, 2, &[], "unknown fabric profile tpc: did you mean tcp?")]
#[case::with_a_profile(
    &[
        "lint", "-f", "-", "--fabric", "ib-shared", "--namespace-labels",
        "trainmesh.dev/inject=enabled,pod-security.kubernetes.io/enforce=baseline"
    ],
    JOB,
    1,
    &["FP046 W fabric is refused: FabricGuarded: "],
    ""
)]
#[case::refusal_at_the_field(
    &["lint", "-f", "-", "--fabric", "ib-shared"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: i\n    env:\n    - {name: NCCL_NET, value: Socket}\n    resources: {limits: {nvidia.com/gpu: 8}}\n",
    0,
    &["FP046 W fabric is refused: FabricContradicted: ", "stdin:9 /spec/containers/0/env/0\n"],
    ""
)]
#[case::profile_of_another_platform(
    &["lint", "-f", "-", "--fabric", "gke-rdma-gib-a4"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n  containers:\n  - name: a\n    image: i\n    resources: {limits: {nvidia.com/gpu: 8}}\n",
    0,
    &["the profile is not for p5.48xlarge: select eks-efa\n"],
    ""
)]
#[case::node_labels_that_exclude_each_other(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {pool: a}\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [b]}]}]}}}\n  containers: [{name: a, image: i}]\n",
    1,
    &["FP028 E no node matches: nodeSelector and required node affinity disagree on pool\n    stdin:5 /spec/nodeSelector/pool\n"],
    ""
)]
#[case::unknown_profile(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {trainmesh.dev/fabric: basement}}\nspec: {containers: [{name: a, image: i}]}\n",
    0,
    &["no fabric profile has this name: basement: trainmesh fabric list shows all, with --config also yours\n"],
    ""
)]
#[case::mesh_by_default(&["lint", "-f", "-"], JOB, 1, &["assumed, because the input has no Namespace: istio-injection=enabled,", "FP021 I NCCL and Gloo", "W: 1, I: 2"], "")]
#[case::mesh_by_labels(&["lint", "-f", "-", "--namespace-labels", "istio-injection=enabled"], JOB, 1, &["FP021 W NCCL and Gloo", "W: 2, I: 1"], "")]
#[case::labels_of_the_input_are_replaced(&["lint", "-f", "-", "--namespace-labels", "trainmesh.dev/inject=enabled"], &format!("{NAMESPACE}---\n{JOB}"), 1, &["FP005 E"], "note: --namespace-labels replaces the labels of Namespace default in the input: leave it out to use them\n")]
#[case::mesh_by_the_input(&["lint", "-f", "-"], &format!("{NAMESPACE}---\n{JOB}"), 1, &["FP021 W NCCL and Gloo"], "")]
#[case::mesh_in_preview(&["preview", "-f", "-"], JOB, 0, &["FP021 I NCCL and Gloo"], "")]
#[case::mesh_by_labels_in_preview(&["preview", "-f", "-", "--namespace-labels", "istio-injection=enabled,trainmesh.dev/inject=enabled"], JOB, 0, &["FP021 W NCCL and Gloo"], "")]
#[case::preview_of_an_assumed_mesh_succeeds(&["preview", "-f", "-", "--fail-on", "warning"], PLAIN_JOB, 0, &["FP021 I"], "")]
#[case::no_mesh(&["lint", "-f", "-", "--namespace-labels", "", "--fail-on", "E"], JOB, 1, &["namespace labels: none", "W: 1,"], "")]
#[case::launcher_of_a_train_job(
    &["lint", "-f", "-"],
    &MPI_TRAIN_JOB.replace("AS_NODE", "false"),
    0,
    &["FP042 W container node: mpirun does not pass NCCL_IB_HCA to the ranks"],
    ""
)]
#[case::launcher_of_a_train_job_with_ranks(
    &["lint", "-f", "-"],
    &MPI_TRAIN_JOB.replace("AS_NODE", "true"),
    0,
    &["FP023 W container node: NCCL_IB_HCA does not reach ranks that sshd starts"],
    ""
)]
#[case::launcher_that_disables_the_adapters_of_a_profile(
    &["lint", "-f", "-", "--fabric", "ib-shared"],
    &MPI_JOB.replace("SETTING", "NCCL_IB_DISABLE=1"),
    1,
    &["FP003 E container launcher: NCCL_IB_DISABLE is set: NCCL does not use rdma/hca_shared_devices_a"],
    ""
)]
#[case::launcher_with_a_profile(
    &["lint", "-f", "-", "--fabric", "ib-shared", "--fail-on", "W"],
    &MPI_JOB.replace("SETTING", "NCCL_DEBUG_SUBSYS=NET"),
    0,
    &["E: 0, W: 0"],
    ""
)]
#[case::launcher_in_another_component(
    &["lint", "-f", "-", "--fail-on", "W"],
    &WRAPPED_MPI_JOB.replace("SETTING", "NCCL_DEBUG"),
    0,
    &["E: 0, W: 0"],
    ""
)]
#[case::launcher_that_disables_the_adapters_of_another_component(
    &["lint", "-f", "-"],
    &WRAPPED_MPI_JOB.replace("SETTING", "NCCL_IB_DISABLE=1"),
    1,
    &["FP003 E container launcher: NCCL_IB_DISABLE is set: NCCL does not use rdma/ib"],
    ""
)]
#[case::roles_are_folded(&["lint", "-f", "examples/pytorchjob.yaml"], "", 0, &["examples/pytorchjob.yaml:2: PyTorchJob research/llama-pretrain Master, Worker\n"], "")]
#[case::invalid_pod(
    &["lint", "-f", "-", "--namespace-labels", ""],
    &manifest_with("").replace("INFO", "8"),
    1,
    &["FP049 E the apiserver rejects the pod: .spec.containers[0].env[0].value is 8: expected a string; quote it\n    stdin:6 /spec/containers/0/env/0/value\n"],
    ""
)]
#[case::help(&["lint", "--help"], "", 0, &["Examples:", "--fail-on", "Exit codes:"], "")]
#[case::in_preview(&["preview", "-f", "-"], JOB, 0, &["FP010 I", "why: Since 2.21", "fix: remove NCCL_IB_GID_INDEX"], "")]
#[case::in_preview_explain(&["preview", "-f", "-", "-o", "explain"], JOB, 0, &["FP005 E", "\n    stdin:19 /spec/containers/0/env/"], "")]
fn commands(
    #[case] arguments: &[&str],
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&trainmesh(arguments, input), code, stdout, stderr);
}

fn json(arguments: &[&str], input: &str) -> Value {
    let run = trainmesh(arguments, input);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

fn ids(lint: &Value) -> Vec<&str> {
    lint.as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn json_output_names_the_pod_and_the_field() {
    let value = json(&["lint", "-f", "-", "-o", "json"], JOB);
    assert_eq!(value["schemaVersion"], 1);
    let result = &value["results"][0];
    assert_eq!((&result["document"], &result["line"]), (&1.into(), &5.into()));
    assert_eq!((&result["role"], &result["replicas"]), (&"Worker".into(), &3.into()));
    assert_eq!(ids(&result["lint"]), ["FP005", "FP013", "FP010", "FP021"]);
    let fields: Vec<&String> = result["lint"][0].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "severity", "message", "cure", "field", "link", "line"]);
    assert!(value["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_preview_shows_each_finding_once() {
    let run = trainmesh(&["preview", "-f", "-"], JOB);
    assert_eq!(run.stdout.matches("NCCL_IB_RETRY_CNT is 100").count(), 1, "{run:#?}");
}

#[test]
fn preview_json_has_findings_only_if_there_are_any() {
    let result = &json(&["preview", "-f", "-", "-o", "json"], JOB)["results"][0];
    assert_eq!(ids(&result["lint"]), ["FP005", "FP013", "FP010", "FP021"]);
    let warnings: Vec<&str> =
        result["warnings"].as_array().unwrap().iter().map(|warning| warning.as_str().unwrap()).collect();
    assert!(warnings.contains(&"FP005: container pytorch: NCCL_IB_RETRY_CNT is 100, expected 0 to 7"), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.starts_with("FP010")), "notes must not be warnings: {warnings:?}");
    let clean = json(&["preview", "-f", "-", "-o", "json"], &manifest_with(""));
    assert!(clean["results"][0].get("lint").is_none());
}

const LEFT_OUT: &str = "the pod completes only if this container exits: logs is neither awaited nor terminated: \
    trainmesh.dev/payload-containers leaves it out";

/// FP050 of a container that neither the annotation nor the catalog names.
#[rstest]
#[case::left_out("", "{name: logs, image: i}", true)]
#[case::listed(",logs", "{name: logs, image: i}", false)]
#[case::of_the_catalog("", "{name: fluent-bit, image: i}", false)]
#[case::terminated_by_the_pod(
    "",
    "{name: logs, image: i, command: [sh, -c, 'while kill -0 $MAIN; do sleep 1; done']}",
    false
)]
fn containers_that_are_left_out(#[case] listed: &str, #[case] container: &str, #[case] is_reported: bool) {
    let job = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: tr}}\nspec:\n  template:\n    metadata: {{annotations: \
         {{trainmesh.dev/payload-containers: 'train{listed}'}}}}\n    spec:\n      restartPolicy: Never\n      containers: \
         [{{name: train, image: i}}, {container}]\n"
    );
    let value = json(&["lint", "-f", "-", "-o", "json"], &job);
    let findings = value["results"][0]["lint"].as_array().cloned().unwrap_or_default();
    let found = findings.iter().find(|finding| finding["id"] == "FP050");
    assert_eq!(found.is_some(), is_reported, "{value}");
    if let Some(found) = found {
        assert_eq!((&found["severity"], &found["field"]), (&"I".into(), &"/spec/containers/1".into()), "{found}");
        assert_eq!(found["message"], LEFT_OUT);
    }
}
