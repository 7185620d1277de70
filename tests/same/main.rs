//! What two builds of trainmesh print and answer, compared byte for byte: `make same` (`tests/same/run`) runs it.
//!
//! ```text
//! cargo test --test same -- BASE HEAD
//! ```
//!
//! A comparison finds what no test asks for: it asserts nothing about an output but that both builds have the same one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub,
    reason = "a program of the repository, which ends at the first surprise; its parts are of no library"
)]

mod apiserver;
mod cluster;
mod commands;
mod inputs;
mod reviews;
mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs, thread};

use apiserver::Apiserver;
use inputs::Inputs;
use reviews::Call;

/// Differences that are printed; a file has the others.
const SHOWN: usize = 5;
/// Characters around the first one that differs.
const BEFORE: usize = 120;
const AFTER: usize = 400;

/// What a build printed and answered, by what it was asked.
type Observations = BTreeMap<String, String>;

fn main() -> ExitCode {
    let Ok(binaries) = <[String; 2]>::try_from(env::args().skip(1).collect::<Vec<_>>()) else {
        eprintln!("usage: tests/same/run (make same), which builds the two binaries that this compares");
        return ExitCode::from(2);
    };
    let [base, head] = binaries.map(|path| fs::canonicalize(path).expect("a binary"));
    let began = Instant::now();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    env::set_current_dir(repository).expect("the repository is there");
    let inputs = Inputs::write(Path::new("target/same/inputs"), &base);
    let (objects, calls) = (cluster::objects(&inputs), reviews::calls(&inputs));
    let [base, head] = thread::scope(|scope| {
        let [base, head] = [base, head].map(|binary| {
            let (inputs, calls, cluster) = (&inputs, &calls, Apiserver::start(objects.clone()));
            scope.spawn(move || observe(&binary, inputs, calls, &cluster))
        });
        [base, head].map(|observed| observed.join().expect("a build could not be observed"))
    });
    let report = repository.join("target/same/differences.txt");
    let differences = differences(&base, &head);
    fs::write(&report, differences.join("\n")).expect("write the differences");
    for difference in differences.iter().take(SHOWN) {
        println!("{difference}");
    }
    let seconds = began.elapsed().as_secs();
    if differences.is_empty() {
        println!("same: {} outputs and answers in {seconds} s", base.len());
        return ExitCode::SUCCESS;
    }
    println!("DIFFERENT: {} of {} in {seconds} s; all of them: {}", differences.len(), base.len(), report.display());
    ExitCode::FAILURE
}

fn observe(binary: &Path, inputs: &Inputs, calls: &[Call], cluster: &Apiserver) -> Observations {
    let mut observations = servers::observe(binary, inputs, calls, cluster);
    observations.extend(commands::observe(binary, inputs, cluster));
    observations
}

/// A text for each question that was answered differently, or by one build alone.
fn differences(base: &Observations, head: &Observations) -> Vec<String> {
    let questions: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let differ = questions.into_iter().filter(|question| base.get(*question) != head.get(*question));
    let texts = differ.map(|question| {
        let [base, head] = [base, head].map(|observed| observed.get(question).map_or("(not asked)", String::as_str));
        let same = base.char_indices().zip(head.chars()).find(|((_, base), head)| base != head);
        let at = same.map_or(base.len().min(head.len()), |((at, _), _)| at);
        let mut text = format!("--- {question}\n");
        for (name, output) in [("base", base), ("head", head)] {
            writeln!(text, "{name}: {}", excerpt(output, at)).unwrap();
        }
        text
    });
    texts.collect()
}

/// The part of `text` around byte `at`.
fn excerpt(text: &str, at: usize) -> String {
    let before = text[..at].chars().rev().take(BEFORE).collect::<Vec<_>>().into_iter().rev();
    before.chain(text[at..].chars().take(AFTER)).collect()
}
