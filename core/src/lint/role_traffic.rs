//! FP062: the traffic of a part of the roles of a job bypasses Envoy, or is outside of the mesh.

use super::deviation::{Deviation, MAX_COMPARED};
use super::inbound::Inbound;
use super::mutual_role::PatchedRole;
use super::sink::FindingSink;
use super::{JobContext, LintInput};
use crate::finding::Severity;
use crate::keys;
use crate::mesh_objects::MeshView;
use crate::pod::{Injection, NotInjected};
use crate::rule::{RuleId, applied_rules};
use crate::workload;

const FIELD: &str = "/metadata/labels";
const REJECTED: &str = "STRICT mTLS rejects its connections";
const FIX_FOR_SIDECARS: &str =
    "inject the proxy into all pods of the job, or into none: label them sidecar.istio.io/inject: \"false\"";
const FIX_FOR_AMBIENT: &str = "label all pods of the job istio.io/dataplane-mode: none, or no pod of it";
/// Role that starts the ranks, and to which they connect.
const LAUNCHER: &str = "launcher";

/// Path of the connections between a role and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Around Envoy: a rule has disabled its capture.
    Direct,
    /// Through Envoy.
    Captured,
    /// Through ztunnel.
    Ambient,
    /// Without a proxy.
    Plain,
    /// Unknown, because annotations of the user configure it.
    Other,
}

/// FP062: other roles of the job bypass the proxy, but the pod does not.
pub(super) fn mixed_modes(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let Some(deviation) = input.job.and_then(|job| job.captured_role.as_ref()) else { return };
    if input.role != Some(deviation.role.as_str()) {
        return;
    }
    // Assumed labels do not prove that the cluster has Istio; a PeerAuthentication does.
    let is_assumed = input.labels_assumed && deviation.severity == Severity::Warning;
    let severity = if is_assumed { Severity::Info } else { deviation.severity };
    match deviation.fix {
        Some(fix) => findings.push_with_fix(severity, FIELD, deviation.message.as_str(), fix),
        None => findings.push_as(severity, FIELD, deviation.message.as_str()),
    }
}

impl JobContext {
    /// Adds the role whose traffic Envoy captures while that of another one of `roles` bypasses it.
    #[must_use]
    pub fn with_traffic<'a>(self, roles: impl Iterator<Item = PatchedRole<'a>>, mesh: MeshView<'a>) -> Self {
        let roles: Vec<(PatchedRole<'_>, Path)> =
            roles.filter(takes_part).map(|role| (role, path(role))).take(MAX_COMPARED).collect();
        let find = |wanted: Path| roles.iter().find(|(_, path)| *path == wanted).map(|(role, _)| role);
        let by_mode = || {
            let (direct, captured) = find(Path::Direct).zip(find(Path::Captured))?;
            let (direct, name) = (direct.name, captured.name);
            let (severity, consequence) = if mesh.requires_mtls(captured.pod) {
                (Severity::Error, REJECTED)
            } else {
                (Severity::Warning, "its connections may hang")
            };
            let message = format!("{direct} bypasses Envoy, but not {name}: {consequence}");
            Some(Deviation { role: name.to_owned(), message, severity, fix: None })
        };
        // Without STRICT mTLS, proxies accept connections from outside of the mesh.
        let is_strict = |path: Path| {
            let mut captured = roles.iter().filter(move |(_, other)| *other == path);
            captured.find(|(role, _)| mesh.requires_mtls(role.pod)).map(|(role, _)| role)
        };
        let rejected = |role: &str, difference: String, fix| {
            let message = format!("{difference}: {REJECTED}");
            Deviation { role: role.to_owned(), message, severity: Severity::Error, fix: Some(fix) }
        };
        let by_sidecar = || {
            let (plain, name) = (find(Path::Plain)?.name, is_strict(Path::Captured)?.name);
            Some(rejected(name, format!("{plain} has no proxy, but {name} has"), FIX_FOR_SIDECARS))
        };
        let by_ambient = || {
            let plain = find(Path::Plain).or_else(|| find(Path::Direct))?.name;
            let name = is_strict(Path::Ambient)?.name;
            Some(rejected(name, format!("{plain} is outside of the ambient mesh, but not {name}"), FIX_FOR_AMBIENT))
        };
        let deviation = by_mode().or_else(by_sidecar).or_else(by_ambient);
        Self { captured_role: deviation, ..self }
    }
}

/// Returns true if the pods of the role connect to those of all other roles. The roles of kinds such as `JobSet` may run separate
/// programs, of which one keeps its traffic in the mesh deliberately.
fn takes_part(role: &PatchedRole<'_>) -> bool {
    let Some(member) = workload::identify(role.pod) else { return false };
    let communicates = !workload::is_auxiliary_role(member) || member.role == Some(LAUNCHER);
    member.training && member.kind.gang.one_group && communicates && role.replicas != Some(0)
}

/// Returns the path of the connections of the role's pods.
fn path(role: PatchedRole<'_>) -> Path {
    let PatchedRole { pod, original, injection, .. } = role;
    if applied_rules(pod).contains(&RuleId::MeshTraffic) {
        let is_empty = |key| pod.annotation(key) == Some("");
        let has_no_proxy = pod.label(keys::SIDECAR_INJECT) == Some("false");
        let adds_ranges =
            pod.annotation(keys::EXCLUDE_OUTBOUND_RANGES) != original.annotation(keys::EXCLUDE_OUTBOUND_RANGES);
        let leaves = is_empty(keys::INCLUDE_OUTBOUND_RANGES) || has_no_proxy || adds_ranges;
        return if leaves { Path::Direct } else { Path::Other };
    }
    if injection != Injection::Expected && pod.proxy().is_none() {
        let is_ambient = injection == Injection::NotExpected(NotInjected::Ambient);
        return if is_ambient { Path::Ambient } else { Path::Plain };
    }
    let is_captured = Inbound::of(pod, injection).is_some_and(|inbound| inbound.captures_by_default());
    if is_captured && pod.captures_all_traffic() { Path::Captured } else { Path::Other }
}
