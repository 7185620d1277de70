//! Finds the patches of the kustomizations in a directory. They are parts of objects, which only kustomize can complete.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trainmesh_core::manifest::Origin;
use trainmesh_core::yaml;

use super::kustomize_origins::kustomization;
use super::paths::normalize;
use super::source::Source;

/// Files that the kustomizations of directories name.
pub(super) struct KustomizePatches {
    patches: BTreeSet<PathBuf>,
    resources: BTreeSet<PathBuf>,
    /// Size of the kustomizations that may still be read.
    bytes: u64,
}

/// Maximum size of all kustomizations: 100,000 of 640 bytes. Their paths are held in memory.
const MAX_BYTES: u64 = 64 << 20;
/// Fields of a kustomization that list patches: paths, or mappings with a path.
const PATCHES: [&str; 3] = ["patches", "patchesStrategicMerge", "patchesJson6902"];

impl KustomizePatches {
    pub(super) fn new() -> Self {
        Self { patches: BTreeSet::new(), resources: BTreeSet::new(), bytes: MAX_BYTES }
    }

    /// Adds the files of the kustomization in `directory`, if there is one that can be read.
    pub(super) fn add(&mut self, directory: &Path) {
        let Some(file) = kustomization(directory).and_then(|path| File::open(path).ok()) else { return };
        let mut text = String::new();
        if file.take(self.bytes).read_to_string(&mut text).is_err() {
            return;
        }
        self.bytes = self.bytes.saturating_sub(text.len() as u64);
        let Ok(kustomization) = yaml::parse(&text) else { return };
        let items = |field: &str| kustomization.get(field).and_then(Value::as_array).into_iter().flatten();
        let path = |item: &Value| {
            let path = item.as_str().or_else(|| item.get("path")?.as_str())?;
            // Text with line breaks is the patch itself.
            (!path.contains('\n')).then(|| normalize(&directory.join(path)))
        };
        self.patches.extend(PATCHES.into_iter().flat_map(items).filter_map(path));
        self.resources.extend(items("resources").filter_map(path));
    }

    /// Sets the origin of the patches among `sources`, which are files of directories. A file that another kustomization lists
    /// in `resources` is complete.
    pub(super) fn mark(&self, sources: &mut [Source]) {
        if self.patches.is_empty() {
            return;
        }
        for source in sources {
            let is_patch = source
                .path()
                .map(normalize)
                .is_some_and(|path| self.patches.contains(&path) && !self.resources.contains(&path));
            if is_patch {
                source.set_origin(Origin::KustomizePatch);
            }
        }
    }
}
