//! Services of the mesh: FP052 to FP055, FP058.

use rstest::rstest;
use trainmesh_core::config::LintSettings;
use trainmesh_core::finding::Severity;
use trainmesh_core::mutate::{Reason, RuleId, Verdict};

use super::scenario::{Scenario, check, pod};

/// Returns a Service with these labels in its selector and these ports, in YAML.
pub fn service(name: &str, selector: &str, ports: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, spec: {{selector: {{{selector}}}, ports: [{ports}]}}}}"
    )
}

/// Like [`service`], without a cluster IP.
pub fn headless(name: &str, selector: &str, ports: &str) -> String {
    service(name, selector, ports).replace("spec: {", "spec: {clusterIP: None, ")
}

/// Returns a `PeerAuthentication` for the namespace of the pod.
pub fn peer_authentication(mode: &str) -> String {
    format!(
        "{{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {{name: default}}, spec: {{mtls: {{mode: {mode}}}}}}}"
    )
}

/// Returns a `DestinationRule` with this TLS mode.
pub fn destination_rule(host: &str, mode: &str) -> String {
    format!(
        "{{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {{name: rule}}, spec: {{host: {host}, trafficPolicy: {{tls: {{mode: {mode}}}}}}}}}"
    )
}

/// Returns a pod of a Job in the mesh, with the label `app: train`, these labels and annotations, and these fields of its
/// container.
fn train(labels: &str, annotations: &str, container: &str) -> Scenario {
    let text = format!(
        "{{metadata: {{labels: {{app: train, batch.kubernetes.io/job-name: a, batch.kubernetes.io/job-completion-index: '0', {labels}}}, \
          annotations: {{{annotations}}}}}, spec: {{containers: [{{name: train, {container}}}]}}}}"
    );
    pod(&text).labelled("istio-injection", "enabled")
}

const LISTED: &str = "traffic.sidecar.istio.io/includeInboundPorts: '8080'";
const NONE: &str = "traffic.sidecar.istio.io/includeInboundPorts: ''";
const TORCH: &str = "env: [{name: PET_NNODES, value: '2'}, {name: MASTER_PORT, value: '29500'}]";

fn web(port: &str) -> String {
    service("web", "app: train", port)
}

const MTLS: &str = "Service web: clients send mTLS to port 6006, which Envoy does not capture";

#[rstest]
#[case::not_captured(train("", LISTED, "").mesh(&[&web("{port: 80, targetPort: 6006}")]), Some(MTLS))]
#[case::named_port(train("", LISTED, "ports: [{name: web, containerPort: 6006}]").mesh(&[&web("{port: 80, targetPort: web}")]), Some(MTLS))]
#[case::captured(train("", LISTED, "").mesh(&[&web("{port: 80, targetPort: 8080}")]), None)]
#[case::all_captured(train("", "", "").mesh(&[&web("{port: 6006}")]), None)]
#[case::excluded_by_the_user(train("", "traffic.sidecar.istio.io/excludeInboundPorts: '6006'", "").mesh(&[&web("{port: 6006}")]), Some(MTLS))]
#[case::nothing_captured(train("security.istio.io/tlsMode: disabled", NONE, "").mesh(&[&web("{port: 6006}")]), None)]
#[case::nothing_captured_but_mutual(train("security.istio.io/tlsMode: istio", NONE, "").mesh(&[&web("{port: 6006}")]), Some(MTLS))]
#[case::port_of_the_job(train("", LISTED, TORCH).mesh(&[&web("{port: 29500}")]), None)]
#[case::other_pods(train("", LISTED, "").mesh(&[&service("web", "app: other", "{port: 6006}")]), None)]
#[case::no_proxy(train("sidecar.istio.io/inject: 'false'", LISTED, "").mesh(&[&web("{port: 6006}")]), None)]
#[case::not_intercepted(train("", &format!("{LISTED}, sidecar.istio.io/interceptionMode: NONE"), "").mesh(&[&web("{port: 6006}")]), None)]
#[case::unknown_services(train("", LISTED, ""), None)]
#[case::a_rule_decides(train("", LISTED, "").mesh(&[&web("{port: 6006}"), &destination_rule("web", "ISTIO_MUTUAL")]), None)]
fn fp052_uncaptured_ports(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP052", scenario, expected);
}

#[rstest]
#[case::mutual(
    "ISTIO_MUTUAL",
    "security.istio.io/tlsMode: disabled",
    NONE,
    Some("DestinationRule team-a/rule requires mTLS on port 6006, which Envoy does not capture")
)]
#[case::mutual_beside_captured_ports(
    "ISTIO_MUTUAL",
    "",
    LISTED,
    Some("DestinationRule team-a/rule requires mTLS on port 6006, which Envoy does not capture")
)]
#[case::captured("ISTIO_MUTUAL", "", "", None)]
#[case::plain("DISABLE", "security.istio.io/tlsMode: disabled", NONE, None)]
fn fp053_mutual_rules(
    #[case] mode: &str,
    #[case] labels: &str,
    #[case] annotations: &str,
    #[case] expected: Option<&str>,
) {
    let scenario = train(labels, annotations, "").mesh(&[&web("{port: 6006}"), &destination_rule("web", mode)]);
    check("FP053", scenario, expected);
}

const DIRECT: &str =
    "trainmesh.dev/applied: 'mesh.hold,mesh.traffic', traffic.sidecar.istio.io/excludeOutboundIPRanges: 10.244.0.0/16";
const CALLS: &str = "env: [{name: DB, value: 'postgres://db:5432/a'}]";

fn database(mode: &str) -> [String; 2] {
    [headless("db", "app: db", "{port: 5432}"), peer_authentication(mode)]
}

fn direct(container: &str, objects: &[String]) -> Scenario {
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    train("", DIRECT, container).mesh(&objects)
}

#[rstest]
#[case::named(direct(CALLS, &database("STRICT")), Some("headless Service team-a/db requires mTLS, which direct calls do not have"))]
#[case::named_in_a_command(direct("args: ['--db=db.team-a.svc:5432']", &database("STRICT")), Some("headless Service team-a/db requires mTLS, which direct calls do not have"))]
#[case::in_the_namespace(direct("", &database("STRICT")), Some("headless Services require mTLS, which direct calls do not have: db"))]
#[case::permissive(direct(CALLS, &database("PERMISSIVE")), None)]
#[case::cluster_ip(direct(CALLS, &[service("db", "app: db", "{port: 5432}"), peer_authentication("STRICT")]), None)]
#[case::of_the_job(direct(CALLS, &[headless("db", "app: train", "{port: 5432}"), peer_authentication("STRICT")]), None)]
#[case::of_another_job(direct(CALLS, &[headless("db", "batch.kubernetes.io/job-name: b", "{port: 5432}"), peer_authentication("STRICT")]), None)]
#[case::not_direct(train("", "", CALLS).mesh(&[&database("STRICT")[0], &database("STRICT")[1]]), None)]
#[case::other_ranges(train("", "traffic.sidecar.istio.io/excludeOutboundIPRanges: 169.254.0.0/16", CALLS).mesh(&[&database("STRICT")[0], &database("STRICT")[1]]), None)]
fn fp054_direct_calls(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP054", scenario, expected);
}

#[test]
fn fp054_is_information_if_the_pod_does_not_name_the_service() {
    let severity = |container| {
        let findings = direct(container, &database("STRICT")).lint(&LintSettings::default());
        findings.iter().find(|finding| finding.code == "FP054").map(|finding| finding.severity)
    };
    assert_eq!(severity(CALLS), Some(Severity::Warning));
    assert_eq!(severity(""), Some(Severity::Info));
}

/// Returns a pod of the role `server` of a `JobSet`, whose Envoy captures port 8000.
fn server(annotations: &str) -> String {
    format!(
        "{{metadata: {{labels: {{app: server, jobset.sigs.k8s.io/jobset-name: rl-2, jobset.sigs.k8s.io/replicatedjob-name: server}}, \
          annotations: {{jobset.sigs.k8s.io/global-replicas: '2', {annotations}}}}}, \
          spec: {{hostname: rl-2-server-0-0, containers: [{{name: server}}]}}}}"
    )
}

/// Returns a pod with direct traffic and this container, beside [`server`].
fn beside_server(url: &str, mode: &str) -> Scenario {
    let container = format!("args: ['--reward={url}']");
    let server = server("traffic.sidecar.istio.io/includeInboundPorts: '8000'");
    direct(&container, &[peer_authentication(mode)]).beside(&server)
}

#[rstest]
#[case::of_a_pod(
    "http://rl-2-server-0-0.rl-2:8000/v1",
    "STRICT",
    Some("rl-2-server-0-0.rl-2:8000: other requires mTLS, which direct calls do not have")
)]
#[case::of_another_pod(
    "rl-2-server-1-0.rl-2.team-a.svc:8000",
    "STRICT",
    Some("rl-2-server-1-0.rl-2.team-a.svc:8000: other requires mTLS, which direct calls do not have")
)]
#[case::of_a_pod_without_domain(
    "rl-2-server-0-0:8000",
    "STRICT",
    Some("rl-2-server-0-0:8000: other requires mTLS, which direct calls do not have")
)]
#[case::another_namespace("rl-2-server-0-0.rl-2.team-b.svc:8000", "STRICT", None)]
#[case::another_port("http://rl-2-server-0-0.rl-2:8001", "STRICT", None)]
#[case::no_port("rl-2-server-0-0.rl-2", "STRICT", None)]
#[case::permissive("http://rl-2-server-0-0.rl-2:8000", "PERMISSIVE", None)]
#[case::another_role("http://rl-2-learner-0-0.rl-2:8000", "STRICT", None)]
#[case::another_job("http://rl-3-server-0-0.rl-3:8000", "STRICT", None)]
#[case::a_service_of_the_job("http://rl-2-server:8000", "STRICT", None)]
fn fp054_calls_within_a_job(#[case] url: &str, #[case] mode: &str, #[case] expected: Option<&str>) {
    check("FP054", beside_server(url, mode), expected);
}

/// The Service of Ray's head is headless.
#[test]
fn fp054_calls_of_the_head_of_ray() {
    const HEAD: &str = "{metadata: {labels: {ray.io/is-ray-node: 'yes', ray.io/cluster: tune, ray.io/node-type: head}, \
                        annotations: {traffic.sidecar.istio.io/includeInboundPorts: '8265'}}, spec: {containers: [{name: ray}]}}";
    let scenario = |head: &str| {
        direct("args: ['http://tune-head-svc.team-a:8265']", &[peer_authentication("STRICT")]).beside(head)
    };
    check(
        "FP054",
        scenario(HEAD),
        Some("tune-head-svc.team-a:8265: other requires mTLS, which direct calls do not have"),
    );
    check("FP054", scenario(&HEAD.replace("node-type: head", "node-type: worker")), None);
}

#[test]
fn fp054_calls_within_a_job_by_a_headless_service() {
    let scenario_of_call = |host: &str, service: String, annotations: &str| {
        let call = format!("args: ['--reward=http://{host}:8000']");
        direct(&call, &[service, peer_authentication("STRICT")]).beside(&server(annotations))
    };
    let scenario = |service: String, annotations: &str| scenario_of_call("web", service, annotations);
    let message = Some("web:8000: other requires mTLS, which direct calls do not have");
    let (selector, port) = ("jobset.sigs.k8s.io/jobset-name: rl-2", "{port: 8000}");
    let captured = "traffic.sidecar.istio.io/includeInboundPorts: '8000'";
    check("FP054", scenario(headless("web", selector, port), captured), message);
    check("FP054", scenario(headless("web", "app: server", port), captured), message);
    check("FP054", scenario(headless("web", "app: server", port), &captured.replace("8000", "8001")), None);
    check("FP054", scenario(service("web", selector, port), captured), None);
    check("FP054", scenario(headless("web", selector, port), "traffic.sidecar.istio.io/includeInboundPorts: ''"), None);
    let service = headless("web", selector, port);
    let message = Some("web.team-a.svc:8000: other requires mTLS, which direct calls do not have");
    check("FP054", scenario_of_call("web.team-a.svc", service.clone(), captured), message);
    check("FP054", scenario_of_call("web.team-b.svc", service, captured), None);
}

/// A pod that has the annotations already is not changed, and has no mark.
#[test]
fn fp054_applies_to_pods_that_were_direct_before() {
    let annotations = "traffic.sidecar.istio.io/excludeOutboundIPRanges: 10.244.0.0/16";
    let [db, strict] = database("STRICT");
    let scenario = train("", annotations, CALLS).mesh(&[&db, &strict]);
    let scenario = scenario.decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::TrafficAlreadyDirect, "");
    assert!(scenario.ids().contains("FP054"));
}

const PLAIN: &str = "headless Service ranks has no ports: Envoy sends plain text, which STRICT mTLS rejects";
const OF_JOBSET: &str =
    "headless Service of the JobSet has no ports: Envoy sends plain text, which STRICT mTLS rejects";

const OF_LEADER_WORKER_SET: &str =
    "headless Service of the LeaderWorkerSet has no ports: Envoy sends plain text, which STRICT mTLS rejects";

fn leader(annotations: &str) -> Scenario {
    let text = format!(
        "{{metadata: {{labels: {{leaderworkerset.sigs.k8s.io/name: a, leaderworkerset.sigs.k8s.io/worker-index: '0'}}, \
          annotations: {{leaderworkerset.sigs.k8s.io/size: '2', {annotations}}}}}, spec: {{containers: [{{name: serve}}]}}}}"
    );
    pod(&text).labelled("istio-injection", "enabled")
}

fn job_set(annotations: &str) -> Scenario {
    let text = format!(
        "{{metadata: {{labels: {{jobset.sigs.k8s.io/jobset-name: a, jobset.sigs.k8s.io/replicatedjob-name: w}}, \
          annotations: {{jobset.sigs.k8s.io/global-replicas: '2', {annotations}}}}}, spec: {{containers: [{{name: train}}]}}}}"
    );
    pod(&text).labelled("istio-injection", "enabled")
}

#[rstest]
#[case::of_the_manifest(train("", "", TORCH).mesh(&[&headless("ranks", "app: train", ""), &peer_authentication("STRICT")]), Some(PLAIN))]
#[case::of_the_operator(job_set("").mesh(&[&peer_authentication("STRICT")]), Some(OF_JOBSET))]
#[case::of_a_leader_worker_set(leader("").mesh(&[&peer_authentication("STRICT")]), Some(OF_LEADER_WORKER_SET))]
#[case::of_an_uncaptured_leader_worker_set(leader(NONE).mesh(&[&peer_authentication("STRICT")]), None)]
#[case::permissive(job_set("").mesh(&[&peer_authentication("PERMISSIVE")]), None)]
#[case::unknown_mode(job_set(""), None)]
#[case::with_ports(train("", "", TORCH).mesh(&[&headless("ranks", "app: train", "{port: 29500}"), &peer_authentication("STRICT")]), None)]
#[case::cluster_ip(train("", "", TORCH).mesh(&[&service("ranks", "app: train", ""), &peer_authentication("STRICT")]), None)]
#[case::direct(job_set(NONE).mesh(&[&peer_authentication("STRICT")]), None)]
#[case::one_pod(train("", "", "").mesh(&[&headless("ranks", "app: train", ""), &peer_authentication("STRICT")]), None)]
#[case::no_proxy(job_set("").labelled("istio-injection", "disabled").mesh(&[&peer_authentication("STRICT")]), None)]
fn fp055_services_without_ports(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP055", scenario, expected);
}

fn ray(replicas: u64, ports: u32, annotations: &str) -> Scenario {
    let ports: Vec<String> = (1..=ports).map(|port| format!("{{port: {port}}}")).collect();
    let object = headless("ray", "ray.io/cluster: a", &ports.join(", "));
    let object = object.replace("metadata: {", &format!("metadata: {{annotations: {{{annotations}}}, "));
    train("ray.io/cluster: a", "", "").replicas(replicas).mesh(&[&object])
}

#[rstest]
#[case::many(ray(4, 250, ""), Some("headless Service ray adds 1000 listeners to every proxy of the mesh"))]
#[case::fewer(ray(3, 250, ""), None)]
#[case::private(ray(4, 250, "networking.istio.io/exportTo: '.'"), None)]
#[case::outside_of_the_mesh(ray(4, 250, "").labelled("istio-injection", "disabled"), None)]
fn fp058_many_listeners(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP058", scenario, expected);
}
