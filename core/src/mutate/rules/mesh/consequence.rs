//! Warnings about what a mode of traffic costs. They follow from the label that selects the mode, and the author of a manifest cannot
//! fix them, so that they do not fail a check of manifests.

/// Warning about each pod that gets `direct`.
pub(super) const LEAVES_MESH: &str =
    "mesh.traffic: calls to pod addresses and headless Services leave the mesh: no mTLS, policies or telemetry";
/// Warning about each pod that gets `disableCapture`.
pub(super) const LEAVES_COMPLETELY: &str =
    "mesh.traffic: all traffic leaves the mesh: no mTLS, policies or telemetry, and STRICT servers reject calls";

/// Returns true if `warning` is about what the selected mode of traffic costs.
#[must_use]
pub fn is_consequence(warning: &str) -> bool {
    [LEAVES_MESH, LEAVES_COMPLETELY].contains(&warning)
}
