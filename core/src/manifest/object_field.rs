//! Fields of objects in the input, with their positions.

use super::Document;

/// Field of an object in the input, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectField {
    /// JSON pointer in its object.
    pub pointer: String,
    /// File of the object.
    pub source: String,
    /// Line of the field, or of the closest field around it.
    pub line: u64,
}

impl ObjectField {
    /// Locates the field at `pointer` of the object in `document`.
    #[must_use]
    pub fn of(document: &Document, pointer: &str) -> Self {
        let (source, line) = document.pointer_position(pointer);
        Self { pointer: pointer.to_owned(), source: source.to_string(), line }
    }
}
