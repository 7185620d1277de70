//! Every command with every output format: exit code, standard output and standard error.

use std::path::Path;
use std::process::Command;

use crate::Observations;
use crate::apiserver::Apiserver;
use crate::inputs::{Inputs, yaml_files};

const FORMATS: [&str; 4] = ["diff", "yaml", "json", "explain"];
const LINT_FORMATS: [&str; 3] = ["text", "json", "sarif"];
/// Machines that the ratios and guards of the profiles distinguish.
const MACHINES: [&str; 5] = ["p5.48xlarge", "p4d.24xlarge", "p6e-gb200.36xlarge", "a3-ultragpu-8g", "BM.GPU.H100.8"];

/// Namespace labels that rules depend on.
const NAMESPACE_LABELS: [&str; 11] = [
    "",
    "trainmesh.dev/inject=enabled",
    "trainmesh.dev/inject=audit,istio-injection=enabled",
    "trainmesh.dev/inject=yes,istio-injection=enabled",
    "io.datastrophic/istio-aux=enabled,istio-injection=enabled,trainmesh.dev/fabric=ib-shared",
    "trainmesh.dev/inject=enabled,istio.io/rev=canary",
    "trainmesh.dev/inject=enabled,istio.io/dataplane-mode=ambient",
    "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=disableCapture",
    "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=disableInjection",
    "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/fabric=ib-shared,pod-security.kubernetes.io/enforce=baseline",
    "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=direct,trainmesh.dev/fabric=gke-mrdma-dra,pod-security.kubernetes.io/enforce=restricted",
];

/// Commands with their own help.
const HELP: [&str; 18] = [
    "",
    "preview",
    "lint",
    "webhook",
    "controller",
    "sweep",
    "doctor",
    "certs",
    "certs generate",
    "config",
    "config validate",
    "config schema",
    "config show",
    "fabric",
    "fabric list",
    "fabric show",
    "fabric render",
    "completion",
];

/// Invalid input, and flags that change a few lines.
const SINGLE: &[&str] = &[
    "version",
    "version -o json",
    "--version",
    "nonsense",
    "preview",
    "preview -f no/such/file",
    "preview -f examples -o nonsense",
    "preview -f examples -o patch",
    "preview -f examples --namespace-labels nonsense",
    "preview -f examples -v --exit-code",
    "preview -f . -v",
    "preview -f examples/job.yaml -f examples/pod.yaml --color always",
    "preview -f examples/job.yaml -o explain --color always",
    "preview -f examples/job.yaml -n kube-system -o explain",
    "preview -f examples/job.yaml -n trainmesh-system -o explain",
    "preview -f examples/job.yaml -n mesh --trainmesh-namespace mesh -o explain",
    "preview -f examples --config no/such/file",
    "lint -f examples --fail-on W",
    "lint -f examples --fail-on I",
    "lint -f no/such/file",
    "lint -f .",
    "config show",
    "config schema",
    "config validate",
    "config validate no/such/file",
    "config validate config/default.yaml",
    "config validate tests/same/wrong.yaml",
    "config show --config tests/same/wrong.yaml",
    "preview -f examples --config tests/same/wrong.yaml",
    "fabric list",
    "fabric show nonsense",
    "fabric show ib-shred",
    "fabric render nonsense",
    "fabric render tcp --gpus 0",
    "certs generate",
    "certs generate --out target/same/none --lifetime 1s",
    "certs generate --out target/same/none --ca-lifetime nonsense",
    "completion bash",
    "completion fish",
    "completion zsh",
    "completion nonsense",
    "webhook --listen nonsense",
    "webhook --tls-cert no/such/file --tls-key no/such/file --kubeconfig no/such/file",
    "webhook --max-review-nodes 1",
    "controller --ca-lifetime 1s --kubeconfig no/such/file",
];

/// Commands that use a cluster.
const IN_A_CLUSTER: &[&str] = &[
    "doctor",
    "doctor -o json",
    "doctor -n elsewhere -o json",
    "doctor --context nonsense",
    "sweep -A",
    "sweep -n team-a",
    "sweep -n nowhere",
    "preview -f examples -R --cluster",
    "preview -f examples -R --cluster -o json",
    "preview -f examples/pytorchjob.yaml --cluster -n fabric-ib-sriov",
    "preview -f examples/pytorchjob.yaml --cluster -n fabric-gke-mrdma-dra -o explain",
    "preview -f examples/pytorchjob.yaml --cluster -n audit -o explain",
    "preview -f examples/pytorchjob.yaml --cluster -n nowhere",
];

/// Runs all commands.
pub fn observe(binary: &Path, inputs: &Inputs, cluster: &Apiserver) -> Observations {
    let offline = commands(inputs).into_iter().map(|arguments| (arguments, "/nonexistent".to_owned()));
    let online = IN_A_CLUSTER.iter().map(|arguments| (split(arguments), cluster.kubeconfig()));
    offline
        .chain(online)
        .map(|(arguments, kubeconfig)| (arguments.join(" "), run(binary, &arguments, &kubeconfig)))
        .collect()
}

/// Returns the commands that need no cluster.
fn commands(inputs: &Inputs) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = SINGLE.iter().map(|arguments| split(arguments)).collect();
    for command in HELP {
        all.extend(["--help", "-h"].map(|flag| [split(command), split(flag)].concat()));
    }
    let profiles = inputs.profiles.iter().map(|name| format!("--fabric {name}"));
    let profiles: Vec<String> = [String::new(), "--fabric nonsense".to_owned()].into_iter().chain(profiles).collect();
    let manifests = ["corpus.json", "lint", "patched.yaml"].map(|name| inputs.path(name));
    let manifests = [&manifests[..], &["tests/same/manifests".to_owned()]].concat();
    let mut add = |arguments: String| all.push(split(&arguments));
    for profile in &profiles {
        for format in FORMATS {
            add(format!("preview -R -f examples -o {format} {profile}"));
        }
        for format in LINT_FORMATS {
            add(format!("lint -R -f examples -o {format} {profile}"));
        }
        for example in yaml_files("examples") {
            add(format!("preview -f {example} -o patch {profile}"));
        }
        // JSON contains everything: one other format is enough to cover rendering.
        for path in &manifests {
            add(format!("preview -R -f {path} -o json {profile}"));
            add(format!("preview -R -f {path} -o diff {profile}"));
            add(format!("lint -R -f {path} {profile}"));
        }
    }
    for path in &manifests {
        for format in FORMATS {
            add(format!("preview -v -R -f {path} -o {format}"));
        }
        for format in LINT_FORMATS {
            add(format!("lint -R -f {path} -o {format} --fail-on I"));
        }
    }
    for labels in NAMESPACE_LABELS {
        for path in manifests.iter().map(String::as_str).chain(["examples"]) {
            add(format!("preview -R -f {path} -o json --namespace-labels={labels}"));
        }
    }
    for configuration in inputs.configurations.iter().flatten() {
        add(format!("config validate {configuration}"));
        add(format!("config show --config {configuration}"));
        add(format!("fabric list --config {configuration}"));
        for profile in ["", "--fabric ib-shared", "--fabric eks-efa"] {
            for path in ["examples", "tests/same/manifests"] {
                add(format!("preview -R -f {path} -o json --config {configuration} {profile}"));
                add(format!("lint -R -f {path} -o json --config {configuration} {profile}"));
            }
        }
    }
    for profile in &inputs.profiles {
        add(format!("fabric show {profile}"));
        add(format!("fabric render {profile}"));
        for format in FORMATS {
            add(format!("fabric render {profile} --gpus 1 -o {format}"));
            for machine in MACHINES {
                add(format!("fabric render {profile} --machine {machine} -o {format}"));
            }
        }
    }
    all
}

fn split(arguments: &str) -> Vec<String> {
    arguments.split_whitespace().map(str::to_owned).collect()
}

/// Runs a command and returns its exit code and output.
fn run(binary: &Path, arguments: &[String], kubeconfig: &str) -> String {
    let output =
        Command::new(binary).args(arguments).env_clear().env("KUBECONFIG", kubeconfig).output().expect("start it");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("exit code {:?}\n{stdout}\n-- standard error:\n{stderr}", output.status.code())
}
