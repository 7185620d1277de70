//! Properties of the manifest parser and of previews.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value;
use trainmesh::manifest::Inputs;
use trainmesh_core::config::Configuration;
use trainmesh_core::manifest::{Document, DocumentError};
use trainmesh_core::preview::{DocumentPreview, ManifestContext, Preview};
use trainmesh_core::printable::is_printable;
use trainmesh_core::yaml;

static PREVIEW: LazyLock<Preview> =
    LazyLock::new(|| Preview::new(Configuration::embedded(), ManifestContext::new(None), "default".to_owned()));

/// Nesting limit of JSON documents, which is higher than that of YAML.
const MAX_JSON_DEPTH: usize = 128;
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: last}\n";

/// Asserts the properties of `text` and returns the number of pods that its objects create.
///
/// - Objects are within the limits; their YAML is printable and parses to the same object.
/// - Whatever a document contains, the document after the next `---` is parsed.
/// - The pod of a preview is the original with the patch applied.
pub fn check(text: &[u8]) -> usize {
    let found = read(text);
    let followed = read(&[text, b"\n---\n", POD.as_bytes()].concat());
    // An error without a line concerns the whole source, for example if it is not UTF-8.
    if followed.iter().all(|found| found.as_ref().err().is_none_or(|error| error.line.is_some())) {
        let last = followed.last().and_then(|last| last.as_ref().ok()).expect("the last document is a Pod");
        assert_eq!(last.value["metadata"]["name"], "last");
    }
    found.iter().flatten().map(check_document).sum()
}

fn read(text: &[u8]) -> Vec<Result<Document, DocumentError>> {
    let inputs = Inputs::open(&[PathBuf::from("-")], false, text).expect("open the input");
    inputs.documents().collect()
}

fn check_document(document: &Document) -> usize {
    let (depth, nodes) = extent(&document.value);
    assert!(depth <= MAX_JSON_DEPTH && nodes <= yaml::MAX_NODES, "{depth} levels, {nodes} nodes");
    if depth <= yaml::MAX_DEPTH {
        let text = yaml::to_string(&document.value);
        assert_eq!(yaml::parse(&text).as_ref(), Ok(&document.value), "{text}");
        assert!(text.chars().all(|character| matches!(character, '\n' | '\t') || is_printable(character)), "{text:?}");
    }
    let Ok(DocumentPreview::Pods { reports, .. }) = PREVIEW.document(document) else { return 0 };
    for report in &reports {
        let mut pod = report.original.clone();
        report.patch.apply(&mut pod).expect("the patch applies");
        assert_eq!(pod, report.pod);
        let _ = PREVIEW.lint(report);
    }
    reports.len()
}

/// Returns the nesting depth and the number of nodes, keys included, as the limits count them.
fn extent(value: &Value) -> (usize, usize) {
    let children: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(entries) => entries.values().collect(),
        _ => return (0, 1),
    };
    let keys = value.as_object().map_or(0, serde_json::Map::len);
    let (depth, nodes) =
        children.into_iter().map(extent).fold((0, 0), |(depth, nodes), child| (child.0.max(depth), child.1 + nodes));
    (depth + 1, nodes + keys + 1)
}
