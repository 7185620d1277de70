//! The command line: one file a command. Owns text and exit codes, and no logic.

#[cfg(not(feature = "cluster"))]
mod absent;
#[cfg(feature = "cluster")]
mod age;
#[cfg(feature = "cluster")]
mod background;
#[cfg(feature = "cluster")]
mod certificates;
#[cfg(feature = "cluster")]
mod certs;
mod completion;
mod config;
#[cfg(feature = "cluster")]
mod controller;
#[cfg(feature = "cluster")]
mod doctor;
mod fabric;
mod input;
mod installation;
mod lint;
#[cfg(feature = "cluster")]
mod live;
mod output;
mod preview;
mod progress;
#[cfg(feature = "cluster")]
mod server;
#[cfg(feature = "cluster")]
mod signals;
#[cfg(feature = "cluster")]
mod sweep;
mod table;
mod version;
#[cfg(feature = "cluster")]
mod waiting;
#[cfg(feature = "cluster")]
mod webhook;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[cfg(not(feature = "cluster"))]
use absent::{self as certs, self as controller, self as doctor, self as live, self as sweep, self as webhook};
use trainmesh_core::printable::{JsonWriter, Printable};
use trainmesh_core::render::style;

/// Exit code where `--exit-code` is given and some pod would be changed, and where the lint found something.
const CHANGED: u8 = 1;
/// Exit code of an error.
const FAILED: u8 = 2;
/// A pod fits in, so that most are written by one call.
const BUFFER: usize = 64 * 1024;

const EXAMPLES: &str = "\
Examples:
  # What would the pods of this job get, and why?
  trainmesh preview -f pytorchjob.yaml

  # The same for everything below a folder, as JSON
  trainmesh preview -f jobs/ -R -o json

  # From a pipe; exit code 1 when some pod would be changed
  kubectl get pytorchjob llama -o yaml | trainmesh preview -f - --exit-code";

/// Distributed training on Kubernetes with a service mesh, with no job manifest changed.
#[derive(Debug, Parser)]
#[command(name = "trainmesh", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Preview(preview::Arguments),
    Lint(lint::Arguments),
    Webhook(webhook::Arguments),
    Controller(controller::Arguments),
    Sweep(sweep::Arguments),
    Doctor(doctor::Arguments),
    Certs(certs::Arguments),
    Config(config::Arguments),
    Fabric(fabric::Arguments),
    Completion(completion::Arguments),
    Version(version::Arguments),
}

/// How a command ended, short of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// As asked.
    Done,
    /// As asked, and the user wants to know by the exit code that something would be changed.
    Changed,
    /// As asked, and something is wrong with what was looked at.
    Found,
    /// Something failed that has been reported already.
    Failed,
}

/// Runs the command that `arguments` name, and returns the exit code of the process.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            print_usage_error(&arguments, &error);
            return if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS };
        }
    };
    match run(parsed.command) {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Changed | Status::Found) => ExitCode::from(CHANGED),
        Ok(Status::Failed) => ExitCode::from(FAILED),
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&mut stderr(ColorChoice::Auto), format_args!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

fn parse(arguments: &[OsString]) -> Result<Arguments, clap::Error> {
    let matches = command(arguments.first()).try_get_matches_from(arguments)?;
    Arguments::from_arg_matches(&matches)
}

/// Prints the help, or the error that `arguments` lead to: it repeats them, so it is that of the escaped ones.
fn print_usage_error(arguments: &[OsString], error: &clap::Error) {
    let escaped = |argument: &OsString| Printable(argument.to_string_lossy()).to_string().into();
    let escaped: Vec<OsString> = arguments.iter().map(escaped).collect();
    // On a closed pipe nobody reads it.
    let _ = match parse(&escaped) {
        Err(error) => error.print(),
        Ok(_) => writeln!(io::stderr(), "{}", Printable(error)),
    };
}

fn run(command: Command) -> anyhow::Result<Status> {
    match command {
        Command::Preview(arguments) => preview::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Webhook(arguments) => webhook::run(&arguments),
        Command::Controller(arguments) => controller::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Certs(arguments) => certs::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Fabric(arguments) => fabric::run(&arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Version(arguments) => version::run(&arguments),
    }
}

/// The command tree, named as the user called it: `kubectl` finds plug-ins by the name `kubectl-trainmesh`.
fn command(called_as: Option<&OsString>) -> clap::Command {
    let plugin = called_as.and_then(|path| Path::new(path).file_stem()).is_some_and(|name| name == "kubectl-trainmesh");
    let command = Arguments::command();
    if plugin { command.bin_name("kubectl trainmesh").display_name("kubectl trainmesh") } else { command }
}

/// Standard output for people: colours as asked for and possible.
fn painted(color: ColorChoice) -> impl Write {
    io::BufWriter::with_capacity(BUFFER, AutoStream::new(io::stdout(), color))
}

/// Standard output for machines that read JSON.
fn json() -> impl Write {
    JsonWriter(plain())
}

/// Standard output for machines, untouched: whoever strips colours has to look at every byte.
fn plain() -> impl Write {
    io::BufWriter::with_capacity(BUFFER, io::stdout())
}

fn stderr(color: ColorChoice) -> impl Write {
    AutoStream::new(io::stderr(), color)
}

/// Writes an error for people, in one line.
fn complain(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    let bad = style::BAD;
    // Where standard error is closed there is nowhere left to say so.
    let _ = writeln!(stderr, "{bad}error{bad:#}: {}", Printable(message));
}

/// Writes a difference between a preview and a cluster, in one line.
fn differ(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    let caution = style::CAUTION;
    // As above.
    let _ = writeln!(stderr, "{caution}difference{caution:#}: {}", Printable(message));
}

/// Writes a note for people, in one line.
fn note(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    let quiet = style::NOTE;
    // As above.
    let _ = writeln!(stderr, "{quiet}note{quiet:#}: {}", Printable(message));
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe))
}
