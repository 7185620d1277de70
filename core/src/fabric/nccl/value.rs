//! Types and ranges of variables.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::list::{self, DeviceList};
use crate::hint::one_of;

/// Type and range of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An integer within bounds.
    Integer {
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// One of the keywords, case-sensitive.
    Keyword(&'static [&'static str]),
    /// One of the keywords, case-insensitive.
    KeywordIgnoreCase(&'static [&'static str]),
    /// Comma-separated keywords, case-insensitive, for all functions or per function
    /// (`allreduce:ring;broadcast:^tree`).
    KeywordList(&'static [&'static str]),
    /// Network interfaces: `[^][=]name,…`.
    Interfaces,
    /// Adapters: `[^][=]name[:port[:rail[:plane]]],…`.
    Hcas,
    /// Maximum distance of two devices: one of [`ValueKind::LEVELS`], or a legacy number.
    Level,
    /// Devices of NCCL's network, adapters or interfaces: `[^][=]name[:port],…`.
    NetDevices,
    /// `AUTO`, `ALL`, or `MAX:` followed by a number, case-insensitive.
    NetDevicesPolicy,
    /// An absolute path.
    Path,
    /// An address range such as `fd02::/16`.
    Cidr,
    /// `host:port`, with IPv6 addresses in brackets.
    Address,
    /// Text without leading or trailing spaces, which NCCL would keep.
    Text,
    /// Any text, including the empty one and one with spaces around it.
    AnyText,
}

/// Maximum number of adapters that NCCL uses.
const MAX_HCAS: usize = 32;
/// Maximum number of devices in `NCCL_OOB_NET_IFNAME` (2.30.7, `src/bootstrap.cc`).
const MAX_OOB_DEVICES: usize = 16;

impl ValueKind {
    /// 0 or 1.
    pub const FLAG: Self = Self::Integer { min: 0, max: 1 };
    /// Any number greater than or equal to 0.
    pub(super) const NON_NEGATIVE: Self = Self::Integer { min: 0, max: i64::MAX };
    /// Any number greater than 0.
    pub(super) const POSITIVE: Self = Self::Integer { min: 1, max: i64::MAX };
    /// Any number.
    pub(super) const NUMBER: Self = Self::Integer { min: i64::MIN, max: i64::MAX };
    /// A boolean that NCCL parses by itself (2.30.7, `src/include/param/parser_default.h`).
    pub(super) const BOOLEAN: Self = Self::KeywordIgnoreCase(&["0", "1", "FALSE", "TRUE", "F", "T"]);
    /// Levels in the order of increasing distance (2.30.7, `src/graph/topo.cc`). NCCL silently ignores any other word.
    pub const LEVELS: &'static [&'static str] = &["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"];

    /// Returns the bounds of an integer, or `None` for other types.
    #[must_use]
    pub const fn range(&self) -> Option<RangeInclusive<i64>> {
        if let Self::Integer { min, max } = *self { Some(min..=max) } else { None }
    }

    /// Validates `value`. The error message contains the expected and the actual value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let expect = |is_valid: bool, expected: &str| {
            if is_valid { Ok(()) } else { Err(format!("expected {expected}, found {value:?}")) }
        };
        match *self {
            Self::Integer { min, max } => check_integer(min..=max, value),
            Self::Keyword(keywords) => expect(keywords.contains(&value), &one_of(keywords)),
            Self::KeywordIgnoreCase(keywords) => expect(is_keyword(keywords, value), &one_of(keywords)),
            Self::KeywordList(keywords) => {
                expect(value.split(';').all(|part| is_keyword_list(keywords, part)), &one_of(keywords))
            }
            Self::Interfaces => list::check_interfaces(value),
            Self::Hcas => list::check_hcas(value, MAX_HCAS),
            Self::Level => expect(
                // NCCL treats numbers above 5 as 5.
                Self::LEVELS.contains(&value) || parse_strict_integer(value).is_some_and(|level| level >= 0),
                "LOC, NVL, PIX, PXB, PHB or SYS, in capitals",
            ),
            Self::NetDevices => list::check_hcas(value, MAX_OOB_DEVICES),
            Self::NetDevicesPolicy => {
                let upper = value.to_ascii_uppercase();
                let max = upper.strip_prefix("MAX:").and_then(parse_strict_integer);
                expect(matches!(&*upper, "AUTO" | "ALL") || max.is_some_and(|max| max > 0), "AUTO, ALL or MAX:4")
            }
            Self::Path => expect(value.starts_with('/') && value.trim() == value, "an absolute path"),
            Self::Cidr => expect(is_cidr(value), "an address range such as fd02::/16"),
            Self::Address => expect(is_address(value), "host:port, or [address]:port for IPv6"),
            Self::Text => expect(!value.is_empty() && value.trim() == value, "text without leading or trailing spaces"),
            Self::AnyText => Ok(()),
        }
    }
}

/// Parses an integer with C's prefixes: `0x` for hexadecimal, `0` for octal. Returns `None` if the whole text is not a
/// number, in contrast to NCCL, which silently reads the leading digits, or 0.
#[must_use]
pub fn parse_strict_integer(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if is_octal(digits) => (8, digits),
        None => (10, digits),
    };
    // `from_str_radix` accepts a sign, which would be a second one here.
    let is_unsigned = digits.starts_with(|first: char| first.is_ascii_hexdigit());
    is_unsigned.then(|| i64::from_str_radix(&format!("{sign}{digits}"), radix).ok())?
}

fn is_octal(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

fn check_integer(range: RangeInclusive<i64>, value: &str) -> Result<(), String> {
    let expected = match (*range.start(), *range.end()) {
        (i64::MIN, _) => "an integer".to_owned(),
        (min, i64::MAX) => format!("a number from {min}"),
        (0, 1) => "0 or 1".to_owned(),
        (min, max) => format!("a number from {min} to {max}"),
    };
    match parse_strict_integer(value) {
        Some(number) if is_octal(value.trim_start_matches('-')) && !value.contains(['x', 'X']) => {
            Err(format!("NCCL reads {value} as octal {number}: write {number}"))
        }
        Some(number) if range.contains(&number) => Ok(()),
        _ => Err(format!("expected {expected}, found {value:?}")),
    }
}

fn is_keyword(keywords: &[&str], text: &str) -> bool {
    keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(text))
}

/// Returns true if `part` is a list such as `ring,tree` or `^tree`, optionally after a function name: `allreduce:ring`.
fn is_keyword_list(keywords: &[&str], part: &str) -> bool {
    let (_, part) = part.split_once(':').unwrap_or(("", part));
    part.strip_prefix('^').unwrap_or(part).split(',').all(|word| is_keyword(keywords, word))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max_bits = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse().is_ok_and(|bits: u8| bits <= max_bits)
}

fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => matches!(address.parse(), Ok(IpAddr::V6(_))),
        None => DeviceList::is_name(host) && !host.contains(':'),
    };
    is_host && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", Some(1))]
    #[case("-1", Some(-1))]
    #[case("010", Some(8))]
    #[case("0x10", Some(16))]
    #[case("-0X1f", Some(-31))]
    #[case("0", Some(0))]
    #[case::no_octal_digit("09", None)]
    #[case("true", None)]
    #[case("", None)]
    #[case("-", None)]
    #[case("0x", None)]
    #[case("--1", None)]
    #[case("+1", None)]
    #[case("0x-1", None)]
    fn parses_integers_strictly(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_strict_integer(text), expected);
    }
}
