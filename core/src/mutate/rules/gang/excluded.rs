//! Roles whose pods do not join the gang of the others.
//!
//! A scheduler that reads its minimum from the pods would wait for them forever. In modes with objects, the controller lowers
//! the minimum instead when it finds such pods.

use super::super::RuleContext;
use super::resolve;
use crate::gang::{Gang, GangMode};
use crate::mutate::GangChoice;
use crate::names::join_names;
use crate::workload::{PodIdentity, SOLE_ROLE};

/// Removes the roles that do not join the gang of `member` by their templates, if `mode` needs it, and returns the part of a
/// message about them.
pub(super) fn remove<'a>(
    context: &RuleContext<'_>,
    mode: GangMode,
    member: PodIdentity<'_>,
    gang: Gang<'a>,
) -> (Gang<'a>, Option<String>) {
    if !mode.has_fixed_minimum() {
        return (gang, None);
    }
    let own = member.role.unwrap_or(SOLE_ROLE);
    let is_mode = |selected: GangMode| resolve(context, selected).is_ok_and(|resolved| resolved == mode);
    let selected_by_namespace =
        || matches!(context.snapshot.gang_mode_of_namespace(), GangChoice::Mode(selected) if is_mode(selected));
    // Without a label in the template of this pod, the other pods get the mode as this one does: from a webhook that labels
    // pods, from the namespace, or from pods that run.
    let is_labeled = gang.roles.iter().any(|role| role.name == own && role.template.label.is_some());
    let is_default = !is_labeled || selected_by_namespace();
    let (gang, excluded) = gang.without(|role| {
        let selects_mode = role.template.label.map_or(is_default, is_mode);
        role.name != own && !(selects_mode && role.template.can_join(mode))
    });
    let message = (!excluded.is_empty()).then(|| format!("not counting {}", join_names(excluded)));
    (gang, message)
}
