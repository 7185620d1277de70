//! `trainmesh doctor`: is this cluster ready for trainmesh, and is trainmesh well?

use std::io::Write;

use anstream::ColorChoice;
use anstyle::Style;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::installation::InstallationArguments;
use super::live::runtime;
use super::waiting::waiting;
use super::{Status, json, painted};
use crate::cluster::{checkup, client};
use trainmesh_core::doctor::{Check, examine, level};
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::printable::Printable;
use trainmesh_core::render::style;
use trainmesh_core::scope::Installation;

/// Changes only when a field changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

/// Check a cluster and the installation in it
///
/// Reads with your own rights, and changes nothing. What they do not show is a note, not a failure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Before and after an installation: what is wrong, and the cure of each
  trainmesh doctor

  # Another namespace, another cluster
  trainmesh doctor --namespace ml-system --context staging

  # The codes of what failed
  trainmesh doctor -o json | jq -r '.findings[] | select(.level == \"failure\") | .code'

Exit codes: 0; 2 for an error, or when some check failed.")]
pub(super) struct Arguments {
    /// The same as --trainmesh-namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<Installation>,
    #[command(flatten)]
    installation: InstallationArguments,
    /// The context of the kubeconfig to use instead of the current one
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line for each finding, with its cure
    Text,
    /// For machines
    Json,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { namespace, installation, context, output } = arguments;
    let facts = runtime()?.block_on(async {
        let client = client::connect(None, context.as_deref()).await?;
        let installation = match namespace {
            Some(named) => named.clone(),
            None => installation.discover(&client).await,
        };
        anyhow::Ok(waiting("checking the cluster", Box::pin(checkup::facts(&client, &installation))).await?)
    })?;
    let findings = examine(&facts);
    match output {
        Format::Text => text(&mut painted(ColorChoice::Auto), &findings)?,
        Format::Json => machine(&mut json(), &findings)?,
    }
    let failed = findings.iter().any(|(_, finding)| finding.severity == Severity::Error);
    Ok(if failed { Status::Failed } else { Status::Done })
}

fn text(out: &mut impl Write, findings: &[(Check, Finding)]) -> anyhow::Result<()> {
    for (check, finding) in findings {
        let (word, style) = mark(finding.severity);
        // What it is about has names in it that others gave.
        let words = Printable(finding);
        writeln!(out, "{style}{word:<7}{style:#}  {}: {words}", check.text())?;
        if let Some(fix) = finding.fix {
            writeln!(out, "{:9}{fix}", "")?;
        }
    }
    Ok(out.flush()?)
}

fn machine(out: &mut impl Write, findings: &[(Check, Finding)]) -> anyhow::Result<()> {
    let findings: Vec<Value> = findings.iter().map(object).collect();
    let report = json!({"schemaVersion": SCHEMA_VERSION, "version": env!("CARGO_PKG_VERSION"), "findings": findings});
    writeln!(out, "{report:#}")?;
    Ok(out.flush()?)
}

fn object((check, finding): &(Check, Finding)) -> Value {
    let Finding { code, severity, message, evidence, fix, subject: _ } = finding;
    json!({"check": check.code(), "level": level(*severity), "code": code, "message": message, "about": evidence,
        "cure": fix})
}

/// How a severity looks.
fn mark(severity: Severity) -> (&'static str, Style) {
    match severity {
        Severity::Ok => ("ok", style::GOOD),
        Severity::Info => ("note", style::NOTE),
        Severity::Warning => ("warning", style::CAUTION),
        Severity::Error => ("FAILED", style::BAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainmesh_core::doctor::Code;

    #[test]
    fn a_line_for_each_finding_and_its_cure_below() {
        let finding = |check, code: Code, about: &str| (check, code.finding(about.to_owned()));
        let findings = [
            finding(Check::Kubernetes, Code::VersionServed, "v1.36.0"),
            finding(Check::Endpoints, Code::NoEndpoints, ""),
            finding(Check::Namespaces, Code::UnknownOptIn, "a (x\ny)"),
        ];
        let mut out = Vec::new();
        text(&mut out, &findings).unwrap();
        let out = anstream::adapter::strip_str(str::from_utf8(&out).unwrap()).to_string();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 5, "{out}");
        assert_eq!(lines[0], "ok       Kubernetes: recent enough: v1.36.0");
        assert_eq!(lines[1], "FAILED   endpoints: no replica of the webhook is ready");
        assert!(lines[2].starts_with("         look at its pods"), "{out}");
        assert!(lines[3].starts_with("warning  namespaces: ") && lines[3].ends_with("a (x\\ny)"), "{out}");
    }
}
