//! Finds the file of a kustomization from which a rendered object comes, so that messages name a line that the user has.
//!
//! Objects are found by kind, name and namespace in the `resources` of the kustomization and of the kustomizations below it,
//! with their prefixes, suffixes and namespaces. Values that a kustomization changes are located in its patches. An object that is generated, patched to another name or downloaded is not
//! found: messages about it name the kustomization.

use std::collections::BTreeMap;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use serde_json::Value;
use trainmesh_core::manifest::{
    Document, DocumentError, DocumentText, Documents, KUSTOMIZATION_FILES, Origin, Overlay, Substitutions,
};
use trainmesh_core::yaml;

use super::overlay_patches::OverlayPatches;
use super::paths::display;
use super::source::Source;

/// Objects of a kustomization.
pub(super) struct KustomizeOrigins {
    /// File of the kustomization, or its directory if there is none.
    file: Arc<str>,
    has_file: bool,
    objects: BTreeMap<ObjectKey, Vec<Resource>>,
    patches: OverlayPatches,
    /// Number of files that may still be read.
    files: usize,
    /// Size of the files that may still be read.
    bytes: u64,
}

/// An object in a file.
struct Resource {
    document: Document,
    /// Its name in the file, and those that the kustomizations give it, the innermost first: patches name it by any of them.
    names: Vec<String>,
}

/// Kind and name.
type ObjectKey = (String, String);

/// Changes of the kustomizations around a directory.
#[derive(Clone, Default)]
struct Changes {
    /// Prefix and suffix of each kustomization that has one, the outermost first.
    affixes: Vec<(String, String)>,
    namespace: Option<String>,
}

/// Maximum number of files: those of a repository with thousands of applications.
const MAX_FILES: usize = 10_000;
/// Maximum size of all files, which are held in memory.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum nesting of kustomizations. It bounds a cycle, which kustomize rejects.
const MAX_DEPTH: usize = 32;
/// Kind of namespaces.
const NAMESPACE: &str = "Namespace";
/// Kinds whose names get no prefix and no suffix (kubernetes-sigs/kustomize,
/// `api/internal/builtins/PrefixTransformer.go`, `prefixFieldSpecsToSkip`).
const KEPT_NAMES: [&str; 3] = [NAMESPACE, "CustomResourceDefinition", "APIService"];
/// Fields of a kustomization that list files and directories with objects.
const LISTS: [&str; 3] = ["resources", "bases", "components"];

impl KustomizeOrigins {
    /// Reads the objects of the kustomization in `directory`, as far as they can be read.
    pub(super) fn read(directory: &Path) -> Self {
        let found = kustomization(directory);
        let mut origins = Self {
            file: display(found.as_deref().unwrap_or(directory)),
            has_file: found.is_some(),
            objects: BTreeMap::new(),
            patches: OverlayPatches::default(),
            files: MAX_FILES,
            bytes: MAX_BYTES,
        };
        origins.add_directory(directory, Changes::default(), MAX_DEPTH);
        origins
    }

    /// Sets the source, line and text of `document`, a rendered object, to those of the file from which it comes.
    pub(super) fn relocate(&self, mut document: Document) -> Document {
        let Some(origin) = self.find(&document) else {
            (document.source, document.line) = (self.file.clone(), 1);
            document.text = DocumentText::default();
            return document;
        };
        let Resource { document: origin, names } = origin;
        let (kind, _) = key(&document.value).unwrap_or_default();
        document.overlay =
            Some(Arc::new(Overlay { source: self.file.clone(), patches: self.patches.of_object(&kind, names) }));
        document.source = origin.source.clone();
        (document.document, document.item, document.line) = (origin.document, origin.item, origin.line);
        document.text = origin.text.clone();
        document
    }

    /// Sets the source of an error about the rendered text to the kustomization.
    pub(super) fn relocate_error(&self, error: DocumentError) -> DocumentError {
        let line = if self.has_file { Some(1) } else { error.line };
        DocumentError { source: self.file.clone(), line, ..error }
    }

    fn find(&self, document: &Document) -> Option<&Resource> {
        let candidates = self.objects.get(&key(&document.value)?)?;
        let namespace = namespace(&document.value);
        let own_namespace = |candidate: &Resource| candidate.document.namespace.clone();
        let same_namespace = candidates.iter().find(|candidate| own_namespace(candidate).as_deref() == namespace);
        same_namespace
            .or_else(|| candidates.iter().find(|candidate| own_namespace(candidate).is_none() || namespace.is_none()))
    }

    /// Adds the objects of the kustomization in `directory`.
    fn add_directory(&mut self, directory: &Path, around: Changes, levels: usize) {
        let Some(file) = kustomization(directory).filter(|_| levels > 0) else { return };
        if !self.take(&file) {
            return;
        }
        let Ok(content) = fs::read_to_string(&file) else { return };
        let Ok(kustomization) = yaml::parse(&content) else { return };
        let text = |field: &str| kustomization.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let affixes = Some((text("namePrefix"), text("nameSuffix")))
            .filter(|(prefix, suffix)| !prefix.is_empty() || !suffix.is_empty());
        let changes = Changes {
            affixes: around.affixes.into_iter().chain(affixes).collect(),
            namespace: around.namespace.or_else(|| Some(text("namespace")).filter(|name| !name.is_empty())),
        };
        let entries = LISTS.iter().filter_map(|list| kustomization.get(list)?.as_array()).flatten();
        for entry in entries.filter_map(Value::as_str) {
            let path = directory.join(entry);
            if path.is_dir() {
                self.add_directory(&path, changes.clone(), levels - 1);
            } else if path.is_file() && self.take(&path) {
                self.add_file(&path, &changes);
            }
        }
        // Those of the kustomizations below are applied before.
        let mut patches = mem::take(&mut self.patches);
        patches.add(&file, &content, &kustomization, |path| self.take(path));
        self.patches = patches;
    }

    /// Adds the objects of a file.
    fn add_file(&mut self, path: &Path, changes: &Changes) {
        let source = Source::listed(path, Origin::Named);
        let name = display(path);
        for mut document in Documents::new(slice::from_ref(&source), &[], &Substitutions::default()).flatten() {
            let Some((kind, own_name)) = key(&document.value) else { continue };
            document.source = name.clone();
            document.namespace = changes.namespace.as_deref().or_else(|| namespace(&document.value)).map(str::to_owned);
            document.text = document.text.with_value(document.value.take());
            let names = changes.names_of(&kind, own_name);
            let final_name = names.last().cloned().unwrap_or_default();
            self.objects.entry((kind, final_name)).or_default().push(Resource { document, names });
        }
    }

    /// Counts a file. Returns false if it exceeds a limit.
    fn take(&mut self, path: &Path) -> bool {
        let size = fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
        let (Some(files), Some(bytes)) = (self.files.checked_sub(1), self.bytes.checked_sub(size)) else {
            return false;
        };
        (self.files, self.bytes) = (files, bytes);
        true
    }
}

impl Changes {
    /// Returns the names that an object of `kind` called `name` in its file gets, that of the file first and the final one last.
    fn names_of(&self, kind: &str, name: String) -> Vec<String> {
        let mut names = vec![name];
        match &self.namespace {
            // Objects are created in the namespace of the kustomization, so that it renames Namespaces.
            Some(namespace) if kind == NAMESPACE => names.push(namespace.clone()),
            _ if KEPT_NAMES.contains(&kind) => {}
            _ => {
                for (prefix, suffix) in self.affixes.iter().rev() {
                    let outer = names.last().map(|inner| format!("{prefix}{inner}{suffix}"));
                    names.extend(outer);
                }
            }
        }
        names
    }
}

/// Returns the file of the kustomization in `directory`.
pub(super) fn kustomization(directory: &Path) -> Option<PathBuf> {
    KUSTOMIZATION_FILES.iter().map(|name| directory.join(name)).find(|path| path.is_file())
}

fn key(object: &Value) -> Option<ObjectKey> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some((text("/kind")?, text("/metadata/name").or_else(|| text("/metadata/generateName"))?))
}

fn namespace(object: &Value) -> Option<&str> {
    object.pointer("/metadata/namespace").and_then(Value::as_str)
}
