//! `trainmesh fabric show`: prints a profile, alone or in the file that it belongs in.

use std::io::{self, Write as _};

use clap::ValueEnum;
use serde_json::json;

use super::{ProfileNameParser, Source, unknown_profile};
use crate::cli::{Status, config};
use trainmesh_core::config::{API_VERSION, KIND, Profiles, profile_source, written_profile};
use trainmesh_core::yaml;

/// Print a profile as YAML. Built-in ones include comments; your own include defaults, except with --as config or values
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Name of the profile
    #[arg(value_name = "NAME", value_parser = ProfileNameParser, hide_possible_values = true)]
    name: String,
    #[command(flatten)]
    source: Source,
    /// Print the profile alone, or in a file to start from
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Form::Profile)]
    form: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// The profile alone
    Profile,
    /// A configuration, for --config and `config validate`
    Config,
    /// Helm values, for helm upgrade
    Values,
}

/// Indentation of one level.
const INDENT: &str = "  ";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { name, source, form } = arguments;
    let Some((configuration, texts)) = config::load_with_texts(&source.config)? else { return Ok(Status::Failed) };
    let profiles = &configuration.fabric.profiles;
    // A file to edit has the fields that the user wrote; the profile alone has all fields.
    let is_file = !matches!(form, Form::Profile) && profiles.is_custom(name);
    // A later file replaces the list of profiles.
    let written = texts.iter().rev().filter(|_| is_file).find_map(|text| written_profile(text, name));
    let profile = written.map_or_else(|| profile_yaml(profiles, name), Ok)?;
    write!(io::stdout(), "{}", form.text(&profile))?;
    Ok(Status::Success)
}

/// Returns the YAML of profile `name`: the commented source if it is built in, else the profile with its defaults.
fn profile_yaml(profiles: &Profiles, name: &str) -> anyhow::Result<String> {
    let Some(entry) = profiles.find(name) else { return unknown_profile(profiles, name) };
    let built_in = profile_source(name).filter(|_| !profiles.is_custom(name));
    Ok(built_in.map_or_else(|| yaml::to_string(&json!(entry.profile)), str::to_owned))
}

impl Form {
    /// Returns the file that contains `profile`, the YAML of a mapping. Its first line explains how to use it.
    fn text(self, profile: &str) -> String {
        let (head, level) = match self {
            Self::Profile => return profile.to_owned(),
            Self::Config => (
                format!(
                    "# Check: trainmesh config validate FILE\napiVersion: {API_VERSION}\nkind: {KIND}\n\
                     fabric:\n  profiles:\n"
                ),
                1,
            ),
            Self::Values => (
                "# Add the profile to the list config.fabric.profiles of your values file: a second file replaces the list.\n\
                 # Apply: helm upgrade trainmesh charts/trainmesh -n trainmesh-system -f my-values.yaml\n\
                 config:\n  fabric:\n    profiles:\n"
                    .to_owned(),
                2,
            ),
        };
        head + &list_item(profile, &INDENT.repeat(level))
    }
}

/// Indents the YAML of a mapping as an item of a list at `indent`. Comments before the first key precede the item.
fn list_item(mapping: &str, indent: &str) -> String {
    let mut in_item = false;
    let mut text = String::new();
    for line in mapping.lines() {
        let is_key = !line.is_empty() && !line.starts_with('#');
        let marker = match (in_item, is_key) {
            (false, true) => "- ",
            (false, false) => "",
            (true, _) => INDENT,
        };
        in_item |= is_key;
        text += if line.is_empty() { "" } else { indent };
        text += if line.is_empty() { "" } else { marker };
        text += line;
        text.push('\n');
    }
    text
}
