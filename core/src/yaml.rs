//! Reads and writes YAML. Only this module, the reader's crate and `mutate::proxy_config`, which edits YAML text, use the
//! YAML libraries.
//!
//! The reader is a crate of its own, because the client also reads kubeconfig files with it. [`to_string`] writes a document
//! as kubectl prints it; `tests/unit/yaml_output.rs` reads the output with Kubernetes' own parser.

mod emit;

pub use emit::to_string;
pub use trainmesh_yaml::{
    DuplicateKey, Error, MAX_DEPTH, MAX_EXPANSION, MAX_NODES, json_number, parse, parse_manifest, parse_without_lines,
};
pub(crate) use trainmesh_yaml::{
    DuplicateKeys, Lines, MAX_DUPLICATES, Node, SPLIT_ADVICE, Tree, parse_manifest_tree, parse_tree, type_name,
};
