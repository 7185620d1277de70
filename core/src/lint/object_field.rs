//! Fields that findings are about, of other objects than the pod.

use crate::manifest::Document;

/// Field of an object in the input, with its position.
#[derive(Clone, Debug)]
pub(super) struct ObjectField {
    /// JSON pointer in its object.
    pub(super) pointer: String,
    /// File of the object.
    pub(super) source: String,
    /// Line of the field, or of the closest field around it.
    pub(super) line: u64,
}

impl ObjectField {
    /// Locates the field at `pointer` of the object in `document`.
    pub(super) fn of(document: &Document, pointer: &str) -> Self {
        let (source, line) = document.pointer_position(pointer);
        Self { pointer: pointer.to_owned(), source: source.to_string(), line }
    }
}
