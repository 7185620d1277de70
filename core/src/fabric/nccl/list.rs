//! Lists of interfaces and adapters: `[^][=]name,…`. The modifiers apply to the whole list; elsewhere in the list they
//! are part of a name, which then matches nothing.

/// A list of interfaces or adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceList<'a> {
    /// Set by `^`: the list excludes its names.
    pub excludes: bool,
    /// Set by `=`: the names are exact. Otherwise they are prefixes.
    pub exact: bool,
    names: &'a str,
}

/// Maximum length of an interface name in Linux, in bytes.
const MAX_INTERFACE_NAME: usize = 15;

impl<'a> DeviceList<'a> {
    /// Parses any text in the same way as NCCL, without validation.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let (excludes, rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (exact, names) = rest.strip_prefix('=').map_or((false, rest), |names| (true, names));
        Self { excludes, exact, names }
    }

    /// Returns the entries, including the part after `:` for adapters.
    pub fn names(self) -> impl Iterator<Item = &'a str> + Clone {
        self.names.split(',')
    }

    /// Returns true if the list allows NCCL to use `device`.
    #[must_use]
    pub fn allows(self, device: &str) -> bool {
        let mut names = self.names().map(|name| name.split(':').next().unwrap_or_default());
        self.excludes != names.any(|name| if self.exact { device == name } else { device.starts_with(name) })
    }

    /// Returns true if `text` is a valid name: without spaces, modifiers and separators.
    pub(super) fn is_name(text: &str) -> bool {
        !text.is_empty()
            && !text.contains(|char: char| char.is_whitespace() || char.is_control() || "^=,/".contains(char))
    }
}

pub(super) fn check_interfaces(value: &str) -> Result<(), String> {
    if value.len() <= 1 {
        return Err(format!("expected interfaces such as \"=eth0\", found {value:?}, which NCCL ignores"));
    }
    check_names(value, "interfaces such as \"=eth0,eth1\"")?;
    match DeviceList::parse(value).names().find(|name| name.len() > MAX_INTERFACE_NAME) {
        Some(name) => Err(format!("expected names of at most {MAX_INTERFACE_NAME} characters, found {name:?}")),
        None => Ok(()),
    }
}

pub(super) fn check_hcas(value: &str, max: usize) -> Result<(), String> {
    check_names(value, "adapters such as \"=mlx5_0,mlx5_1:1\"")?;
    let entries = DeviceList::parse(value).names();
    let count = entries.clone().count();
    if count > max {
        return Err(format!("expected at most {max} adapters, found {count}"));
    }
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_entry = |entry: &str| {
        let mut parts = entry.split(':');
        parts.next().is_some_and(|name| !name.is_empty()) && parts.clone().count() <= 3 && parts.all(is_number)
    };
    match entries.clone().find(|entry| !is_entry(entry)) {
        Some(entry) => Err(format!("expected adapter:port:rail:plane with numbers after the name, found {entry:?}")),
        None => Ok(()),
    }
}

/// Validates comma-separated plain interface names.
pub(super) fn check_plain_interfaces(value: &str) -> Result<(), String> {
    let is_interface = |name: &str| DeviceList::is_name(name) && name.len() <= MAX_INTERFACE_NAME;
    if value.split(',').all(is_interface) {
        return Ok(());
    }
    Err(format!("expected the full name of an interface such as eth0, without ^ and =, found {value:?}"))
}

fn check_names(value: &str, expected: &str) -> Result<(), String> {
    match DeviceList::parse(value).names().find(|name| !DeviceList::is_name(name)) {
        Some(name) if name.contains(['^', '=']) => {
            Err(format!("^ and = are allowed only at the start of the list, found {name:?} in it"))
        }
        Some(name) => Err(format!("expected {expected}, found {name:?} in it")),
        None => Ok(()),
    }
}
