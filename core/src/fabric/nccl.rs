//! NCCL's environment variables: names, types and ranges according to the documentation and source of NCCL 2.30.
//!
//! Profiles are validated against this table when they are loaded, and the lint validates pods. NCCL itself ignores
//! unknown names and reads words such as `true` as 0.
//!
//! Intentionally not included: variables of other libraries (UCX, libfabric, PyTorch), and values of variables that
//! belong to NCCL plugins.

mod debugging;
mod list;
mod misspelled;
mod number;
mod removed;
mod sources;
mod system;
mod undocumented;
mod value;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use list::DeviceList;
pub(crate) use misspelled::has_misspelled_prefix;
pub use misspelled::misspelled_variable;
pub use number::{is_c_integer, parse_c_integer};
pub use sources::Source;
pub use value::{ValueKind, parse_strict_integer};

/// Error of an invalid setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidSetting {
    /// NCCL has no variable with this name.
    Name(String),
    /// NCCL rejects or misreads the value.
    Value(String),
}

/// A variable that NCCL reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: &'static str,
    /// Type and range of the value.
    pub kind: ValueKind,
    /// Section of the documentation.
    pub group: Group,
    /// First NCCL release that reads it, if documented.
    pub since: Option<&'static str>,
    /// Where NCCL reads or documents it.
    pub source: Option<Source>,
    /// Deprecation note with the replacement; `None` if the variable is not deprecated.
    pub deprecated: Option<&'static str>,
}

/// Section of NCCL's documentation that lists a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// System configuration: may be set permanently.
    System,
    /// Debugging: temporary workarounds, not for production.
    Debugging,
    /// Not documented; only the source contains it.
    Undocumented,
}

/// Prefix of NCCL's variables.
pub(crate) const PREFIX: &str = "NCCL_";

/// Prefixes of variables that NCCL plugins read.
const PLUGIN_PREFIXES: &[&str] = &[
    // Google's GPUDirect-TCPXO, its guest configuration checker, and GPUDirect-TCPX.
    "NCCL_FASTRAK_",
    "NCCL_SHIMNET_",
    "NCCL_GPUDIRECTTCPX_",
    // HPC-X plugins (SHARP, UCX, and the InfiniBand plugin IBext).
    "NCCL_SHARP_",
    "NCCL_UCX_",
    "NCCL_IBEXT_",
    // NCCL's own plugins: `plugins/profiler/{inspector,example}`, `plugins/tuner/example` (2.30.7).
    "NCCL_INSPECTOR_",
    "NCCL_PROFILE_",
    "NCCL_PROFILER_CE_",
    "NCCL_TUNER_CONFIG_FILE",
    // NCCL's contributed libraries: `contrib/{nccl_ep,nccl_m2n,nccl_checkpoint}` (2.30.7).
    "NCCL_EP_",
    "NCCL_RESHARD_",
    "NCCL_CHECKPOINT_",
    // NVIDIA/nccl-tests: `src/common.cu`.
    "NCCL_TESTS_",
];

/// Variables of Gloo and TensorPipe with plain interface names: no prefix match, no `^`, no `=`.
const PLAIN_INTERFACE_VARIABLES: &[&str] = &["GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"];
/// Variables with the interfaces that the plugins of GKE use for the traffic between GPUs.
pub(crate) const PLUGIN_INTERFACES: [&str; 2] = ["NCCL_FASTRAK_IFNAME", "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"];

/// Returns the interfaces in `list`, the value of one of [`PLUGIN_INTERFACES`], if it contains plain names: none with the modifiers of
/// NCCL, or with expansions of variables.
pub(crate) fn plain_interfaces(list: &str) -> impl Iterator<Item = &str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_., ".contains(&byte);
    let list = Some(list).filter(|list| list.bytes().all(is_plain));
    list.into_iter().flat_map(|list| list.split(',')).map(str::trim).filter(|name| !name.is_empty())
}

/// Maximum number of sockets per connection.
pub(crate) const MAX_SOCKETS: i64 = 64;

/// Maximum length of a value in bytes: NCCL truncates longer ones in its file (2.30.7, `src/misc/param.cc`).
pub(super) const MAX_VALUE: usize = 1023;

static VARIABLES: LazyLock<BTreeMap<&'static str, Variable>> = LazyLock::new(|| {
    let tables = [system::VARIABLES, debugging::VARIABLES].into_iter().flatten().copied();
    let all = tables.chain(undocumented::variables()).chain(removed::variables());
    let mut variables: BTreeMap<_, _> = all.map(|variable| (variable.name, variable)).collect();
    for (name, source) in sources::sources() {
        if let Some(variable) = variables.get_mut(name) {
            variable.source = Some(source);
        }
    }
    variables
});

/// Returns NCCL's variable `name`. Variables of plugins and other libraries are not included.
#[must_use]
pub fn variable(name: &str) -> Option<&'static Variable> {
    VARIABLES.get(name)
}

/// Returns all NCCL variables, sorted by name.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    VARIABLES.values()
}

/// Returns true if `name` has the prefix of a known NCCL plugin.
#[must_use]
pub fn is_plugin_variable(name: &str) -> bool {
    PLUGIN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns true if `name` has the prefix of NCCL's variables, but neither NCCL nor a known plugin reads it.
#[must_use]
pub fn is_unknown_variable(name: &str) -> bool {
    name.starts_with(PREFIX) && variable(name).is_none() && !is_plugin_variable(name)
}

/// Returns true if Gloo or TensorPipe reads `name` as plain interface names.
#[must_use]
pub fn takes_plain_interfaces(name: &str) -> bool {
    PLAIN_INTERFACE_VARIABLES.contains(&name)
}

/// Validates the setting `name=value`. Of other libraries' variables only the interfaces of Gloo and TensorPipe are
/// validated, because these libraries fail on NCCL's syntax.
pub fn check(name: &str, value: &str) -> Result<(), InvalidSetting> {
    if takes_plain_interfaces(name) {
        return list::check_plain_interfaces(value).map_err(InvalidSetting::Value);
    }
    match variable(name) {
        Some(_) if value.len() > MAX_VALUE => {
            Err(InvalidSetting::Value(format!("expected at most {MAX_VALUE} bytes, found {}", value.len())))
        }
        Some(variable) => variable.kind.check(value).map_err(InvalidSetting::Value),
        None if is_unknown_variable(name) => {
            let hint = misspelled_variable(name).map(|near| format!(": did you mean {near}?"));
            Err(InvalidSetting::Name(format!("NCCL has no variable {name}{}", hint.unwrap_or_default())))
        }
        None => Ok(()),
    }
}

/// Validates variables that depend on each other, and returns the error message. `value` looks up a variable.
pub fn check_combination<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let number = |name: &str| value(name).and_then(parse_strict_integer);
    let threads = number("NCCL_SOCKET_NTHREADS")?;
    let sockets = number("NCCL_NSOCKS_PERTHREAD")?;
    (threads.saturating_mul(sockets) > MAX_SOCKETS).then(|| {
        format!(
            "NCCL_SOCKET_NTHREADS {threads} times NCCL_NSOCKS_PERTHREAD {sockets}: expected at most {MAX_SOCKETS} sockets"
        )
    })
}

impl Variable {
    const fn new(name: &'static str, kind: ValueKind, group: Group) -> Self {
        Self { name, kind, group, since: None, source: None, deprecated: None }
    }

    const fn since(self, release: &'static str) -> Self {
        Self { since: Some(release), ..self }
    }

    const fn deprecated(self, note: &'static str) -> Self {
        Self { deprecated: Some(note), ..self }
    }

    /// Returns true if NCCL parses the value as a number, and reads words such as `true` as 0.
    #[must_use]
    pub const fn is_integer(&self) -> bool {
        self.kind.range().is_some()
    }

    /// Returns true if NCCL documents the variable for debugging.
    #[must_use]
    pub fn is_debugging(&self) -> bool {
        self.group == Group::Debugging
    }

    /// Returns true if profiles must not set the variable: it disables a transport within the node, without which all
    /// jobs are slow and some hang.
    #[must_use]
    pub fn is_forbidden_in_profiles(&self) -> bool {
        matches!(self.name, "NCCL_P2P_DISABLE" | "NCCL_SHM_DISABLE")
    }
}

#[cfg(test)]
mod tests;
