//! Settings of the process group in a container: environment variables and arguments of torchrun, and the addresses at which
//! programs without a launcher meet.

mod addresses;
mod cluster;
mod default_ports;

use std::borrow::Cow;
use std::iter;

use serde_json::Value;

use super::{Container, Expansion, Pod};
pub(crate) use cluster::{MAX_CLUSTER, parse as parse_cluster};

/// Maximum length of a value in bytes: a host name with a port, or a list of options.
const MAX_VALUE: usize = 512;
/// Maximum number of entries that are kept of each container.
const MAX_ENTRIES: usize = 64;
/// Maximum number of words of a command that are searched for settings that are kept.
const MAX_WORDS: usize = 512;
/// Maximum length of a command with its arguments in bytes that is searched. Linux limits one argument to 128 KiB.
const MAX_COMMAND: usize = 256 * 1024;

/// Settings that are kept. Those of torchrun are its flags in upper case, after `PET_`.
const VARIABLES: [&str; 16] = [
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
    MAIN_PROCESS_PORT,
];
/// Setting for the flag of `accelerate launch` that contains the port of the rendezvous.
const MAIN_PROCESS_PORT: &str = "MAIN_PROCESS_PORT";
/// Setting for the address of the first process of JAX, which is also an option of its programs.
const COORDINATOR_ADDRESS: &str = "COORDINATOR_ADDRESS";
/// Settings for the URL of a process group of torch. Programs have options whose names end with these: `--dist-init-method`.
const URLS: [&str; 2] = ["INIT_METHOD", "DIST_URL"];
/// Settings that contain a port of the rendezvous, with the functions that read it. JAX itself reads those with `JAX_`, except for
/// the port, which its programs and those of a `JAXJob` join with the host.
const PORTS: [(&str, ReadPort); 12] = [
    ("MASTER_PORT", trailing_port),
    ("PET_MASTER_PORT", trailing_port),
    ("PET_RDZV_ENDPOINT", trailing_port),
    (MAIN_PROCESS_PORT, trailing_port),
    ("COORDINATOR_PORT", trailing_port),
    ("JAX_COORDINATOR_PORT", trailing_port),
    (COORDINATOR_ADDRESS, addresses::port_of_address),
    ("JAX_COORDINATOR_ADDRESS", addresses::port_of_address),
    ("JAX_COORDINATOR_BIND_ADDRESS", addresses::port_of_address),
    ("NCCL_COMM_ID", addresses::port_of_address),
    (URLS[0], addresses::port_of_url),
    (URLS[1], addresses::port_of_url),
];

/// Returns the port in the value of a setting.
type ReadPort = fn(&str) -> Option<u16>;

/// Settings that contain the host at which a group meets.
const ADDRESSES: [&str; 3] = ["MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT"];

/// Expansions of a shell to the name or the address of the pod itself.
const OWN_HOSTS: [&str; 9] = [
    "$(hostname)",
    "$(hostname -f)",
    "$(hostname -i)",
    "$(hostname -I)",
    "$(hostname -s)",
    "$(hostname --fqdn)",
    "`hostname`",
    "$HOSTNAME",
    "${HOSTNAME}",
];

/// Quotes of a shell.
const QUOTES: [char; 2] = ['"', '\''];

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
        let expansion = Expansion::new(container);
        let assignments = assignments(words(container).take(MAX_WORDS), &expansion);
        let flags = assignments.filter(|(name, _)| VARIABLES.contains(name)).map(|(name, value)| {
            let is_computed = value.contains(['$', '`', '\\']);
            (name, (!is_computed).then(|| truncate(&value)))
        });
        Self { variables: variables.take(MAX_ENTRIES).collect(), flags: flags.take(MAX_ENTRIES).collect() }
    }

    /// Reads the settings of `container` in `pod`, whose labels and annotations are the values of some variables, such as the
    /// completion index of a Job.
    pub(crate) fn read_in(pod: Pod<'_>, container: Container<'_>) -> Self {
        let mut settings = Self::read(container);
        for (name, value) in &mut settings.variables {
            if let Some(known) = value_in(pod, container, name, value.as_deref()) {
                *value = Some(truncate(known));
            }
        }
        settings
    }

    /// Returns the ports in the variables and the command of `container` on which the process group meets, and those that its
    /// launcher uses by default. All values count, because a condition of a script may select one.
    pub(crate) fn ports(container: Container<'_>) -> Vec<u16> {
        let expansion = Expansion::new(container);
        let of_variables = PORTS.iter().filter_map(|(name, port)| port(&expansion.expand(container.env(name)?)));
        let of_command = assignments(words(container), &expansion).filter_map(|(name, value)| {
            let (_, port) = PORTS.iter().find(|(known, _)| *known == name)?;
            port(&value)
        });
        let set = of_variables.chain(of_command).chain(cluster::ports(container, &expansion));
        set.chain(default_ports::default_ports(container)).collect()
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

    /// Returns the value of the setting `name` in the command of `container`, if each value of it is the name or address of the pod
    /// itself, with a port or without.
    pub(crate) fn own_host(container: Container<'_>, name: &str) -> Option<Box<str>> {
        let expansion = Expansion::new(container);
        let is_own = |value: &str| {
            let rest = OWN_HOSTS.iter().find_map(|own| value.strip_prefix(own));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let mut values =
            assignments(words(container).take(MAX_WORDS), &expansion).filter(|(known, _)| *known == name).peekable();
        let first = truncate(&values.peek()?.1);
        values.all(|(_, value)| is_own(&value)).then_some(first)
    }

    /// Returns the index in the command line of `container` of the first text that sets `name` by a flag or an assignment.
    pub(crate) fn argument(container: Container<'_>, name: &str) -> Option<usize> {
        let sets = |word: &str| match word.strip_prefix("--") {
            Some(flag) => is_flag_of(flag.split('=').next().unwrap_or(flag), name),
            None => assigned(word).is_some_and(|(known, _)| known == name),
        };
        container.command_line().position(|text| shell_words(text).take(MAX_WORDS).any(sets))
    }

    /// Returns true if the settings name the host at which a group of several pods meets.
    pub(crate) fn has_remote_address(&self) -> bool {
        let is_remote = |address: &str| {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
            !host.is_empty() && !is_loopback(host) && !is_loopback(address)
        };
        let addresses = ADDRESSES.iter().filter_map(|name| self.setting(name));
        self.setting("PET_STANDALONE").is_none() && addresses.map(str::trim).any(is_remote)
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

/// Returns the label or annotation of `pod` that is the value of variable `name`: by its field, if it has no `value`, or by that of the
/// earlier variable to which `value` refers.
fn value_in<'a>(pod: Pod<'a>, container: Container<'_>, name: &str, value: Option<&str>) -> Option<&'a str> {
    let entries = container.raw().get("env").and_then(Value::as_array)?;
    let is_named = |entry: &Value, name: &str| entry.get("name").and_then(Value::as_str) == Some(name);
    let at = entries.iter().rposition(|entry| is_named(entry, name))?;
    let source = match value {
        None => entries.get(at)?,
        Some(value) => {
            let other = value.strip_prefix("$(")?.strip_suffix(')')?;
            entries.get(..at)?.iter().rfind(|entry| is_named(entry, other))?
        }
    };
    let path = source.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str)?;
    let key = |start: &str| path.strip_prefix(start)?.strip_suffix("']");
    match key("metadata.labels['") {
        Some(key) => pod.label(key),
        None => pod.annotation(key("metadata.annotations['")?),
    }
}

/// Parses a value of `--nnodes`: a number, or a minimum and a maximum.
pub(crate) fn node_range(text: &str) -> Option<(u64, u64)> {
    let (min, max) = text.split_once(':').unwrap_or((text, text));
    Some((min.trim().parse().ok()?, max.trim().parse().ok()?))
}

/// Returns true if `host` is the pod itself.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

/// Returns the port at the end of `23456` or `host:23456`.
pub(crate) fn trailing_port(text: &str) -> Option<u16> {
    text.rsplit(':').next()?.trim().parse().ok()
}

/// Returns the words of the container's command, up to [`MAX_COMMAND`].
fn words(container: Container<'_>) -> impl Iterator<Item = &str> {
    let mut length = 0;
    let texts = container.command_line().take_while(move |text| {
        length += text.len();
        length <= MAX_COMMAND
    });
    texts.flat_map(shell_words)
}

/// Returns the settings in the `words` of a command: flags (`--name=value` and `--name value`, with `-` or `_` between words)
/// and variables that a shell script assigns, or that a flag such as `--env` sets. The values contain no references that the
/// kubelet replaces.
fn assignments<'a>(
    words: impl Iterator<Item = &'a str>,
    expansion: &Expansion<'a>,
) -> impl Iterator<Item = (&'static str, Cow<'a, str>)> {
    let mut words = words.peekable();
    let pairs = iter::from_fn(move || Some((words.next()?, words.peek().copied())));
    pairs.filter_map(|(word, next)| {
        let (known, value) = match word.strip_prefix("--") {
            None => assigned(word)?,
            Some(flag) => {
                let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                match settings().find(|known| is_flag_of(name, known)) {
                    Some(known) => (known, value.or(next)?),
                    None => assigned(value?.trim_start_matches(QUOTES))?,
                }
            }
        };
        let value = value.trim_matches(QUOTES);
        (!value.starts_with('-')).then(|| (known, expansion.expand(value)))
    })
}

/// Returns the setting that `word` assigns, with its value.
fn assigned(word: &str) -> Option<(&'static str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_same = |known: &&str| *known == name || URLS.contains(known) && ends_with(name, known);
    Some((settings().find(is_same)?, value))
}

/// Returns the names of all settings.
fn settings() -> impl Iterator<Item = &'static str> {
    VARIABLES.into_iter().chain(PORTS.into_iter().map(|(name, _)| name))
}

/// Returns true if the flag `name` is that of the setting `known`.
fn is_flag_of(name: &str, known: &str) -> bool {
    if URLS.contains(&known) {
        return ends_with(name, known);
    }
    let flag =
        known.strip_prefix("PET_").or([MAIN_PROCESS_PORT, COORDINATOR_ADDRESS].contains(&known).then_some(known));
    flag.is_some_and(|flag| is_spelled(name, flag))
}

/// Returns true if `name`, of a flag or a variable, is that of the setting `known`, or adds words before it.
fn ends_with(name: &str, known: &str) -> bool {
    let parts = name.len().checked_sub(known.len()).and_then(|start| name.split_at_checked(start));
    parts.is_some_and(|(before, last)| {
        (before.is_empty() || before.ends_with(['-', '_', '.'])) && is_spelled(last, known)
    })
}

/// Returns true if `name` is the setting `known` in upper or lower case, with `-` or `_` between words.
fn is_spelled(name: &str, known: &str) -> bool {
    let matches = |(one, other): (u8, u8)| one.to_ascii_uppercase() == other || one == b'-' && other == b'_';
    name.len() == known.len() && name.bytes().zip(known.bytes()).all(matches)
}

/// Returns the words of `script`, without quotes at their ends. Words end at blanks and at operators of a shell, but not
/// within a substitution such as `$(hostname -i)`. A line that continues ends with the word `\`, which is omitted.
fn shell_words(script: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut previous) = (0_usize, ' ');
    let words = script.split(move |next: char| {
        match next {
            '(' if depth > 0 || previous == '$' => depth += 1,
            ')' if depth > 0 => {
                depth -= 1;
                previous = next;
                return false;
            }
            _ => {}
        }
        previous = next;
        depth == 0 && (next.is_whitespace() || matches!(next, ';' | '&' | '|' | '(' | ')'))
    });
    words.map(|word| word.trim_matches(QUOTES)).filter(|word| !word.is_empty() && *word != "\\")
}

/// Returns the first [`MAX_VALUE`] bytes of `text`, cut between characters.
fn truncate(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(MAX_VALUE)].into()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::pod::Pod;

    #[rstest]
    #[case::last(511, Some("29500"))]
    #[case::beyond(512, None)]
    fn the_number_of_words_of_kept_settings_is_limited(#[case] before: usize, #[case] expected: Option<&str>) {
        let pod = json!({"spec": {"containers": [{"args": ["a ".repeat(before) + "MASTER_PORT=29500"]}]}});
        let container = Pod::new(&pod).containers().next().unwrap();
        assert_eq!(Rendezvous::read(container).flag("MASTER_PORT"), expected);
    }
}
