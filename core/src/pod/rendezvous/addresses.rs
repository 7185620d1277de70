//! Ports in addresses and URLs.

use std::net::Ipv6Addr;

use super::trailing_port;

/// Start of the URL at which the processes of torch meet. Other schemes contain no port of their own.
const SCHEME: &str = "tcp://";
/// Characters after the host and port of a URL: its path or query, or the rest of the code that contains it.
const ENDS: [char; 5] = ['/', '?', '"', '\'', ','];

/// Returns the port of `host:23456`, also after an IPv6 address in brackets. A URL is the address of another service.
pub(super) fn port_of_address(text: &str) -> Option<u16> {
    let has_port = text.contains(':') && !text.contains("//") && text.parse::<Ipv6Addr>().is_err();
    has_port.then(|| trailing_port(text)).flatten()
}

/// Returns the port of `tcp://host:23456`, the only kind of URL with the address of a process.
pub(super) fn port_of_url(text: &str) -> Option<u16> {
    port_of_address(text.strip_prefix(SCHEME)?.split(ENDS).next()?)
}
