//! Settings of the process group in a container: environment variables and arguments of torchrun.

use serde_json::Value;

use super::Container;

/// Maximum length of a value in bytes: a host name with a port, or a list of options.
const MAX_VALUE: usize = 512;
/// Maximum number of entries that are kept of each container.
const MAX_ENTRIES: usize = 64;
/// Maximum number of arguments that are searched for flags.
const MAX_ARGUMENTS: usize = 512;

/// Variables that are kept. Those of torchrun are its flags in upper case, after `PET_`.
const VARIABLES: [&str; 15] = [
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "WORLD_SIZE",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
    "PET_NODE_RANK",
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_RDZV_BACKEND",
    "PET_RDZV_ENDPOINT",
    "PET_RDZV_ID",
    "PET_RDZV_CONF",
    "PET_MAX_RESTARTS",
    "PET_STANDALONE",
];

/// Settings of the process group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rendezvous {
    /// Variables in the order of the container. `None` is a value from another source, such as `fieldRef`.
    variables: Vec<(&'static str, Option<Box<str>>)>,
    /// Flags of torchrun, as the names of their variables, and variables that a script assigns. `None` is a value that the
    /// script computes.
    flags: Vec<(&'static str, Option<Box<str>>)>,
}

impl Rendezvous {
    /// Reads the settings of `container`.
    pub(crate) fn read(container: Container<'_>) -> Self {
        let entries = container.raw().get("env").and_then(Value::as_array).into_iter().flatten();
        let variables = entries.filter_map(|entry| {
            let name = entry.get("name").and_then(Value::as_str)?;
            let known = VARIABLES.iter().find(|known| **known == name)?;
            let literal = entry.get("value").and_then(Value::as_str).map(truncate);
            // An entry without a value is the empty text.
            let value = if entry.get("valueFrom").is_some_and(Value::is_object) {
                None
            } else {
                Some(literal.unwrap_or_default())
            };
            Some((*known, value))
        });
        Self { variables: variables.take(MAX_ENTRIES).collect(), flags: flags(container) }
    }

    /// Returns true if the container has no settings.
    pub(crate) fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.flags.iter().all(|(_, value)| value.is_none())
    }

    /// Returns the value of a variable. The last entry takes effect. `None` if it is not set, or its value is not in the
    /// pod.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let (_, value) = self.variables.iter().rev().find(|(known, _)| *known == name)?;
        value.as_deref()
    }

    /// Returns a setting by the name of its variable: the flag or the assignment of a script, which take precedence, or the
    /// variable.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.literals(name).next_back().or_else(|| self.variable(name))
    }

    /// Returns the value of a flag or of an assignment; `None` if the command does not set it, computes it, or contains
    /// several values, of which a condition selects one.
    pub(crate) fn flag(&self, name: &str) -> Option<&str> {
        let value = self.literals(name).next()?;
        (self.literals(name).all(|other| other == value) && !self.is_computed(name)).then_some(value)
    }

    /// Returns true if the command computes a value of the setting.
    pub(crate) fn is_computed(&self, name: &str) -> bool {
        self.flags.iter().any(|(known, value)| *known == name && value.is_none())
    }

    /// Returns true if the command sets one of the settings, so that it does not use those of the environment.
    pub(crate) fn has_flag(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.literals(name).next().is_some())
    }

    /// Returns minimum and maximum of `--nnodes`; `None` if it is not set or not a number.
    pub(crate) fn nodes(&self) -> Option<(u64, u64)> {
        node_range(self.setting("PET_NNODES")?)
    }

    fn literals(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        let of_name = self.flags.iter().filter(move |(known, _)| *known == name);
        of_name.filter_map(|(_, value)| value.as_deref())
    }
}

/// Parses a value of `--nnodes`: a number, or a minimum and a maximum.
pub(crate) fn node_range(text: &str) -> Option<(u64, u64)> {
    let (min, max) = text.split_once(':').unwrap_or((text, text));
    Some((min.trim().parse().ok()?, max.trim().parse().ok()?))
}

/// Returns the flags in the container's command: `--name=value` and `--name value`, with `-` or `_` between words, and the
/// variables that a shell script assigns. Scripts are split at blanks.
fn flags(container: Container<'_>) -> Vec<(&'static str, Option<Box<str>>)> {
    let words: Vec<&str> = container.command_line().flat_map(str::split_whitespace).take(MAX_ARGUMENTS).collect();
    let flag = |index: usize| {
        let word = *words.get(index)?;
        let (variable, value) = match word.strip_prefix("--") {
            None => word.split_once('=').map(|(name, value)| (name.to_owned(), value))?,
            Some(flag) => {
                let (name, value) = match flag.split_once('=') {
                    Some((name, value)) => (name, value),
                    None => (flag, *words.get(index + 1)?),
                };
                (format!("PET_{}", name.replace('-', "_").to_ascii_uppercase()), value)
            }
        };
        let known = VARIABLES.iter().find(|known| **known == variable)?;
        if value.starts_with('-') {
            return None;
        }
        let is_computed = value.contains(['$', '`', '\\']);
        Some((*known, (!is_computed).then(|| truncate(value.trim_matches(['"', '\'', ';'])))))
    };
    (0..words.len()).filter_map(flag).take(MAX_ENTRIES).collect()
}

/// Returns the first [`MAX_VALUE`] bytes of `text`, cut between characters.
fn truncate(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(MAX_VALUE)].into()
}
