//! The strategic merge patches of kustomizations, in which values of rendered objects are located.
//!
//! The target of a patch is compared by kind and name only. A value is located in a patch
//! only if the patch sets the same value, so a patch that does not apply rarely matters. JSON patches are left out.

use std::path::Path;
use std::slice;
use std::sync::Arc;

use serde_json::Value;
use trainmesh_core::manifest::{DocumentText, Documents, Origin, OverlayPatch, Substitutions};
use trainmesh_core::yaml;

use super::paths::display;
use super::source::Source;

/// Patches, in the order in which they are applied.
#[derive(Default)]
pub(super) struct OverlayPatches(Vec<TargetedPatch>);

struct TargetedPatch {
    target: Target,
    patch: OverlayPatch,
}

/// Objects to which a patch applies: those with this kind and name, as far as it names them.
#[derive(Clone)]
struct Target {
    kind: Option<String>,
    name: Option<String>,
}

/// Fields of a kustomization that list patches.
const LISTS: [&str; 2] = ["patchesStrategicMerge", "patches"];

impl OverlayPatches {
    /// Adds the patches of `kustomization`, the content of `file` with this `text`. `take` returns false for a file that must not be
    /// read.
    pub(super) fn add(&mut self, file: &Path, text: &str, kustomization: &Value, mut take: impl FnMut(&Path) -> bool) {
        let Some(text) = DocumentText::parse(text, 1) else { return };
        for list in LISTS {
            let items = kustomization.get(list).and_then(Value::as_array).into_iter().flatten().enumerate();
            for (index, item) in items {
                let target = item.get("target").map(Target::of_selector);
                let inline = item.get("patch").and_then(Value::as_str);
                let Some(entry) = inline.or_else(|| item.get("path").unwrap_or(item).as_str()) else { continue };
                // In the older form, an item with line breaks is the patch itself.
                if inline.is_some() || entry.contains('\n') {
                    let field = if inline.is_some() { ".patch" } else { "" };
                    self.add_inline(file, text.start_line(&format!("{list}[{index}]{field}")), entry, target);
                    continue;
                }
                let path = file.parent().unwrap_or(file).join(entry);
                if path.is_file() && take(&path) {
                    self.add_file(&path, target.as_ref());
                }
            }
        }
    }

    /// Returns the patches that may change an object of `kind` with one of `names`, the last one first.
    pub(super) fn of_object(&self, kind: &str, names: &[String]) -> Vec<OverlayPatch> {
        let is_kind = |target: &Target| target.kind.as_ref().is_none_or(|known| known == kind);
        let is_name = |target: &Target| target.name.as_ref().is_none_or(|known| names.contains(known));
        let patches = self.0.iter().rev().filter(|patch| is_kind(&patch.target) && is_name(&patch.target));
        patches.map(|patch| patch.patch.clone()).collect()
    }

    /// Adds a patch in the text of a kustomization.
    fn add_inline(&mut self, file: &Path, line: u64, patch: &str, target: Option<Target>) {
        let Ok(content) = yaml::parse(patch) else { return };
        let Some(text) = DocumentText::parse(patch, line) else { return };
        self.push(display(file), text, target.unwrap_or_else(|| Target::of_patch(&content)));
    }

    /// Adds the patches of a file, each of which is an object.
    fn add_file(&mut self, path: &Path, target: Option<&Target>) {
        let (source, name) = (Source::listed(path, Origin::Named), display(path));
        for document in Documents::new(slice::from_ref(&source), &[], &Substitutions::default()).flatten() {
            let target = target.cloned().unwrap_or_else(|| Target::of_patch(&document.value));
            self.push(Arc::clone(&name), document.text.with_value(document.value), target);
        }
    }

    fn push(&mut self, source: Arc<str>, text: DocumentText, target: Target) {
        self.0.push(TargetedPatch { target, patch: OverlayPatch { source, text } });
    }
}

impl Target {
    /// Reads a selector. Its name is a regular expression.
    fn of_selector(selector: &Value) -> Self {
        Self { kind: text(selector, "/kind"), name: None }
    }

    fn of_patch(patch: &Value) -> Self {
        Self { kind: text(patch, "/kind"), name: text(patch, "/metadata/name") }
    }
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}
