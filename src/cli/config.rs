//! `trainmesh config validate|schema|show`.

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
use super::{Status, print_error, print_note, print_warning};
use crate::manifest::STDIN_NAME;
use trainmesh_core::config::{self, Configuration, LostProfiles, Problem, Profile, Traffic, ValuesFacts};
use trainmesh_core::duration;
use trainmesh_core::fabric::misspelled_machine;
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
            report_lost_profiles(&names, values.as_ref().map_or(&[], |values| &values.lost_profiles));
            let lacks_controller = values.as_ref().is_some_and(|values| values.lacks_controller);
            let (state, rest) = match values {
                None => ("valid", ""),
                Some(ValuesFacts { has_section: true, .. }) => ("section config is valid", OTHER_VALUES),
                Some(_) => ("section config is absent or empty, so the defaults apply", OTHER_VALUES),
            };
            let result = format!("{}: {state}, hash {}{rest}", names.join(", "), configuration.hash());
            writeln!(stdout, "{}", stdout_layout().wrap(&Printable(result).to_string(), 0, 2))?;
            report_missing_pod_ranges(&configuration);
            report_complete_ranges(&configuration);
            report_ineffective_ranges(&configuration);
            report_long_wait(&configuration);
            report_missing_controller(&configuration, lacks_controller);
            report_limited_default(&configuration);
            report_replaced_profiles(&configuration);
            report_host_access(&configuration);
            report_misspelled_machines(&configuration);
            report_unlisted_machines(&configuration);
            report_absent_interfaces(&configuration);
            report_accelerators(&configuration);
            report_proxy_entry(&configuration);
            report_undelivered_settings(&configuration);
            report_suggested_settings(&configuration);
            Ok(Status::Success)
        }
        Err(problems) => {
            print_problems_of_files(&names, &problems);
            Ok(Status::Failed)
        }
    }
}

/// Prints a warning about the profiles of a file whose list a later file replaces.
fn report_lost_profiles(names: &[String], lost_profiles: &[LostProfiles]) {
    let file = |index: usize| names.get(index).map_or("", String::as_str);
    for lost in lost_profiles {
        let (profiles, from, by) = (lost.names.join(", "), file(lost.file), file(lost.by));
        print_warning(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "{by} replaces fabric.profiles of {from}, so that {profiles} does not exist: Helm replaces lists; repeat the \
                 profiles in the last file that has the list"
            ),
        );
    }
}

/// Prints a warning if the default mode of traffic is refused for every pod.
fn report_missing_pod_ranges(configuration: &Configuration) {
    let mesh = &configuration.mesh;
    if mesh.enabled && mesh.traffic == Traffic::Direct && mesh.pod_cidrs.is_empty() {
        print_warning(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "mesh.traffic is direct without mesh.podCIDRs, so that the mode is refused for every pod: list the IP ranges \
                 of the pods; `trainmesh doctor` suggests them"
            ),
        );
    }
}

/// Prints a warning for each list of ranges that contains every address of a family.
fn report_complete_ranges(configuration: &Configuration) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for (list, family) in configuration.mesh.complete_ranges() {
        print_warning(
            &mut stderr,
            format_args!(
                "mesh.{list} contains every address of {family}, so that proxies capture no connection to one in the \
                 traffic mode direct: list only the ranges that the mesh excludes, and those of the pods"
            ),
        );
    }
}

/// Prints a warning for each range of pods that has no effect.
fn report_ineffective_ranges(configuration: &Configuration) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for problem in configuration.mesh.ineffective_pod_ranges() {
        print_warning(&mut stderr, format_args!("mesh.podCIDRs: {problem}"));
    }
}

/// Prints a warning if pods wait long for a proxy that does not become ready.
fn report_long_wait(configuration: &Configuration) {
    if let Some(wait) = configuration.mesh.long_wait() {
        print_warning(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "mesh.waitTimeout is {}, during which a pod whose proxy does not become ready keeps its devices: set \
                 a few minutes, in which a proxy starts",
                duration::format_with_days(wait)
            ),
        );
    }
}

/// Prints a warning if the default gang mode is refused for every job, because no controller creates its `PodGroups`.
fn report_missing_controller(configuration: &Configuration, lacks_controller: bool) {
    let gang = &configuration.gang;
    if lacks_controller && gang.enabled && gang.default.has_objects() {
        print_warning(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "gang.default is {}, but controller.enabled is false, so that nothing creates PodGroups, and the mode is refused \
                 for every job: enable the controller, or select another mode",
                gang.default
            ),
        );
    }
}

/// Prints a warning if only some namespaces may use the default profile.
fn report_limited_default(configuration: &Configuration) {
    let fabric = &configuration.fabric;
    let Some(name) = &fabric.default.0 else { return };
    let entry = fabric.profiles.find(name.as_str());
    if fabric.enabled && entry.is_some_and(|entry| entry.profile.namespaces.is_some()) {
        print_warning(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "fabric.default is {name}, which is limited to namespaces, so that it is refused for pods of all others: \
                 set none, and label the namespaces of the profile trainmesh.dev/fabric={name}"
            ),
        );
    }
}

/// Prints a warning for each profile that replaces a built-in one.
fn report_replaced_profiles(configuration: &Configuration) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for name in configuration.fabric.profiles.replaced() {
        print_warning(
            &mut stderr,
            format_args!(
                "profile {name} replaces the built-in profile of this name for all pods that select it: to keep both, change \
                 its name"
            ),
        );
    }
}

/// Returns the custom profiles with their names.
fn custom_profiles(configuration: &Configuration) -> impl Iterator<Item = (&str, &Profile)> {
    let profiles = &configuration.fabric.profiles;
    let custom = profiles.all().into_iter().filter(|(name, _)| profiles.is_custom(name));
    custom.map(|(name, entry)| (name, &entry.profile))
}

/// Prints a note for each custom profile about which `text` returns one.
fn print_profile_notes(configuration: &Configuration, text: impl Fn(&str, &Profile) -> Option<String>) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for text in custom_profiles(configuration).filter_map(|(name, profile)| text(name, profile)) {
        print_note(&mut stderr, format_args!("{text}"));
    }
}

/// Prints a note for each custom profile that any opted-in namespace can use to reach the node.
fn report_host_access(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        (profile.grants_host_access() && profile.namespaces.is_none()).then(|| {
            format!(
                "profile {name} gives pods of every opted-in namespace privileges, host paths or the host network: \
                 list the namespaces that may use it in `namespaces.names`"
            )
        })
    });
}

/// Prints a warning for each custom profile that lists a machine which does not exist, or to which it does not apply.
fn report_misspelled_machines(configuration: &Configuration) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for (name, profile) in custom_profiles(configuration) {
        let mut machines = profile.exact_machines();
        let misspelled = machines.find_map(|machine| Some((machine, misspelled_machine(machine)?)));
        if let Some((machine, near)) = misspelled {
            print_warning(
                &mut stderr,
                format_args!("profile {name}: no instance type is called {machine}: did you mean {near}?"),
            );
        }
        if let Some(machine) = profile.excluded_machine() {
            print_warning(
                &mut stderr,
                format_args!(
                    "profile {name} has a ratio for {machine}, to which it does not apply: list the machine in \
                     `match.machines`, or remove the ratio"
                ),
            );
        }
    }
}

/// Prints a note for each custom profile with settings for one machine that pods on another machine also get.
fn report_unlisted_machines(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        let machine = profile.unlisted_machine()?;
        Some(format!(
            "profile {name} selects the machine {machine}, but also applies to pods that select another one: list \
             {machine} in `match.machines`"
        ))
    });
}

/// Prints a warning for each custom profile whose settings name interfaces that it does not attach.
fn report_absent_interfaces(configuration: &Configuration) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for (name, profile) in custom_profiles(configuration) {
        for (variable, interface) in profile.absent_interfaces() {
            print_warning(
                &mut stderr,
                format_args!("profile {name}: {variable} names {interface}, which is not in `networks.gke.interfaces`"),
            );
        }
    }
}

/// Prints a warning for each accelerator in the resources of a custom profile.
fn report_accelerators(configuration: &Configuration) {
    let mut stderr = super::stderr(ColorChoice::Auto);
    for (name, profile) in custom_profiles(configuration) {
        for accelerator in profile.listed_accelerators() {
            print_warning(
                &mut stderr,
                format_args!(
                    "profile {name}: `resources` contains {accelerator}, an accelerator of `match.gpuResources`, of which pods                      request their own number: list adapters and huge pages only"
                ),
            );
        }
    }
}

/// Prints a warning if the proxy is one of the sidecars to terminate.
fn report_proxy_entry(configuration: &Configuration) {
    let termination = &configuration.termination;
    if termination.lists_proxy() {
        print_warning(
            &mut super::stderr(ColorChoice::Auto),
            format_args!(
                "termination.helpers has an entry for {}, which is the proxy and needs none: remove the entry",
                termination.proxy_container
            ),
        );
    }
}

/// Prints a note for each custom profile that may deliver settings of other libraries in NCCL's configuration file.
fn report_undelivered_settings(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        let settings = joined(profile.undelivered_settings())?;
        Some(format!(
            "profile {name} delivers {settings} in NCCL's configuration file to containers that use it, such as those of MPI \
             jobs, where other libraries do not read them: set `via: env`"
        ))
    });
}

/// Prints a note for each custom profile with variables that it only suggests, and does not add to pods.
fn report_suggested_settings(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        let settings = joined(profile.suggested_settings())?;
        Some(format!(
            "profile {name} does not set {settings}, which it only suggests: set it in the image or the pod, or remove `optIn` \
             from its entry"
        ))
    });
}

/// Joins the names of settings for a message; `None` if there are none.
fn joined<'a>(settings: impl Iterator<Item = &'a str>) -> Option<String> {
    let settings: Vec<&str> = settings.collect();
    (!settings.is_empty()).then(|| settings.join(", "))
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
