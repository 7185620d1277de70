//! Checks entries of a kubeconfig that kube 5.0 accepts and misreads, or with which every request fails without the cause.

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::Scheme;
use kube::Config;

use crate::cluster::context::ContextEntries;

/// Describes why `config`, which was loaded from `entries`, cannot be used, with its fix.
pub(super) fn problem(config: &Config, entries: &ContextEntries) -> Option<String> {
    let (url, cluster) = (&config.cluster_url, entries.cluster());
    if url.scheme().is_some_and(|scheme| ![Scheme::HTTP, Scheme::HTTPS].contains(scheme)) {
        let scheme = url.scheme_str().unwrap_or_default();
        return Some(format!("the server of {cluster} has the unsupported scheme {scheme}: write https://"));
    }
    if url.host().is_none_or(str::is_empty) {
        return Some(format!("the server of {cluster} has no host: write https://HOST:PORT"));
    }
    if let Some(port) = invalid_port(url) {
        return Some(format!("the server of {cluster} has the invalid port {port}: write a number up to 65535"));
    }
    if config.root_cert.as_ref().is_some_and(Vec::is_empty) && entries.has_authority() {
        return Some(format!(
            "the certificate-authority of {cluster} contains no certificate in PEM: set it to the CA of the server"
        ));
    }
    if let Some(user) = entries.missing_user() {
        return Some(format!("the kubeconfig has no user {user}, which the context names"));
    }
    (!is_token(config))
        .then(|| format!("the token of {} contains characters that no token has, such as a line break", entries.user()))
}

/// Returns the text of a port that is not a number up to 65535. The client would use the default port instead.
fn invalid_port(url: &Uri) -> Option<&str> {
    let authority = url.authority()?.as_str();
    let host = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    let (_, port) = host.rsplit_once(':')?;
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_valid = port.is_empty() || is_number && port.parse::<u16>().is_ok();
    (!is_valid).then_some(port)
}

/// Returns false if the user has a token with which the client panics.
fn is_token(config: &Config) -> bool {
    let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
    let token = user.get("token").and_then(|token| token.as_str());
    token.is_none_or(|token| HeaderValue::from_str(token).is_ok())
}
