//! IP ranges to which Envoy captures no connections in the mode `direct`.

use super::annotations::{CaptureAnnotations, Selection};
use crate::config::Mesh;

/// Returns the value of the annotation: the user's text, followed by the ranges of the configuration that it lacks.
/// Returns `None` if the user disabled the capture of connections.
///
/// The annotation replaces the exclusions of the mesh, so that it repeats them.
pub(super) fn excluded(mesh: &Mesh, capture: &CaptureAnnotations<'_>) -> Option<String> {
    if matches!(&capture.included_ranges, Some(Selection::Only(ranges)) if ranges.is_empty()) {
        return None;
    }
    let mut known = capture.excluded_ranges.clone();
    let mut text = capture.excluded_text.to_owned();
    for range in mesh.pod_cidrs.iter().chain(&mesh.exclude_ip_ranges) {
        if known.iter().any(|other| other.covers(*range)) {
            continue;
        }
        known.push(*range);
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&range.to_string());
    }
    Some(text)
}
