//! What one variable may hold.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::list::{self, DeviceList};

/// What a variable may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within bounds.
    Integer {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// One of some words, written exactly so.
    Word(&'static [&'static str]),
    /// One of some words, in any case of letters.
    AnyCase(&'static [&'static str]),
    /// A comma list of words in any case of letters, for all functions or for each (`allreduce:ring;broadcast:^tree`).
    Words(&'static [&'static str]),
    /// Network interfaces: `[^][=]name,…`.
    Interfaces,
    /// Adapters: `[^][=]name[:port[:rail[:plane]]],…`.
    Hcas,
    /// How far apart two devices may be: a word of [`Kind::LEVELS`] in capitals, or a number of old from 0 to 4.
    Level,
    /// `AUTO`, `ALL`, or `MAX:` and a number.
    NetworkDevices,
    /// The path of a file.
    Path,
    /// A range of addresses, as in `fd02::/16`.
    Cidr,
    /// `host:port`, an IPv6 address in brackets.
    Address,
    /// A text without blanks around it: NCCL keeps them.
    Text,
}

/// Adapters that NCCL uses at most.
const MOST_HCAS: usize = 32;

impl Kind {
    /// 0 or 1.
    pub const FLAG: Self = Self::Integer { least: 0, most: 1 };
    /// Any number from 0.
    pub(super) const SIZE: Self = Self::Integer { least: 0, most: i64::MAX };
    /// Any number from 1.
    pub(super) const POSITIVE: Self = Self::Integer { least: 1, most: i64::MAX };
    /// Any number.
    pub(super) const NUMBER: Self = Self::Integer { least: i64::MIN, most: i64::MAX };
    /// The words of a level, in the order of the distance. Any other word NCCL passes over without a word.
    pub const LEVELS: &'static [&'static str] = &["LOC", "NVL", "PIX", "PXB", "PHB", "SYS"];

    /// The bounds of a number; `None` where it holds something else.
    #[must_use]
    pub const fn range(&self) -> Option<RangeInclusive<i64>> {
        if let Self::Integer { least, most } = *self { Some(least..=most) } else { None }
    }

    /// Whether NCCL understands `value`; the error says what was expected and found.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let fits = |fits: bool, expected: &str| {
            if fits { Ok(()) } else { Err(format!("expected {expected}, found {value:?}")) }
        };
        match *self {
            Self::Integer { least, most } => check_integer(least..=most, value),
            Self::Word(words) => fits(words.contains(&value), &words.join(", ")),
            Self::AnyCase(words) => fits(is_word(words, value), &words.join(", ")),
            Self::Words(words) => fits(value.split(';').all(|part| are_words(words, part)), &words.join(", ")),
            Self::Interfaces => list::check_interfaces(value),
            Self::Hcas => list::check_hcas(value, MOST_HCAS),
            Self::Level => fits(
                Self::LEVELS.contains(&value) || integer(value).is_some_and(|level| (0..=4).contains(&level)),
                "LOC, NVL, PIX, PXB, PHB or SYS, in capitals",
            ),
            Self::NetworkDevices => {
                let most = value.strip_prefix("MAX:").and_then(integer);
                fits(matches!(value, "AUTO" | "ALL") || most.is_some_and(|most| most > 0), "AUTO, ALL or MAX:4")
            }
            Self::Path => fits(value.starts_with('/') && value.trim() == value, "an absolute path"),
            Self::Cidr => fits(is_cidr(value), "a range of addresses such as fd02::/16"),
            Self::Address => fits(is_address(value), "host:port, or [address]:port for IPv6"),
            Self::Text => fits(!value.is_empty() && value.trim() == value, "a text without blanks around it"),
        }
    }
}

/// The number that NCCL reads from `text`, as C writes numbers: decimal, `0x` before hexadecimal, a mere `0` before octal.
/// `None` where `text` is no number: then NCCL reads the digits that it starts with, or 0, and says nothing.
#[must_use]
pub fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if is_octal(digits) => (8, digits),
        None => (10, digits),
    };
    // Rust takes a sign of its own, which would be a second one here.
    let plain = digits.starts_with(|first: char| first.is_ascii_hexdigit());
    plain.then(|| i64::from_str_radix(&format!("{sign}{digits}"), radix).ok())?
}

fn is_octal(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

fn check_integer(range: RangeInclusive<i64>, value: &str) -> Result<(), String> {
    let expected = match (*range.start(), *range.end()) {
        (i64::MIN, _) => "a whole number".to_owned(),
        (least, i64::MAX) => format!("a number from {least}"),
        (0, 1) => "0 or 1".to_owned(),
        (least, most) => format!("a number from {least} to {most}"),
    };
    match integer(value) {
        Some(number) if is_octal(value.trim_start_matches('-')) && !value.contains(['x', 'X']) => {
            Err(format!("{value} is octal, and {number} to NCCL: write {number}"))
        }
        Some(number) if range.contains(&number) => Ok(()),
        _ => Err(format!("expected {expected}, found {value:?}")),
    }
}

fn is_word(words: &[&str], text: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// `ring,tree`, `^tree`, and the same after the name of a function: `allreduce:ring`.
fn are_words(words: &[&str], part: &str) -> bool {
    let (_, part) = part.split_once(':').unwrap_or(("", part));
    part.strip_prefix('^').unwrap_or(part).split(',').all(|word| is_word(words, word))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse().is_ok_and(|bits: u8| bits <= most)
}

fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => matches!(address.parse(), Ok(IpAddr::V6(_))),
        None => DeviceList::is_name(host) && !host.contains(':'),
    };
    is_host && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0)
}
