//! `trainmesh checkpoint-interval`: how often a job should write checkpoints.

mod json;
mod text;

use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;

use super::number::whole_number;
use super::terminal::stdout_layout;
use super::{Status, colored_stdout, json_stdout};
use anstream::ColorChoice;
use trainmesh_core::checkpoint::Model;
use trainmesh_core::duration::parse_with_days;

/// Compute how often a job should write checkpoints
///
/// Compares the interval of Young's and Daly's formulas with the exact optimum: the interval that loses the least time to
/// checkpoints, to work that failures undo, and to restarts. The interval is computing time between two checkpoints,
/// without the time to write them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A job that fails once a day and writes a checkpoint in five minutes
  trainmesh checkpoint-interval --write-time 5m --mtbf 24h --restart-time 10m

  # The same from the MTBF of a node, with the interval in training steps
  trainmesh checkpoint-interval --write-time 90s \\
    --node-mtbf 264d --nodes 128 --step-time 1.7s

  # Print the optimum in seconds
  trainmesh checkpoint-interval --write-time 5m --mtbf 24h -o json \\
    | jq '.intervals[0].seconds'

Exit codes:
  0  success
  2  an error")]
// One of them is required. The group is not, because the usage would be too wide for a terminal.
#[command(group = clap::ArgGroup::new("failures").args(["mtbf", "node_mtbf"]))]
pub(super) struct Arguments {
    /// Time for which the job stops to write a checkpoint, for example 5m
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    write_time: Duration,
    /// Mean time between failures of the whole job, for example 24h
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    mtbf: Option<Duration>,
    /// Mean time between failures of one node, for example 264d
    #[arg(long, value_name = "DURATION", value_parser = positive, requires = "nodes")]
    node_mtbf: Option<Duration>,
    /// Number of nodes of the job
    #[arg(long, value_name = "COUNT", requires = "node_mtbf", conflicts_with = "mtbf", value_parser = whole_number(MAX_NODES))]
    nodes: Option<u32>,
    /// Time from a failure until the job computes again, without the lost work
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = bounded)]
    restart_time: Duration,
    /// Time of one training step: shows the intervals in steps, too
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    step_time: Option<Duration>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Table and plot
    Table,
    /// JSON
    Json,
}

/// Maximum number of nodes: more than the largest clusters have.
const MAX_NODES: u32 = 10_000_000;
/// Maximum of a duration, a thousand years: longer ones are typing errors.
const MAX_DURATION: Duration = Duration::from_hours(1000 * 366 * 24);

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { write_time, mtbf, node_mtbf, nodes, restart_time, step_time, output } = arguments;
    let model = match (mtbf, node_mtbf.zip(*nodes)) {
        (Some(mtbf), _) => Model::new(*write_time, *mtbf, *restart_time),
        (None, Some((node_mtbf, nodes))) => Model::of_nodes(*write_time, node_mtbf, nodes, *restart_time),
        (None, None) => return Err(anyhow::anyhow!("specify --mtbf, or --node-mtbf and --nodes")),
    };
    let model = model.context("failed to compute the interval")?;
    let step_time = step_time.map(|step| step.as_secs_f64());
    match output {
        Format::Table => text::print(&mut colored_stdout(ColorChoice::Auto), &model, step_time, stdout_layout())?,
        Format::Json => json::print(&mut json_stdout(), &model, step_time)?,
    }
    Ok(Status::Success)
}

fn bounded(text: &str) -> Result<Duration, String> {
    let duration = parse_with_days(text)?;
    if duration > MAX_DURATION { Err("at most 366000d are supported".to_owned()) } else { Ok(duration) }
}

fn positive(text: &str) -> Result<Duration, String> {
    let duration = bounded(text)?;
    if duration.is_zero() { Err("must be longer than 0s".to_owned()) } else { Ok(duration) }
}
