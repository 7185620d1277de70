//! Services of the mesh: FP052 to FP055, FP058. Without the objects, which manifests or the cluster contain, nothing is
//! concluded.

use super::inbound::Inbound;
use super::sink::FindingSink;
use super::{LintInput, job_calls};
use crate::finding::Severity;
use crate::json;
use crate::keys;
use crate::mesh_objects::{MeshObjects, Service};
use crate::names::join_names;
use crate::pod::{Container, ContainerKind, Injection, Pod};
use crate::rule::{Reason, RuleId, RuleOutcome, applied_rules};
use crate::workload::{self, PodIdentity};

/// Field of findings about capture.
const ANNOTATIONS: &str = "/metadata/annotations";
/// Fix of FP055 for a pod whose traffic the rule `mesh.traffic` would exclude, but for audit mode.
const AUDITED: &str = "label the namespace trainmesh.dev/inject: enabled: audit mode does not apply the selected mode";
/// Number of listeners that one headless Service adds to every proxy, from which it is reported. With Envoy 1.39, 1,000
/// listeners with their clusters take 54 MB, of a request of 128 MiB that Istio's chart sets. Ray's default range of worker
/// ports has 10,000 ports; the ports of Ray itself are some ten.
pub(crate) const MAX_LISTENERS: u64 = 1_000;
/// Maximum length of the text of a pod that is searched for the names of Services.
const MAX_TEXT: usize = 256 * 1024;

/// A text in which a pod names the Services that it calls.
#[derive(Clone, Copy)]
pub(super) struct CallText<'a> {
    pub(super) value: &'a str,
    container: Container<'a>,
    place: TextPlace,
}

/// Place of a text in its container.
#[derive(Clone, Copy)]
enum TextPlace {
    /// Variable with this index.
    Variable(usize),
    /// Part of the command line with this index.
    Argument(usize),
}

impl CallText<'_> {
    /// Returns the JSON pointer of the text in the pod.
    pub(super) fn pointer(self) -> String {
        match self.place {
            TextPlace::Variable(index) => format!("{}/env/{index}", self.container.pointer()),
            TextPlace::Argument(index) => self.container.argument_pointer(index),
        }
    }
}

/// FP052: clients with a sidecar send mTLS to a port of a Service that Envoy does not capture.
pub(super) fn uncaptured_port(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let pod = input.pod;
    // The injector writes `istio` if the label is absent or empty.
    if !matches!(pod.label(keys::TLS_MODE), None | Some("istio" | "")) {
        return;
    }
    for (objects, service, port, target) in uncaptured_ports(input) {
        if objects.mutual_rule(service, port).is_none() {
            let name = &service.name;
            findings.push(
                ANNOTATIONS,
                format!("Service {name}: clients send mTLS to port {target}, which Envoy does not capture"),
            );
        }
    }
}

/// FP053: a `DestinationRule` requires mTLS on a port of a Service that Envoy does not capture.
pub(super) fn mutual_rule(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    for (objects, service, port, target) in uncaptured_ports(input) {
        if let Some(rule) = objects.mutual_rule(service, port) {
            let message =
                format!("DestinationRule {} requires mTLS on port {target}, which Envoy does not capture", rule.name);
            findings.push_for(rule.field, ANNOTATIONS, message);
        }
    }
}

/// Returns the ports of Services to which clients connect, and which Envoy does not capture, with the target ports. The
/// pods of a job communicate on other ports.
fn uncaptured_ports<'a>(input: &LintInput<'a>) -> Vec<(&'a MeshObjects, &'a Service, u16, u16)> {
    let LintInput { pod, cluster, member, injection, .. } = *input;
    let (Some(objects), Some(inbound)) = (cluster.mesh.objects, Inbound::of(pod, injection)) else {
        return Vec::new();
    };
    let member_ports = member.filter(|member| member.training).map(|member| workload::member_ports(pod, member));
    let member_ports = member_ports.unwrap_or_default();
    let services = cluster.mesh.services_of(pod);
    let ports =
        services.flat_map(|service| service.target_ports(pod).map(move |(port, target)| (service, port, target)));
    ports
        .filter(|(_, _, target)| !inbound.captures(*target) && !member_ports.contains(target))
        .map(|(service, port, target)| (objects, service, port, target))
        .collect()
}

/// FP054: the pod's calls to a headless Service bypass Envoy, but the pods of the Service require mTLS.
pub(super) fn direct_calls(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, cluster, .. } = *input;
    let (Some(objects), true) = (cluster.mesh.objects, is_direct(input)) else { return };
    let texts = texts(pod);
    let namespace = cluster.mesh.namespace;
    let of_job = |service: &Service| {
        let is_listed = input.job.is_some_and(|job| job.services.contains(&service.name));
        is_listed && service.namespace == namespace || service.selects(pod)
    };
    // Services of jobs connect their own pods.
    let is_candidate = |service: &&Service| {
        service.is_headless
            && !of_job(service)
            && !service.selects_by(workload::IDENTITY_LABELS)
            && objects.requires_mtls(service)
    };
    let mut others = Vec::new();
    for service in objects.services().filter(is_candidate) {
        match texts.iter().find(|text| service.is_named_in(text.value, namespace)) {
            Some(text) => {
                let message = format!("headless Service {service} requires mTLS, which direct calls do not have");
                findings.push(text.pointer(), message);
            }
            None if service.namespace == namespace => others.push(&service.name),
            None => {}
        }
    }
    let others = join_names(others);
    if !others.is_empty() {
        let message = format!("headless Services require mTLS, which direct calls do not have: {others}");
        findings.push_as(Severity::Info, ANNOTATIONS, message);
    }
    job_calls::check(input, &texts, findings);
}

/// Returns true if the pod's connections to addresses of pods bypass Envoy.
fn is_direct(input: &LintInput<'_>) -> bool {
    let is_decided = input.rules.iter().any(|rule| {
        rule.rule == RuleId::MeshTraffic && matches!(rule.reason, Reason::TrafficDirect | Reason::TrafficAlreadyDirect)
    });
    let has_ranges = input.pod.annotation(keys::EXCLUDE_OUTBOUND_RANGES).is_some_and(|ranges| !ranges.is_empty());
    has_ranges && (is_decided || applied_rules(input.pod).contains(&RuleId::MeshTraffic))
}

/// Returns the texts in which a pod names the Services that it calls: variables and commands.
fn texts(pod: Pod<'_>) -> Vec<CallText<'_>> {
    let containers = pod.containers().filter(|container| container.kind != ContainerKind::Ephemeral);
    let texts = containers.filter(|container| !container.is_proxy()).flat_map(|container| {
        let text = move |place, value| CallText { value, container, place };
        let variables = json::items(container.raw(), "env").enumerate();
        let variables = variables
            .filter_map(move |(index, entry)| Some(text(TextPlace::Variable(index), json::text(entry, "value")?)));
        let arguments = container.command_line().enumerate();
        variables.chain(arguments.map(move |(index, value)| text(TextPlace::Argument(index), value)))
    });
    let mut length = 0_usize;
    texts
        .take_while(|text| {
            length = length.saturating_add(text.value.len());
            length <= MAX_TEXT
        })
        .collect()
}

/// FP055: Envoy requires mTLS on all ports, but clients know no port of the headless Service, and send plain text.
pub(super) fn service_without_ports(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, cluster, member, injection, replicas, .. } = *input;
    let is_captured = Inbound::of(pod, injection).is_some_and(|inbound| inbound.captures_by_default());
    let communicates = |member: PodIdentity<'_>| {
        workload::is_serving_group(pod, member) || workload::has_training_peers(pod, member, replicas)
    };
    let member = member.filter(|member| communicates(*member));
    let Some(member) = member.filter(|_| is_captured && cluster.mesh.requires_mtls(pod)) else { return };
    let mut services = cluster.mesh.services_of(pod);
    let found = services.find(|service| service.is_headless && service.port_count() == 0);
    let name = match found {
        Some(service) => format!("Service {}", service.name),
        None if member.kind.gang.portless_service => format!("Service of the {}", member.kind.kind),
        None => return,
    };
    let message = format!("headless {name} has no ports: Envoy sends plain text, which STRICT mTLS rejects");
    let object = found.and_then(|service| service.field.as_ref());
    if is_exclusion_audited(pod, input.rules) {
        findings.push_for_with_fix(object, ANNOTATIONS, message, AUDITED);
    } else {
        findings.push_for(object, ANNOTATIONS, message);
    }
}

/// Returns true if the rule `mesh.traffic` would exclude the inbound traffic of the pod, but for audit mode.
pub(crate) fn is_exclusion_audited(pod: Pod<'_>, rules: &[RuleOutcome]) -> bool {
    let keeps_inbound = |rule: &RuleOutcome| {
        rule.reason == Reason::CaptureDisabled && keys::INBOUND_CAPTURE.iter().any(|key| pod.annotation(key).is_some())
    };
    rules.iter().any(|rule| rule.rule == RuleId::MeshTraffic && rule.is_audited() && !keeps_inbound(rule))
}

/// FP058: a headless Service of Ray adds a listener for each port and pod to every proxy of the mesh.
pub(super) fn many_listeners(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, cluster, injection, replicas, .. } = *input;
    if pod.label(keys::RAY_CLUSTER).is_none() || injection != Injection::Expected {
        return;
    }
    for service in cluster.mesh.services_of(pod).filter(|service| service.is_headless && service.is_exported) {
        let ports = u64::try_from(service.port_count()).unwrap_or(u64::MAX);
        let listeners = ports.saturating_mul(replicas.unwrap_or(1));
        if listeners >= MAX_LISTENERS {
            let name = &service.name;
            let message = format!("headless Service {name} adds {listeners} listeners to every proxy of the mesh");
            findings.push("/metadata/labels", message);
        }
    }
}
