//! The command line: one file for each command. Contains only the text and the exit codes.

mod age;
#[cfg(feature = "cluster")]
mod background;
#[cfg(feature = "cluster")]
mod certificate_arguments;
#[cfg(feature = "cluster")]
mod certs;
mod checkpoint_interval;
mod color;
mod completion;
mod config;
#[cfg(feature = "cluster")]
mod controller;
mod diagnose;
#[cfg(feature = "cluster")]
mod doctor;
mod fabric;
mod input;
mod installation;
mod inventory;
mod lint;
#[cfg(feature = "cluster")]
mod live;
mod man;
mod notes;
mod number;
mod output;
mod premise;
mod preview;
mod progress;
mod runtime;
#[cfg(feature = "cluster")]
mod server;
#[cfg(feature = "cluster")]
mod signals;
mod skipped_files;
#[cfg(feature = "cluster")]
mod status_message;
#[cfg(feature = "cluster")]
mod sweep;
mod table;
mod terminal;
#[cfg(not(feature = "cluster"))]
mod unavailable;
mod usage;
mod version;
#[cfg(feature = "cluster")]
mod webhook;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use trainmesh_core::error::chain;
use trainmesh_core::printable::{JsonWriter, Printable};
use trainmesh_core::render::style;
#[cfg(not(feature = "cluster"))]
use unavailable::{self as certs, self as controller, self as doctor, self as live, self as sweep, self as webhook};

/// Exit code if lint reports findings, or a condition of `--fail-on` occurs.
const EXIT_FINDINGS: u8 = 1;
/// Exit code of an error.
const EXIT_ERROR: u8 = 2;
/// Exit code if the reader of the output closes the pipe: that of a process that SIGPIPE ends, as in a shell.
const EXIT_BROKEN_PIPE: u8 = 141;
/// Maximum width of the help: longer lines are harder to read.
const MAX_HELP_WIDTH: usize = 120;
/// Size of the output buffer: larger than most pods, so that one is written with one system call.
const BUFFER_SIZE: usize = 64 * 1024;

const EXAMPLES: &str = "\
Examples:
  # Show the patch for the pods of a job, and why
  trainmesh preview -f pytorchjob.yaml

  # The same for all manifests in a directory, as JSON
  trainmesh preview -f jobs/ -R -o json

  # Read from standard input; exit with 1 if some pod would change
  kubectl get pytorchjob llama -o yaml | trainmesh preview -f - --exit-code";

/// Run distributed training on a Kubernetes service mesh without changing job manifests
#[derive(Debug, Parser)]
#[command(name = "trainmesh", version, after_help = EXAMPLES, arg_required_else_help = true)]
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
    Diagnose(diagnose::Arguments),
    Doctor(doctor::Arguments),
    Certs(certs::Arguments),
    Config(config::Arguments),
    Fabric(fabric::Arguments),
    Inventory(inventory::Arguments),
    CheckpointInterval(checkpoint_interval::Arguments),
    Completion(completion::Arguments),
    Man(man::Arguments),
    Version(version::Arguments),
}

/// Result of a command that returned no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Success.
    Success,
    /// Success; the command reports findings, or a condition of `--fail-on` occurs.
    Findings,
    /// Failure that has already been reported.
    Failed,
}

/// Runs the command in `arguments` and returns the exit code of the process.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            usage::print(&arguments, &error);
            return if error.use_stderr() { ExitCode::from(EXIT_ERROR) } else { ExitCode::SUCCESS };
        }
    };
    match run(parsed.command) {
        Ok(Status::Success) => ExitCode::SUCCESS,
        Ok(Status::Findings) => ExitCode::from(EXIT_FINDINGS),
        Ok(Status::Failed) => ExitCode::from(EXIT_ERROR),
        // The reader has closed the pipe. The result is unknown, and a pipeline with `pipefail` must not take it for success.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(EXIT_BROKEN_PIPE),
        Err(error) => {
            print_error(&mut stderr(ColorChoice::Auto), format_args!("{}", chain(error.as_ref())));
            ExitCode::from(EXIT_ERROR)
        }
    }
}

fn parse(arguments: &[OsString]) -> Result<Arguments, clap::Error> {
    let matches = command(arguments.first()).try_get_matches_from(arguments)?;
    Arguments::from_arg_matches(&matches)
}

fn run(command: Command) -> anyhow::Result<Status> {
    match command {
        Command::Preview(arguments) => preview::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Webhook(arguments) => webhook::run(&arguments),
        Command::Controller(arguments) => controller::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Diagnose(arguments) => diagnose::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Certs(arguments) => certs::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Fabric(arguments) => fabric::run(&arguments),
        Command::Inventory(arguments) => inventory::run(&arguments),
        Command::CheckpointInterval(arguments) => checkpoint_interval::run(&arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Version(arguments) => version::run(&arguments),
    }
}

/// Returns the command tree. kubectl runs plugins by the file name `kubectl-trainmesh`.
fn command(argv0: Option<&OsString>) -> clap::Command {
    let plugin = argv0.and_then(|path| Path::new(path).file_stem()).is_some_and(|name| name == "kubectl-trainmesh");
    let command = Arguments::command();
    let command = match terminal::stdout_layout().width {
        Some(width) => command.term_width(width.min(MAX_HELP_WIDTH)),
        None => command.max_term_width(MAX_HELP_WIDTH),
    };
    if plugin {
        with_plugin_examples(command).bin_name("kubectl trainmesh").display_name("kubectl trainmesh")
    } else {
        command
    }
}

/// Replaces the name of the program in the examples of `command` and its subcommands by that of the plugin.
fn with_plugin_examples(command: clap::Command) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string);
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = match examples {
        Some(text) => {
            let text = text.replace("\n  trainmesh ", "\n  kubectl trainmesh ");
            command.after_help(text.replace("| trainmesh ", "| kubectl trainmesh "))
        }
        None => command,
    };
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_plugin_examples))
}

/// Returns standard output for people, colored according to `color` and the terminal.
fn colored_stdout(color: ColorChoice) -> impl Write {
    io::BufWriter::with_capacity(BUFFER_SIZE, AutoStream::new(io::stdout(), color))
}

/// Returns standard output for JSON.
fn json_stdout() -> impl Write {
    JsonWriter(buffered_stdout())
}

/// Returns standard output for machines. It does not strip colors, which would cost a scan of every byte.
fn buffered_stdout() -> impl Write {
    io::BufWriter::with_capacity(BUFFER_SIZE, io::stdout())
}

fn stderr(color: ColorChoice) -> impl Write {
    AutoStream::new(io::stderr(), color)
}

/// Prints an error.
fn print_error(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    print_line(stderr, style::ERROR, "error", message);
}

/// Prints a warning.
fn print_warning(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    print_line(stderr, style::WARNING, "warning", message);
}

/// Prints a difference between a preview and a cluster.
fn print_difference(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    print_line(stderr, style::WARNING, "difference", message);
}

/// Prints a cause for which `--fail-on` fails.
fn print_cause(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    print_line(stderr, style::ERROR, "failed", message);
}

/// Prints a note.
fn print_note(stderr: &mut impl Write, message: std::fmt::Arguments<'_>) {
    print_line(stderr, style::NOTE, "note", message);
}

/// Prints a message in one line, or in several indented ones if the terminal is narrower.
fn print_line(stderr: &mut impl Write, style: Style, name: &str, message: std::fmt::Arguments<'_>) {
    let text = terminal::stderr_layout().wrap(&Printable(message).to_string(), name.len() + 2, 2);
    // Nothing to do if standard error is closed.
    let _ = writeln!(stderr, "{style}{name}{style:#}: {text}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe))
}
