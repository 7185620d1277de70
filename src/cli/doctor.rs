//! `trainmesh doctor`: checks a cluster and the installation.

use std::io::Write;

use anstream::ColorChoice;
use anstyle::Style;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::installation::{InstallationArguments, parse_installation};
use super::live::{describe_error, runtime};
use super::status_message::with_status;
use super::terminal::stdout_layout;
use super::{Status, colored_stdout, json_stdout};
use crate::cluster::client;
use crate::cluster::doctor::collect_facts;
use trainmesh_core::doctor::{Check, examine, level_name};
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::printable::Printable;
use trainmesh_core::render::{Layout, style};
use trainmesh_core::scope::Installation;

/// Columns of the severity.
const INDENT: usize = 9;
/// Incremented only when a field is removed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// Check a cluster and the trainmesh installation
///
/// Uses your own permissions and changes nothing. What you may not read is reported as a note, not as a failure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Check the cluster before and after an installation
  trainmesh doctor

  # Check an installation in another namespace and cluster
  trainmesh doctor --namespace ml-system --context staging

  # List the codes of failed checks
  trainmesh doctor -o json \\
    | jq -r '.findings[] | select(.level == \"failure\") | .code'

Exit codes:
  0  success
  2  an error, or a check failed")]
pub(super) struct Arguments {
    /// Same as --trainmesh-namespace
    #[arg(short, long, value_name = "NAMESPACE", value_parser = parse_installation)]
    namespace: Option<Installation>,
    #[command(flatten)]
    installation: InstallationArguments,
    /// Name of the kubeconfig context to use
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One line for each finding, with its fix
    Text,
    /// JSON
    Json,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { namespace, installation, context, output } = arguments;
    let (facts, is_assumed) = runtime()?.block_on(describe_error(context.as_deref(), async {
        let client = client::connect(None, context.as_deref()).await?;
        let (installation, is_assumed) = match namespace {
            Some(named) => (named.clone(), false),
            None => installation.discover_or_assume(&client, context.as_deref()).await?,
        };
        let facts = with_status("checking the cluster", Box::pin(collect_facts(&client, &installation))).await?;
        Ok((facts, is_assumed))
    }))?;
    let findings = examine(&facts);
    let home = facts.installation.namespace();
    match output {
        Format::Text => print_text(&mut colored_stdout(ColorChoice::Auto), &findings, home, stdout_layout())?,
        Format::Json => print_json(&mut json_stdout(), &findings, home)?,
    }
    let failed = is_assumed || findings.iter().any(|(_, finding)| finding.severity == Severity::Error);
    Ok(if failed { Status::Failed } else { Status::Success })
}

/// Prints each finding after its severity, and the fix below. `home` is the namespace of the installation.
fn print_text(out: &mut impl Write, findings: &[(Check, Finding)], home: &str, layout: Layout) -> anyhow::Result<()> {
    for (check, finding) in findings {
        let (label, style) = label(finding.severity);
        // Evidence contains names from the cluster, which may not be printable.
        let line = format!("{}: {}", check.text(), Printable(finding));
        writeln!(out, "{style}{label:<7}{style:#}  {}", layout.wrap(&line, INDENT, INDENT + 2))?;
        if let Some(fix) = fix(finding, home) {
            writeln!(out, "{:INDENT$}{}", "", layout.wrap(&fix, INDENT, INDENT + 2))?;
        }
    }
    Ok(out.flush()?)
}

fn print_json(out: &mut impl Write, findings: &[(Check, Finding)], home: &str) -> anyhow::Result<()> {
    let findings: Vec<Value> = findings.iter().map(|(check, finding)| finding_json(*check, finding, home)).collect();
    let report = json!({"schemaVersion": SCHEMA_VERSION, "version": env!("CARGO_PKG_VERSION"), "findings": findings});
    writeln!(out, "{report:#}")?;
    Ok(out.flush()?)
}

fn finding_json(check: Check, finding: &Finding, home: &str) -> Value {
    let Finding { code, severity, message, evidence, fix: _, subject: _, link, line: _, source: _ } = finding;
    json!({"check": check.code(), "level": level_name(*severity), "code": code, "message": message, "about": evidence,
        "cure": fix(finding, home), "link": link})
}

/// Returns the fix with commands that can be pasted.
fn fix(finding: &Finding, home: &str) -> Option<String> {
    finding.fix.map(|fix| fix.replace("-n NAMESPACE ", &format!("-n {home} ")))
}

/// Returns the label and style of a severity.
fn label(severity: Severity) -> (&'static str, Style) {
    match severity {
        Severity::Ok => ("ok", style::SUCCESS),
        Severity::Info => ("note", style::NOTE),
        Severity::Warning => ("warning", style::WARNING),
        Severity::Error => ("FAILED", style::ERROR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainmesh_core::doctor::Code;

    #[test]
    fn prints_each_finding_with_its_fix_below() {
        let finding = |check, code: Code, about: &str| (check, code.finding(about.to_owned()));
        let findings = [
            finding(Check::Kubernetes, Code::VersionServed, "v1.36.0"),
            finding(Check::Endpoints, Code::NoEndpoints, ""),
            finding(Check::Namespaces, Code::UnknownOptIn, "a (x\ny)"),
        ];
        let mut out = Vec::new();
        print_text(&mut out, &findings, "mesh", Layout::default()).unwrap();
        let out = anstream::adapter::strip_str(str::from_utf8(&out).unwrap()).to_string();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 5, "{out}");
        assert_eq!(lines[0], "ok       Kubernetes: supported version: v1.36.0");
        assert_eq!(lines[1], "FAILED   endpoints: no replica of the webhook is ready");
        assert!(lines[2].starts_with("         check its pods") && lines[2].contains(" -n mesh "), "{out}");
        assert!(lines[3].starts_with("warning  namespaces: ") && lines[3].ends_with("a (x\\ny)"), "{out}");
    }
}
