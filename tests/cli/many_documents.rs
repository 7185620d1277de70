//! Previews of many documents, which several threads compute: the output is that of one thread.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;
use trainmesh_testing::cli::{assert_exit, trainmesh};
use trainmesh_testing::rng::SeededRng;

const DOCUMENTS: usize = 600;

/// Input with documents of all sizes, and its expected results.
#[derive(Debug, Default)]
struct Sample {
    text: String,
    /// Names of the pods.
    pods: Vec<String>,
    /// Indexes of the invalid documents.
    invalid: Vec<usize>,
    /// Indexes of the documents with a duplicate key.
    duplicates: Vec<usize>,
}

/// Creates pods with up to 100 KB of annotations among invalid documents and those with a duplicate key.
fn sample() -> Sample {
    let mut random = SeededRng::new(7);
    let mut sample = Sample::default();
    for index in 0..DOCUMENTS {
        sample.text += "---\n";
        if random.one_in(20) {
            sample.text += "kind: [\n";
            sample.invalid.push(index);
            continue;
        }
        let size = if random.one_in(50) { random.below(1_000) } else { random.below(20) };
        let (text, line) =
            (&mut sample.text, "annotations of a pod with a name of its own and some text around it to be long enough");
        write!(
            text,
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: pod-{index}\n  annotations:\n    size: \"{size}\"\n"
        )
        .unwrap();
        (0..size).for_each(|number| writeln!(text, "    a{number}: {line}").unwrap());
        text.push_str("spec:\n  containers:\n  - name: a\n    image: i\n");
        if random.one_in(20) {
            text.push_str("    image: j\n");
            sample.duplicates.push(index);
        }
        sample.pods.push(format!("pod-{index}"));
    }
    sample
}

/// Returns the indexes of the documents that lines of `stderr` with `prefix` name.
fn positions(stderr: &str, prefix: &str) -> Vec<usize> {
    let names = stderr.lines().filter_map(|line| line.strip_prefix(prefix)?.strip_prefix("stdin: document "));
    names.map(|name| name.split(',').next().unwrap().parse::<usize>().unwrap() - 1).collect()
}

fn documents(list: &Value) -> Vec<usize> {
    let list = list.as_array().unwrap();
    list.iter().map(|entry| usize::try_from(entry["document"].as_u64().unwrap()).unwrap()).collect()
}

#[test]
fn results_errors_and_warnings_are_in_the_order_of_the_input() {
    let Sample { text, pods, invalid, duplicates } = sample();
    let run = trainmesh(&["preview", "-f", "-", "-o", "json"], &text);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let names: Vec<&str> =
        output["results"].as_array().unwrap().iter().map(|pod| pod["name"].as_str().unwrap()).collect();
    assert_eq!(names, pods);
    assert!(!invalid.is_empty() && !duplicates.is_empty());
    assert_eq!(documents(&output["errors"]), invalid);
    assert_eq!(documents(&output["warnings"]), duplicates);
    assert_eq!(positions(&run.stderr, "error: "), invalid);
    assert_eq!(positions(&run.stderr, "warning: "), duplicates);
}

#[test]
fn an_early_error_ends_the_preview() {
    let Sample { text, .. } = sample();
    let run = trainmesh(&["preview", "-f", "-", "-o", "patch"], &text);
    assert_exit(&run, 2, &[], "use -o json, or one job with --role");
    assert_eq!(run.stdout, "");
}

#[test]
fn a_closed_pipe_ends_the_preview_silently() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(sample().text.replace("kind: [\n", "").as_bytes()).unwrap();
    let mut child = Command::new(trainmesh_testing::program())
        .args(["preview", "-o", "json", "-f"])
        .arg(file.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"schemaVersion\":1"), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(141), "that of a process that SIGPIPE ends");
}
