//! Compares the output of two builds of trainmesh byte for byte; run it with `make same` (`tests/same/run`).
//!
//! ```text
//! cargo test --test same -- BASE HEAD
//! ```
//!
//! The comparison finds changes that no test covers: it asserts only that both builds have the same output.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub,
    reason = "a development tool that stops at the first unexpected state; its modules belong to no library"
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

/// Number of differences to print; the report has all.
const MAX_PRINTED: usize = 5;
/// Number of characters to show around the first difference.
const BEFORE: usize = 120;
const AFTER: usize = 400;

/// Outputs of a build, by input.
type Observations = BTreeMap<String, String>;

fn main() -> ExitCode {
    let Ok(binaries) = <[String; 2]>::try_from(env::args().skip(1).collect::<Vec<_>>()) else {
        eprintln!("usage: tests/same/run (make same), which builds the two binaries that this compares");
        return ExitCode::from(2);
    };
    let [base, head] = binaries.map(|path| fs::canonicalize(path).expect("a binary"));
    let began = Instant::now();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    env::set_current_dir(repository).expect("the repository exists");
    let inputs = Inputs::write(Path::new("target/same/inputs"), &base);
    let (objects, calls) = (cluster::objects(&inputs), reviews::calls(&inputs));
    let [base, head] = thread::scope(|scope| {
        let [base, head] = [base, head].map(|binary| {
            let (inputs, calls, cluster) = (&inputs, &calls, Apiserver::start(objects.clone()));
            scope.spawn(move || observe(&binary, inputs, calls, &cluster))
        });
        [base, head].map(|observed| observed.join().expect("a build could not be run"))
    });
    let report = repository.join("target/same/differences.txt");
    let differences = differences(&base, &head);
    fs::write(&report, differences.join("\n")).expect("write the differences");
    for difference in differences.iter().take(MAX_PRINTED) {
        println!("{difference}");
    }
    let seconds = began.elapsed().as_secs();
    if differences.is_empty() {
        println!("identical: {} outputs in {seconds} s", base.len());
        return ExitCode::SUCCESS;
    }
    println!("{} of {} outputs differ ({seconds} s); full report: {}", differences.len(), base.len(), report.display());
    ExitCode::FAILURE
}

fn observe(binary: &Path, inputs: &Inputs, calls: &[Call], cluster: &Apiserver) -> Observations {
    let mut observations = servers::observe(binary, inputs, calls, cluster);
    observations.extend(commands::observe(binary, inputs, cluster));
    observations
}

/// Returns a text for each input whose outputs differ, or that only one build was given.
fn differences(base: &Observations, head: &Observations) -> Vec<String> {
    let inputs: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let differ = inputs.into_iter().filter(|input| base.get(*input) != head.get(*input));
    let texts = differ.map(|input| {
        let [base, head] = [base, head].map(|observed| observed.get(input).map_or("(not run)", String::as_str));
        let same = base.char_indices().zip(head.chars()).find(|((_, base), head)| base != head);
        let at = same.map_or(base.len().min(head.len()), |((at, _), _)| at);
        let mut text = format!("--- {input}\n");
        for (name, output) in [("base", base), ("head", head)] {
            writeln!(text, "{name}: {}", excerpt(output, at)).unwrap();
        }
        text
    });
    texts.collect()
}

/// Returns the part of `text` around byte `at`.
fn excerpt(text: &str, at: usize) -> String {
    let before = text[..at].chars().rev().take(BEFORE).collect::<Vec<_>>().into_iter().rev();
    before.chain(text[at..].chars().take(AFTER)).collect()
}
