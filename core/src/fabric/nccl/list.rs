//! Lists of interfaces and adapters: `[^][=]name,…`. The signs belong to the whole list, so that one in the middle is part
//! of a name that nothing has.

/// A list of interfaces or adapters, as NCCL reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceList<'a> {
    /// `^`: what is named is left out.
    pub excludes: bool,
    /// `=`: names are exact; else each is the start of names.
    pub exact: bool,
    names: &'a str,
}

/// The longest name of an interface that Linux takes, in bytes.
const LONGEST_INTERFACE: usize = 15;

impl<'a> DeviceList<'a> {
    /// Reads any text, as NCCL does: whether it makes sense is another question.
    #[must_use]
    pub fn read(text: &'a str) -> Self {
        let (excludes, rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (exact, names) = rest.strip_prefix('=').map_or((false, rest), |names| (true, names));
        Self { excludes, exact, names }
    }

    /// The entries, for adapters with what follows `:`.
    pub fn names(self) -> impl Iterator<Item = &'a str> + Clone {
        self.names.split(',')
    }

    /// Whether `device` is one that the list lets NCCL use.
    #[must_use]
    pub fn admits(self, device: &str) -> bool {
        let mut names = self.names().map(|name| name.split(':').next().unwrap_or_default());
        self.excludes != names.any(|name| if self.exact { device == name } else { device.starts_with(name) })
    }

    /// Whether `text` can name one device: without blanks, and without the signs of a list.
    pub(super) fn is_name(text: &str) -> bool {
        !text.is_empty()
            && !text.contains(|sign: char| sign.is_whitespace() || sign.is_control() || "^=,/".contains(sign))
    }
}

pub(super) fn check_interfaces(value: &str) -> Result<(), String> {
    if value.len() <= 1 {
        return Err(format!("expected interfaces such as \"=eth0\", found {value:?}, which NCCL takes for nothing"));
    }
    names(value, "interfaces such as \"=eth0,eth1\"")?;
    match DeviceList::read(value).names().find(|name| name.len() > LONGEST_INTERFACE) {
        Some(name) => Err(format!("expected names of at most {LONGEST_INTERFACE} characters, found {name:?}")),
        None => Ok(()),
    }
}

pub(super) fn check_hcas(value: &str, most: usize) -> Result<(), String> {
    names(value, "adapters such as \"=mlx5_0,mlx5_1:1\"")?;
    let entries = DeviceList::read(value).names();
    let count = entries.clone().count();
    if count > most {
        return Err(format!("expected at most {most} adapters, found {count}"));
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

/// One interface, or several with commas between them, each by its whole name.
pub(super) fn check_concrete(value: &str) -> Result<(), String> {
    let is_interface = |name: &str| DeviceList::is_name(name) && name.len() <= LONGEST_INTERFACE;
    if value.split(',').all(is_interface) {
        return Ok(());
    }
    Err(format!("expected the whole name of an interface such as eth0, without ^ and =, found {value:?}"))
}

fn names(value: &str, expected: &str) -> Result<(), String> {
    match DeviceList::read(value).names().find(|name| !DeviceList::is_name(name)) {
        Some(name) if name.contains(['^', '=']) => {
            Err(format!("^ and = stand once, before the whole list, found {name:?} in it"))
        }
        Some(name) => Err(format!("expected {expected}, found {name:?} in it")),
        None => Ok(()),
    }
}
