//! Changes of kustomizations to the object of a file: where a value comes from that the file does not contain.

use std::sync::Arc;

use serde_json::Value;

use super::part::{Deepest, Part};
use super::path::{child, follow_all, tokens};
use super::template::{Template, of_role, templates};
use super::{Document, DocumentText, beside, component, copied, trainjob};
use crate::yaml::{Lines, Node};

/// Changes of kustomizations to an object of their resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// File of the kustomization that was rendered.
    pub source: Arc<str>,
    /// Patches that may change the object, the last one first.
    pub patches: Vec<OverlayPatch>,
}

/// A strategic merge patch of a kustomization.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlayPatch {
    /// File that contains the patch.
    pub source: Arc<str>,
    /// Its text, with its own object.
    pub text: DocumentText,
}

impl Document {
    /// Returns the file and line of `pointer`, a field of `pod`, which the object creates for `role`, if a kustomization sets it: in
    /// one of its patches, or else in the kustomization. `None` if the file of the object contains the same value. A field that is
    /// absent is located in the patch with the closest field around it, if the file does not contain that field.
    #[must_use]
    pub fn overlay_position(&self, role: &str, pod: &Value, pointer: &str) -> Option<(Arc<str>, u64)> {
        let overlay = self.overlay.as_deref()?;
        // The value is the rendered object, the text that of the file.
        let no_lines = Lines::default();
        let all = no_lines.node(&self.value, &[]);
        let object = self.object()?;
        // A patch may add a role, which the file does not contain.
        let own = Some(object).filter(|object| has_template(*object, role) || !has_template(all, role));
        let (component, component_role) = component::of_role(all, role);
        let templates = templates(component);
        let template = of_role_or_only(&templates, component_role);
        let Some(rendered) = equal(all, role, pod, pointer) else {
            // Operators copy labels of the job.
            let template = template.filter(|_| copied(object, pod, pointer).is_none())?;
            return overlay.closest(own, template, role, pod, pointer);
        };
        // A mapping has several fields, each of which may come from another file.
        let is_variable = pointer.rsplit('/').nth(1) == Some("env");
        let wanted = if rendered.value.is_object() && !is_variable { RequiredPart::Field } else { RequiredPart::Value };
        if own.is_some_and(|object| find_field(object, role, pod, pointer, wanted).is_some()) {
            return None;
        }
        let in_patch = overlay.patches.iter().find_map(|patch| {
            let node = in_patch(patch.text.own_object()?, template, role, pod, pointer, wanted)?;
            Some((Arc::clone(&patch.source), patch.text.line(node)))
        });
        Some(in_patch.unwrap_or_else(|| (Arc::clone(&overlay.source), 1)))
    }

    /// Returns the file and line of the field at `path` of the object itself, as `kubectl explain` writes it: in the file of the object,
    /// or of a kustomization that sets the value. If the object does not contain the field, that is the closest field around it.
    #[must_use]
    pub fn path_position(&self, path: &str) -> (Arc<str>, u64) {
        self.set_by_overlay(|object| follow_all(object, path))
            .unwrap_or_else(|| (Arc::clone(&self.source), self.path_line(path)))
    }

    /// Like [`Self::path_position`], for a JSON pointer.
    #[must_use]
    pub fn pointer_position(&self, pointer: &str) -> (Arc<str>, u64) {
        self.set_by_overlay(|object| tokens(pointer).try_fold(object, |node, token| child(node, &token)))
            .unwrap_or_else(|| (Arc::clone(&self.source), self.pointer_line(pointer)))
    }

    /// Returns the file and line of the field that `find` returns, if a kustomization sets it.
    fn set_by_overlay(&self, find: impl for<'tree> Fn(Node<'tree>) -> Option<Node<'tree>>) -> Option<(Arc<str>, u64)> {
        let overlay = self.overlay.as_deref()?;
        let no_lines = Lines::default();
        let rendered = find(no_lines.node(&self.value, &[]))?.value;
        // A mapping has several fields, each of which may come from another file.
        let is_set = |node: &Node<'_>| node.value == rendered || node.value.is_object() && rendered.is_object();
        if find(self.object()?).is_some_and(|node| is_set(&node)) {
            return None;
        }
        let in_patch = overlay.patches.iter().find_map(|patch| {
            let node = find(patch.text.own_object()?).filter(is_set)?;
            Some((Arc::clone(&patch.source), patch.text.line(node)))
        });
        Some(in_patch.unwrap_or_else(|| (Arc::clone(&overlay.source), 1)))
    }
}

impl Overlay {
    /// Returns the file and line of the closest field around `pointer`, a field of `pod` that the rendered object does not contain, if
    /// it is not in `own`, the object of the file; `None` for a field that is closest there. Without `own`, a patch adds the role.
    fn closest(
        &self,
        own: Option<Node<'_>>,
        template: &Template<'_>,
        role: &str,
        pod: &Value,
        pointer: &str,
    ) -> Option<(Arc<str>, u64)> {
        let in_file = match own {
            Some(object) => {
                let (object, role) = component::of_role(object, role);
                if trainjob::is_train_job(object) {
                    return None;
                }
                let templates = templates(object);
                Part::new(of_role_or_only(&templates, role)?.node, pod, tokens(pointer)).deepest().missing
            }
            None => usize::MAX,
        };
        let in_patches = self.patches.iter().filter_map(|patch| {
            let (object, _) = component::of_role(patch.text.own_object()?, role);
            let deepest = Part::new(follow_all(object, &template.path)?, pod, tokens(pointer)).deepest();
            Some((deepest.missing, patch, deepest.node))
        });
        let closest = in_patches.min_by_key(|(missing, ..)| *missing).filter(|(missing, ..)| *missing < in_file);
        let position = closest.map(|(_, patch, node)| (Arc::clone(&patch.source), patch.text.line(node)));
        position.or_else(|| own.is_none().then(|| (Arc::clone(&self.source), 1)))
    }
}

/// Returns true if `object` contains a template of `role`, or is a `TrainJob`, whose templates are those of its runtime.
fn has_template(object: Node<'_>, role: &str) -> bool {
    let (object, role) = component::of_role(object, role);
    trainjob::is_train_job(object) || of_role(&templates(object), role).is_some()
}

/// Part of the field of a pod that a manifest must contain.
#[derive(Clone, Copy)]
enum RequiredPart {
    /// The field, with any value.
    Field,
    /// The field, with the same value.
    Value,
}

impl RequiredPart {
    /// Returns the node of the field, from the deepest one on its path.
    fn take<'tree>(self, deepest: Deepest<'tree, '_>) -> Option<Node<'tree>> {
        match self {
            Self::Field => deepest.present(),
            Self::Value => deepest.equal(),
        }
    }
}

/// Returns the field of `object` with the same value in `pod`.
fn equal<'tree>(object: Node<'tree>, role: &str, pod: &Value, pointer: &str) -> Option<Node<'tree>> {
    find_field(object, role, pod, pointer, RequiredPart::Value)
}

/// Returns the field of `object` that is `wanted`, or the one beside the template with the same value in `pod`.
fn find_field<'tree>(
    object: Node<'tree>,
    role: &str,
    pod: &Value,
    pointer: &str,
    wanted: RequiredPart,
) -> Option<Node<'tree>> {
    let (object, role) = component::of_role(object, role);
    let templates = templates(object);
    let template = of_role_or_only(&templates, role);
    if let Some(node) = template.and_then(|template| beside(object, template, pointer)) {
        return (Some(node.value) == pod.pointer(pointer)).then_some(node);
    }
    let parts = trainjob::parts(object, role, pod, pointer, trainjob::CHANGES).unwrap_or_else(|| {
        template.map(|template| Part::new(template.node, pod, tokens(pointer))).into_iter().collect()
    });
    parts.iter().find_map(|part| wanted.take(part.deepest()))
}

/// Returns the template of `role`. Pods of a kind without roles are those of its only template.
fn of_role_or_only<'found, 'tree>(templates: &'found [Template<'tree>], role: &str) -> Option<&'found Template<'tree>> {
    of_role(templates, role).or_else(|| templates.first().filter(|_| templates.len() == 1))
}

/// Returns the field of `patch` that is `wanted`. A patch may contain only fields of the pod that are not enough to
/// recognize a template, so it is looked for at the path of `template`.
fn in_patch<'tree>(
    patch: Node<'tree>,
    template: Option<&Template<'_>>,
    role: &str,
    pod: &Value,
    pointer: &str,
    wanted: RequiredPart,
) -> Option<Node<'tree>> {
    let (patch, role) = component::of_role(patch, role);
    if trainjob::parts(patch, role, pod, pointer, trainjob::CHANGES).is_some() {
        return find_field(patch, role, pod, pointer, wanted);
    }
    if let Some(node) = beside(patch, template?, pointer) {
        return (Some(node.value) == pod.pointer(pointer)).then_some(node);
    }
    let node = follow_all(patch, &template?.path)?;
    wanted.take(Part::new(node, pod, tokens(pointer)).deepest())
}
