//! FP045: labels and annotations of trainmesh and Istio that have no effect.

use std::collections::BTreeMap;

use json_patch::jsonptr::PointerBuf;

use super::context::CheckContext;
use super::sink::FindingSink;
use super::unused_labels;
use crate::config::{Profiles, Traffic};
use crate::container_lists;
use crate::finding::Severity;
use crate::hint::nearest;
use crate::json;
use crate::keys;
use crate::own_keys::{Location, excerpt, fabric_problem, injected_pod_problem, is_rejected, problem};
use crate::pod::{Container, ContainerKind, Injection, NotInjected, Pod};
use crate::rule::{Reason, RuleOutcome};
use crate::scope;

/// Field of findings about the labels of the pod's namespace.
pub const NAMESPACE_FIELD: &str = "/metadata/namespace";

/// Labels that select something for opted-in pods, with the value that selects nothing.
const SELECTORS: [(&str, &str); 3] =
    [(keys::FABRIC, keys::NO_FABRIC), (keys::GANG, "none"), (keys::MESH_TRAFFIC, "leave")];
/// Label that excludes a pod from the ambient mesh.
const AMBIENT_OPT_OUT: &str = "istio.io/dataplane-mode=none";
/// How to fix a traffic mode in the ambient mesh.
const FIX_IN_AMBIENT: &str =
    "label the pods istio.io/dataplane-mode: none, if their traffic must bypass the mesh, and remove the traffic mode";
/// How to fix ports that no mode captures.
const FIX_OF_PORTS: &str = "list the ports in traffic.sidecar.istio.io/includeInboundPorts, select trainmesh.dev/mesh-traffic: direct, or remove it";
/// How to fix a label or annotation of Istio.
const FIX_OF_ISTIO: &str = "follow the message, or remove the label or annotation of Istio";
/// How to fix an annotation that names containers.
const FIX_OF_CONTAINERS: &str = "name containers of the pod in the annotation, or remove it";
/// Part of the names of the labels and annotations of Istio.
const ISTIO: &str = "istio";
/// Maximum number of containers, and of names in an annotation: as many as the controller reads.
const MAX_NAMES: usize = 64;

/// Pods for which the rules run that labels select. With the label of istio-aux alone, only others run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoveredPods {
    /// The pod.
    This,
    /// Others, but not the pod.
    Others,
    /// None of the namespace, whatever its labels.
    None,
}

/// Conditions on which the effect of a label depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyScope<'a> {
    /// Pods for which the rules run.
    pub(crate) covered: CoveredPods,
    /// Fabric profiles, if they are known.
    pub(crate) profiles: Option<&'a Profiles>,
    /// Decisions of the rules, which report some problems themselves.
    pub(crate) rules: &'a [RuleOutcome],
    /// Sidecar injection that Istio performs for the pod.
    pub(crate) injection: Injection,
    /// True if the labels of the namespace, on which the injection depends, are not known but assumed.
    pub(crate) labels_assumed: bool,
}

/// Problem of a label or annotation.
struct Problem {
    severity: Severity,
    message: String,
    /// How to fix it; `None`: as for the check.
    fix: Option<&'static str>,
}

/// FP045: a label or annotation that has no effect.
pub(super) fn without_effect(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let input = context.input;
    let is_istio_aux = input.rules.iter().any(|rule| rule.reason == Reason::IstioAuxNamespace);
    let scope = KeyScope {
        covered: match input.exclusion() {
            None if is_istio_aux => CoveredPods::Others,
            None => CoveredPods::This,
            Some(Reason::ExcludedNamespace) => CoveredPods::None,
            Some(_) => CoveredPods::Others,
        },
        profiles: input.profiles,
        rules: input.rules,
        injection: input.injection,
        labels_assumed: input.labels_assumed,
    };
    check(input.original, input.labels, scope, findings);
    unused_labels::check(input, findings);
}

/// Runs FP045 without a [`CheckContext`].
pub(super) fn check(
    pod: Pod<'_>,
    namespace_labels: &BTreeMap<String, String>,
    scope: KeyScope<'_>,
    findings: &mut FindingSink<'_>,
) {
    for (map, location) in [("labels", Location::PodLabel), ("annotations", Location::PodAnnotation)] {
        let entries = pod.metadata().and_then(|metadata| json::field(metadata, map)?.as_object());
        for (key, value) in entries.into_iter().flatten() {
            let Some(problem) = value.as_str().and_then(|value| scope.problem(location, key, value)) else { continue };
            problem.push(PointerBuf::from_tokens(["metadata", map, key]).to_string(), findings);
        }
    }
    for key in [keys::PAYLOAD_CONTAINERS, keys::HELPER_CONTAINERS] {
        for problem in unknown_containers(pod, key) {
            let field = PointerBuf::from_tokens(["metadata", "annotations", key]).to_string();
            findings.push_with_fix(Severity::Warning, field, problem, FIX_OF_CONTAINERS);
        }
    }
    for (key, value) in namespace_labels {
        // The label of the pod takes precedence.
        let is_overridden = key == keys::MESH_TRAFFIC && pod.label(key).is_some();
        let problem = scope.problem(Location::NamespaceLabel, key, value).filter(|_| !is_overridden);
        if let Some(problem) = problem {
            problem.push(NAMESPACE_FIELD, findings);
        }
    }
    match scope.covered {
        CoveredPods::This => {}
        CoveredPods::Others => {
            if !namespace_labels.contains_key(keys::INJECT) && !misspells_opt_in(namespace_labels) {
                check_without_opt_in(pod, namespace_labels, scope, findings);
            } else if scope::is_opted_out(pod) {
                check_opted_out(pod, scope, findings);
            }
        }
        CoveredPods::None => check_in_excluded_namespace(pod, findings),
    }
}

/// Reports the labels that select something for a pod whose namespace has no label [`keys::INJECT`].
fn check_without_opt_in(
    pod: Pod<'_>,
    namespace_labels: &BTreeMap<String, String>,
    scope: KeyScope<'_>,
    findings: &mut FindingSink<'_>,
) {
    for (key, neutral) in SELECTORS {
        let of_pod = pod.label(key).map(|value| (Location::PodLabel, value));
        let of_namespace = namespace_labels.get(key).map(|value| (Location::NamespaceLabel, value.as_str()));
        let is_valid =
            |(location, value): &(Location, &str)| *value != neutral && scope.problem(*location, key, value).is_none();
        let Some((location, _)) = of_pod.or(of_namespace).filter(is_valid) else { continue };
        let field = match location {
            Location::NamespaceLabel => NAMESPACE_FIELD.to_owned(),
            _ => PointerBuf::from_tokens(["metadata", "labels", key]).to_string(),
        };
        findings.push(field, format!("{} {}", location.name(), without_opt_in(key)));
    }
}

/// Reports the labels that select something for a pod that its own label excludes.
fn check_opted_out(pod: Pod<'_>, scope: KeyScope<'_>, findings: &mut FindingSink<'_>) {
    for (key, neutral) in SELECTORS {
        let is_valid = |value: &str| value != neutral && scope.problem(Location::PodLabel, key, value).is_none();
        if pod.label(key).is_some_and(is_valid) {
            let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
            let reason = Reason::PodOptedOut.text();
            findings.push(field, format!("{} {key} has no effect: {reason}", Location::PodLabel.name()));
        }
    }
}

/// Reports the labels that select something for a pod of a namespace that is always excluded.
fn check_in_excluded_namespace(pod: Pod<'_>, findings: &mut FindingSink<'_>) {
    for (key, neutral) in SELECTORS {
        let is_valid = |value: &str| value != neutral && problem(Location::PodLabel, key, value).is_none();
        if pod.label(key).is_some_and(is_valid) {
            let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
            findings.push(field, format!("{} {}", Location::PodLabel.name(), in_excluded_namespace(key)));
        }
    }
}

/// Returns a message about each container that the annotation `key` names and the pod does not have.
fn unknown_containers(pod: Pod<'_>, key: &str) -> Vec<String> {
    let is_main = key == keys::PAYLOAD_CONTAINERS;
    let may_be_named = |kind| kind == ContainerKind::App || !is_main && kind == ContainerKind::NativeSidecar;
    let containers = pod.containers().take(MAX_NAMES).filter(|container| may_be_named(container.kind));
    let known: Vec<&str> = containers.map(Container::name).collect();
    let text = pod.annotation(key).unwrap_or_default();
    let listed: Vec<&str> = if is_main {
        container_lists::items(text).take(MAX_NAMES).collect()
    } else {
        container_lists::sidecars(text).map(|(name, _)| name).take(MAX_NAMES).collect()
    };
    let consequence = if is_main { "nothing will be terminated" } else { "the entry has no effect" };
    let message = |name: &str| {
        // The pairs of an annotation are often taken for those of YAML.
        if let Some((container, sidecar)) =
            name.split_once(':').filter(|(container, _)| !is_main && known.contains(container))
        {
            let sidecar = excerpt(sidecar.trim());
            return format!("{key}: {} has no effect: did you mean {container}={sidecar}?", excerpt(name));
        }
        let fix = nearest(name, &known).map(|near| format!(": did you mean {near}?")).unwrap_or_default();
        format!("{key}: the pod has no container {}: {consequence}{fix}", excerpt(name))
    };
    listed.into_iter().filter(|name| !name.is_empty() && !known.contains(name)).map(message).collect()
}

/// Runs FP045 for the annotations of a namespace.
pub(super) fn check_namespace_annotations(annotations: &BTreeMap<String, String>, findings: &mut FindingSink<'_>) {
    for (key, value) in annotations {
        if let Some(problem) = problem(Location::NamespaceAnnotation, key, value) {
            let field = PointerBuf::from_tokens(["metadata", "annotations", key]).to_string();
            findings.push(field, format!("{} {problem}", Location::NamespaceAnnotation.name()));
        }
    }
}

/// Runs FP045 for the labels of a namespace, which may be excluded whatever its labels. Unlike [`check`], it also checks what the rules
/// would report for each pod.
pub(super) fn check_namespace(
    labels: &BTreeMap<String, String>,
    profiles: &Profiles,
    is_excluded: bool,
    findings: &mut FindingSink<'_>,
) {
    for (key, value) in labels {
        let unknown_profile = (key == keys::FABRIC).then(|| fabric_problem(value, profiles)).flatten();
        if let Some(problem) = unknown_profile.or_else(|| problem(Location::NamespaceLabel, key, value)) {
            let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
            let message = format!("{} {problem}", Location::PodLabel.name());
            Problem { severity: Severity::Warning, message, fix: fix_of(key) }.push(field, findings);
        }
    }
    if !is_excluded && (labels.contains_key(keys::INJECT) || misspells_opt_in(labels)) {
        return;
    }
    let opt_in = is_excluded.then_some((keys::INJECT, scope::DISABLED));
    for (key, neutral) in opt_in.into_iter().chain(SELECTORS) {
        let is_valid = |value: &String| {
            value != neutral
                && problem(Location::NamespaceLabel, key, value).is_none()
                && (key != keys::FABRIC || fabric_problem(value, profiles).is_none())
        };
        if labels.get(key).is_some_and(is_valid) {
            let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
            let problem = if is_excluded { in_excluded_namespace(key) } else { without_opt_in(key) };
            findings.push(field, format!("{} {problem}", Location::PodLabel.name()));
        }
    }
}

/// Returns true if the key of one of `labels` is a misspelled [`keys::INJECT`], which is reported instead of its consequences.
fn misspells_opt_in(labels: &BTreeMap<String, String>) -> bool {
    let mut own = labels.keys().filter_map(|key| key.strip_prefix(keys::OWN_PREFIX));
    let opt_in = keys::INJECT.strip_prefix(keys::OWN_PREFIX).unwrap_or_default();
    own.any(|name| name != opt_in && nearest(name, &[opt_in]).is_some())
}

/// Returns the problem of the label `key` of a namespace without [`keys::INJECT`], or of a pod in it.
fn without_opt_in(key: &str) -> String {
    format!("{key} has no effect without {}={} on the namespace", keys::INJECT, scope::ENABLED)
}

/// Returns the problem of the label `key` of a namespace that is always excluded, or of a pod in it.
fn in_excluded_namespace(key: &str) -> String {
    format!("{key} has no effect: {}", Reason::ExcludedNamespace.text())
}

impl KeyScope<'_> {
    /// Returns true if a rule decided for one of `reasons`.
    fn has_reason(self, reasons: &[Reason]) -> bool {
        self.rules.iter().any(|rule| reasons.contains(&rule.reason))
    }

    /// Returns the problem of an entry. Unknown values of `mesh-traffic` and `gang` are left to their rules, which refuse them
    /// with a warning, unless they do not run, and so are unknown fabric profiles.
    fn problem(self, location: Location, key: &str, value: &str) -> Option<Problem> {
        let is_label = location != Location::PodAnnotation;
        let (is_traffic, is_gang) = (is_label && key == keys::MESH_TRAFFIC, is_label && key == keys::GANG);
        if key == keys::MESH_PORTS && self.has_reason(&[Reason::MeshPortsInvalid]) {
            return None;
        }
        // The traffic mode captures no port.
        let ignores_ports = || self.has_reason(&[Reason::CaptureDisabled, Reason::CaptureAlreadyDisabled]);
        if key == keys::MESH_PORTS && location == Location::PodAnnotation && ignores_ports() {
            let problem = format!("{key} has no effect with {}", Traffic::DisableCapture);
            let message = format!("{} {problem}", location.name());
            return Some(Problem { severity: Severity::Warning, message, fix: Some(FIX_OF_PORTS) });
        }
        let (problem, fix) = match Traffic::parse(value).filter(|_| is_traffic) {
            Some(mode) => (self.ambient_problem(key, mode), Some(FIX_IN_AMBIENT)),
            None if is_traffic && self.covered == CoveredPods::This => (None, None),
            None if is_gang && self.has_reason(&[Reason::UnknownGangMode]) => (None, None),
            None => {
                let of_fabric = self.fabric_problem(key, value).filter(|_| is_label);
                let other = || problem(location, key, value).or_else(|| self.injected_problem(location, key, value));
                (of_fabric.or_else(other), fix_of(key))
            }
        };
        let problem = problem?;
        let is_rejected = location == Location::PodAnnotation && !self.labels_assumed && is_rejected(key, value);
        let severity = if is_rejected { Severity::Error } else { Severity::Warning };
        Some(Problem { severity, message: format!("{} {problem}", location.name()), fix })
    }

    /// Returns the problem of a label [`keys::FABRIC`] that the rule `fabric` does not read.
    fn fabric_problem(self, key: &str, value: &str) -> Option<String> {
        let profiles = self.profiles.filter(|_| key == keys::FABRIC && self.covered == CoveredPods::Others)?;
        fabric_problem(value, profiles)
    }

    /// Returns the problem of an entry of a pod that Istio injects, unless the rule `mesh.traffic` reports an annotation that the
    /// injector rejects. Injection is known only if the rules run.
    fn injected_problem(self, location: Location, key: &str, value: &str) -> Option<String> {
        let is_injected = self.covered == CoveredPods::This && self.injection == Injection::Expected;
        let problem = injected_pod_problem(location, key, value).filter(|_| is_injected)?;
        (!self.has_reason(&[Reason::CaptureAnnotationInvalid])).then_some(problem)
    }

    /// Returns why the traffic mode has no effect: in the ambient mesh, ztunnel redirects the traffic of the pod.
    fn ambient_problem(self, key: &str, mode: Traffic) -> Option<String> {
        let is_ambient = self.injection == Injection::NotExpected(NotInjected::Ambient);
        // The rule refuses `direct` there, with a warning.
        let has_no_effect =
            self.covered == CoveredPods::This && is_ambient && !matches!(mode, Traffic::Leave | Traffic::Direct);
        has_no_effect.then(|| format!("{key} has no effect in ambient mode: label pods {AMBIENT_OPT_OUT}"))
    }
}

impl Problem {
    fn push(self, field: impl Into<String>, findings: &mut FindingSink<'_>) {
        match self.fix {
            Some(fix) => findings.push_with_fix(self.severity, field, self.message, fix),
            None => findings.push_as(self.severity, field, self.message),
        }
    }
}

/// Returns how to fix the label or annotation `key`; `None`: as for the check.
fn fix_of(key: &str) -> Option<&'static str> {
    key.contains(ISTIO).then_some(FIX_OF_ISTIO)
}
