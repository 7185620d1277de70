//! Commands in the documentation are accepted by the command line.

use std::fs;
use std::path::{Path, PathBuf};

use trainmesh_testing::cli::trainmesh;

/// Pages and folders of pages.
const PAGES: &[&str] =
    &["README.md", "docs", "certs/README.md", "charts/trainmesh/README.md", "tests/cluster/README.md"];

/// `--help` after the arguments: they are parsed, but the command does not run.
#[test]
fn commands_in_the_documentation_are_valid() {
    let mut pages = Vec::new();
    for path in PAGES {
        collect(Path::new(path), &mut pages);
    }
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
