//! Seed inputs for the fuzzer and the corruption tests: the manifests and configurations of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the manifests below `examples`.
pub fn manifests(repository: &Path) -> Vec<String> {
    texts(&repository.join("examples"))
}

/// Returns the default configuration, the example configurations, and one for each built-in profile, each also wrapped
/// in a `ConfigMap`.
pub fn configurations(repository: &Path) -> Vec<String> {
    let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
    let default = fs::read_to_string(repository.join("config/default.yaml")).expect("read the default configuration");
    let profiles = texts(&repository.join("config/fabric"));
    let profiles = profiles.iter().map(|profile| {
        let item = indented(profile);
        format!("{head}fabric:\n  profiles:\n  -\n{item}")
    });
    let examples = texts(&repository.join("examples/fabric"))
        .into_iter()
        .filter(|text| text.contains("kind: TrainmeshConfiguration"));
    let configurations: Vec<String> = [default].into_iter().chain(profiles).chain(examples).collect();
    let wrapped = configurations.iter().map(|text| {
        let block = indented(text);
        format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n{block}")
    });
    wrapped.chain(configurations.clone()).collect()
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |block, line| block + "    " + line + "\n")
}

fn texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .expect("read a folder of the repository")
        .map(|entry| entry.expect("read a folder entry").path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    let mut paths: Vec<PathBuf> = entries.filter(is_yaml).collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("read a file")).collect()
}
