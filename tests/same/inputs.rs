//! Generated manifests and configurations for both builds, in addition to those of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use trainmesh_testing::example_pods::profile_names;
use trainmesh_testing::mutations::MutatedPods;

/// Number of pods in the corpus: those of the examples with fields removed, retyped and changed.
const CORPUS: u64 = 600;
/// Number of corpus pods that commands read; their outputs are long.
const COMMAND_PODS: u64 = 40;

/// Inputs of both builds.
pub struct Inputs {
    /// Directory of the files.
    pub folder: PathBuf,
    /// Names of the built-in profiles.
    pub profiles: Vec<String>,
    /// Paths of configurations; `None` stands for the default.
    pub configurations: Vec<Option<String>>,
    /// Pods as operators and users write them, valid and invalid.
    pub pods: Vec<Value>,
}

impl Inputs {
    /// Generates all files in `folder`, using `binary`.
    pub fn write(folder: &Path, binary: &Path) -> Self {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("lint")).expect("make a folder");
        let mutated = MutatedPods::new();
        let pods: Vec<Value> = (0..CORPUS).map(|number| mutated.pod(number)).collect();
        let documents: Vec<Value> = (0..COMMAND_PODS).map(|number| document(number, &pods)).collect();
        write(folder, "corpus.json", &json!({"apiVersion": "v1", "kind": "List", "items": documents}).to_string());
        for (number, pod) in snippets(&read("docs/lint.md")).enumerate() {
            let head = "apiVersion: v1\nkind: Pod\n";
            let metadata = if pod.contains("metadata:") { "" } else { "metadata: {name: train}\n" };
            write(folder, &format!("lint/{number:03}.yaml"), &format!("{head}{metadata}{pod}"));
        }
        let certificate = folder.join("certificate").display().to_string();
        let _ = run(binary, &["certs", "generate", "--out", &certificate]);
        // A patched manifest must not be patched again.
        write(
            folder,
            "patched.yaml",
            &run(binary, &["preview", "-R", "-f", "examples", "-o", "yaml", "--fabric", "ib-shared"]),
        );
        let profiles = profile_names(Path::new("."));
        let own = yaml_files("tests/same/configurations").into_iter().chain(yaml_files("examples/fabric"));
        let configurations = [None].into_iter().chain(own.map(Some)).collect();
        Self { folder: folder.to_owned(), profiles, configurations, pods }
    }

    /// Returns the path of a generated file, as an argument.
    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Reads a generated file.
    pub fn read(&self, name: &str) -> String {
        read(&self.path(name))
    }
}

/// Runs `binary` and returns its standard output.
fn run(binary: &Path, arguments: &[&str]) -> String {
    let output = Command::new(binary).args(arguments).env_clear().output().expect("start it");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

/// Returns pod `number` as a document with a unique name.
fn document(number: u64, pods: &[Value]) -> Value {
    let mut pod = pods[usize::try_from(number).expect("few")].clone();
    (pod["apiVersion"], pod["kind"]) = ("v1".into(), "Pod".into());
    if pod["metadata"].is_object() {
        pod["metadata"]["name"] = format!("pod-{number}").into();
    }
    pod
}

/// Returns the pods in the code blocks of a page.
fn snippets(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.starts_with("spec:") || block.starts_with("metadata:"))
}

/// Lists the YAML files of a directory in the repository.
pub fn yaml_files(folder: &str) -> Vec<String> {
    let entries =
        fs::read_dir(folder).expect("a folder of the repository").map(|entry| entry.expect("an entry").path());
    let yaml = entries.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let mut paths: Vec<String> = yaml.map(|path| path.display().to_string()).collect();
    paths.sort();
    paths
}

pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("write a file");
}
