//! IP ranges in CIDR notation, parsed as strictly as Istio's injector does.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};

/// An IP range. The address may have bits set after the prefix, which are ignored, as in Go's `net.ParseCIDR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Parses a range such as `10.244.0.0/16`. Returns `None` for anything that `net.ParseCIDR` rejects: blanks, a bare
    /// address, leading zeros in a part of the address, or a zone.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u8 = prefix.parse().ok().filter(|_| is_number)?;
        (prefix <= bits(address)).then_some(Self { address, prefix })
    }

    /// Returns the number of leading bits that the addresses of the range share.
    #[must_use]
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// Returns true for a range of IPv4.
    #[must_use]
    pub fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    /// Returns the range with the bits after the prefix cleared.
    #[must_use]
    pub fn network(self) -> Self {
        Self { address: masked(self.address, self.prefix), ..self }
    }

    /// Returns true if the range contains `address`.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let is_same_family = address.is_ipv4() == self.address.is_ipv4();
        is_same_family && masked(address, self.prefix) == self.network().address
    }

    /// Returns true if the range contains every address of `other`.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.address)
    }
}

/// Returns the number of bits of an address.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns `address` with the bits after `prefix` cleared.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or_default();
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or_default();
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::v4("10.244.0.0/16", Some("10.244.0.0/16"))]
    #[case::all("0.0.0.0/0", Some("0.0.0.0/0"))]
    #[case::one_address("10.0.0.1/32", Some("10.0.0.1/32"))]
    #[case::host_bits("10.244.1.5/16", Some("10.244.0.0/16"))]
    #[case::v6("fd00:10:244::1/56", Some("fd00:10:244::/56"))]
    #[case::v6_all("::/0", Some("::/0"))]
    #[case::bare_address("10.244.0.0", None)]
    #[case::leading_blank(" 10.244.0.0/16", None)]
    #[case::trailing_blank("10.244.0.0/16 ", None)]
    #[case::prefix_too_long("10.244.0.0/33", None)]
    #[case::prefix_with_a_sign("10.244.0.0/+16", None)]
    #[case::no_prefix("10.244.0.0/", None)]
    #[case::a_mask("10.244.0.0/255.255.0.0", None)]
    #[case::leading_zero("010.244.0.0/16", None)]
    #[case::three_parts("10.244.0/16", None)]
    #[case::zone("fe80::1%eth0/64", None)]
    #[case::star("*", None)]
    #[case::empty("", None)]
    fn ranges_are_parsed(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(Cidr::parse(text).map(|range| range.network().to_string()).as_deref(), expected);
    }

    #[rstest]
    #[case::inside("10.244.0.0/16", "10.244.9.1/32", true)]
    #[case::same("10.244.0.0/16", "10.244.0.0/16", true)]
    #[case::larger("10.244.0.0/16", "10.0.0.0/8", false)]
    #[case::outside("10.244.0.0/16", "10.245.0.0/24", false)]
    #[case::another_family("0.0.0.0/0", "::/0", false)]
    #[case::all("0.0.0.0/0", "192.168.0.0/16", true)]
    #[case::v6("fd00::/8", "fd12::/64", true)]
    fn ranges_cover_ranges(#[case] range: &str, #[case] other: &str, #[case] expected: bool) {
        assert_eq!(Cidr::parse(range).unwrap().covers(Cidr::parse(other).unwrap()), expected);
    }
}
