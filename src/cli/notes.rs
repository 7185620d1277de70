//! Notes about documents, each of which is printed once.

use std::collections::BTreeMap;
use std::io::Write;

use super::print_note;

/// Notes in the order of the input, and their indexes by text.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    by_text: BTreeMap<String, usize>,
}

/// A note about one or several documents.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) text: String,
    /// File of the first document.
    pub(super) source: String,
    /// Line of the first document.
    pub(super) line: u64,
    /// Number of other documents.
    pub(super) others: usize,
}

impl Notes {
    /// Adds a note about the document on `line` of `source`.
    pub(super) fn add(&mut self, text: String, source: &str, line: u64) {
        if let Some(note) = self.by_text.get(&text).and_then(|index| self.notes.get_mut(*index)) {
            note.others += 1;
            return;
        }
        self.by_text.insert(text.clone(), self.notes.len());
        self.notes.push(Note { text, source: source.to_owned(), line, others: 0 });
    }

    /// Returns the notes in the order of the input.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter()
    }

    /// Prints the notes with the file and line of their first document.
    pub(super) fn print(&self, stderr: &mut impl Write) {
        for Note { text, source, line, others } in &self.notes {
            let others = if *others > 0 { format!(" (and {others} more)") } else { String::new() };
            print_note(stderr, format_args!("{source}:{line}{others}: {text}"));
        }
    }
}
