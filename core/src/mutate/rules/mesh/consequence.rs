//! Warnings about what a mode of traffic costs.

/// Warning about each pod that gets `direct`.
pub(super) const LEAVES_MESH: &str =
    "mesh.traffic: calls to pod addresses and headless Services leave the mesh: no mTLS, policies or telemetry";
/// Warning about each pod that gets `disableCapture`.
pub(super) const LEAVES_COMPLETELY: &str =
    "mesh.traffic: all traffic leaves the mesh: no mTLS, policies or telemetry, and STRICT servers reject calls";
/// Warning about each pod that gets `disableCapture`, but keeps its own inbound capture.
pub(super) const LEAVES_OUTBOUND: &str =
    "mesh.traffic: all calls of the pod leave the mesh: no mTLS or telemetry, and STRICT servers reject them";
/// Warning about each pod that gets `disableCapture`, but keeps its own outbound capture.
pub(super) const LEAVES_INBOUND: &str =
    "mesh.traffic: all connections to the pod leave the mesh: no mTLS, policies or telemetry";

/// The warnings, each with the one in audit mode, which changes no pods.
const IN_AUDIT: [(&str, &str); 4] = [
    (
        LEAVES_MESH,
        "audit: mesh.traffic: calls to pod addresses and headless Services would leave the mesh: no mTLS, policies or telemetry",
    ),
    (
        LEAVES_COMPLETELY,
        "audit: mesh.traffic: all traffic would leave the mesh: no mTLS, policies or telemetry; STRICT servers reject calls",
    ),
    (
        LEAVES_OUTBOUND,
        "audit: mesh.traffic: all calls of the pod would leave the mesh: no mTLS or telemetry, and STRICT servers reject them",
    ),
    (
        LEAVES_INBOUND,
        "audit: mesh.traffic: all connections to the pod would leave the mesh: no mTLS, policies or telemetry",
    ),
];

/// Returns what `warning` becomes in audit mode, if it is about what the selected mode of traffic costs.
pub(crate) fn in_audit(warning: &str) -> Option<&'static str> {
    IN_AUDIT.iter().find(|(known, _)| *known == warning).map(|(_, audited)| *audited)
}

/// Returns true if `warning` is about what the selected mode of traffic costs.
pub(crate) fn is_consequence(warning: &str) -> bool {
    in_audit(warning).is_some()
}
