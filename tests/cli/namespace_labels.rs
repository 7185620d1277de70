//! Labels of namespaces that have no effect, where the labels come from, and the opt-out of a pod.

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i}]}\n";

#[rstest]
#[case::preview(&["preview", "--summary"])]
#[case::json(&["preview", "-o", "json"])]
#[case::lint(&["lint", "--summary"])]
fn labels_without_effect_in_the_flag_are_reported_once(#[case] command: &[&str]) {
    let labels = "trainmesh.dev/injct=enabled,trainmesh.dev/fabric=eks-efaa,trainmesh.dev/gang=volcano";
    let arguments = [command, &["-f", "-", "--namespace-labels", labels]].concat();
    let run = trainmesh(&arguments, &format!("{POD}---\n{POD}"));
    let warnings: Vec<&str> =
        run.stderr.lines().filter(|line| line.starts_with("warning: --namespace-labels")).collect();
    let expected = [
        "warning: --namespace-labels: FP045: label trainmesh.dev/fabric=eks-efaa: no fabric profile has this name: did you mean eks-efa?",
        "warning: --namespace-labels: FP045: label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?",
    ];
    assert_eq!(warnings, expected, "{run:#?}");
}

/// The opt-in is missing in the labels that replace the assumed ones.
#[rstest]
#[case::fabric(&["--fabric", "tcp"], "trainmesh.dev/fabric")]
#[case::gang(&["--gang", "kueue"], "trainmesh.dev/gang")]
fn labels_of_other_flags_are_reported_with_their_flag(#[case] flags: &[&str], #[case] key: &str) {
    let arguments = [&["lint", "-f", "-", "--namespace-labels", "istio-injection=enabled"], flags].concat();
    let warning = format!(
        "warning: {}: FP045: label {key} has no effect without trainmesh.dev/inject=enabled on the namespace: add the latter to \
         --namespace-labels\n",
        flags[0]
    );
    assert_exit(&trainmesh(&arguments, POD), 0, &[], &warning);
}

/// They are counted like those of a Namespace in the input, also if a label of the pod takes precedence.
#[rstest]
#[case::unknown(&["preview", "--summary", "--fail-on", "unknown"], 1)]
#[case::warning(&["preview", "-o", "json", "--fail-on", "warning"], 1)]
#[case::refused(&["preview", "--summary", "--fail-on", "refused"], 0)]
#[case::lint(&["lint", "--fail-on", "W"], 1)]
#[case::lint_errors(&["lint"], 0)]
fn labels_without_effect_in_the_flag_fail_a_check(#[case] command: &[&str], #[case] code: i32) {
    let labels = "trainmesh.dev/inject=enabled,trainmesh.dev/fabric=tcpp";
    let pod = POD.replace("{name: a}\nspec", "{name: a, labels: {trainmesh.dev/fabric: none}}\nspec");
    let run = trainmesh(&[command, &["-f", "-", "--namespace-labels", labels]].concat(), &pod);
    let warning = "warning: --namespace-labels: FP045: label trainmesh.dev/fabric=tcpp: no fabric profile has this name: did you mean tcp?\n";
    assert_exit(&run, code, &[], warning);
}

#[test]
fn labels_without_effect_in_the_flag_are_in_json_and_sarif() {
    let arguments = ["-f", "-", "--namespace-labels", "trainmesh.dev/injct=enabled"];
    let run = trainmesh(&[&["lint", "-o", "json"], &arguments[..]].concat(), POD);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let message = "label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?";
    let expected = serde_json::json!([
        {"source": "--namespace-labels", "document": 0, "line": null, "id": "FP045", "severity": "W", "message": message}
    ]);
    assert_eq!(report["warnings"], expected);
    let run = trainmesh(&[&["lint", "-o", "sarif"], &arguments[..]].concat(), POD);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let result = &report["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["message"]["text"]), (&"FP045".into(), &message.into()));
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "--namespace-labels");
    let run = trainmesh(&[&["lint", "--summary"], &arguments[..]].concat(), POD);
    assert!(run.stdout.contains("W: 1"), "{run:#?}");
}

#[rstest]
#[case::gang("trainmesh.dev/gang=vulcano")]
#[case::traffic("trainmesh.dev/mesh-traffic=drect")]
#[case::fabric("trainmesh.dev/fabric=eks-efaa")]
fn unknown_values_are_counted_alike(#[case] label: &str) {
    let labels = format!("istio-injection=enabled,trainmesh.dev/inject=enabled,{label}");
    let pod = POD.replace("image: i", "image: i, resources: {limits: {nvidia.com/gpu: 8}}");
    let run = trainmesh(&["preview", "-f", "-", "--summary", "--namespace-labels", &labels], &pod);
    assert!(run.stdout.contains("1 with a refused rule, 1 unknown or invalid"), "{run:#?}");
}

#[rstest]
#[case::fabric(
    &["--fabric", "tcp"],
    "namespace labels: assumed, because the input has no Namespace: \
     istio-injection=enabled,trainmesh.dev/inject=enabled; trainmesh.dev/fabric=tcp for all (--fabric)"
)]
#[case::both(
    &["--namespace-labels", "a=b", "--fabric", "tcp", "--gang", "native"],
    "namespace labels: a=b (--namespace-labels); trainmesh.dev/fabric=tcp for all (--fabric); trainmesh.dev/gang=native for all (--gang)"
)]
#[case::only_the_flag(&["--namespace-labels", ""], "namespace labels: none (--namespace-labels)")]
fn the_origin_of_labels_is_shown(#[case] arguments: &[&str], #[case] expected: &str) {
    let run = trainmesh(&[&["preview", "-f", "-", "--summary"], arguments].concat(), POD);
    assert!(run.stderr.lines().any(|line| line == format!("note: {expected}")), "{run:#?}");
}

#[rstest]
#[case::two_values(&["a=b,a=c"], 2, "a has the values \"b\" and \"c\": remove one")]
#[case::one_value(&["a=b,a=b"], 0, "")]
#[case::two_flags(&["a=b", "a=c"], 0, "note: --namespace-labels a=c replaces a=b: the last one counts\n")]
#[case::two_keys(&["a=b", "c=b"], 0, "")]
fn one_label_with_two_values_is_reported(#[case] flags: &[&str], #[case] code: i32, #[case] expected: &str) {
    let flags: Vec<&str> = flags.iter().flat_map(|labels| ["--namespace-labels", *labels]).collect();
    for command in ["lint", "preview"] {
        let run = trainmesh(&[&[command, "-f", "-"][..], &flags].concat(), POD);
        assert_eq!(run.code, Some(code), "{run:#?}");
        assert!(run.stderr.contains(expected), "{run:#?}");
        assert_eq!(run.stderr.contains("replaces") || code == 2, !expected.is_empty(), "{run:#?}");
    }
}

#[rstest]
#[case::of_the_document("a=b", true)]
#[case::of_the_flag("trainmesh.dev/inject=enabled,trainmesh.dev/fabric=tcp", false)]
fn an_opt_in_from_elsewhere_counts(#[case] labels: &str, #[case] is_reported: bool) {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {trainmesh.dev/fabric: tcp}}\n";
    for command in ["lint", "preview"] {
        let input = format!("{namespace}---\n{POD}");
        let run = trainmesh(&[command, "-f", "-", "--namespace-labels", labels], &input);
        assert_eq!(run.stderr.contains("has no effect without trainmesh.dev/inject"), is_reported, "{run:#?}");
    }
}

#[test]
fn warnings_about_a_namespace_are_in_the_order_of_its_lines() {
    let namespace = "\
apiVersion: v1
kind: Namespace
metadata:
  name: default
  annotations:
    trainmesh.dev/fabric: tcp
  labels:
    trainmesh.dev/zone: a
    trainmesh.dev/injct: enabled
    istio-injection: enable
";
    let run = trainmesh(&["preview", "-f", "-", "--summary"], namespace);
    let warnings = run.stderr.lines().filter(|line| line.starts_with("warning: "));
    let lines: Vec<&str> = warnings.filter_map(|line| line.split(':').nth(2)).collect();
    assert_eq!(
        lines,
        [" document 1, line 6", " document 1, line 8", " document 1, line 9", " document 1, line 10"],
        "{run:#?}"
    );
}

/// Both commands report the labels of a Namespace once, on its lines, whatever pods are in it.
#[rstest]
#[case::lint(&["lint", "--fail-on", "info"])]
#[case::preview(&["preview", "--fail-on", "unknown"])]
#[case::summary(&["preview", "--summary", "--fail-on", "warning"])]
#[case::json(&["preview", "-o", "json", "--fail-on", "warning"])]
fn labels_without_an_opt_in_are_reported_with_their_namespace(#[case] command: &[&str]) {
    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n  labels:\n    trainmesh.dev/fabric: tcp\n";
    let run = trainmesh(&[command, &["-f", "-"]].concat(), &format!("{POD}---\n{namespace}---\n{POD}"));
    let warning = "stdin: document 2, line 11: FP045: Namespace default: label trainmesh.dev/fabric has no effect without \
                   trainmesh.dev/inject=enabled on the namespace";
    assert_exit(&run, 1, &[], &format!("warning: {warning}\n"));
    assert!(!run.stdout.contains("FP045 W"), "{run:#?}");
    let failures: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
    assert!(failures.len() < 2 && failures.iter().all(|line| line.ends_with(warning)), "{run:#?}");
}

/// The labels that are assumed are shown before the first pods that get them, and not at all if there are none.
#[rstest]
#[case::preview(&["preview"])]
#[case::explain(&["preview", "-o", "explain"])]
#[case::summary(&["preview", "--summary"])]
#[case::verbose(&["preview", "-o", "yaml", "-v"])]
#[case::lint(&["lint"])]
fn assumed_labels_are_shown_if_they_apply(#[case] command: &[&str]) {
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
    let assumed = "assumed for other namespaces: istio-injection=enabled,trainmesh.dev/inject=enabled";
    for (other, count) in [
        ("", 0),
        (
            "---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: team}\nspec: {containers: [{name: a, image: i}]}\n",
            1,
        ),
    ] {
        let run = trainmesh(&[command, &["-f", "-"]].concat(), &format!("{POD}{namespace}{other}"));
        let output = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(output.matches(assumed).count(), count, "{run:#?}");
        assert!(output.contains("namespace labels: those of the input's Namespaces"), "{run:#?}");
    }
}

/// A misspelled namespace of a job switches everything off that the labels of its Namespace select.
#[rstest]
#[case::preview(&["preview"], true)]
#[case::yaml(&["preview", "-o", "yaml"], true)]
#[case::summary(&["preview", "--summary"], true)]
#[case::lint(&["lint"], true)]
#[case::lint_summary(&["lint", "--summary"], true)]
#[case::sarif(&["lint", "-o", "sarif"], true)]
#[case::json(&["preview", "-o", "json"], false)]
#[case::all_assumed(&["preview", "--namespace-labels", "a=b"], false)]
fn namespaces_with_assumed_labels_are_named(#[case] command: &[&str], #[case] is_named: bool) {
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
    let others: Vec<String> = ["e", "b", "c", "a", "d"]
        .iter()
        .map(|name| format!("---\n{}", POD.replace("{name: a}", &format!("{{name: a, namespace: {name}}}"))))
        .collect();
    let input = format!("{POD}{}{namespace}", others.concat());
    let run = trainmesh(&[command, &["-f", "-"]].concat(), &input);
    let note = "note: labels are assumed for namespaces that have no Namespace in the input, unlike others: a (stdin:21), b (stdin:11), c (stdin:16), d (stdin:26) and 1 more\n";
    assert_eq!(run.stderr.contains(note), is_named, "{run:#?}");
    // Without a Namespace, the labels of all are assumed.
    let run = trainmesh(&[command, &["-f", "-"]].concat(), &input.replace(namespace, ""));
    assert!(!run.stderr.contains("labels are assumed for"), "{run:#?}");
    assert!(!run.stdout.contains("input's Namespaces") && !run.stderr.contains("input's Namespaces"), "{run:#?}");
}

/// Without pods, no labels apply.
#[rstest]
#[case::lint(&["lint"])]
#[case::sarif(&["lint", "-o", "sarif"])]
#[case::preview(&["preview", "--summary"])]
fn an_input_without_pods_has_no_premise(#[case] command: &[&str]) {
    let run = trainmesh(&[command, &["-f", "-"]].concat(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("namespace labels"), "{run:#?}");
    assert!(!run.stderr.contains("note: \n"), "{run:#?}");
}

/// The report contains the warnings of the admission response, the text those that the warning about the Namespace does not repeat.
#[test]
fn warnings_about_a_namespace_stay_in_the_response() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {trainmesh.dev/inject: enabled, \
                     trainmesh.dev/mesh-trafic: direct}}\n";
    let input = format!("{namespace}---\n{POD}");
    let run = trainmesh(&["preview", "-f", "-", "-o", "json"], &input);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let warning =
        "FP045: namespace label trainmesh.dev/mesh-trafic has no effect: did you mean trainmesh.dev/mesh-traffic?";
    assert_eq!(report["results"][0]["warnings"], serde_json::json!([warning]), "{run:#?}");
    let run = trainmesh(&["preview", "-f", "-"], &input);
    assert!(!run.stdout.contains("mesh-trafic") && run.stderr.contains("label trainmesh.dev/mesh-trafic"), "{run:#?}");
}

/// Without the mode `direct`, no rule reads the annotation.
#[rstest]
#[case::ignored("disableCapture", 1, &["FP045", "annotation trainmesh.dev/mesh-ports has no effect with disableCapture\n", "includeInboundPorts"])]
#[case::other_mode("leave", 1, &["FP045", "trainmesh.dev/mesh-ports=80,abc has no effect: expected ports such as 8080,6006"])]
#[case::read("direct", 1, &["FP046", "MeshPortsInvalid"])]
fn invalid_ports_are_reported_once(#[case] mode: &str, #[case] count: usize, #[case] parts: &[&str]) {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut config, b"config: {mesh: {podCIDRs: [10.244.0.0/16]}}\n").unwrap();
    let job = format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec: {{pytorchReplicaSpecs: {{Worker: {{replicas: 2, \
         template: {{metadata: {{labels: {{trainmesh.dev/mesh-traffic: {mode}}}, annotations: {{trainmesh.dev/mesh-ports: '80,abc'}}}}, \
         spec: {{containers: [{{name: pytorch, image: i}}]}}}}}}}}}}\n"
    );
    let run = trainmesh(&["lint", "-f", "-", "--config", config.path().to_str().unwrap()], &job);
    assert_eq!(run.stdout.matches("FP04").count(), count, "{run:#?}");
    assert!(parts.iter().all(|part| run.stdout.contains(part)), "{run:#?}");
}

/// The webhook does not get such a pod, so that only manifests show the problem.
#[rstest]
#[case::lint("lint")]
#[case::preview("preview")]
fn an_opted_out_pod_that_is_injected_is_reported(#[case] command: &str) {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {trainmesh.dev/inject: disabled}}\nspec: {restartPolicy: Never, \
               containers: [{name: a, image: i}]}\n";
    let run = trainmesh(&[command, "-f", "-"], pod);
    let finding = "FP061 I trainmesh.dev/inject=disabled excludes the pod: a classic sidecar keeps it running";
    assert_exit(&run, 0, &[finding], "");
    let run = trainmesh(&[command, "-f", "-", "--namespace-labels", "trainmesh.dev/inject=enabled"], pod);
    assert!(!run.stdout.contains("FP061"), "{run:#?}");
}

#[rstest]
#[case::lint("lint")]
#[case::preview("preview")]
fn a_profile_of_an_opted_out_pod_is_reported(#[case] command: &str) {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {trainmesh.dev/inject: disabled, trainmesh.dev/fabric: tcp}}\n\
               spec: {restartPolicy: Never, containers: [{name: a, image: i}]}\n";
    let run = trainmesh(&[command, "-f", "-", "--namespace-labels", "trainmesh.dev/inject=enabled"], pod);
    let finding = "FP045 W label trainmesh.dev/fabric has no effect: the pod is labeled trainmesh.dev/inject=disabled";
    assert_exit(&run, 0, &[finding], "");
}

/// The rules, which report captured traffic, do not run for these pods.
#[rstest]
#[case::lint("lint")]
#[case::preview("preview")]
fn captured_traffic_of_opted_out_pods_is_reported(#[case] command: &str) {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
               template:\n    metadata: {labels: {trainmesh.dev/inject: disabled}}\n    spec: {restartPolicy: Never, containers: [{name: a, \
               image: i, command: [torchrun, \
               --nnodes=2, --rdzv-backend=c10d, --rdzv-endpoint=rank0, t.py]}]}\n";
    let labels = "trainmesh.dev/inject=enabled,istio-injection=enabled";
    let run = trainmesh(&[command, "-f", "-", "--namespace-labels", labels], job);
    let finding =
        "FP021 W NCCL and Gloo hang behind Envoy, and trainmesh.dev/inject=disabled excludes the pod: remove the label";
    assert_exit(&run, 0, &[finding], "");
    let run = trainmesh(&[command, "-f", "-", "--namespace-labels", "trainmesh.dev/inject=enabled"], job);
    assert!(!run.stdout.contains("FP021"), "{run:#?}");
}

/// A label of the Namespace is reported as that of a pod is.
#[rstest]
#[case::lint("lint")]
#[case::preview("preview")]
fn traffic_that_a_namespace_leaves_behind_envoy_is_reported(#[case] command: &str) {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
               template: {spec: {restartPolicy: Never, containers: [{name: a, image: i, command: [torchrun, \
               --nnodes=2, --rdzv-backend=c10d, --rdzv-endpoint=rank0, t.py]}]}}\n";
    let labels = "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=leave";
    let run = trainmesh(&[command, "-f", "-", "--namespace-labels", labels], job);
    assert_exit(&run, 0, &["FP021 I NCCL and Gloo hang behind Envoy, and trainmesh.dev/mesh-traffic=leave"], "");
}

/// In a namespace that is always excluded, no label has an effect.
#[rstest]
#[case::system("kube-system", "trainmesh.dev/inject: enabled", &["trainmesh.dev/inject"])]
#[case::installation("trainmesh-system", "trainmesh.dev/inject: audit", &["trainmesh.dev/inject"])]
#[case::without_an_opt_in("kube-system", "trainmesh.dev/fabric: tcp", &["trainmesh.dev/fabric"])]
#[case::all("kube-system", "trainmesh.dev/inject: enabled, trainmesh.dev/gang: native", &["trainmesh.dev/inject", "trainmesh.dev/gang"])]
#[case::neutral("kube-system", "trainmesh.dev/inject: disabled, trainmesh.dev/fabric: none", &[])]
#[case::another("team-a", "trainmesh.dev/inject: enabled", &[])]
fn labels_of_excluded_namespaces_are_reported(#[case] name: &str, #[case] labels: &str, #[case] expected: &[&str]) {
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n");
    let input = format!("{namespace}---\n{}", POD.replace("name: a}", &format!("name: a, namespace: {name}}}")));
    for command in ["lint", "preview"] {
        let run = trainmesh(&[command, "-f", "-"], &input);
        let found: Vec<&str> = run.stderr.lines().filter(|line| line.contains("FP045")).collect();
        let start = format!("warning: stdin: document 1, line 3: FP045: Namespace {name}: label ");
        let expected: Vec<String> = expected
            .iter()
            .map(|key| format!("{start}{key} has no effect: pods in this namespace are never changed"))
            .collect();
        assert_eq!(found, expected, "{run:#?}");
        assert!(!run.stdout.contains("FP045"), "{run:#?}");
    }
}

const JOB: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: team-a}\nspec: {containers: [{name: a, image: i}]}\n";

/// As in the cluster, the namespaces that the values exclude are not changed.
#[rstest]
#[case::listed(&["webhook: {excludedNamespaces: [kube-system, team-a]}\n"], false, "")]
#[case::of_a_parent_chart(&["trainmesh: {webhook: {excludedNamespaces: [kube-system, team-a]}}\n"], false, "")]
#[case::another(&["webhook: {excludedNamespaces: [kube-system, team-b]}\n"], true, "")]
#[case::list_of_a_later_file(&["webhook: {excludedNamespaces: [team-a]}\n", "webhook: {excludedNamespaces: [team-b]}\n"], true, "")]
#[case::conditions(
    &["webhook: {objectSelector: {matchLabels: {a: b}}, matchConditions: [{name: a, expression: 'true'}]}\n"], true,
    "note: the conditions in webhook.objectSelector, webhook.matchConditions are not evaluated: pods that they exclude are shown as if"
)]
#[case::configuration(&["apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n"], true, "")]
fn namespaces_that_values_exclude_are_not_changed(#[case] values: &[&str], #[case] changed: bool, #[case] note: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = Vec::new();
    for (index, text) in values.iter().enumerate() {
        let path = folder.path().join(format!("{index}.yaml"));
        std::fs::write(&path, text).unwrap();
        arguments.extend(["--config".to_owned(), path.to_str().unwrap().to_owned()]);
    }
    let run = |command: &[&str]| {
        let flags = arguments.iter().map(String::as_str);
        trainmesh(&command.iter().copied().chain(["-f", "-"]).chain(flags).collect::<Vec<_>>(), JOB)
    };
    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {trainmesh.dev/inject: enabled}}\n";
    let flags = arguments.iter().map(String::as_str);
    let lint = trainmesh(&["lint", "-f", "-"].into_iter().chain(flags).collect::<Vec<_>>(), namespace);
    assert_eq!(lint.stderr.contains("pods in this namespace are never changed"), !changed, "{lint:#?}");
    let preview = run(&["preview", "-o", "explain"]);
    assert_eq!(preview.stdout.contains("applied  HoldAdded"), changed, "{preview:#?}");
    assert_eq!(preview.stdout.contains("ExcludedNamespace"), !changed, "{preview:#?}");
    for printed in [preview, run(&["lint"])] {
        assert!(
            printed.stderr.contains(note) && (!note.is_empty() || !printed.stderr.contains("evaluated")),
            "{printed:#?}"
        );
    }
}
