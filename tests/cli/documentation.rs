//! Commands in the documentation are accepted by the command line, and print the output that the documentation shows.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use trainmesh_testing::cli::trainmesh;

/// Pages and folders of pages.
const PAGES: &[&str] =
    &["README.md", "docs", "certs/README.md", "charts/trainmesh/README.md", "tests/cluster/README.md"];

/// Starts of commands that need no cluster. Their documented output is compared.
const OFFLINE: &[&str] = &["trainmesh fabric render ", "trainmesh checkpoint-interval ", "trainmesh preview -f "];
/// A documented line that stands for the rest of the output.
const OMITTED: &str = "…";
/// `job.yaml` of the quick start, as `kubectl create job --dry-run=client -o yaml` prints it.
const JOB: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: team-a
spec:
  template:
    metadata: {}
    spec:
      containers:
      - command:
        - echo
        - trained
        image: trainmesh.test/busybox:1
        name: train
        resources: {}
      restartPolicy: Never
status: {}
";

/// `--help` after the arguments: they are parsed, but the command does not run.
#[test]
fn commands_in_the_documentation_are_valid() {
    let pages = pages();
    let mut invalid = Vec::new();
    let mut count = 0;
    for page in &pages {
        for command in commands(&fs::read_to_string(page).unwrap()) {
            count += 1;
            let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
            let run = trainmesh(&arguments, "");
            if run.code != Some(0) {
                invalid.push(format!("{}: trainmesh {}: {}", page.display(), command.join(" "), run.stderr));
            }
        }
    }
    assert!(count > 20, "only {count} commands found in {pages:?}");
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
}

/// To update the pages: `UPDATE_DOCS=1 cargo test --test cli documentation`.
#[test]
fn documented_output_is_that_of_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.yaml"), JOB).unwrap();
    symlink(trainmesh_testing::repository().join("examples"), folder.path().join("examples")).unwrap();
    let mut count = 0;
    let mut differences = Vec::new();
    for page in pages() {
        let mut text = fs::read_to_string(&page).unwrap();
        for (command, documented) in outputs(&text) {
            count += 1;
            let expected = shortened(&run(&command, folder.path()), &documented);
            if expected != documented {
                differences.push(format!("{}: {command}\n{documented}\nprints\n{expected}", page.display()));
                text = text.replace(&format!("$ {command}\n{documented}"), &format!("$ {command}\n{expected}"));
            }
        }
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&page, text).unwrap();
        }
    }
    assert!(count > 5, "only {count} commands with output found");
    assert!(differences.is_empty(), "set UPDATE_DOCS=1 to update the pages:\n{}", differences.join("\n"));
}

/// Returns each command of [`OFFLINE`] with the lines that follow its prompt.
fn outputs(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let commands = blocks.flat_map(|(block, _)| block.split("$ ").skip(1)).filter_map(|part| part.split_once('\n'));
    commands
        .filter(|(command, output)| OFFLINE.iter().any(|start| command.starts_with(start)) && !output.is_empty())
        .map(|(command, output)| (command.to_owned(), output.to_owned()))
        .collect()
}

/// Returns what a command line prints to standard output.
fn run(command: &str, folder: &Path) -> String {
    let programs = trainmesh_testing::program().parent().unwrap().to_owned();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap()))).unwrap();
    let mut shell = Command::new("sh");
    let _ = shell.args(["-c", command]).current_dir(folder).env("PATH", path).env_remove("TRAINMESH_CONFIG");
    String::from_utf8(shell.output().expect("sh starts").stdout).unwrap()
}

/// Returns as many lines of `output` as `documented` has before [`OMITTED`], and that line; all without it.
fn shortened(output: &str, documented: &str) -> String {
    match documented.lines().position(|line| line == OMITTED) {
        Some(lines) => {
            let shown: Vec<&str> = output.lines().take(lines).chain([OMITTED, ""]).collect();
            shown.join("\n")
        }
        None => output.to_owned(),
    }
}

fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for path in PAGES {
        collect(Path::new(path), &mut pages);
    }
    pages
}

/// Adds the page at `path`, or the pages below it.
fn collect(path: &Path, pages: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), pages);
        }
    } else if path.extension().is_some_and(|extension| extension == "md") {
        pages.push(path.to_owned());
    }
}

/// Returns the arguments of each `trainmesh` command in the console blocks of a page.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let stages = blocks
        .flat_map(|(block, _)| command_lines(block))
        .flat_map(|line| line.split(" #").next().unwrap_or_default().split(" | "));
    stages
        .filter_map(|stage| stage.trim().strip_prefix("trainmesh"))
        .filter(|rest| rest.is_empty() || rest.starts_with(' '))
        .map(|rest| words(rest.split(" >").next().unwrap_or_default()))
        .collect()
}

/// Returns the lines with a prompt, or all lines of a block without prompts, which shows no output.
fn command_lines(block: &str) -> Vec<&str> {
    let lines: Vec<&str> = block.lines().map(str::trim).collect();
    let prompted: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("$ ")).collect();
    if prompted.is_empty() { lines } else { prompted }
}

/// Splits a command line at blanks outside of quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for next in text.chars() {
        match (quote, next) {
            (None, '\'' | '"') => quote = Some(next),
            (Some(open), _) if open == next => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(next),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn commands_are_found_in_console_blocks_only() {
    let text = "trainmesh no\n```yaml\ntrainmesh no\n```\n```console\n$ trainmesh a 'b c' \\\n  --d > e   # f\ntrainmesh no\n```\n\
                ```console\nkubectl x | trainmesh y | jq\n```\n";
    assert_eq!(commands(text), [vec!["a", "b c", "--d"], vec!["y"]]);
}

#[test]
fn output_is_found_and_shortened() {
    let text = "```console\n$ trainmesh checkpoint-interval a\nb\n…\n$ kubectl x\ny\n```\n";
    let found = outputs(text);
    assert_eq!(found, [("trainmesh checkpoint-interval a".to_owned(), "b\n…\n".to_owned())]);
    assert_eq!(shortened("c\nd\ne\n", &found[0].1), "c\n…\n");
    assert_eq!(shortened("c\nd\n", "c\n"), "c\nd\n");
}
