//! The settings that a container's processes see, as far as the pod tells: its environment, and below it the file that
//! trainmesh lets NCCL read.

use serde_json::Value;

use super::facts::{mounts, text};
use crate::fabric::conf;
use crate::keys;
use crate::pod::{Container, Pod};

/// The settings of one container that checks look at.
pub(super) struct Settings<'a> {
    container: Container<'a>,
    all: Vec<Setting<'a>>,
}

/// One setting.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    /// What it holds; `None` where that comes from elsewhere.
    pub(super) value: Option<&'a str>,
    /// Its index in the environment; `None` where it stands in the file.
    pub(super) index: Option<usize>,
}

/// Variables that some check looks at begin with one of these.
const PREFIXES: [&str; 5] = ["NCCL_", "FI_", "RDMAV_", "GLOO_", "TP_"];
/// By which a file of ours is recognised among the volumes: the downward API's name of the annotation.
const FIELD_PATH: &str = "metadata.annotations['trainmesh.dev/nccl-conf']";

impl<'a> Settings<'a> {
    pub(super) fn new(pod: Pod<'a>, container: Container<'a>) -> Self {
        let mut all: Vec<Setting<'a>> = Vec::new();
        let entries = container.raw().get("env").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (index, entry) in entries {
            let Some(name) = text(entry, "name").filter(|name| is_seen(name)) else { continue };
            // What the kubelet puts together from other variables is not known here.
            let value = match entry.get("valueFrom") {
                Some(from) if !from.is_null() => None,
                _ => Some(text(entry, "value").unwrap_or_default()).filter(|value| !value.contains("$(")),
            };
            // The last entry of a name wins, as it does in the kubelet.
            all.retain(|known| known.name != name);
            all.push(Setting { name, value, index: Some(index) });
        }
        if let Some(file) = pod.annotation(keys::NCCL_CONF).filter(|_| reads_file(pod, container)) {
            for (name, value) in conf::read(file).filter(|(name, _)| is_seen(name)) {
                if !all.iter().any(|known| known.name == name) {
                    all.push(Setting { name, value: Some(value), index: None });
                }
            }
        }
        Self { container, all }
    }

    /// Every setting.
    pub(super) fn all(&self) -> impl Iterator<Item = Setting<'a>> {
        self.all.iter().copied()
    }

    /// The setting of `name`.
    pub(super) fn get(&self, name: &str) -> Option<Setting<'a>> {
        self.all().find(|setting| setting.name == name)
    }

    /// What `name` is set to, where that is known. Empty is unset to NCCL.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.value.filter(|value| !value.is_empty())
    }

    /// The value of `name` as the number that NCCL reads.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.value(name).map(number)
    }

    /// JSON pointer of the setting of `name`.
    pub(super) fn field(&self, name: &str) -> String {
        match self.get(name).map(|setting| setting.index) {
            Some(Some(index)) => format!("{}/env/{index}", self.container.pointer()),
            _ => "/metadata/annotations/trainmesh.dev~1nccl-conf".to_owned(),
        }
    }
}

/// Whether the environment of `container` sets some variable of NCCL.
pub(super) fn sets_nccl(container: Container<'_>) -> bool {
    let entries = container.raw().get("env").and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| text(entry, "name")).any(|name| name.starts_with("NCCL_"))
}

fn is_seen(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the file of the annotation is mounted into `container`.
fn reads_file(pod: Pod<'_>, container: Container<'_>) -> bool {
    let Some(volumes) = pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array) else { return false };
    let from_annotation = |volume: &Value| {
        let items = volume.get("downwardAPI").and_then(|source| source.get("items")).and_then(Value::as_array);
        let mut paths = items.into_iter().flatten().filter_map(|item| text(item.get("fieldRef")?, "fieldPath"));
        paths.any(|path| path == FIELD_PATH)
    };
    let mut names = mounts(container).filter_map(|(_, mount)| text(mount, "name"));
    names.any(|name| volumes.iter().any(|volume| text(volume, "name") == Some(name) && from_annotation(volume)))
}

/// The number that `strtoll` with base 0 reads: 0 where there is none.
pub(super) fn number(text: &str) -> i64 {
    parse(text).0
}

/// Whether `strtoll` reads all of `text`, blanks around it aside.
pub(super) fn is_number(text: &str) -> bool {
    let (_, rest) = parse(text);
    rest.is_some_and(|rest| rest.trim().is_empty())
}

/// The number at the start of `text`, and what follows it; `None` where there is no number.
fn parse(text: &str) -> (i64, Option<&str>) {
    let start = text.trim_start();
    let (negative, unsigned) = match start.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, start.strip_prefix('+').unwrap_or(start)),
    };
    let hexadecimal = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let hexadecimal = hexadecimal.filter(|rest| rest.starts_with(|digit: char| digit.is_ascii_hexdigit()));
    let (radix, digits) = match hexadecimal {
        Some(rest) => (16, rest),
        None if unsigned.starts_with('0') => (8, unsigned),
        None => (10, unsigned),
    };
    let end = digits.find(|digit: char| !digit.is_digit(radix)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return (0, None);
    }
    // Out of range it stops at the bound.
    let magnitude = i64::from_str_radix(digits, radix).unwrap_or(i64::MAX);
    (if negative { -magnitude } else { magnitude }, Some(rest))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::decimal("22", 22, true)]
    #[case::octal("010", 8, true)]
    #[case::hexadecimal("0x1f", 31, true)]
    #[case::negative("-1", -1, true)]
    #[case::blanks(" 1 ", 1, true)]
    #[case::word("true", 0, false)]
    #[case::trailing("1x", 1, false)]
    #[case::no_octal_digit("08", 0, false)]
    #[case::hexadecimal_without_digits("0x", 0, false)]
    #[case::empty("", 0, false)]
    #[case::too_large("99999999999999999999", i64::MAX, true)]
    fn numbers_are_read_as_nccl_does(#[case] text: &str, #[case] expected: i64, #[case] whole: bool) {
        assert_eq!((number(text), is_number(text)), (expected, whole));
    }
}
