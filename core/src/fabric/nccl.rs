//! What NVIDIA's variables may hold: their names, types and ranges as NCCL 2.30 documents them and its source reads them.
//!
//! A profile is held against this table when it is loaded, and the lint holds pods against it. NCCL itself says little:
//! an unknown name is passed over, and `true` where a number belongs reads as 0.
//!
//! Absent on purpose: variables of others (UCX, libfabric, PyTorch), and the values of those that a plugin of NCCL owns.

mod debugging;
mod list;
mod number;
mod system;
mod undocumented;
mod value;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use list::DeviceList;
pub use number::{is_number, number};
pub use value::{Kind, integer};

use crate::hint::nearest;

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// NCCL knows no variable of this name.
    Name(String),
    /// NCCL would not take, or not understand, this value.
    Value(String),
}

/// One variable that NCCL reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// For what it is.
    pub group: Group,
    /// The first release of NCCL that reads it, where that is documented.
    pub since: Option<&'static str>,
    /// Why it should no longer be set, and what took its place; `None`: it is current.
    pub retired: Option<&'static str>,
}

/// For what a variable is: the two groups of NCCL's documentation, and what is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// It fits NCCL to a system, and may stay.
    System,
    /// It works around a fault for a while: not for production.
    Debugging,
    /// The source reads it; the documentation does not name it.
    Undocumented,
}

/// Starts of names that plugins of NCCL read themselves.
const PLUGINS: &[&str] = &[
    // GPUDirect-TCPXO of Google, its guest configuration checker, and GPUDirect-TCPX.
    "NCCL_FASTRAK_",
    "NCCL_SHIMNET_",
    "NCCL_GPUDIRECTTCPX_",
    // The plugins of HPC-X.
    "NCCL_SHARP_",
    "NCCL_UCX_",
    // The profiler plugin that NCCL ships.
    "NCCL_INSPECTOR_",
];

/// What gloo and TensorPipe take for the name of an interface as it stands: no list of prefixes, no `^`, no `=`.
const CONCRETE: &[&str] = &["GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"];

/// More sockets than these NCCL opens for no connection.
const MOST_SOCKETS: i64 = 64;

static VARIABLES: LazyLock<BTreeMap<&'static str, Variable>> = LazyLock::new(|| {
    let tables = [system::VARIABLES, debugging::VARIABLES].into_iter().flatten().copied();
    tables.chain(undocumented::variables()).map(|variable| (variable.name, variable)).collect()
});

/// The variable `name` of NCCL; `None` where it is another's, a plugin's, or nobody's.
#[must_use]
pub fn variable(name: &str) -> Option<&'static Variable> {
    VARIABLES.get(name)
}

/// Every variable of NCCL, in the order of the names.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    VARIABLES.values()
}

/// Whether `name` is read by a plugin of NCCL, by names that only it knows.
#[must_use]
pub fn is_plugins(name: &str) -> bool {
    PLUGINS.iter().any(|start| name.starts_with(start))
}

/// Whether gloo or TensorPipe takes the value of `name` for one interface's name as it stands.
#[must_use]
pub fn is_concrete_interface(name: &str) -> bool {
    CONCRETE.contains(&name)
}

/// Whether NCCL understands `value` as that of `name`. Variables of others are not judged, but for the interfaces of
/// gloo and TensorPipe, which fail on NCCL's way of writing them.
pub fn check(name: &str, value: &str) -> Result<(), Problem> {
    if is_concrete_interface(name) {
        return list::check_concrete(value).map_err(Problem::Value);
    }
    match variable(name) {
        Some(variable) => variable.kind.check(value).map_err(Problem::Value),
        None if name.starts_with("NCCL_") && !is_plugins(name) => {
            let known: Vec<&str> = VARIABLES.keys().copied().collect();
            let hint = nearest(name, &known).map(|near| format!(": did you mean {near}?"));
            Err(Problem::Name(format!("NCCL knows no variable {name}{}", hint.unwrap_or_default())))
        }
        None => Ok(()),
    }
}

/// What is wrong with variables that must fit each other; `value` looks one up.
pub fn together<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let number = |name: &str| value(name).and_then(integer);
    let threads = number("NCCL_SOCKET_NTHREADS")?;
    let sockets = number("NCCL_NSOCKS_PERTHREAD")?;
    (threads.saturating_mul(sockets) > MOST_SOCKETS).then(|| {
        format!(
            "NCCL_SOCKET_NTHREADS {threads} times NCCL_NSOCKS_PERTHREAD {sockets}: expected at most {MOST_SOCKETS} sockets"
        )
    })
}

impl Variable {
    const fn new(name: &'static str, kind: Kind, group: Group) -> Self {
        Self { name, kind, group, since: None, retired: None }
    }

    const fn since(self, release: &'static str) -> Self {
        Self { since: Some(release), ..self }
    }

    const fn retired(self, why: &'static str) -> Self {
        Self { retired: Some(why), ..self }
    }

    /// Whether NCCL reads its value as a number: a word such as `true` is 0 then.
    #[must_use]
    pub const fn is_integer(&self) -> bool {
        self.kind.range().is_some()
    }

    /// Whether it is for debugging, or a workaround for a while.
    #[must_use]
    pub fn is_debugging(&self) -> bool {
        self.group == Group::Debugging
    }

    /// Whether no profile may set it: the transports within a node, without which every job is slow, and some hang.
    #[must_use]
    pub fn is_never_set(&self) -> bool {
        matches!(self.name, "NCCL_P2P_DISABLE" | "NCCL_SHM_DISABLE")
    }
}

#[cfg(test)]
mod tests;
