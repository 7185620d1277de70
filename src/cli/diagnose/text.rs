//! `-o table`: one row for each finding, and its details below.

use std::io::Write;

use jiff::{SignedDuration, Timestamp};
use trainmesh_core::diagnosis::{Diagnosis, DiagnosisReport, Evidence, Waste};
use trainmesh_core::finding::Severity;
use trainmesh_core::printable::Printable;
use trainmesh_core::render::{Layout, style};

use crate::cli::age::format_age;
use crate::cli::table::{NONE, format_table};

/// Columns by which details are indented.
const INDENT: usize = 4;
/// Difference between the clocks of a cluster, and between requests.
const SKEW: SignedDuration = SignedDuration::from_mins(1);
/// Seconds of a tenth of an hour.
const TENTH: u64 = 360;
/// Columns of a table that fits.
const HEADER: [&str; 5] = ["LEVEL", "FINDING", "RECOVERS", "LOST", "WORKLOAD"];

/// Prints the findings, or one line if there are none. `is_complete` is false if a part of the input could not be read.
pub(super) fn print(
    out: &mut impl Write,
    report: &DiagnosisReport,
    is_complete: bool,
    layout: Layout,
) -> anyhow::Result<()> {
    let DiagnosisReport { now, diagnoses, .. } = report;
    if diagnoses.is_empty() {
        let limit = if !is_complete {
            "a part of the input could not be read"
        } else if report.workloads > 0 && report.pods == 0 {
            "no pods: finished, suspended, or not created by the controller yet"
        } else {
            "the API does not show collectives that hang: docs/diagnose.md#limits"
        };
        // A dump without any time has none.
        let time = if *now == Timestamp::UNIX_EPOCH { String::new() } else { format!(" at {now}") };
        writeln!(out, "{}", layout.wrap(&format!("nothing found in {}{time}; {limit}", checked(report)), 0, INDENT))?;
        return Ok(out.flush()?);
    }
    print_rows(out, &diagnoses.iter().collect::<Vec<_>>(), *now, layout)?;
    print_summary(out, report, layout)
}

/// Prints the findings that differ from those of the previous report.
#[cfg(feature = "cluster")]
pub(super) fn print_changes(
    out: &mut impl Write,
    report: &DiagnosisReport,
    changes: &trainmesh_core::diagnosis::ReportChanges<'_>,
    layout: Layout,
) -> anyhow::Result<()> {
    let trainmesh_core::diagnosis::ReportChanges { appeared, changed, resolved } = changes;
    for found in resolved {
        let (code, workload, message) = (found.code.code(), &found.workload, &found.finding.message);
        let line = Printable(format_args!("resolved: {code}: {workload}: {message}")).to_string();
        writeln!(out, "{}", layout.wrap(&line, 0, INDENT))?;
    }
    for (title, diagnoses) in [("appeared", appeared), ("changed", changed)] {
        if !diagnoses.is_empty() {
            writeln!(out, "{title}:")?;
            print_rows(out, diagnoses, report.now, layout)?;
        }
    }
    print_summary(out, report, layout)
}

/// Prints the number of findings, and of the objects that were checked.
fn print_summary(out: &mut impl Write, report: &DiagnosisReport, layout: Layout) -> anyhow::Result<()> {
    let DiagnosisReport { now, diagnoses, omitted, .. } = report;
    let omitted = if *omitted == 0 { String::new() } else { format!(" and {omitted} more") };
    let found = if diagnoses.is_empty() { "no findings".to_owned() } else { count(diagnoses.len(), "finding") };
    writeln!(out, "{}", layout.wrap(&format!("{found}{omitted} in {} at {now}", checked(report)), 0, INDENT))?;
    Ok(out.flush()?)
}

/// Returns the numbers of workloads, pods and logs.
fn checked(report: &DiagnosisReport) -> String {
    let DiagnosisReport { workloads, pods, logs, .. } = report;
    let logs = if *logs == 0 { String::new() } else { format!(", {}", count(*logs, "log")) };
    format!("{}, {}{logs}", count(*workloads, "workload"), count(*pods, "pod"))
}

fn print_rows(out: &mut impl Write, diagnoses: &[&Diagnosis], now: Timestamp, layout: Layout) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = diagnoses.iter().copied().map(row).collect();
    let complete = format_table(&HEADER, &rows);
    // The name of a workload may be longer than the terminal is wide.
    let fits = complete.lines().all(|line| layout.fits(line.chars().count()));
    let table = if fits {
        complete
    } else {
        let short: Vec<Vec<String>> = rows.iter().map(|row| row[..HEADER.len() - 1].to_vec()).collect();
        format_table(&HEADER[..HEADER.len() - 1], &short)
    };
    let mut lines = table.lines();
    let heading = style::HEADING;
    writeln!(out, "{heading}{}{heading:#}", lines.next().unwrap_or_default())?;
    for (line, found) in lines.zip(diagnoses.iter().copied()) {
        let style = style::severity(found.finding.severity);
        let (level, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
        writeln!(out, "{style}{level}{style:#}{rest}")?;
        if !fits {
            detail(out, "", &found.workload.to_string(), layout)?;
        }
        print_details(out, found, now, layout)?;
        writeln!(out)?;
    }
    Ok(())
}

fn print_details(out: &mut impl Write, found: &Diagnosis, now: Timestamp, layout: Layout) -> anyhow::Result<()> {
    detail(out, "", &found.finding.message, layout)?;
    for same in same_fields(&found.evidence) {
        let Some((Evidence { object, field, value, time }, others)) = same.split_first() else { continue };
        let age = time.map(|time| format!(" ({})", format_time(time, now))).unwrap_or_default();
        detail(out, "", &format!("- {object}: {field}: {value}{age}"), layout)?;
        if !others.is_empty() {
            let objects: Vec<&str> = others.iter().map(|evidence| &*evidence.object).collect();
            detail(out, "", &format!("- the same in {}", objects.join(", ")), layout)?;
        }
    }
    if found.more_evidence > 0 {
        detail(out, "", &format!("- and {} more of this kind", found.more_evidence), layout)?;
    }
    if let Some(Waste { accelerators, accelerator_seconds, .. }) = found.waste {
        let lost = format!("{} accelerator-hours lost so far", format_hours(accelerator_seconds));
        detail(out, "idle", &format!("{}, {lost}", count_u64(accelerators, "accelerator")), layout)?;
    }
    let recovery = found.recovery;
    let reason = format!("{}: {}", recovery.recovers().name(), recovery.reason());
    detail(out, "recovers by itself", &reason, layout)?;
    if let Some(fix) = found.fix() {
        detail(out, "fix", &fix, layout)?;
    }
    detail(out, "see", found.finding.link, layout)
}

/// Formats a time relative to `now`. A log may be newer than the objects of a dump.
fn format_time(time: Timestamp, now: Timestamp) -> String {
    let later = time.duration_since(now);
    if later > SKEW {
        format!("{} later", format_age(later))
    } else {
        format!("{} ago", format_age(now.duration_since(time)))
    }
}

/// Groups evidence with the same field and value: the scheduler, for example, reports the same about each pod of a job.
fn same_fields(evidence: &[Evidence]) -> Vec<Vec<&Evidence>> {
    let mut groups: Vec<Vec<&Evidence>> = Vec::new();
    for piece in evidence {
        let is_same = |known: &&Evidence| (&known.field, &known.value) == (&piece.field, &piece.value);
        match groups.iter_mut().find(|group| group.first().is_some_and(is_same)) {
            Some(group) => group.push(piece),
            None => groups.push(vec![piece]),
        }
    }
    groups
}

/// Prints a line below a row. Evidence contains text from the cluster, which may not be printable.
fn detail(out: &mut impl Write, name: &str, text: &str, layout: Layout) -> anyhow::Result<()> {
    let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let text = layout.wrap(&Printable(text).to_string(), INDENT + name.len(), INDENT + 2);
    Ok(writeln!(out, "{:INDENT$}{name}{text}", "")?)
}

fn row(found: &Diagnosis) -> Vec<String> {
    let level = match found.finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Ok => "note",
    };
    let lost = found
        .waste
        .map_or_else(|| NONE.to_owned(), |waste| format!("{} acc-h", format_hours(waste.accelerator_seconds)));
    let recovers = found.recovery.recovers().name();
    vec![level.to_owned(), found.code.code().to_owned(), recovers.to_owned(), lost, found.workload.to_string()]
}

/// Formats accelerator-seconds as accelerator-hours, in one unit, so that they are no durations and compare with each other.
fn format_hours(seconds: u64) -> String {
    let tenths = seconds.saturating_add(TENTH / 2) / TENTH;
    match (tenths / 10, tenths % 10) {
        (0, 0) => "<0.1".to_owned(),
        (hours, 0) => hours.to_string(),
        (hours, tenth) if hours < 100 => format!("{hours}.{tenth}"),
        (hours, _) => hours.to_string(),
    }
}

fn count(number: usize, noun: &str) -> String {
    count_u64(number as u64, noun)
}

fn count_u64(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs_may_be_later() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let format = |seconds: i64| format_time(now + SignedDuration::from_secs(seconds), now);
        assert_eq!([format(-3600), format(60), format(3660)], ["60m ago", "0s ago", "61m later"]);
    }

    /// The log of each rank contains the same lines.
    #[test]
    fn equal_fields_are_grouped_in_any_order() {
        let piece = |object: &str, value: &str| {
            let [object, field, value] = [object, "log", value].map(str::to_owned);
            Evidence { object, field, value, time: None }
        };
        let evidence = [piece("a", "x"), piece("a", "y"), piece("b", "x"), piece("b", "y")];
        let objects = |group: &Vec<&Evidence>| group.iter().map(|piece| piece.object.clone()).collect::<Vec<_>>();
        let groups: Vec<_> = same_fields(&evidence).iter().map(objects).collect();
        assert_eq!(groups, [["a", "b"], ["a", "b"]]);
    }
}
