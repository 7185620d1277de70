//! The pods of the examples, as their operators would create them.

#![allow(unreachable_pub, reason = "the parts of a test are of no library")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::Value;
use trainmesh::config::Configuration;
use trainmesh::manifest::Inputs;
use trainmesh::preview::{Preview, Previewed, SURROUNDING_KINDS, Surroundings};

/// One pod for each role of each example below `examples`.
pub fn originals(examples: &Path) -> Vec<Value> {
    let inputs = Inputs::open(&[examples.to_owned()], false, io::stdin()).expect("the examples are there");
    let words = SURROUNDING_KINDS.map(str::as_bytes);
    let mut surroundings = Surroundings::new(Some(BTreeMap::new()));
    for document in inputs.documents_mentioning(&words).flatten() {
        surroundings.note(&document, "default");
    }
    let preview = Preview::new(Configuration::embedded(), surroundings, "default".to_owned());
    let documents = inputs.documents().map(|document| document.expect("the examples can be read"));
    let previewed = documents.map(|document| preview.document(&document).expect("the examples can be shown"));
    let pods = previewed.flat_map(|previewed| match previewed {
        Previewed::Pods { reports, .. } => reports,
        Previewed::PassedOver(_) | Previewed::Unknown(_) => Vec::new(),
    });
    pods.map(|report| report.original).collect()
}
