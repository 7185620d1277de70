//! `trainmesh fabric sources`: the vendors' files that profiles were checked against, compared with a checkout.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::ProfileNameParser;
use crate::cli::Status;
use crate::cli::table::format_fitted_table;
use crate::cli::terminal::stdout_layout;
use trainmesh_core::config::{ProfileSource, profile_sources};
use trainmesh_core::hash;

/// List the files of vendors that profiles were checked against, and compare them with a checkout
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  success
  1  --checkout: a file has changed or is missing
  2  an error")]
pub(super) struct Arguments {
    /// Name of a built-in profile, or of an example in examples/fabric
    #[arg(value_name = "NAME", value_parser = ProfileNameParser, hide_possible_values = true)]
    name: Option<String>,
    /// Directory with a checkout of a vendor's repository: lists only its files, and which have changed
    #[arg(long, value_name = "DIRECTORY")]
    checkout: Option<PathBuf>,
}

/// Content of a file in the checkout, compared with the checked one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unchanged,
    Changed,
    Missing,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { name, checkout } = arguments;
    let sources: Vec<ProfileSource> =
        profile_sources().filter(|source| name.as_ref().is_none_or(|name| name == source.profile)).collect();
    if sources.is_empty() {
        bail!("no source is recorded for {}: omit the name to list all", name.as_deref().unwrap_or_default());
    }
    let Some(directory) = checkout else {
        write!(io::stdout(), "{}", text(sources.iter().map(|source| (source, None))))?;
        return Ok(Status::Success);
    };
    if !directory.is_dir() {
        bail!("{} is not a directory: specify a checkout of the vendor's repository", directory.display());
    }
    let states = compare(&sources, directory)?;
    if states.is_empty() {
        let repositories: BTreeSet<&str> = sources.iter().map(|source| source.repository).collect();
        let repositories: Vec<&str> = repositories.into_iter().collect();
        bail!("{} contains none of the files of {}", directory.display(), repositories.join(", "));
    }
    write!(io::stdout(), "{}", text(states.iter().map(|(source, state)| (*source, Some(*state)))))?;
    let is_current = states.iter().all(|(_, state)| *state == State::Unchanged);
    Ok(if is_current { Status::Success } else { Status::Findings })
}

/// Compares the files of the repositories that `directory` contains. A repository is present if one of its files is.
fn compare<'a>(sources: &'a [ProfileSource], directory: &Path) -> anyhow::Result<Vec<(&'a ProfileSource, State)>> {
    let mut states = Vec::new();
    for source in sources {
        let path = directory.join(source.file);
        let state = match fs::read(&path) {
            Ok(content) if hash::of_bytes(&content) == source.hash => State::Unchanged,
            Ok(_) => State::Changed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => State::Missing,
            Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
        };
        states.push((source, state));
    }
    let present: BTreeSet<&str> =
        states.iter().filter(|(_, state)| *state != State::Missing).map(|(source, _)| source.repository).collect();
    states.retain(|(source, _)| present.contains(source.repository));
    Ok(states)
}

fn text<'a>(rows: impl Iterator<Item = (&'a ProfileSource, Option<State>)>) -> String {
    let rows: Vec<Vec<String>> = rows
        .map(|(source, state)| {
            let ProfileSource { profile, repository, commit, date, file, .. } = *source;
            let state = state.map(State::name);
            let cells = [profile, repository, commit, date].into_iter().chain(state).chain([file]);
            cells.map(str::to_owned).collect()
        })
        .collect();
    let state = rows.first().filter(|row| row.len() == 6).map(|_| "STATE");
    let header = ["PROFILE", "REPOSITORY", "COMMIT", "CHECKED"].into_iter().chain(state).chain(["FILE"]);
    format_fitted_table(&header.collect::<Vec<_>>(), &rows, &["REPOSITORY", "FILE"], stdout_layout())
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Missing => "missing",
        }
    }
}
