//! Texts of several documents, as tools render them, of which one is wanted.

use super::tree::parse_tree;
use crate::yaml::Node;

/// Start of a line that ends a document, as in kubectl.
const SEPARATOR: &str = "---";

/// Returns the only document of `text` that `is_wanted` accepts, after an empty line for each line before it, so that its lines keep
/// their numbers. Returns `None` if there is none or more than one, and for a text of one document.
pub(super) fn only_document(text: &str, is_wanted: impl Fn(Node<'_>) -> bool) -> Option<String> {
    let mut documents = vec![(0, String::new())];
    for (index, line) in text.lines().enumerate() {
        if line.starts_with(SEPARATOR) {
            documents.push((index + 1, String::new()));
        } else if let Some((_, document)) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    if documents.len() == 1 {
        return None;
    }
    let mut wanted =
        documents.iter().filter(|(_, document)| parse_tree(document).is_ok_and(|tree| is_wanted(tree.root())));
    let (first, document) = wanted.next()?;
    wanted.next().is_none().then(|| "\n".repeat(*first) + document)
}
