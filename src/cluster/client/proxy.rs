//! Which servers are reached without the proxy that the environment names. The rules are those of Go, which kubectl follows.

use std::env;
use std::net::IpAddr;

use hyper::Uri;
use hyper::http::uri::Scheme;

use trainmesh_core::cidr::Cidr;

/// Port of an address without one.
const HTTPS_PORT: u16 = 443;

/// Returns true if requests to `url` do not use the proxy in `HTTPS_PROXY`: without TLS, to this machine, or if `NO_PROXY` lists the
/// server.
pub(super) fn is_direct(url: &Uri) -> bool {
    let lists = ["NO_PROXY", "no_proxy"].into_iter().filter_map(|name| env::var(name).ok());
    let list = lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default();
    url.scheme() != Some(&Scheme::HTTPS) || is_listed(url, &list)
}

/// Returns true if `list`, in the format of `NO_PROXY`, contains the server of `url`, or if this is a loopback address.
fn is_listed(url: &Uri, list: &str) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let port = url.port_u16().unwrap_or(HTTPS_PORT).to_string();
    list.split(',').any(|entry| matches(entry.trim().to_ascii_lowercase().as_str(), &host, address, &port))
}

/// Returns true if an entry of a list matches a server: a name with its subdomains, or only these, an address, a range, or `*`.
fn matches(entry: &str, host: &str, address: Option<IpAddr>, port: &str) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some(range) = Cidr::parse(entry) {
        return address.is_some_and(|address| range.contains(address));
    }
    let (name, only) = split_port(entry);
    if name.is_empty() || !only.is_empty() && only != port {
        return false;
    }
    if let Ok(listed) = name.parse::<IpAddr>() {
        return address == Some(listed.to_canonical());
    }
    let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    let Some(subdomain) = host.strip_suffix(name) else { return false };
    name.starts_with('.') || subdomain.is_empty() || subdomain.ends_with('.')
}

/// Returns host and port of an entry. An IPv6 address with a port is in brackets.
fn split_port(entry: &str) -> (&str, &str) {
    if let Some((address, port)) = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (address, port.trim_start_matches(':'));
    }
    entry.split_once(':').filter(|(_, port)| !port.contains(':')).unwrap_or((entry, ""))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing("https://api.corp.example", "", false)]
    #[case::all("https://api.corp.example", "x, *", true)]
    #[case::name("https://API.corp.example", "x,Api.Corp.example", true)]
    #[case::subdomain("https://api.corp.example:6443", " corp.example ", true)]
    #[case::end_of_a_name("https://api.mycorp.example", "corp.example", false)]
    #[case::name_of_its_own("https://corp.example", ".corp.example", false)]
    #[case::only_subdomains("https://api.corp.example", ".corp.example", true)]
    #[case::wildcard("https://api.corp.example", "*.corp.example", true)]
    #[case::wildcard_itself("https://corp.example", "*.corp.example", false)]
    #[case::port("https://api.corp.example:6443", "corp.example:6443", true)]
    #[case::default_port("https://api.corp.example", "corp.example:443", true)]
    #[case::other_port("https://api.corp.example:6443", "corp.example:443", false)]
    #[case::only_a_port("https://api.corp.example:6443", ":6443", false)]
    #[case::range("https://10.255.1.2:6443", "10.0.0.0/8", true)]
    #[case::other_range("https://11.255.1.2:6443", "10.0.0.0/8", false)]
    #[case::range_and_name("https://api.corp.example", "10.0.0.0/8", false)]
    #[case::address("https://10.255.1.2:6443", "10.255.1.2", true)]
    #[case::address_and_port("https://10.255.1.2:6443", "10.255.1.2:6443", true)]
    #[case::address_and_other_port("https://10.255.1.2:6443", "10.255.1.2:443", false)]
    #[case::ipv6("https://[fd00::1]:6443", "fd00::1", true)]
    #[case::ipv6_and_port("https://[fd00::1]:6443", "[fd00:0::1]:6443", true)]
    #[case::ipv6_and_other_port("https://[fd00::1]:6443", "[fd00::1]:443", false)]
    #[case::ipv6_range("https://[fd00::1]:6443", "fd00::/8", true)]
    #[case::loopback("https://127.0.0.5:6443", "", true)]
    #[case::ipv6_loopback("https://[::1]:6443", "", true)]
    #[case::localhost("https://localhost:6443", "", true)]
    #[case::name_below_localhost("https://api.localhost", "", false)]
    fn lists_are_those_of_go(#[case] url: &str, #[case] list: &str, #[case] expected: bool) {
        assert_eq!(is_listed(&url.parse().unwrap(), list), expected);
    }
}
