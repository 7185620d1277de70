//! Describes failures of the connection to the apiserver.

use std::error::Error;
use std::io;

use super::{kube_error, request_error, tls};
use crate::cluster::context::ContextEntries;
use crate::cluster::request::RequestError;

/// Returns the request that got no response in time: the apiserver may respond to others.
pub(super) fn timed_out_step<'a>(chain: &[&'a (dyn Error + 'static)]) -> Option<&'a str> {
    chain.iter().find_map(|cause| match request_error(*cause) {
        Some(RequestError::TimedOut(step)) => Some(step.as_str()),
        _ => None,
    })
}

/// Returns the cause of a failed connection; `None` if the apiserver was reached.
pub(super) fn cause(chain: &[&(dyn Error + 'static)], entries: &ContextEntries) -> Option<String> {
    if timed_out_step(chain).is_some() {
        return Some("no response in time".to_owned());
    }
    let is_transport = |error: &kube::Error| {
        matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_))
    };
    if !chain.iter().any(|cause| kube_error(*cause).is_some_and(is_transport)) {
        return None;
    }
    let found_tls = chain.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>());
    let found_io = chain.iter().rev().find_map(|cause| cause.downcast_ref::<io::Error>());
    let found_http = chain.iter().find_map(|cause| cause.downcast_ref::<hyper::Error>());
    match (found_tls, found_io, found_http) {
        (Some(error), _, _) => Some(tls::describe(error, entries)),
        (None, Some(error), _) => Some(io_cause(error)),
        (None, None, Some(error)) if error.is_parse() => Some(format!(
            "the response is not HTTP: check its port, or write https:// in the server of {}",
            entries.cluster()
        )),
        (None, None, Some(error)) if error.is_incomplete_message() => {
            Some("the server closed the connection without a response".to_owned())
        }
        // In TLS 1.3, a server rejects a certificate after the handshake, and its reason may come too late.
        (None, None, Some(error)) if error.is_canceled() => Some(format!(
            "the server closed the connection before the request: it may not accept the credentials of {}",
            entries.user()
        )),
        _ => chain.last().map(ToString::to_string),
    }
}

fn io_cause(error: &io::Error) -> String {
    const LOOKUP: &str = "failed to lookup address information: ";
    let text = error.to_string();
    match text.strip_prefix(LOOKUP) {
        Some(reason) => format!("its name cannot be resolved: {reason}: check the server of the context, and the DNS"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection: check its port, and what is in front of it".to_owned()
        }
        // The text of the kind omits the number of the error, which depends on the platform.
        None if is_descriptive(error.kind()) => error.kind().to_string(),
        None => text,
    }
}

/// Returns true if the text of `kind` describes the error completely.
fn is_descriptive(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, TimedOut,
    };
    matches!(kind, BrokenPipe | ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable | TimedOut)
}
