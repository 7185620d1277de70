//! Fields with IP ranges.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::Scalar;
use crate::cidr::Cidr;
use crate::yaml::type_name;

/// Maximum number of ranges in a list. Each is a rule of iptables in every pod, which the kernel evaluates in order for
/// each connection.
const MAX_RANGES: usize = 64;

/// Ranges without addresses of pods, with the kind of their addresses.
const NO_PODS: [(&str, &str); 4] =
    [("127.0.0.0/8", "loopback"), ("::1/128", "loopback"), ("224.0.0.0/4", "multicast"), ("ff00::/8", "multicast")];

/// Pattern of a range for the JSON Schema: of IPv4 or of IPv6, with a prefix that is not longer than an address.
#[cfg(feature = "schema")]
const PATTERN: &str =
    "^([0-9.]+/0*([12]?[0-9]|3[0-2])|[0-9a-fA-F:]*:[0-9a-fA-F.:]*/0*([1-9]?[0-9]|1[01][0-9]|12[0-8]))$";

/// Validates a list of ranges.
pub(super) fn check_ranges(ranges: &[Cidr]) -> Result<(), String> {
    let found = ranges.len();
    if found > MAX_RANGES { Err(format!("expected at most {MAX_RANGES} ranges, found {found}")) } else { Ok(()) }
}

/// Validates the ranges of the pods.
pub(super) fn check_pod_ranges(ranges: &[Cidr]) -> Result<(), String> {
    if let Some(all) = ranges.iter().find(|range| range.prefix() == 0) {
        return Err(format!("{all} contains every address, not only those of pods: list the ranges of the pods"));
    }
    check_ranges(ranges)
}

/// Returns the name of the address family of which the `ranges` contain every address together.
pub(super) fn complete_family(ranges: &[Cidr]) -> Option<&'static str> {
    let families = [("IPv4", true), ("IPv6", false)];
    families.into_iter().find(|(_, is_ipv4)| contain_all(ranges, *is_ipv4)).map(|(family, _)| family)
}

/// Returns the problem of each of the `ranges` of pods that is no mistake for sure, but has no effect: it contains no address of a pod,
/// or another one contains it.
pub(super) fn ineffective_ranges(ranges: &[Cidr]) -> impl Iterator<Item = String> {
    ranges.iter().enumerate().filter_map(move |(index, range)| {
        let contains_range = |all: &str| Cidr::parse(all).is_some_and(|all| all.covers(*range));
        if let Some((_, kind)) = NO_PODS.iter().find(|(all, _)| contains_range(all)) {
            let problem = format!("{range} contains only {kind} addresses, which no pod has");
            return Some(format!("{problem}: list the ranges of the pods"));
        }
        let mut others = ranges.iter().enumerate().filter(|(other, _)| *other != index);
        // Of equal ranges, the later ones are reported.
        let (_, wider) = others.find(|(other, wider)| wider.covers(*range) && (*wider != range || *other < index))?;
        let problem = if wider == range { "is listed twice".to_owned() } else { format!("is a part of {wider}") };
        Some(format!("{range} {problem}: remove it, or correct it if it is that of another subnet"))
    })
}

/// Returns true if the `ranges` of a family contain all its addresses together.
fn contain_all(ranges: &[Cidr], is_ipv4: bool) -> bool {
    let mut distinct: Vec<Cidr> = Vec::new();
    for range in ranges.iter().copied().filter(|range| range.is_ipv4() == is_ipv4) {
        if !distinct.iter().any(|known| known.covers(range)) {
            distinct.retain(|known| !range.covers(*known));
            distinct.push(range);
        }
    }
    // Ranges that do not overlap: their shares of all addresses add up, in units of 2^-128. All of them overflow.
    let mut shares = distinct.iter().map(|range| 1_u128.checked_shl(128 - u32::from(range.prefix())));
    shares.try_fold(0_u128, |sum, share| sum.checked_add(share?)).is_none()
}

impl Scalar for Cidr {
    fn read(value: &Value) -> Result<Self, String> {
        let Value::String(text) = value else {
            return Err(format!("expected a CIDR such as 10.244.0.0/16, found {}", type_name(value)));
        };
        let range =
            Self::parse(text).ok_or_else(|| format!("expected a CIDR such as 10.244.0.0/16, found {text:?}"))?;
        let network = range.network();
        if range == network { Ok(range) } else { Err(format!("{text} has host bits set: did you mean {network}?")) }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Cidr {
    fn schema_name() -> Cow<'static, str> {
        "Cidr".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": PATTERN})
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn many_prefixes_are_added_exactly() {
        let range = |bits: u128, prefix: u32| Cidr::parse(&format!("{}/{prefix}", Ipv6Addr::from_bits(bits))).unwrap();
        let mut ranges: Vec<Cidr> = (1..60).map(|prefix| range(1 << (128 - prefix), prefix)).collect();
        assert_eq!(complete_family(&ranges), None);
        ranges.push(range(0, 59));
        assert_eq!(complete_family(&ranges), Some("IPv6"));
    }
}
