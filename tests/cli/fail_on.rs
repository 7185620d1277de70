//! `--fail-on`: each failure names its causes, whatever the condition and the output.

use std::io::Write as _;

use rstest::rstest;
use trainmesh_testing::cli::trainmesh;

/// A condition, and the codes or texts that one of the causes of each contains.
type Causes<'a> = &'a [(&'a str, &'a str)];

const CONDITIONS: [&str; 4] = ["changed", "refused", "unknown", "warning"];
const OUTPUTS: [&[&str]; 3] = [&["--summary"], &["-o", "diff"], &["-o", "json"]];

/// A Job in an opted-in namespace, with additional fields of the Job, the pod and the container.
fn job(job: &str, pod: &str, container: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec:\n{job}  template:\n    spec:\n      restartPolicy: \
         Never\n{pod}      containers:\n      - name: train\n        image: i\n{container}"
    )
}

/// A Job that claims devices from a template, and the template with these requests, if any.
fn claiming(requests: &str) -> String {
    let pod = "      resourceClaims: [{name: gpus, resourceClaimTemplateName: node}]\n";
    let job = job("", pod, "        resources: {claims: [{name: gpus}]}\n");
    if requests.is_empty() {
        return job;
    }
    format!(
        "{job}---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {{name: node}}\nspec: {{spec: {{devices: \
         {{requests: [{requests}]}}}}}}\n"
    )
}

/// A Namespace with these labels beside the opt-in, and a pod in it, in this order or the reverse.
fn in_namespace(labels: &str, pod_first: bool) -> String {
    let namespace = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: default, labels: {{trainmesh.dev/inject: enabled, {labels}}}}}\n"
    );
    let job = job("", "", "");
    if pod_first { format!("{job}---\n{namespace}") } else { format!("{namespace}---\n{job}") }
}

/// A PyTorchJob whose master opts out.
const PARTLY_OPTED_OUT: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        metadata: {labels: {trainmesh.dev/inject: disabled}}
        spec:
          containers: [{name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]
    Worker:
      replicas: 3
      template:
        spec:
          containers: [{name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]
";

fn check(manifest: &str, arguments: &[&str], expected: Causes<'_>) {
    for condition in CONDITIONS {
        for output in OUTPUTS {
            let command = [&["preview", "-f", "-", "--fail-on", condition], output, arguments].concat();
            let run = trainmesh(&command, manifest);
            let causes: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
            let start = format!("failed: {condition}: ");
            let texts = expected.iter().filter(|(of, _)| *of == condition).map(|(_, text)| *text);
            let missing: Vec<&str> = texts
                .filter(|text| !causes.iter().any(|line| line.starts_with(&start) && line.contains(text)))
                .collect();
            let fails = expected.iter().any(|(of, _)| *of == condition);
            assert_eq!((run.code, !causes.is_empty()), (Some(i32::from(fails)), fails), "{command:?}: {run:#?}");
            assert!(missing.is_empty(), "{command:?}: {missing:?}: {run:#?}");
        }
    }
}

const CHANGED_POD: (&str, &str) = ("changed", "stdin:1: Pod default/a: mesh.hold HoldAdded");
const CHANGED: (&str, &str) = ("changed", "stdin:1: Job default/a: mesh.hold HoldAdded");

#[rstest]
#[case::clean(&job("", "", ""), &[], &[CHANGED])]
#[case::not_opted_in(&job("", "", ""), &["--namespace-labels", ""], &[])]
#[case::audit(&job("", "", ""), &["--namespace-labels", "trainmesh.dev/inject=audit,istio-injection=enabled"], &[])]
#[case::problem_in_audit(
    &job("", "", "        resources: {limits: {nvidia.com/gpu: 8}}\n"),
    &["--fabric", "eks-efa", "--namespace-labels", "trainmesh.dev/inject=audit,istio-injection=enabled"],
    &[("refused", "fabric FabricContradicted"), ("warning", "fabric eks-efa not applied")]
)]
#[case::unknown_field_of_a_pod(
    &job("", "      nodeSelectr: {a: b}\n", ""), &[],
    &[CHANGED, ("unknown", "stdin:8: Job default/a: FP049: PodSpec has no field nodeSelectr"), ("warning", "FP049: PodSpec")]
)]
#[case::unknown_field_of_a_workload(
    &job("  paralelism: 2\n", "", ""), &[],
    &[CHANGED, ("unknown", "line 5: FP049: Job default/a: spec.paralelism"), ("warning", "line 5: FP049: Job default/a: spec.paralelism")]
)]
#[case::unknown_value(
    &job("", "", "").replace("Never", "Nevr"), &[],
    &[CHANGED, ("unknown", "FP049: the apiserver rejects restartPolicy=Nevr"), ("warning", "FP049: the apiserver rejects")]
)]
#[case::invalid_pod(
    &job("", "", "        env: [{name: A, value: 5}]\n"), &[],
    &[("refused", "stdin:11: Job default/a: FP049: the apiserver rejects the pod: .spec.containers[0].env[0].value is 5"), ("unknown", "FP049: the apiserver rejects the pod: "), ("warning", "stdin:11: Job default/a: FP049: the apiserver rejects the pod: ")]
)]
#[case::invalid_quantity(
    &job("", "", "        resources: {limits: {memory: 12GB}}\n"), &[],
    &[
        ("refused", "stdin:11: Job default/a: FP049: the apiserver rejects the pod: .spec.containers[0].resources.limits.memory is \"12GB\""),
        ("unknown", "stdin:11: Job default/a: FP049"),
        ("warning", "stdin:11: Job default/a: FP049"),
    ]
)]
#[case::quantity_that_is_read_as_zero(
    &job("", "", "        resources: {limits: {cpu: null}}\n"), &[],
    &[CHANGED, ("unknown", "stdin:11: Job default/a: FP049"), ("warning", "cpu is null: expected a quantity such as 8 or 4Gi; the apiserver reads it as 0")]
)]
#[case::misspelled_gpus(
    &job("", "", "        resources: {limits: {nvidia.com/gpus: 8}}\n"), &["--fabric", "eks-efa"],
    &[
        CHANGED,
        ("unknown", "stdin:11: Job default/a: FP049: no device plugin is known to provide nvidia.com/gpus: did you mean nvidia.com/gpu?"),
        ("warning", "stdin:11: Job default/a: fabric eks-efa not applied: train requests nvidia.com/gpus: did you mean nvidia.com/gpu?"),
    ]
)]
#[case::hold_that_the_pod_declines(
    &job("", "", "").replace("  template:\n", "  template:\n    metadata:\n      annotations:\n        proxy.istio.io/config: 'holdApplicationUntilProxyStarts: false'\n"), &[],
    &[("warning", "stdin:8: Job default/a: mesh.hold: holdApplicationUntilProxyStarts is false")]
)]
#[case::pod_without_spec(
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", &[],
    &[CHANGED_POD, ("unknown", "FP049: the apiserver rejects a pod without containers"), ("warning", "FP049")]
)]
#[case::running_sidecar(
    &job("", "", "      - {name: vault-agent, image: i}\n"), &[],
    &[CHANGED, ("refused", "termination.managed SidecarNotTerminated"), ("warning", "vault-agent keeps running")]
)]
#[case::line_of_a_label(
    &job("", "", "").replace("  template:\n", "  template:\n    metadata:\n      labels:\n        trainmesh.dev/mesh-traffic: disablecapture\n"), &[],
    &[
        CHANGED,
        ("refused", "stdin:8: Job default/a: mesh.traffic UnknownTrafficMode: the label trainmesh.dev/mesh-traffic has an unknown value: \"disablecapture\": did you mean disableCapture?"),
        ("unknown", "stdin:8: "),
        ("warning", "did you mean disableCapture?"),
    ]
)]
#[case::line_of_a_gang_mode(
    &job("", "", "").replace("  template:\n", "  template:\n    metadata:\n      labels:\n        trainmesh.dev/gang: vulcano\n"), &[],
    &[
        CHANGED,
        ("refused", "stdin:8: Job default/a: gang UnknownGangMode: the label trainmesh.dev/gang has an unknown value: \"vulcano\": did you mean volcano?"),
        ("unknown", "stdin:8: Job default/a: gang UnknownGangMode"),
        ("warning", "did you mean volcano?"),
    ]
)]
#[case::gang_mode_of_every_namespace(
    &job("", "", ""), &["--namespace-labels", "istio-injection=enabled,trainmesh.dev/inject=enabled,trainmesh.dev/gang=vulcano"],
    &[CHANGED, ("refused", "UnknownGangMode"), ("unknown", "UnknownGangMode"), ("warning", "did you mean volcano?")]
)]
#[case::line_of_a_node_selector(
    &job("", "      nodeSelector:\n        node.kubernetes.io/instance-type: BM.GPU.H200.8\n", "        resources: {limits: {nvidia.com/gpu: 8}}\n"),
    &["--fabric", "oke-roce-vf-h100"],
    &[CHANGED, ("refused", "stdin:9: Job default/a: fabric FabricContradicted"), ("warning", "select oke-roce-vf")]
)]
#[case::unknown_label(
    &job("", "", "").replace("  template:\n", "  template:\n    metadata: {labels: {trainmesh.dev/injct: a}}\n"), &[],
    &[CHANGED, ("unknown", "FP045: label trainmesh.dev/injct"), ("warning", "FP045")]
)]
#[case::unknown_label_of_an_invalid_pod(
    &job("", "", "        env: [{name: A, value: 5}]\n").replace("  template:\n", "  template:\n    metadata: {labels: {trainmesh.dev/injct: a}}\n"), &[],
    &[("refused", "env[0].value is 5"), ("unknown", "FP045: label trainmesh.dev/injct"), ("unknown", "env[0].value is 5"), ("warning", "FP045")]
)]
#[case::misplaced_label(
    &job("", "", "").replace("name: a}", "name: a, labels: {trainmesh.dev/inject: disabled}}"), &[],
    &[CHANGED, ("unknown", "FP045: Job default/a: trainmesh.dev/inject has no effect"), ("warning", "FP045: Job default/a")]
)]
#[case::label_of_a_namespace(
    &in_namespace("trainmesh.dev/injct: a", false), &[],
    &[("unknown", "line 3: FP045: Namespace default: label trainmesh.dev/injct"), ("warning", "line 3: FP045: Namespace default")]
)]
#[case::label_of_a_later_namespace(
    &in_namespace("trainmesh.dev/injct: a", true), &[],
    &[("unknown", "line 14: FP045: Namespace default: label trainmesh.dev/injct"), ("warning", "line 14: FP045: Namespace default")]
)]
#[case::label_of_a_namespace_for_its_pods_only(
    &in_namespace("istio.io/dataplane-mode: ambient, trainmesh.dev/mesh-traffic: disableCapture", false), &[],
    &[("unknown", "stdin:3: Namespace default: FP045: namespace label trainmesh.dev/mesh-traffic has no effect in ambient mode"), ("warning", "FP045")]
)]
#[case::refused_profile(
    &job("", "", "        env: [{name: NCCL_NET, value: Socket}]\n        resources: {limits: {nvidia.com/gpu: 8}}\n"),
    &["--fabric", "ib-shared"],
    &[CHANGED, ("refused", "NCCL_NET=Socket in train selects another transport"), ("warning", "ib-shared not applied")]
)]
#[case::efa_without_its_plugin(
    &job("", "      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n", "        env: [{name: NCCL_NET_PLUGIN, value: none}]\n        resources: {limits: {nvidia.com/gpu: 8}}\n"),
    &["--fabric", "eks-efa"],
    &[CHANGED, ("refused", "NCCL_NET_PLUGIN=none in train excludes the plugin"), ("warning", "eks-efa not applied")]
)]
#[case::efa_with_another_provider(
    &job("", "      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n", "        env: [{name: FI_PROVIDER, value: tcp}]\n        resources: {limits: {nvidia.com/gpu: 8}}\n"),
    &["--fabric", "eks-efa"],
    &[CHANGED, ("refused", "FI_PROVIDER=tcp in train selects another provider"), ("warning", "eks-efa not applied")]
)]
#[case::unknown_profile(
    &job("", "", "        resources: {limits: {nvidia.com/gpu: 8}}\n"),
    &["--namespace-labels", "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/fabric=tpc"],
    &[CHANGED, ("refused", "UnknownFabric"), ("unknown", "UnknownFabric"), ("warning", "tpc")]
)]
#[case::unknown_template(
    &claiming(""), &["--fabric", "eks-efa"],
    &[CHANGED, ("unknown", "stdin:12: Job default/a: FP051: container train: template node"), ("warning", "template node")]
)]
#[case::unknown_class(
    &claiming("{name: gpu, exactly: {deviceClassName: gpu.nvida.com, count: 8}}"), &["--fabric", "eks-efa"],
    &[CHANGED, ("unknown", "FP051: container train: class gpu.nvida.com in template node is unknown"), ("warning", "gpu.nvida.com")]
)]
#[case::unknown_request(
    &claiming("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}").replace("[{name: gpus}]}", "[{name: gpus, request: gpuu}]}"),
    &["--fabric", "eks-efa"],
    &[CHANGED, ("unknown", "FP051: container train: template node lacks a request that the container refers to"), ("warning", "")]
)]
#[case::cost_of_the_selected_mode(
    &job("", "", ""), &["--namespace-labels", "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=disableCapture"],
    &[("changed", "mesh.traffic CaptureDisabled")]
)]
#[case::finding_about_the_whole_job(
    PARTLY_OPTED_OUT, &["--fabric", "ib-shared"],
    &[("changed", "PyTorchJob default/a Worker"), ("warning", "stdin:8: PyTorchJob default/a Master: FP031: Worker gets ib-shared, and Master opted out")]
)]
#[case::known_template(
    &claiming("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}"), &["--fabric", "ib-shared"], &[CHANGED]
)]
#[case::unknown_template_without_a_profile(&claiming(""), &[], &[CHANGED])]
#[case::duplicate_key(&job("  suspend: true\n  suspend: false\n", "", ""), &[], &[CHANGED, ("warning", "is already set on line 5")])]
#[case::unsupported_kind(
    "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec: {templates: [{name: t, container: {image: i, resources: \
     {limits: {nvidia.com/gpu: 8}}}}]}\n",
    &[], &[("unknown", "Workflow is not supported")]
)]
fn each_failure_names_its_causes(#[case] manifest: &str, #[case] arguments: &[&str], #[case] expected: Causes<'_>) {
    check(manifest, arguments, expected);
}

/// A refusal has the same line and field wherever it is reported.
#[rstest]
#[case::whole_pod("", "--fabric", "stdin:6", "/spec")]
#[case::label(
    "metadata: {labels: {trainmesh.dev/fabric: eks-efa}}\n    ",
    "",
    "stdin:6",
    "/metadata/labels/trainmesh.dev~1fabric"
)]
fn refusals_have_a_line_and_a_field(
    #[case] metadata: &str,
    #[case] flag: &str,
    #[case] position: &str,
    #[case] field: &str,
) {
    let job = job("", "", "        resources: {limits: {nvidia.com/gpu: 8}}\n")
        .replace("    spec:\n      restart", &format!("    {metadata}spec:\n      restart"));
    let flags: &[&str] = if flag.is_empty() { &[] } else { &[flag, "eks-efa"] };
    let run = |arguments: &[&str]| trainmesh(&[arguments, &["-f", "-"], flags].concat(), &job);
    let place = format!("{position} {field}\n");
    for arguments in [&["preview"][..], &["preview", "-o", "explain"], &["lint"]] {
        let run = run(arguments);
        assert!(run.stdout.contains(&place), "{arguments:?}: {run:#?}");
    }
    let json: serde_json::Value = serde_json::from_str(&run(&["preview", "-o", "json"]).stdout).unwrap();
    let rules = json["results"][0]["rules"].as_array().unwrap();
    let fields: Vec<&serde_json::Value> =
        rules.iter().filter(|rule| rule["outcome"] == "refused").map(|rule| &rule["field"]).collect();
    assert_eq!(fields, [field], "{json:#}");
    for (condition, cause) in [("refused", "fabric FabricContradicted"), ("warning", "fabric eks-efa not applied")] {
        let run = run(&["preview", "--summary", "--fail-on", condition]);
        assert!(run.stderr.contains(&format!("failed: {condition}: {position}: Job default/a: {cause}")), "{run:#?}");
    }
}

/// Each cause is named once, with the same condition, whatever the order of the flag.
#[rstest]
#[case::invalid_pod(
    &job("", "", "        env: [{name: A, value: 5}]\n"), "", &["refused", "unknown", "warning"],
    &["unknown: stdin:11: Job default/a: FP049: the apiserver rejects the pod: .spec.containers[0].env[0].value is 5: expected a string; quote it"]
)]
#[case::unquoted_label(
    &job("", "", "").replace("  template:\n", "  template:\n    metadata: {labels: {a: true}}\n"), "", &["refused", "unknown"],
    &["unknown: stdin:6: Job default/a: FP049: the apiserver rejects the pod: .metadata.labels.a is true: expected a string; quote it"]
)]
#[case::invalid_pod_that_is_refused(
    &job("", "", "        env: [{name: A, value: 5}]\n"), "", &["refused"],
    &["refused: stdin:11: Job default/a: FP049: the apiserver rejects the pod: .spec.containers[0].env[0].value is 5: expected a string; quote it"]
)]
#[case::unknown_profile(
    &job("", "", ""), "eks-efaa", &["unknown", "refused", "warning"],
    &[
        "unknown: --namespace-labels: FP045: label trainmesh.dev/fabric=eks-efaa: no fabric profile has this name",
        "unknown: stdin:3: Job default/a: fabric UnknownFabric",
    ]
)]
#[case::refused_profile(
    &job("", "", "        resources: {limits: {nvidia.com/gpu: 8}}\n"), "eks-efa", &["refused", "warning"],
    &["refused: stdin:6: Job default/a: fabric FabricContradicted", "warning: stdin:9: Job default/a: FP013"]
)]
fn a_cause_is_named_once(
    #[case] manifest: &str,
    #[case] profile: &str,
    #[case] conditions: &[&str],
    #[case] expected: &[&str],
) {
    let fabric = format!("istio-injection=enabled,trainmesh.dev/inject=enabled,trainmesh.dev/fabric={profile}");
    let labels: &[&str] = if profile.is_empty() { &[] } else { &["--namespace-labels", &fabric] };
    let reverse: Vec<&str> = conditions.iter().rev().copied().collect();
    for order in [conditions.join(","), reverse.join(",")] {
        let run = trainmesh(&[&["preview", "-f", "-", "--summary", "--fail-on", &order], labels].concat(), manifest);
        let causes: Vec<&str> = run.stderr.lines().filter_map(|line| line.strip_prefix("failed: ")).collect();
        let is_expected = |(cause, start): (&&str, &&str)| cause.starts_with(start);
        assert_eq!(causes.len(), expected.len(), "{order}: {run:#?}");
        assert!(causes.iter().zip(expected).all(is_expected), "{order}: {run:#?}");
    }
}

/// A pipeline with `pipefail` must not take an unread result for success.
#[test]
fn a_closed_pipe_is_no_success() {
    let job = trainmesh_testing::repository().join("examples/pytorchjob.yaml");
    for command in ["preview", "lint"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = std::process::Command::new(trainmesh_testing::program())
            .args([command, "-f"])
            .arg(&job)
            .stdout(writer)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(141), "{command}");
    }
}

/// Direct traffic warns about its meaning, which is no problem of the job.
#[test]
fn a_correct_job_with_direct_traffic_has_no_cause() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    config.write_all(b"config: {mesh: {traffic: direct, podCIDRs: [10.244.0.0/16]}}\n").unwrap();
    let indexed = "  parallelism: 2\n  completions: 2\n  completionMode: Indexed\n";
    let container = "        resources: {limits: {nvidia.com/gpu: 8}}\n        env: [{name: PET_NNODES, value: '2'}]\n";
    let job = job(indexed, "", container);
    let run = |output: &str| {
        let path = config.path().to_str().unwrap();
        trainmesh(&["preview", "-f", "-", "--config", path, "--fail-on", "warning", "-o", output], &job)
    };
    let (explained, json) = (run("explain"), run("json"));
    assert!(explained.stdout.contains("TrafficDirect"), "{explained:#?}");
    assert!(json.stdout.contains("leave the mesh"), "{json:#?}");
    assert_eq!((explained.code, json.code), (Some(0), Some(0)), "{explained:#?}");
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let result = &document["results"][0];
    assert_eq!(
        (result["warnings"].as_array().map(Vec::len), &result["notes"]),
        (Some(1), &result["warnings"]),
        "{json:#?}"
    );
}
