//! `trainmesh diagnose`: finds out why the pods of a job wait, hang or do not complete.

mod directory;
pub(super) mod dump;
#[cfg(feature = "cluster")]
pub(super) mod live;
pub(super) mod scope;
mod text;
#[cfg(feature = "cluster")]
mod watch;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::ColorChoice;
use anyhow::bail;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::terminal::stdout_layout;
use super::{Status, buffered_stdout, colored_stdout, json_stdout, print_note, stderr};
use crate::manifest;
use dump::Dump;
use scope::ScopeArguments;
use trainmesh_core::diagnosis::{DiagnosisReport, Selection, Target, diagnose};
use trainmesh_core::manifest::DocumentError;
use trainmesh_core::render::error_to_json;
use trainmesh_core::{duration, yaml};

/// Shortest interval of `--watch`: each diagnosis lists all pods.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Longest interval of `--watch`: a longer one looks like a command that hangs.
const MAX_INTERVAL: Duration = Duration::from_hours(1);
const INTERVALS: &str = "expected an interval of 1s to 1h";

/// Find out why the pods of a job wait, hang or do not complete
///
/// Shows each cause with the fields that prove it, whether it disappears by itself, and a fix. Reads pods, events, nodes,
/// jobs, the objects of schedulers and queues, and with --logs the logs of ranks, from a cluster with your own
/// permissions, or from files. Changes nothing. docs/diagnose.md describes every finding.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Diagnose all jobs in the current namespace
  trainmesh diagnose

  # Diagnose one job, or the job of a pod
  trainmesh diagnose pytorchjob/llama -n team-a
  trainmesh diagnose llama-worker-3 -n team-a

  # Diagnose a job every 30 s, and print what changes
  trainmesh diagnose pytorchjob/llama -n team-a --watch

  # Diagnose a dump, without a cluster; kubectl prints an error for each type
  # that is not installed
  for type in pods events services jobs.batch pytorchjobs.kubeflow.org \\
    podgroups.scheduling.volcano.sh workloads.kueue.x-k8s.io; do
    kubectl get $type -n team-a -o yaml && echo ---
  done > dump.yaml
  kubectl get nodes -o yaml > nodes.yaml
  trainmesh diagnose -f dump.yaml -f nodes.yaml

  # Check the network of each rank in its log, too
  trainmesh diagnose pytorchjob/llama -n team-a --logs
  kubectl logs -n team-a llama-worker-0 --timestamps > team-a_llama-worker-0.log
  trainmesh diagnose -f dump.yaml -f team-a_llama-worker-0.log

  # Compare the ranks of a job that hangs
  trainmesh diagnose pytorchjob/llama -n team-a --logs --ras

Exit codes:
  0  nothing found, or notes only
  1  errors or warnings were found
  2  the command failed
With --watch, an interrupt ends the command with the code of the last result.")]
pub(super) struct Arguments {
    /// Workload as KIND/NAME or KIND NAME, or the name of a pod [default: all]
    #[arg(value_name = "KIND/NAME|POD", num_args = 0..=2)]
    target: Vec<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Dump of objects as YAML or JSON, log (.log), directory of both, or `-` for a dump on standard input; can be repeated
    #[arg(short, long = "filename", value_name = "DUMP")]
    filename: Vec<PathBuf>,
    /// Read the logs of the ranks, too: which network NCCL uses, and which rank hangs
    #[arg(long)]
    logs: bool,
    /// Poll NCCL's RAS of running jobs twice, through a port-forward: which rank does not respond or is behind
    #[arg(long, conflicts_with = "filename")]
    ras: bool,
    /// Time of the dump, as in 2026-01-31T12:00:00Z [default: the newest time in it]
    #[arg(long, value_name = "TIME", requires = "filename", value_parser = parse_time)]
    now: Option<Timestamp>,
    /// Diagnose again at this interval, 1s to 1h, and print what changes, until interrupted
    #[arg(short, long, value_name = "INTERVAL", conflicts_with = "filename", num_args = 0..=1, require_equals = true,
        default_missing_value = "30s", value_parser = parse_interval)]
    watch: Option<Duration>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row for each finding, with its evidence and fix
    Table,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { target, scope, filename, logs, now, output, watch, ras: _ } = arguments;
    if let Some(file) = target.iter().find(|word| is_dump(Path::new(word))) {
        bail!("to read the dump {file}, use -f {file}");
    }
    let target = parse_target(target)?;
    if let Some(interval) = watch {
        return watch_cluster(arguments, target.as_ref(), *interval);
    }
    let (mut lacks_pods, mut misses_pods, mut holds_quota) = (false, false, false);
    let (report, errors, is_incomplete) = if filename.is_empty() {
        let (report, is_incomplete) = live(arguments, target.clone())?;
        (report, Vec::new(), is_incomplete)
    } else {
        let selection = Selection { target: target.clone(), namespace: scope.namespace.clone() };
        let Dump { snapshot, errors, lacks_logs, has_manifests: _ } = dump::read(filename, *logs)?;
        let is_noted = now.is_some() || dump::note_later_files(&snapshot, filename);
        let report = diagnose(&snapshot, &selection, dump::time(&snapshot, *now)?);
        if !is_noted && report.workloads > 0 && report.is_healthy() {
            dump::note_standard_input(&snapshot, filename);
        }
        lacks_pods = !snapshot.has_pods() && errors.is_empty();
        holds_quota = snapshot.holds_quota();
        misses_pods = snapshot.misses_pods() || holds_quota;
        (report, errors, lacks_logs)
    };
    if errors.is_empty() {
        require_workload(&report, target.as_ref(), false)?;
    }
    if report.excluded_pods > 0 {
        let noun = if report.excluded_pods == 1 { "pod" } else { "pods" };
        let note = format_args!("{} {noun}, none of a training job or with accelerators", report.excluded_pods);
        print_note(&mut stderr(ColorChoice::Auto), note);
    } else if report.workloads == 0 && errors.is_empty() && !filename.is_empty() {
        match (&scope.namespace, &report.hint) {
            (Some(namespace), _) if namespace.is_empty() => bail!("the name of the namespace is empty: correct -n"),
            (Some(namespace), Some(hint)) => bail!("the input contains no workload of namespace {namespace}: {hint}"),
            _ => bail!("the input contains no pod and no workload of a training job"),
        }
    }
    if lacks_pods {
        let problem = if holds_quota {
            "the input contains no pods, so it is not known whether a job that Kueue has admitted has any: add those of \
             kubectl get pods -A -o yaml"
        } else {
            "the input contains no pods: a dump needs those of kubectl get pods -o yaml"
        };
        // A job that is suspended or new, for example, has none.
        if report.diagnoses.is_empty() && misses_pods {
            bail!(problem);
        }
        print_note(&mut stderr(ColorChoice::Auto), format_args!("{problem}"));
    }
    if report.json_logs > 0 {
        let note = format_args!(
            "{} of {} logs consist of JSON, in which lines of NCCL and PyTorch are not recognized: pass logs of plain text",
            report.json_logs, report.logs
        );
        print_note(&mut stderr(ColorChoice::Auto), note);
    }
    print(*output, &report, &errors)?;
    Ok(if is_incomplete { Status::Failed } else { status(&report, &errors) })
}

/// Returns an error if the selected workload was not found. `watches` is true for the first diagnosis of a watch.
fn require_workload(report: &DiagnosisReport, target: Option<&Target>, watches: bool) -> anyhow::Result<()> {
    match target {
        // Without `=`, the interval of a watch is the name of a pod.
        Some(target) if report.workloads == 0 && watches && parse_interval(&target.name).is_ok() => {
            bail!("no {} to diagnose: for an interval, use --watch={}", target.title(), target.name)
        }
        Some(target) if report.workloads == 0 => {
            let hint = report.hint.as_deref().unwrap_or("check its name, kind and namespace");
            bail!("no {} to diagnose: {hint}", target.title())
        }
        _ => Ok(()),
    }
}

fn print(output: Format, report: &DiagnosisReport, errors: &[DocumentError]) -> anyhow::Result<()> {
    let errors_json: Vec<_> = errors.iter().map(error_to_json).collect();
    let json = || report.to_json(env!("CARGO_PKG_VERSION"), &errors_json);
    match output {
        // Nothing was diagnosed, and the errors are on standard error.
        Format::Table if report.workloads == 0 && !errors.is_empty() => {}
        Format::Table => {
            text::print(&mut colored_stdout(ColorChoice::Auto), report, errors.is_empty(), stdout_layout())?;
        }
        Format::Json => {
            let mut out = json_stdout();
            writeln!(out, "{:#}", json())?;
            out.flush()?;
        }
        Format::Yaml => {
            let mut out = buffered_stdout();
            out.write_all(yaml::to_string(&json()).as_bytes())?;
            out.flush()?;
        }
    }
    Ok(())
}

fn status(report: &DiagnosisReport, errors: &[DocumentError]) -> Status {
    if !errors.is_empty() {
        Status::Failed
    } else if report.is_healthy() {
        Status::Success
    } else {
        Status::Findings
    }
}

#[cfg(feature = "cluster")]
fn live(arguments: &Arguments, target: Option<Target>) -> anyhow::Result<(DiagnosisReport, bool)> {
    live::diagnose_cluster(arguments, target)
}

#[cfg(not(feature = "cluster"))]
fn live(_: &Arguments, _: Option<Target>) -> anyhow::Result<(DiagnosisReport, bool)> {
    bail!("this build diagnoses only dumps: use -f, or build trainmesh without --no-default-features")
}

#[cfg(feature = "cluster")]
fn watch_cluster(arguments: &Arguments, target: Option<&Target>, interval: Duration) -> anyhow::Result<Status> {
    watch::watch_cluster(arguments, target, interval)
}

#[cfg(not(feature = "cluster"))]
fn watch_cluster(arguments: &Arguments, _: Option<&Target>, _: Duration) -> anyhow::Result<Status> {
    live(arguments, None).map(|_| Status::Success)
}

fn parse_time(text: &str) -> Result<Timestamp, &'static str> {
    text.parse().map_err(|_| "expected a time such as 2026-01-31T12:00:00Z")
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    // The hint to write days in hours names an interval that is too long.
    match duration::parse(text) {
        Ok(interval) if (MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) => Ok(interval),
        Err(error) if !text.ends_with('d') => Err(error),
        _ => Err(INTERVALS.to_owned()),
    }
}

/// Returns true if an argument is a file rather than a workload: the name of a pod may have the same extension.
fn is_dump(path: &Path) -> bool {
    manifest::has_extension(path) && path.is_file()
}

/// Parses `KIND/NAME`, `KIND NAME` or the name of a pod.
fn parse_target(words: &[String]) -> anyhow::Result<Option<Target>> {
    Ok(match words {
        [] => None,
        [word] => Some(Target::parse(word)?),
        // Kinds contain no `/` and no `-`.
        [first, second, ..] if first.contains(['/', '-']) => {
            bail!("found {first} and {second}: diagnose one workload or pod at a time")
        }
        [kind, name, ..] => Some(Target::parse(&format!("{kind}/{name}"))?),
    })
}
