//! The apiserver's validation of the rendered objects.

use rstest::rstest;

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::release::{CHART, helm};

fn dry_run(arguments: &[&str]) -> (Vec<String>, Vec<String>) {
    let home = Cluster::get().namespace(&[("pod-security.kubernetes.io/warn", "restricted")]);
    let version = Cluster::get().kubectl(&["get", "--raw", "/version"], "").success().object();
    let version = version["gitVersion"].as_str().expect("the apiserver has a version");
    let common = ["template", "trainmesh", CHART, "--kube-version", version, "--namespace", &home.name];
    let manifest = helm("helm", &[&common, arguments].concat()).expect("Helm renders it");
    let apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"];
    let output = home.kubectl(&apply, &manifest).success();
    let to_strings = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
    (to_strings(output.warnings().collect()), to_strings(output.errors().collect()))
}

/// Labels that the chart sets, and secrets as umbrella charts pass them.
const UNUSUAL: &str = "commonLabels.app\\.kubernetes\\.io/name=other,webhook.podLabels.app\\.kubernetes\\.io/component=other,\
                       webhook.podAnnotations.checksum=other,global.imagePullSecrets[0].name=mirror,webhook.replicas=null";

/// Defaults of both components that may be absent. `tests/chart/run` sets each value of the chart to null, and validates the objects of
/// those that the schema permits.
const ABSENT: [&str; 9] = [
    "livenessProbe.timeoutSeconds",
    "readinessProbe.periodSeconds",
    "readinessProbe.timeoutSeconds",
    "replicas",
    "resources.limits",
    "resources.requests.cpu",
    "resources.requests.memory",
    "startupProbe.failureThreshold",
    "startupProbe.periodSeconds",
];
/// Absent defaults of the containers that Pod Security does not require.
const ABSENT_OF_CONTAINERS: &str =
    "podSecurityContext.runAsGroup=null,podSecurityContext.runAsUser=null,securityContext.readOnlyRootFilesystem=null";

/// Monitors and cert-manager's objects are checked against their definitions by `tests/chart/run`.
#[rstest]
#[case::defaults(&[])]
#[case::provided_certificate(&["-f", "charts/trainmesh/ci/provided-values.yaml"])]
#[case::unusual_values(&["--set", UNUSUAL])]
#[case::network_policy_and_dashboard(&["--set", "networkPolicy.enabled=true,metrics.dashboard.enabled=true"])]
fn the_apiserver_accepts_every_object_without_warnings(#[case] arguments: &[&str]) {
    assert_eq!(dry_run(arguments), (vec![], vec![]));
}

#[test]
fn the_apiserver_accepts_objects_without_defaults() {
    let of_component = |component: &str| ABSENT.map(|value| format!("{component}.{value}=null"));
    let values = [of_component("webhook"), of_component("controller")].concat().join(",");
    assert_eq!(dry_run(&["--set", &format!("{values},{ABSENT_OF_CONTAINERS}")]), (vec![], vec![]));
}

#[test]
fn pod_security_violations_are_reported_as_warnings() {
    let (warnings, errors) = dry_run(&["--set", "podSecurityContext.runAsNonRoot=false"]);
    // Both Deployments get the same warning, which kubectl prints once.
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("would violate PodSecurity") && errors.is_empty(), "{warning} {errors:?}");
}
