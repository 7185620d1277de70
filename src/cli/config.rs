//! `trainmesh config validate|schema|show`.

mod notes;

use std::env;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::slice;

use anstream::ColorChoice;
use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;

use super::input::parse_namespace;
use super::terminal::stdout_layout;
use super::{Status, print_error, print_note};
use crate::manifest::STDIN_NAME;
use trainmesh_core::config::{self, Configuration, Problem, ValuesFacts};
use trainmesh_core::printable::Printable;
use trainmesh_core::scope::Installation;

/// A test compares the file with the schema that the types generate: the generator takes more space than its output.
const SCHEMA: &str = include_str!("../../config/schema.json");

/// Validate and show configurations, and print their schema
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Report all problems of a configuration, with field and line
  trainmesh config validate my-config.yaml

  # Validate the section config of Helm values, merged from two files
  trainmesh config validate base.yaml site.yaml

  # Validate the configuration of a rendered chart or kustomization
  helm template charts/trainmesh | trainmesh config validate -
  kubectl kustomize config/kustomize/base | trainmesh config validate -

  # Write the JSON Schema, for an editor
  trainmesh config schema > trainmesh.schema.json

  # Show the effective configuration: the file's fields and the defaults
  trainmesh config show --config my-config.yaml

Exit codes:
  0  success
  2  an error, or an invalid configuration")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Validate a configuration and report all problems; exits with 0 if it is valid, otherwise with 2
    Validate {
        /// Configuration, the manifest of its `ConfigMap`, also among others, or Helm values; `-` reads standard input. Several
        /// files are merged as Helm merges values
        #[arg(value_name = "FILE", required_unless_present = "config")]
        files: Vec<PathBuf>,
        /// Same as FILE, for scripts that pass it to every command; can be repeated, but not combined with FILE
        #[arg(long, value_name = "FILE", conflicts_with = "files")]
        config: Vec<PathBuf>,
    },
    /// Print the JSON Schema of the configuration
    Schema,
    /// Print the effective configuration, including defaults
    Show {
        /// Configuration file [default: the embedded configuration]; can be repeated: several files of Helm values are
        /// merged as Helm merges them
        #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
        config: Vec<PathBuf>,
    },
}

/// Problems of files, each with the index of its file.
type Problems = Vec<(usize, Problem)>;

/// Remark about Helm values.
const OTHER_VALUES: &str = "; Helm checks the other values";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mut stdout = io::stdout();
    match &arguments.command {
        Command::Validate { files, config } => {
            return validate(if config.is_empty() { files } else { config }, &mut stdout);
        }
        Command::Schema => stdout.write_all(SCHEMA.as_bytes())?,
        Command::Show { config } => {
            let Some(configuration) = load_or_default(config)? else { return Ok(Status::Failed) };
            write!(stdout, "{}", configuration.to_yaml())?;
        }
    }
    Ok(Status::Success)
}

/// Validates a file, or several files of Helm values as one.
fn validate(paths: &[PathBuf], stdout: &mut impl Write) -> anyhow::Result<Status> {
    let texts = paths.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let names = names(paths);
    match parse(&texts) {
        Ok((configuration, values)) => {
            notes::report_lost_profiles(&names, values.as_ref().map_or(&[], |values| &values.lost_profiles));
            let lacks_controller = values.as_ref().is_some_and(|values| values.lacks_controller);
            let (state, rest) = match values {
                None => ("valid", ""),
                Some(ValuesFacts { has_section: true, .. }) => ("section config is valid", OTHER_VALUES),
                Some(_) => ("section config is absent or empty, so the defaults apply", OTHER_VALUES),
            };
            let result = format!("{}: {state}, hash {}{rest}", names.join(", "), configuration.hash());
            writeln!(stdout, "{}", stdout_layout().wrap(&Printable(result).to_string(), 0, 2))?;
            notes::report(&configuration, lacks_controller);
            Ok(Status::Success)
        }
        Err(problems) => {
            print_problems_of_files(&names, &problems);
            Ok(Status::Failed)
        }
    }
}

/// Loads the configuration at `paths`, several files of Helm values as one, or the embedded configuration if there is no
/// path. Prints the problems and returns `None` if it is invalid.
pub(super) fn load_or_default(paths: &[PathBuf]) -> anyhow::Result<Option<Configuration>> {
    Ok(load(paths)?.map(|loaded| loaded.configuration))
}

/// Facts about the installation in Helm values.
#[derive(Debug, Default)]
pub(super) struct InstallationFacts {
    /// Namespace of the installation, if the values set it.
    pub(super) namespace: Option<String>,
    /// Namespaces that the values exclude from the webhook.
    excluded_namespaces: Vec<String>,
    lacks_controller: bool,
}

impl InstallationFacts {
    /// Adds the facts to `installation`, except its namespace.
    pub(super) fn add_to(self, installation: Installation) -> Installation {
        let Self { namespace: _, excluded_namespaces, lacks_controller } = self;
        installation.with_excluded(excluded_namespaces).with_controller_disabled(lacks_controller)
    }
}

/// Does the same as [`load_or_default`], and returns what Helm values contain about the installation. Prints a note about the
/// conditions of the values that are not evaluated.
pub(super) fn load_with_installation(paths: &[PathBuf]) -> anyhow::Result<Option<(Configuration, InstallationFacts)>> {
    let Some(Loaded { configuration, values, .. }) = load(paths)? else { return Ok(None) };
    let Some(ValuesFacts { namespace, excluded_namespaces, conditions, lacks_controller, .. }) = values else {
        return Ok(Some((configuration, InstallationFacts::default())));
    };
    let validated = |name: String| {
        parse_namespace(&name).map_err(|problem| anyhow!("namespaceOverride of the values is {name:?}: {problem}"))
    };
    let namespace = namespace.map(validated).transpose()?;
    if !conditions.is_empty() {
        let conditions: Vec<String> = conditions.iter().map(|name| format!("webhook.{name}")).collect();
        print_note(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "the conditions in {} are not evaluated: pods that they exclude are shown as if the webhook changed them",
                conditions.join(", ")
            ),
        );
    }
    Ok(Some((configuration, InstallationFacts { namespace, excluded_namespaces, lacks_controller })))
}

/// Does the same as [`load_or_default`], and returns the texts of the files, too.
pub(super) fn load_with_texts(paths: &[PathBuf]) -> anyhow::Result<Option<(Configuration, Vec<String>)>> {
    Ok(load(paths)?.map(|Loaded { configuration, texts, .. }| (configuration, texts)))
}

/// A valid configuration, with its files.
struct Loaded {
    configuration: Configuration,
    texts: Vec<String>,
    /// Facts about Helm values; `None` for another file, and for the embedded configuration.
    values: Option<ValuesFacts>,
}

fn load(paths: &[PathBuf]) -> anyhow::Result<Option<Loaded>> {
    if paths.is_empty() {
        return Ok(Some(Loaded { configuration: Configuration::embedded(), texts: Vec::new(), values: None }));
    }
    let texts = paths.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let parsed = parse(&texts).inspect_err(|problems| print_problems_of_files(&names(paths), problems));
    Ok(parsed.ok().map(|(configuration, values)| Loaded { configuration, texts, values }))
}

/// Parses a configuration, or one or more files of Helm values, whose facts are also returned. Each problem has the index of its text.
fn parse(texts: &[String]) -> Result<(Configuration, Option<ValuesFacts>), Problems> {
    if let [text] = texts
        && !config::contains_values(text)
    {
        let in_file = |problems: Vec<Problem>| problems.into_iter().map(|problem| (0, problem)).collect();
        return Configuration::parse(text).map(|configuration| (configuration, None)).map_err(in_file);
    }
    config::parse_values(texts).map(|(configuration, values)| (configuration, Some(values)))
}

/// Returns the names of files for messages; that of standard input is as for manifests.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| if path == Path::new("-") { STDIN_NAME.to_owned() } else { path.display().to_string() };
    paths.iter().map(name).collect()
}

/// Reads a configuration file, or standard input.
fn read(path: &Path) -> anyhow::Result<String> {
    // One byte more than the limit is enough to reject the text.
    let mut text = String::new();
    let limit = config::MAX_TEXT as u64 + 1;
    let read = if path == Path::new("-") {
        io::stdin().take(limit).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text))
    };
    read.with_context(|| format!("could not read the configuration {}{}", path.display(), origin(path)))?;
    if path == Path::new("-") && text.trim().is_empty() {
        bail!("the configuration on standard input is empty: check the command that writes it");
    }
    Ok(text)
}

/// Returns the variable from which `path` comes, for messages; empty if it is an argument.
fn origin(path: &Path) -> &'static str {
    let is_value = env::var_os("TRAINMESH_CONFIG").is_some_and(|value| value == path.as_os_str());
    let text = path.to_string_lossy();
    let is_argument = || env::args_os().skip(1).any(|argument| argument.to_string_lossy().ends_with(&*text));
    if is_value && !is_argument() { " (from TRAINMESH_CONFIG)" } else { "" }
}

/// Prints the problems of several files, by the index of each.
fn print_problems_of_files(names: &[String], problems: &[(usize, Problem)]) {
    print_problems(problems.iter().map(|(file, problem)| (names.get(*file).map_or("", String::as_str), problem)));
}

/// Prints problems, each with the name of its file.
fn print_problems<'a>(problems: impl Iterator<Item = (&'a str, &'a Problem)>) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for (name, problem) in problems {
        print_error(&mut stderr, format_args!("{}", config::render(name, slice::from_ref(problem))));
    }
}
