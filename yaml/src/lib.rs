//! Reads YAML.
//!
//! [`parse_manifest`] reads a document as Kubernetes does (`sigs.k8s.io/yaml` over go-yaml v2), and [`parse`] also rejects
//! duplicate keys; `tests/unit/yaml_output.rs` compares both with the original. [`parse_tree`] reads in the same way and
//! records the line of every value. What only this scanner accepts is an error in manifests (`rejected`): other texts, such as those
//! of a configuration, are not read by kubectl.
//!
//! Known differences from Kubernetes; all but the last are stricter:
//! - a second document after `...` is an error; Kubernetes drops it,
//! - `!!binary` is an error; Kubernetes stores the decoded bytes as text, which no field expects,
//! - more than [`MAX_DEPTH`] levels or [`MAX_NODES`] nodes are errors; Kubernetes has wider limits,
//! - `!!timestamp` is read as text without a check of its form.
//!
//! This scanner follows YAML 1.2, that of Kubernetes YAML 1.1. The results differ for a few unusual inputs:
//! - `[a:]` contains a mapping; for Kubernetes it contains the text `a:`,
//! - `[-]` is an error; for Kubernetes it contains the text `-`,
//! - plain text with `?` in a flow collection is an error in manifests; for Kubernetes `[?a]` contains a mapping,
//! - a block scalar at the end of a text without a line break ends with one; for Kubernetes it does not,
//! - anchors may contain any character,
//! - an escaped surrogate pair is a character; for Kubernetes it is an error,
//! - U+0085, U+2028 and U+2029 are characters; for Kubernetes they are line breaks.

mod anchors;
mod blanks;
mod compose;
mod duplicates;
mod error;
mod flow;
mod parse;
mod rejected;
mod repair;
mod scalar;
mod tree;

pub use duplicates::{DuplicateKey, DuplicateKeys, MAX_DUPLICATES};
pub use error::{Error, MAX_DEPTH, MAX_EXPANSION, MAX_NODES, SPLIT_ADVICE};
pub use parse::{parse, parse_manifest, parse_manifest_tree, parse_tree, parse_without_lines};
pub use scalar::json_number;
pub use tree::{Lines, Node, Tree, type_name};
