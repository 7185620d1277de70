//! Lints the patched pod.

use super::exemption::exemption;
use super::patched_pod::PatchedPod;
use super::{ProfileChoice, Reason, RuleId, RuleOutcome, Snapshot};
use crate::config::profile::IstioBypass;
use crate::config::{CheckId, Profile, Traffic};
use crate::finding::{self, Finding, Severity};
use crate::keys;
use crate::lint::{self, CoveredPods, KeyScope, LintInput};
use crate::pod::{Injection, NotInjected, Pod, predict_injection};
use crate::scope::Mode;
use crate::workload;

/// Checks that do not run in admission. The rules themselves report the first four as warnings, the first one for every
/// training pod; and before a review, the apiserver has dropped unknown fields.
const NOT_SELECTED: [CheckId; 5] =
    [lint::CAPTURED_TRAFFIC, lint::REFUSED_RULES, lint::RUNNING_SIDECARS, lint::UNKNOWN_CLAIMS, lint::UNKNOWN_FIELDS];

/// Lints the patched pod. If fabrics are disabled or the pod does not use one, only the labels and annotations of
/// trainmesh are checked.
pub(super) fn lint_patched_pod(pod: &PatchedPod<'_>, rules: &[RuleOutcome], snapshot: &Snapshot<'_>) -> Vec<Finding> {
    let original = Pod::new(pod.original());
    let fabric = &snapshot.config.fabric;
    if exemption(original).is_some() {
        return Vec::new();
    }
    let input = || LintInput { rules, ..lint_input(original, Pod::new(pod.patched()), snapshot) };
    let profile = selected_profile(original, snapshot);
    let injection = predict_injection(original, snapshot.namespace, snapshot.namespace_labels);
    let uses_fabric = |pod| lint::uses_fabric(pod, profile, snapshot.cluster.claims);
    let is_checked = snapshot.mode != Mode::IstioAux && fabric.enabled;
    let mut findings =
        if is_checked && (uses_fabric(original) || pod.changes_spec() && uses_fabric(Pod::new(pod.patched()))) {
            let is_selected = |check| !NOT_SELECTED.contains(&check) && !lint::MESH.contains(&check);
            lint::lint_selected(&input(), &fabric.lint, is_selected)
        } else {
            lint_keys(original, rules, snapshot)
        };
    // Of the modes that a namespace selects, only this one leaves the traffic as it is.
    let is_left = || {
        let mode = snapshot.namespace_labels.get(keys::MESH_TRAFFIC);
        mode.is_some_and(|mode| Traffic::parse(mode) == Some(Traffic::Leave))
    };
    let has_label = original.label(keys::MESH_TRAFFIC).is_some() || is_left();
    if is_left_by_profile(profile, rules) && !has_label {
        // Settings of the profile decide, which only the patched pod has.
        findings.extend(lint::captured_traffic(&input(), &fabric.lint));
    } else if snapshot.labels_assumed || has_label || injection == Injection::NotExpected(NotInjected::Ambient) {
        findings.extend(captured_traffic_info(&input(), snapshot));
    }
    finding::sort(&mut findings);
    findings
}

/// Returns true if `profile` leaves the traffic in the mesh, except that of some interfaces.
fn is_left_by_profile(profile: Option<&Profile>, rules: &[RuleOutcome]) -> bool {
    let excludes = profile.is_some_and(|profile| profile.mesh.istio == IstioBypass::ExcludeInterfaces);
    excludes && rules.iter().any(|rule| rule.rule == RuleId::MeshTraffic && rule.reason == Reason::TrafficLeft)
}

/// Checks the labels and annotations of trainmesh alone, which do not depend on the rest of the pod.
pub(super) fn lint_keys(pod: Pod<'_>, rules: &[RuleOutcome], snapshot: &Snapshot<'_>) -> Vec<Finding> {
    let Snapshot { namespace, namespace_labels: labels, config, .. } = *snapshot;
    let injection = predict_injection(pod, namespace, labels);
    let scope = KeyScope {
        covered: if snapshot.mode == Mode::IstioAux { CoveredPods::Others } else { CoveredPods::This },
        profiles: Some(&config.fabric.profiles),
        rules,
        injection,
        labels_assumed: snapshot.labels_assumed,
    };
    lint::keys_without_effect(pod, labels, scope, &config.fabric.lint)
}

/// Returns the finding about captured traffic if its severity is info, as for assumed labels, in the ambient mesh, for the
/// mode `leave`, and for a label without effect on a single pod. The rule `mesh.traffic` omits such findings.
fn captured_traffic_info(input: &LintInput<'_>, snapshot: &Snapshot<'_>) -> Option<Finding> {
    if snapshot.mode == Mode::IstioAux || !snapshot.config.mesh.enabled {
        return None;
    }
    let finding = lint::captured_traffic(input, &snapshot.config.fabric.lint)?;
    (finding.severity == Severity::Info).then_some(finding)
}

/// Returns the lint input for a pod: `original` as its owner created it, `pod` after the patch.
#[must_use]
pub fn lint_input<'a>(original: Pod<'a>, pod: Pod<'a>, snapshot: &Snapshot<'a>) -> LintInput<'a> {
    let Snapshot { namespace, namespace_labels: labels, labels_assumed, replicas, cluster, .. } = *snapshot;
    LintInput {
        pod,
        original,
        labels,
        labels_assumed,
        profile: selected_profile(original, snapshot),
        profiles: Some(&snapshot.config.fabric.profiles),
        cluster,
        member: workload::identify(original),
        role: None,
        replicas,
        job: None,
        workload: None,
        compute_domains: &[],
        rules: &[],
        invalid: &[],
        generic: false,
        injection: predict_injection(pod, namespace, labels),
    }
}

/// Returns the profile that the pod selects, at the revision that running pods of its job use, if it is available in the namespace.
/// The settings for the lint of another profile must not apply.
fn selected_profile<'a>(pod: Pod<'a>, snapshot: &Snapshot<'a>) -> Option<&'a Profile> {
    let fabric = &snapshot.config.fabric;
    let ProfileChoice::Profile(name) = snapshot.fabric_profile(pod) else { return None };
    let pinned = snapshot.cluster.pin.filter(|pin| pin.profile == name).and_then(|pin| pin.body);
    let configured = fabric.profiles.find(name).map(|entry| &entry.profile);
    // As for the rule, the configuration decides, although running pods may use an older profile.
    let is_allowed = configured.or(pinned)?.allows(snapshot.namespace, snapshot.namespace_labels);
    pinned.or(configured).filter(|_| fabric.enabled && is_allowed)
}
