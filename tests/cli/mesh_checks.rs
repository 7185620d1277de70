//! The checks about the mesh in `lint` and in `preview`: each with a manifest that has the problem, and one that almost has.

use std::io::Write as _;

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::trainmesh;

const SIDECARS: &str = "trainmesh.dev/inject=enabled,istio-injection=enabled";
const AMBIENT: &str = "trainmesh.dev/inject=enabled,istio.io/dataplane-mode=ambient";
const DIRECT: &str = "trainmesh.dev/inject=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=direct";
/// The label of istio-aux, with which `mesh.traffic` does not run.
const ISTIO_AUX: &str =
    "io.datastrophic/istio-aux=enabled,istio-injection=enabled,trainmesh.dev/mesh-traffic=disableCapture";
/// `mesh.traffic` of the configuration selects the mode.
const CONFIGURED: &str = "mesh: {traffic: direct, podCIDRs: [10.244.0.0/16]}";
/// A label selects the mode.
const RANGES: &str = "mesh: {podCIDRs: [10.244.0.0/16]}";
/// A label selects the mode, and the jobs are not read.
const WITHOUT_JOBS: &str = "mesh: {podCIDRs: [10.244.0.0/16]}\ngang: {enabled: false}";
const DEFAULT: &str = "mesh: {}";
const MODE: &str = "trainmesh.dev/mesh-traffic: direct";
const OTHER_MODE: &str = "trainmesh.dev/mesh-traffic: disableCapture";
const NO_PROXY: &str = "sidecar.istio.io/inject: 'false'";
const NOT_AMBIENT: &str = "istio.io/dataplane-mode: none";
const TORCHRUN: &str = "command: [torchrun, --nnodes=2, t.py]";

/// Returns a `PeerAuthentication` for all namespaces, and a `JobSet` of two pods.
fn job_set(mode: &str) -> String {
    format!(
        "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {{name: default, namespace: istio-system}}
spec: {{mtls: {{mode: {mode}}}}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: llama}}
spec:
  replicatedJobs:
  - name: workers
    template:
      spec:
        parallelism: 2
        completions: 2
        template: {{spec: {{containers: [{{name: train, image: i}}]}}}}
"
    )
}

/// Returns a `JobSet` whose workers call this port of its server, which declares port 8000.
fn calls(mode: &str, port: u16) -> String {
    let job_set = job_set(mode);
    let container = "{name: train, image: i}";
    let call = format!("{{name: train, image: i, args: ['--reward=http://llama-server-0-0.llama:{port}']}}");
    let job_set = job_set.replace(container, &call);
    let server = "{name: server, image: i, ports: [{containerPort: 8000}]}";
    format!(
        "{job_set}  - name: server\n    template:\n      spec: {{template: {{spec: {{containers: [{server}]}}}}}}\n"
    )
}

/// Returns a `LeaderWorkerSet` whose groups have this size.
fn group(size: u16) -> String {
    let template = "{spec: {containers: [{name: serve, image: i}]}}";
    format!(
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: a}}\n\
         spec: {{leaderWorkerTemplate: {{size: {size}, workerTemplate: {template}}}}}\n"
    )
}

/// Returns an Indexed Job with this number of pods, which do not show it.
fn indexed_job(pods: u16) -> String {
    let template = "{spec: {restartPolicy: Never, containers: [{name: train, image: i}]}}";
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\n\
         spec: {{completionMode: Indexed, parallelism: {pods}, completions: {pods}, template: {template}}}\n"
    )
}

/// Returns a Volcano Job with this number of workers beside its master.
fn volcano_job(workers: u16) -> String {
    let task = |name: &str, pods: u16| {
        format!("{{name: {name}, replicas: {pods}, template: {{spec: {{containers: [{{name: a, image: a}}]}}}}}}")
    };
    format!(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: a}}\nspec: {{tasks: [{}, {}]}}\n",
        task("master", 1),
        task("worker", workers)
    )
}

/// Returns a workload of the core kinds with two pods, unless `spec` has another number.
fn workload(kind: &str, spec: &str, labels: &str, container: &str) -> String {
    let (version, spec) = match kind {
        "Job" => ("batch/v1", format!("parallelism: 2, completions: 2, {spec}")),
        _ => ("apps/v1", format!("replicas: 2, {spec}")),
    };
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}template: {{metadata: {{labels: {{{labels}}}}}, \
         spec: {{restartPolicy: Never, containers: [{{name: train, image: i, {container}}}]}}}}}}\n"
    )
}

/// Returns an MPIJob with these labels of its launcher and of its workers, and a `PeerAuthentication` of this mode.
fn mpi_job(mode: &str, launcher: &str, workers: &str) -> String {
    let role = |replicas: u8, labels: &str| {
        let container = "{name: mpi, image: i, command: [mpirun, -np, '16', train]}";
        format!(
            "{{replicas: {replicas}, template: {{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{container}]}}}}}}"
        )
    };
    let objects = job_set(mode);
    let (authentication, _) = objects.split_once("---\n").unwrap();
    format!(
        "{authentication}---\napiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: a}}\nspec:\n  mpiReplicaSpecs:\n    \
         Launcher: {}\n    Worker: {}\n",
        role(1, launcher),
        role(2, workers)
    )
}

/// Returns a pod with these metadata and fields.
fn pod(metadata: &str, spec: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a, {metadata}}}\nspec: {{{spec}}}\n")
}

/// Returns a pod of Ray, and a headless Service with this number of ports.
fn ray(ports: u16) -> String {
    let ports: Vec<String> = (1..=ports).map(|port| format!("{{name: p{port}, port: {port}}}")).collect();
    let pod = pod("labels: {ray.io/cluster: a}", "containers: [{name: ray, image: i}]");
    format!(
        "{pod}---\napiVersion: v1\nkind: Service\nmetadata: {{name: ray}}\nspec: {{clusterIP: None, selector: \
         {{ray.io/cluster: a}}, ports: [{}]}}\n",
        ports.join(", ")
    )
}

fn hook() -> String {
    pod("", "containers: [{name: a, image: i, lifecycle: {postStart: {exec: {command: [wait]}}}}]")
}

fn limits() -> String {
    pod("", "resources: {limits: {cpu: '8'}}, containers: [{name: a, image: i}]")
}

fn waiting(native: bool) -> String {
    pod(
        &format!("annotations: {{sidecar.istio.io/nativeSidecar: '{native}'}}"),
        "initContainers: [{name: wait-gcs-ready, image: i}], containers: [{name: a, image: i}]",
    )
}

fn configuration(mesh: &str) -> tempfile::NamedTempFile {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    writeln!(config, "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{mesh}").unwrap();
    config
}

/// The webhook does not read the job for the submitter, which is no member of its gang.
#[test]
fn the_submitter_of_a_ray_job_is_not_direct() {
    let manifest = "\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: a}
spec:
  rayClusterSpec:
    headGroupSpec: {template: {spec: {containers: [{name: ray, image: i}]}}}
    workerGroupSpecs:
    - {groupName: w, replicas: 2, template: {spec: {containers: [{name: ray, image: i}]}}}
";
    let config = configuration(RANGES);
    let config = config.path().to_str().unwrap();
    let run =
        trainmesh(&["preview", "-f", "-", "-o", "json", "--namespace-labels", DIRECT, "--config", config], manifest);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let reasons = report["results"].as_array().unwrap().iter().map(|result| {
        let rules = result["rules"].as_array().unwrap();
        let rule = rules.iter().find(|rule| rule["rule"] == "mesh.traffic").unwrap();
        (result["role"].as_str().unwrap(), rule["reason"].as_str().unwrap())
    });
    let expected = [("head", "TrafficDirect"), ("w", "TrafficDirect"), ("submitter", "PeersUnknown")];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
}

/// KubeRay's Service of the head has the default ports if the Ray container declares none. KubeRay adds the port of metrics to the
/// container.
#[rstest]
#[case::defaults("", "", "captured inbound: 8000, 8080, 8265, 10001")]
#[case::declared_metrics(
    "ports: [{name: metrics, containerPort: 9090}]",
    "",
    "captured inbound: 8000, 8265, 9090, 10001"
)]
#[case::declared("ports: [{name: dashboard, containerPort: 8266}]", "", "captured inbound: 8080, 8266")]
#[case::declared_gcs(
    "ports: [{name: gcs-server, containerPort: 6379}]",
    "",
    "captured inbound: 8080; left out, as ports of the job: 6379"
)]
#[case::excluded("", "traffic.sidecar.istio.io/excludeInboundPorts: '8000,10001'", "captured inbound: 8080, 8265")]
#[case::listed_by_the_user("", "traffic.sidecar.istio.io/includeInboundPorts: '8265'", "captured inbound: 8265")]
fn the_ports_of_the_head_of_ray_stay_captured(#[case] ports: &str, #[case] annotations: &str, #[case] expected: &str) {
    let manifest = format!(
        "\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: a}}
spec:
  headGroupSpec: {{template: {{metadata: {{annotations: {{{annotations}}}}}, spec: {{containers: [{{name: ray, image: i, {ports}}}]}}}}}}
  workerGroupSpecs:
  - {{groupName: w, replicas: 2, template: {{spec: {{containers: [{{name: ray, image: i}}]}}}}}}
"
    );
    let config = configuration(RANGES);
    let config = config.path().to_str().unwrap();
    let run =
        trainmesh(&["preview", "-f", "-", "-o", "json", "--namespace-labels", DIRECT, "--config", config], &manifest);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{report}");
    for (result, expected) in results.iter().zip([expected, "captured inbound: 8080"]) {
        let rules = result["rules"].as_array().unwrap();
        let rule = rules.iter().find(|rule| rule["rule"] == "mesh.traffic").unwrap();
        assert!(rule["message"].as_str().unwrap().ends_with(expected), "{rule}");
    }
}

#[rstest]
#[case::captured("FP021", SIDECARS, DEFAULT, job_set("PERMISSIVE"), true)]
#[case::captured_in_ambient("FP021", AMBIENT, DEFAULT, job_set("PERMISSIVE"), true)]
#[case::direct("FP021", DIRECT, RANGES, job_set("PERMISSIVE"), false)]
#[case::direct_by_the_configuration("FP021", SIDECARS, CONFIGURED, job_set("PERMISSIVE"), false)]
#[case::refused_in_ambient("FP021", AMBIENT, CONFIGURED, job_set("PERMISSIVE"), false)]
#[case::label_of_istio_aux("FP021", ISTIO_AUX, RANGES, job_set("PERMISSIVE"), true)]
#[case::group_that_direct_skips("FP021", DIRECT, RANGES, group(2), true)]
#[case::job_that_direct_skips("FP021", DIRECT, WITHOUT_JOBS, indexed_job(2), true)]
#[case::job_of_one("FP021", DIRECT, WITHOUT_JOBS, indexed_job(1), false)]
#[case::roles_of_one("FP021", SIDECARS, DEFAULT, volcano_job(1), true)]
#[case::one_role_of_one("FP021", SIDECARS, DEFAULT, volcano_job(0), false)]
#[case::group_of_one("FP021", DIRECT, RANGES, group(1), false)]
#[case::job_without_index("FP021", DIRECT, RANGES, workload("Job", "", "", TORCHRUN), true)]
#[case::job_without_index_that_is_no_rank(
    "FP021",
    DIRECT,
    RANGES,
    workload("Job", "", "", "command: [python, t.py]"),
    false
)]
#[case::stateful_set(
    "FP021",
    DIRECT,
    RANGES,
    workload("StatefulSet", "", "", "env: [{name: PET_NNODES, value: '2'}]"),
    true
)]
#[case::stateful_set_that_serves(
    "FP021",
    DIRECT,
    RANGES,
    workload("StatefulSet", "", "", "env: [{name: NUM_PROCESSES, value: '2'}]"),
    false
)]
#[case::label_of_a_deployment("FP021", SIDECARS, RANGES, workload("Deployment", "", MODE, ""), true)]
#[case::other_label_of_a_deployment("FP021", SIDECARS, RANGES, workload("Deployment", "", OTHER_MODE, ""), false)]
#[case::half_of_an_mpi_job("FP062", SIDECARS, RANGES, mpi_job("STRICT", "", OTHER_MODE), true)]
#[case::other_half_of_an_mpi_job(
    "FP062",
    DIRECT,
    RANGES,
    mpi_job("STRICT", "trainmesh.dev/mesh-traffic: leave", ""),
    true
)]
#[case::whole_mpi_job("FP062", SIDECARS, RANGES, mpi_job("STRICT", OTHER_MODE, MODE), false)]
#[case::invalid_launcher("FP062", DIRECT, RANGES, mpi_job("STRICT", "", "").replacen("image: i", "image: 1", 1), false)]
#[case::captured_mpi_job("FP062", SIDECARS, DEFAULT, mpi_job("STRICT", "", ""), false)]
#[case::refused_for_an_mpi_job("FP062", SIDECARS, DEFAULT, mpi_job("STRICT", "", MODE), false)]
#[case::roles_of_a_job_set("FP062", DIRECT, RANGES, calls("STRICT", 8000).replace("spec: {template: {spec", "spec: {template: {metadata: {labels: {trainmesh.dev/mesh-traffic: leave}}, spec"), false)]
#[case::half_of_a_job_without_a_proxy("FP062", SIDECARS, DEFAULT, mpi_job("STRICT", "", NO_PROXY), true)]
#[case::other_half_without_a_proxy("FP062", SIDECARS, DEFAULT, mpi_job("STRICT", NO_PROXY, ""), true)]
#[case::half_with_a_proxy(
    "FP062",
    "trainmesh.dev/inject=enabled",
    DEFAULT,
    mpi_job("STRICT", "sidecar.istio.io/inject: 'true'", ""),
    true
)]
#[case::half_without_a_proxy_in_plain_text("FP062", SIDECARS, DEFAULT, mpi_job("PERMISSIVE", "", NO_PROXY), false)]
#[case::whole_job_without_a_proxy("FP062", SIDECARS, DEFAULT, mpi_job("STRICT", NO_PROXY, NO_PROXY), false)]
#[case::half_of_an_ambient_job("FP062", AMBIENT, DEFAULT, mpi_job("STRICT", "", NOT_AMBIENT), true)]
#[case::half_in_ambient(
    "FP062",
    "trainmesh.dev/inject=enabled",
    DEFAULT,
    mpi_job("STRICT", "istio.io/dataplane-mode: ambient", ""),
    true
)]
#[case::half_of_an_ambient_job_in_plain_text("FP062", AMBIENT, DEFAULT, mpi_job("PERMISSIVE", "", NOT_AMBIENT), false)]
#[case::whole_ambient_job("FP062", AMBIENT, DEFAULT, mpi_job("STRICT", "", ""), false)]
#[case::job_outside_of_ambient("FP062", AMBIENT, DEFAULT, mpi_job("STRICT", NOT_AMBIENT, NOT_AMBIENT), false)]
#[case::job_outside_of_the_mesh("FP062", "trainmesh.dev/inject=enabled", DEFAULT, mpi_job("STRICT", "", ""), false)]
#[case::call_of_a_captured_port("FP054", DIRECT, RANGES, calls("STRICT", 8000), true)]
#[case::call_of_a_port_that_is_not_captured("FP054", DIRECT, RANGES, calls("STRICT", 8001), false)]
#[case::call_in_plain_text("FP054", DIRECT, RANGES, calls("PERMISSIVE", 8000), false)]
#[case::call_of_a_captured_pod("FP054", SIDECARS, DEFAULT, calls("STRICT", 8000), false)]
#[case::strict("FP055", SIDECARS, DEFAULT, job_set("STRICT"), true)]
#[case::permissive("FP055", SIDECARS, DEFAULT, job_set("PERMISSIVE"), false)]
#[case::strict_and_direct("FP055", DIRECT, RANGES, job_set("STRICT"), false)]
#[case::strict_and_direct_by_the_configuration("FP055", SIDECARS, CONFIGURED, job_set("STRICT"), false)]
#[case::hook_in_ambient("FP056", AMBIENT, DEFAULT, hook(), true)]
#[case::hook_beside_a_sidecar("FP056", SIDECARS, DEFAULT, hook(), false)]
#[case::limits("FP057", SIDECARS, DEFAULT, limits(), true)]
#[case::limits_without_a_sidecar("FP057", AMBIENT, DEFAULT, limits(), false)]
#[case::many_ports("FP058", SIDECARS, DEFAULT, ray(1_000), true)]
#[case::fewer_ports("FP058", SIDECARS, DEFAULT, ray(999), false)]
#[case::before_a_classic_sidecar("FP059", SIDECARS, DEFAULT, waiting(false), true)]
#[case::after_a_native_sidecar("FP059", SIDECARS, DEFAULT, waiting(true), false)]
fn lint_and_preview_agree(
    #[case] code: &str,
    #[case] labels: &str,
    #[case] mesh: &str,
    #[case] manifest: String,
    #[case] expected: bool,
) {
    let config = configuration(mesh);
    let config = config.path().to_str().unwrap();
    for command in ["lint", "preview"] {
        let run = trainmesh(&[command, "-f", "-", "--namespace-labels", labels, "--config", config], &manifest);
        assert!(run.code.is_some_and(|code| code < 2), "{run:#?}");
        assert_eq!(run.stdout.contains(code), expected, "{command}: {}", run.stdout);
    }
}

#[rstest]
#[case::strict("STRICT", &["--namespace-labels", SIDECARS], "FP062 E Worker bypasses Envoy, but not Launcher: STRICT mTLS rejects its connections")]
#[case::permissive("PERMISSIVE", &["--namespace-labels", SIDECARS], "FP062 W Worker bypasses Envoy, but not Launcher: its connections may hang")]
#[case::assumed_labels("PERMISSIVE", &[], "FP062 I Worker bypasses Envoy, but not Launcher: its connections may hang")]
#[case::assumed_labels_with_strict("STRICT", &[], "FP062 E Worker bypasses Envoy")]
fn different_modes_are_an_error_under_strict_mtls(#[case] mode: &str, #[case] labels: &[&str], #[case] expected: &str) {
    for command in ["lint", "preview"] {
        let run = trainmesh(&[&[command, "-f", "-"], labels].concat(), &mpi_job(mode, "", OTHER_MODE));
        assert!(run.stdout.contains(expected), "{command}: {}", run.stdout);
    }
}

#[rstest]
#[case::ambient(
    AMBIENT,
    NOT_AMBIENT,
    "FP062 E Worker is outside of the ambient mesh, but not Launcher: STRICT mTLS rejects its connections"
)]
#[case::sidecars(
    SIDECARS,
    NO_PROXY,
    "FP062 E Worker has no proxy, but Launcher has: STRICT mTLS rejects its connections"
)]
fn roles_outside_of_the_mesh_are_an_error(#[case] labels: &str, #[case] workers: &str, #[case] expected: &str) {
    for command in ["lint", "preview"] {
        let run = trainmesh(&[command, "-f", "-", "--namespace-labels", labels], &mpi_job("STRICT", "", workers));
        assert!(run.stdout.contains(expected), "{command}: {}", run.stdout);
    }
}

/// A label selects a mode, but the rule is off.
#[test]
fn a_mode_without_effect_does_not_silence_fp021() {
    let config = configuration("mesh: {enabled: false, podCIDRs: [10.244.0.0/16]}");
    let config = config.path().to_str().unwrap();
    let run = trainmesh(&["lint", "-f", "-", "--namespace-labels", DIRECT, "--config", config], &job_set("PERMISSIVE"));
    assert!(run.stdout.contains("FP021 W NCCL and Gloo hang behind Envoy, and mesh.enabled is false"), "{run:#?}");
}

/// Audit mode prevents the change that the label selects.
#[test]
fn a_service_without_ports_is_reported_in_audit_mode_by_lint_only() {
    let labels = DIRECT.replace("enabled,istio", "audit,istio");
    let config = configuration(RANGES);
    let config = config.path().to_str().unwrap();
    let arguments = ["-f", "-", "--namespace-labels", &labels, "--config", config];
    let lint = trainmesh(&[&["lint"][..], &arguments].concat(), &job_set("STRICT"));
    assert!(lint.stdout.contains("FP055 E"), "{lint:#?}");
    let words: Vec<&str> = lint.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("label the namespace trainmesh.dev/inject: enabled: audit mode"), "{lint:#?}");
    let preview = trainmesh(&[&["preview", "--fail-on", "warning"][..], &arguments].concat(), &job_set("STRICT"));
    assert_eq!((preview.code, preview.stdout.contains("FP055")), (Some(0), false), "{preview:#?}");
}

/// The pods keep their inbound capture, so that `disableCapture` would not change what the finding reports.
#[rstest]
#[case::all_ports("includeInboundPorts: '*'")]
#[case::all_ports_but_one("excludeInboundPorts: '9090'")]
fn a_service_without_ports_is_reported_in_audit_mode_if_the_pods_stay_captured(#[case] annotation: &str) {
    let labels = DIRECT.replace("enabled,istio", "audit,istio").replace("=direct", "=disableCapture");
    let annotation =
        format!("template: {{metadata: {{annotations: {{traffic.sidecar.istio.io/{annotation}}}}}, spec: {{con");
    let job_set = job_set("STRICT");
    let (captured, excluded) = (job_set.replace("template: {spec: {con", &annotation), &job_set);
    for command in ["lint", "preview"] {
        let found = |manifest: &str| {
            let run = trainmesh(&[command, "-f", "-", "--namespace-labels", &labels], manifest);
            let words: Vec<&str> = run.stdout.split_whitespace().collect();
            let text = words.join(" ");
            (text.contains("FP055 E"), text.contains("audit mode does not apply"))
        };
        assert_eq!(found(&captured), (true, false), "{command}");
        let is_lint = command == "lint";
        assert_eq!(found(excluded), (is_lint, is_lint), "{command}");
    }
}

/// The finding is in `lint`, as in the output of `lint`, and the admission response contains its line.
#[rstest]
#[case::captured(SIDECARS, "W")]
#[case::assumed("", "I")]
fn captured_traffic_is_a_finding_of_both_commands(#[case] labels: &str, #[case] severity: &str) {
    for command in ["lint", "preview"] {
        let flags: &[&str] = if labels.is_empty() { &[] } else { &["--namespace-labels", labels] };
        let run = trainmesh(&[&[command, "-f", "-", "-o", "json"], flags].concat(), &indexed_job(2));
        let output: Value = serde_json::from_str(&run.stdout).unwrap();
        let findings = output["results"][0]["lint"].as_array().unwrap();
        let found: Vec<&Value> = findings.iter().filter(|finding| finding["id"] == "FP021").collect();
        let [finding] = found[..] else { panic!("{command}: {found:?}") };
        assert_eq!(finding["severity"], severity, "{finding}");
        let lines = output["results"][0]["warnings"].as_array().into_iter().flatten();
        let count = lines.filter(|line| line.as_str().is_some_and(|line| line.starts_with("FP021"))).count();
        assert_eq!(count, usize::from(command == "preview" && !labels.is_empty()), "{output}");
    }
    let arguments = ["preview", "-f", "-", "--summary", "--fail-on", "warning", "--namespace-labels", SIDECARS];
    let run = trainmesh(&arguments, &indexed_job(2));
    assert_eq!((run.code, run.stderr.matches("FP021").count()), (Some(1), 1), "{run:#?}");
}

/// A single pod has no peers: its label does no harm.
#[rstest]
#[case::several(workload("Job", "", MODE, ""), "FP021 W label trainmesh.dev/mesh-traffic=direct has no effect", true)]
#[case::one(workload("Job", "", MODE, "").replace("parallelism: 2", "parallelism: 1"), "FP021 I label trainmesh.dev/mesh-traffic=direct", false)]
#[case::pod(pod(&format!("labels: {{{MODE}}}"), "containers: [{name: a, image: i}]"), "FP021 W label trainmesh.dev/mesh-traffic=direct", true)]
fn a_label_without_effect_is_reported(#[case] manifest: String, #[case] expected: &str, #[case] is_warning: bool) {
    let lint = trainmesh(&["lint", "-f", "-", "--namespace-labels", SIDECARS], &manifest);
    assert!(lint.stdout.contains(expected), "{}", lint.stdout);
    let preview = trainmesh(&["preview", "-f", "-", "--fail-on", "warning", "--namespace-labels", SIDECARS], &manifest);
    assert_eq!(preview.code, Some(i32::from(is_warning)), "{preview:#?}");
    assert!(preview.stdout.contains("label trainmesh.dev/mesh-traffic=direct has no effect"), "{}", preview.stdout);
}
