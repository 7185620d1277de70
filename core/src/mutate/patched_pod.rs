//! The patched pod, for the lint.

use std::cell::OnceCell;

use serde_json::Value;

use super::Patch;

/// A pod and its verified patch. The patch is applied when the result is first used: the lint of most pods uses only the
/// original, and the copy of a pod takes about as long as its decision.
#[derive(Debug)]
pub(super) struct PatchedPod<'a> {
    original: &'a Value,
    patch: &'a Patch,
    patched: OnceCell<Value>,
}

impl<'a> PatchedPod<'a> {
    /// Creates the result of applying `patch`. `patched` is the result, if it is already known.
    pub(super) fn new(original: &'a Value, patch: &'a Patch, patched: Option<Value>) -> Self {
        Self { original, patch, patched: patched.map(OnceCell::from).unwrap_or_default() }
    }

    /// Returns the pod without the patch.
    pub(super) fn original(&self) -> &'a Value {
        self.original
    }

    /// Returns true if the patch changes the `spec`.
    pub(super) fn changes_spec(&self) -> bool {
        self.patch.changes_spec()
    }

    /// Returns the pod with the patch.
    pub(super) fn patched(&self) -> &Value {
        if self.patch.is_empty() {
            return self.original;
        }
        self.patched.get_or_init(|| {
            let mut pod = self.original.clone();
            // A verified patch applies.
            self.patch.apply(&mut pod).map_or_else(|_| self.original.clone(), |()| pod)
        })
    }

    /// Converts to the pod with the patch, if it has been computed.
    pub(super) fn into_known(self) -> Option<Value> {
        self.patched.into_inner()
    }
}
