//! Terminal output with hostile names, labels and files: it contains no control characters from them and no forged
//! line.

pub mod pty;

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;
use trainmesh_core::config::{API_VERSION, KIND};
use trainmesh_core::printable::is_printable;

use pty::in_terminal;
use trainmesh_testing::apiserver::Apiserver;

/// Clears the line, sets red with a C1 character, reorders and hides text, and starts lines of its own.
const HOSTILE: &str = "a\u{1b}[2K\u{9b}31m\u{202e}\u{2066}\u{200b}\u{2028}\r\nerror: forged\u{85}FORGED";

/// A pod with an invalid quantity, for which no patch is shown.
fn pod() -> Value {
    pod_with_quantity(HOSTILE)
}

fn pod_with_quantity(quantity: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": HOSTILE, "namespace": HOSTILE,
            "labels": {"trainmesh.dev/fabric": HOSTILE, "trainmesh.dev/mesh-traffic": HOSTILE, HOSTILE: HOSTILE},
            "annotations": {"trainmesh.dev/helper-containers": HOSTILE, "sidecar.istio.io/nativeSidecar": HOSTILE, HOSTILE: HOSTILE},
        },
        "spec": {"containers": [{
            "name": HOSTILE, "image": HOSTILE,
            "env": [{"name": "NCCL_DEBUG", "value": HOSTILE}, {"name": "NCCL_IB_HCA", "value": HOSTILE}, {"name": "NCCL_IB_DISABEL", "value": HOSTILE}],
            "resources": {"limits": {"nvidia.com/gpu": "8", HOSTILE: quantity}},
        }]},
    })
}

/// Returns [`HOSTILE`] in double quotes, for JSON and YAML.
fn quoted() -> String {
    let escaped = HOSTILE.chars().map(|character| match character {
        ' '..='~' => character.to_string(),
        _ => format!("\\u{:04x}", u32::from(character)),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Creates the input files.
fn files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": HOSTILE, "labels": {"sidecar.istio.io/inject": "false"}},
        "spec": {"template": pod()}});
    let unknown = json!({"apiVersion": HOSTILE, "kind": HOSTILE, "spec": {"template": {"spec": {"containers": []}}}});
    let quoted = quoted();
    let texts = [
        ("pod.json", pod().to_string()),
        ("valid.json", pod_with_quantity("1").to_string()),
        ("job.json", job.to_string()),
        ("unknown.json", unknown.to_string()),
        ("none.json", json!({"apiVersion": HOSTILE, "kind": "X\u{1b}[2K"}).to_string()),
        ("twice.yaml", format!("apiVersion: v1\nkind: X\n{quoted}: 1\n{quoted}: 2\n")),
        (
            "labels.json",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {HOSTILE: 1}}})
                .to_string(),
        ),
        ("file\u{1b}[2K\nerror: forged.yaml", "a: [".to_owned()),
        ("bad-config.yaml", format!("apiVersion: {quoted}\nkind: x\n{quoted}: 1\nfabric: {{default: {quoted}}}\n")),
        (
            "config.yaml",
            format!(
                "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric:\n  profiles:\n  - name: lab\n    \
                 description: {quoted}\n    transport: roce\n"
            ),
        ),
    ];
    for (name, text) in texts {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Checks what a terminal shows of `output`, which must contain `expected`.
fn check(output: &str, expected: &str) {
    // Colors and the progress counter are trainmesh's own.
    let own_sequences = regex::Regex::new("\u{1b}\\[[0-9;]*m|\r\u{1b}\\[K|\r[0-9]+ of [0-9]+ pods …").unwrap();
    let shown = own_sequences.replace_all(output, "").replace("\r\n", "\n");
    for line in shown.lines() {
        let unprintable = line.chars().find(|character| *character != '\t' && !is_printable(*character));
        assert!(unprintable.is_none(), "{unprintable:?} in {line:?}");
    }
    assert!(!shown.lines().any(|line| line.starts_with("error: forged") || line.starts_with("FORGED")), "{shown}");
    assert!(shown.contains(expected), "{shown}");
}

#[rstest]
#[case::diff("preview -f pod.json", "\\u{1b}[2K")]
#[case::explain("preview -f pod.json -o explain", "\\u{1b}[2K")]
#[case::yaml("preview -f pod.json -o yaml", "\\e[2K\\x9B31m\\u202E")]
#[case::json("preview -f pod.json -o json", "\\u001b[2K\\u009b31m\\u202e")]
#[case::diff_of_a_patch("preview -f valid.json", "fabric=UnknownFabric")]
#[case::patch("preview -f valid.json -o patch", "fabric=UnknownFabric")]
#[case::no_patch("preview -f pod.json -o patch", "FP049: the apiserver rejects the pod")]
#[case::job("preview -f job.json", "\\u{1b}[2K")]
#[case::unknown_kind("preview -f unknown.json", "\\u{1b}[2K")]
#[case::no_pods("preview -v -f none.json", "creates no pods")]
#[case::duplicate_key("preview -f twice.yaml", "twice.yaml: document 1, line 4: key \"a\\u{1b}[2K")]
#[case::namespace_label("preview -f labels.json", "metadata.labels[a\\u{1b}[2K")]
#[case::file_name("preview -f 'file\u{1b}[2K\nerror: forged.yaml'", "file\\u{1b}[2K\\nerror: forged.yaml: document 1")]
#[case::missing_file("preview -f 'x\u{1b}[2K\nerror: forged'", "x\\u{1b}[2K\\nerror: forged")]
#[case::flag("preview -f x '--x\u{1b}[2K\nerror: forged'", "x\\u{1b}[2K")]
#[case::labels_flag("preview -f x --namespace-labels 'x\u{1b}[2K\nerror: forged'", "KEY=VALUE")]
#[case::lint("lint -f pod.json --fail-on I", "\\u{1b}[2K")]
#[case::lint_warnings("lint -f twice.yaml -f unknown.json", "twice.yaml: document 1, line 4")]
#[case::sarif("lint -f pod.json -o sarif", "\\u009b31m\\u202e")]
#[case::configuration("config validate bad-config.yaml", "unknown field")]
#[case::configuration_name("config validate 'x\u{1b}[2K\nerror: forged'", "x\\u{1b}[2K\\nerror: forged")]
#[case::configuration_shown("config show --config config.yaml", "\\e[2K\\x9B31m\\u202E")]
#[case::fabric_list("fabric list --config config.yaml", "a\\u{1b}[2K")]
#[case::fabric_show("fabric show lab --config config.yaml", "\\e[2K\\x9B31m\\u202E")]
#[case::fabric_unknown("fabric show 'x\u{1b}[2K\nerror: forged'", "x\\u{1b}[2K")]
fn offline_output_is_safe(#[case] command: &str, #[case] expected: &str) {
    check(&in_terminal(&files(), command, None, &[]), expected);
}

/// Starts an apiserver with hostile names and messages.
fn hostile_apiserver() -> Apiserver {
    let terminated = json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}});
    let hanging = json!({
        "metadata": {"namespace": HOSTILE, "name": HOSTILE, "uid": "1"},
        "spec": {"restartPolicy": "Never", "nodeName": HOSTILE, "containers": [{"name": "istio-proxy"}, {"name": HOSTILE}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "istio-proxy", "containerID": "c://1", "state": {"running": {}}},
            {"name": HOSTILE, "containerID": "c://2", "state": terminated},
        ]},
    });
    let namespace = json!({"metadata": {"name": HOSTILE, "labels": {"trainmesh.dev/inject": HOSTILE}}});
    let refused =
        format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n? {}\n: 1\n", quoted());
    let valid = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n");
    let config_map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "trainmesh-config"}, "data": {"config.yaml": valid}});
    Apiserver::start(vec![
        ("/api/v1/namespaces/default/pods/a", pod()),
        ("/api/v1/namespaces/lab/configmaps/trainmesh-config", config_map),
        ("/api/v1/namespaces/default", json!({"metadata": {"name": "default", "labels": {"trainmesh.dev/inject": "enabled"}}})),
        ("/api/v1/pods", json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [hanging]})),
        ("/api/v1/namespaces", json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": [namespace]})),
        ("/api/v1/namespaces/trainmesh-system/configmaps/trainmesh-config",
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "trainmesh-config"}, "data": {"config.yaml": refused}})),
        ("/version", json!({"major": "1", "minor": HOSTILE, "gitVersion": HOSTILE, "gitCommit": "", "gitTreeState": "", "buildDate": "",
            "goVersion": "", "compiler": "", "platform": ""})),
    ])
    .with_message(HOSTILE)
}

#[rstest]
#[case::sweep("sweep -A", "a\\u{1b}[2K")]
#[case::sweep_apply("sweep -A --apply", "a\\u{1b}[2K")]
#[case::doctor("doctor", "a\\u{1b}[2K")]
#[case::doctor_json("doctor -o json", "\"findings\"")]
#[case::preview("preview -f pod.json --cluster", "error")]
#[case::live_pod("preview a --cluster --trainmesh-namespace lab", "Pod default/a\\u{1b}[2K")]
#[case::live_pod_name("preview 'a\u{1b}[2K\nerror: forged' --cluster", "a\\u{1b}[2K")]
fn cluster_output_is_safe(#[case] command: &str, #[case] expected: &str) {
    let folder = files();
    let apiserver = hostile_apiserver();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    check(&in_terminal(&folder, command, None, &[("KUBECONFIG", &kubeconfig)]), expected);
}
