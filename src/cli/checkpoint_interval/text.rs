//! The tables and the plot.

use std::fmt::Write as _;
use std::io::Write;

use crate::cli::table::format_table;
use trainmesh_core::checkpoint::{Interval, Model, curve, intervals, sensitivity};
use trainmesh_core::render::{Layout, style};

/// Maximum columns of a bar of the plot.
const MAX_BAR: usize = 60;
/// Waste above which no interval helps the job.
const HIGH_WASTE: f64 = 0.5;
const HIGH_WASTE_ADVICE: &str = " No interval helps this job: write checkpoints faster, for example asynchronously or to \
                                 local disks, or find the cause of the failures.";
/// Advice if the job would make progress without the restart time.
const RESTART_ADVICE: &str = " No interval helps this job, because its restarts take most of the time: restart faster, for example \
                              with spare nodes and local images, or find the cause of the failures.";
/// Columns of a line of the plot without its bar.
const PLOT_COLUMNS: usize = 25;

pub(super) fn print(out: &mut impl Write, model: &Model, step_time: Option<f64>, layout: Layout) -> anyhow::Result<()> {
    let intervals = intervals(model);
    writeln!(
        out,
        "MTBF of the job {}, write time {}, restart time {}\n",
        format_duration(model.mtbf()),
        format_duration(model.write_time()),
        format_duration(model.restart_time())
    )?;
    write!(out, "{}", methods(&intervals, step_time))?;
    for Interval { method, out_of_domain, .. } in &intervals {
        if let Some(limit) = out_of_domain {
            let text = layout.wrap(&format!("{}: {limit}", method.name()), 5, 5);
            writeln!(out, "{}note{:#} {text}", style::NOTE, style::NOTE)?;
        }
    }
    let optimum = model.optimal_interval();
    // A checkpoint can be written only between two steps.
    let long_step = step_time.filter(|step| *step > optimum);
    let interval = long_step.unwrap_or(optimum);
    let waste = model.waste(interval);
    let advice_text = match long_step {
        Some(step) => format!(
            "Write a checkpoint after every step, because a step takes {}, longer than the best interval.",
            format_duration(step)
        ),
        None => format!("Write a checkpoint after every {} of computing.", format_duration(optimum)),
    };
    let waste_text = format_percent(waste);
    let text = format!("{advice_text} Checkpoints, repeated work and restarts then take {waste_text} of the time.");
    let advice = match waste > HIGH_WASTE {
        false => "",
        // Restarts take more time than checkpoints and repeated work together.
        true if model.without_restart_time().waste(interval) < waste / 2.0 => RESTART_ADVICE,
        true => HIGH_WASTE_ADVICE,
    };
    writeln!(out, "\n{}", layout.wrap(&(text + advice), 0, 0))?;
    let which = if long_step.is_some() { "the best" } else { "this" };
    writeln!(out, "\nWaste of {which} interval if the MTBF is wrong:\n")?;
    write!(out, "{}", wrong_mtbf(model))?;
    writeln!(out, "\nWaste of other intervals:\n")?;
    plot(out, model, layout)?;
    Ok(out.flush()?)
}

/// Returns the number of whole steps in an interval, at least one.
pub(super) fn steps(seconds: f64, step_time: f64) -> f64 {
    (seconds / step_time).floor().max(1.0)
}

fn methods(intervals: &[Interval], step_time: Option<f64>) -> String {
    let row = |interval: &Interval| {
        let Interval { method, seconds, waste, .. } = interval;
        let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let mut row = vec![method.name().to_owned(), cell(seconds.map(format_duration))];
        row.extend(step_time.map(|step_time| cell(seconds.map(|seconds| steps(seconds, step_time).to_string()))));
        row.push(cell(waste.map(format_percent)));
        row
    };
    let mut header = vec!["FORMULA", "INTERVAL"];
    header.extend(step_time.map(|_| "STEPS"));
    header.push("WASTE");
    format_table(&header, &intervals.iter().map(row).collect::<Vec<_>>())
}

fn wrong_mtbf(model: &Model) -> String {
    let rows: Vec<Vec<String>> = sensitivity(model)
        .iter()
        .map(|outcome| {
            let actual = format_duration(model.mtbf() * outcome.mtbf_factor);
            vec![actual, format_percent(outcome.waste), format_percent(outcome.optimal_waste)]
        })
        .collect();
    format_table(&["ACTUAL MTBF", "WASTE", "MINIMUM"], &rows)
}

/// Prints one bar for each interval, scaled so that the longest fills the line.
fn plot(out: &mut impl Write, model: &Model, layout: Layout) -> std::io::Result<()> {
    let width = layout.width.map_or(MAX_BAR, |columns| columns.saturating_sub(PLOT_COLUMNS).clamp(1, MAX_BAR));
    let curve = curve(model);
    let longest = curve.iter().map(|(_, waste)| *waste).fold(f64::MIN_POSITIVE, f64::max);
    let optimum = model.optimal_interval();
    for (seconds, waste) in curve {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the width")]
        #[expect(clippy::cast_precision_loss, reason = "a width is far below 2^52")]
        let bar = "█".repeat((waste / longest * width as f64).round() as usize);
        let is_optimum = (seconds / optimum - 1.0).abs() < 1e-9;
        let style = if is_optimum { style::SUCCESS } else { style::DIM };
        writeln!(out, "{:>11}   {:>8}  {style}{bar}{style:#}", format_duration(seconds), format_percent(waste))?;
    }
    Ok(())
}

fn format_percent(part: f64) -> String {
    format!("{:.2} %", part * 100.0)
}

/// Formats seconds: with a fraction below a minute, to the minute above a day, and to the hour above ten days.
fn format_duration(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "durations are bounded and positive")]
    let whole = seconds.round() as u64;
    let precision = match whole {
        0..60 => return format!("{}s", (seconds * 1000.0).round() / 1000.0),
        60..86_400 => 1,
        86_400..864_000 => 60,
        _ => 3600,
    };
    let mut rest = (whole + precision / 2) / precision * precision;
    let mut text = String::new();
    for (unit, name) in [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")] {
        if rest >= unit {
            let _ = write!(text, "{}{name}", rest / unit);
            rest %= unit;
        }
    }
    text
}
