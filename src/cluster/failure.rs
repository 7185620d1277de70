//! Describes failed requests for people: each cause once, the apiserver's address, the kubeconfig context, and what to do.

mod connection;
mod plugin;
mod tls;

use std::error::Error;
use std::io;

use jiff::Timestamp;
use kube::Config;
use kube::client::AuthError;
use kube::config::KubeConfigOptions;
use kube::core::Status;

use super::client::{self, address, client_problem, credential_problem, unusable_context};
use super::context::ContextEntries;
use super::diagnosis::ReadError;
use super::live::LiveError;
use super::request::{RequestError, TIMEOUT};

/// Maximum length of a message of the apiserver, in characters.
const MAX_MESSAGE: usize = 2_000;
/// Status code of a response to a request whose credentials are not accepted.
const UNAUTHORIZED: u16 = 401;
/// Response in plain text of Go's HTTP server to a request without TLS.
const TLS_EXPECTED: &str = "Client sent an HTTP request to an HTTPS server";

/// Describes `error`, which a client for `context` or the current context returned.
pub async fn describe(error: &(dyn Error + 'static), context: Option<&str>) -> String {
    let chain = chain(error);
    let is_of_cluster =
        |cause: &&(dyn Error + 'static)| kube_error(*cause).is_some() || request_error(*cause).is_some();
    if !chain.iter().any(is_of_cluster) {
        return messages(&chain).join(": ");
    }
    let entries = ContextEntries::read(None, context);
    if let Some(problem) = configuration_problem(&chain, &entries) {
        return problem;
    }
    let server = apiserver(context, &entries).await;
    if let Some(page) = chain.iter().find(|cause| is_web_page(**cause)) {
        return match api_status(*page) {
            Some(Status { code, .. }) if is_temporary_code(*code) => {
                format!("{server} responds with a web page of status {code}, as of a proxy: try again later")
            }
            _ => format!("{server} is no apiserver: check the server of the context, with its path"),
        };
    }
    if let Some(step) = connection::timed_out_step(&chain) {
        return format!("could not {step} at {server}: no response within {TIMEOUT:?}");
    }
    if let Some(cause) = connection::cause(&chain, &entries) {
        return format!("cannot reach {server}: {cause}");
    }
    let mut messages = messages(&chain);
    let status = chain.iter().find_map(|cause| api_status(*cause));
    messages.extend(status.and_then(|status| advice(status, &server, &entries)));
    match messages.as_mut_slice() {
        _ if status.is_some_and(|status| status.code == UNAUTHORIZED) => {}
        // The first message names the request.
        [first, _, ..] if chain.first().is_none_or(|error| kube_error(*error).is_none()) => {
            *first = format!("{first} at {server}");
        }
        _ => messages.insert(0, server),
    }
    messages.join(": ")
}

/// Describes a failed request without the server, for reports about many of them.
#[must_use]
pub fn brief(error: &RequestError) -> String {
    format!("could not {}: {}", error.step(), brief_cause(error))
}

/// Describes the cause of a failed request.
#[must_use]
pub fn brief_cause(error: &RequestError) -> String {
    let chain = chain(error);
    if let Some(cause) = connection::cause(&chain, &ContextEntries::default()) {
        return cause;
    }
    let step = format!("could not {}", error.step());
    let cause =
        |message: &String| message.strip_prefix(&step).unwrap_or(message).trim_start_matches([':', ' ']).to_owned();
    let mut causes: Vec<String> = messages(&chain).iter().map(cause).filter(|cause| !cause.is_empty()).collect();
    let status = chain.iter().find_map(|cause| api_status(*cause)).map(|status| format!("status {}", status.code));
    causes.extend(status.filter(|status| causes.last() != Some(status)));
    causes.join(": ")
}

/// Returns true if every request would fail like this one: the credentials are not accepted, or the server is no apiserver.
#[must_use]
pub fn is_general(error: &RequestError) -> bool {
    let concerns_all = |cause: &(dyn Error + 'static)| {
        api_status(cause).is_some_and(|status| status.code == UNAUTHORIZED) || is_web_page(cause)
    };
    chain(error).iter().any(|cause| concerns_all(*cause))
}

/// Returns true if the apiserver forbids the request to the user.
#[must_use]
pub fn is_forbidden(error: &(dyn Error + 'static)) -> bool {
    let is_denied = |cause: &(dyn Error + 'static)| api_status(cause).is_some_and(Status::is_forbidden);
    chain(error).iter().any(|cause| is_denied(*cause) && !is_web_page(*cause))
}

/// Describes why no request could be sent.
fn configuration_problem(chain: &[&(dyn Error + 'static)], entries: &ContextEntries) -> Option<String> {
    let problem = chain.iter().find_map(|cause| entry_problem(*cause, entries))?;
    Some(unusable_context(entries.context(), &problem))
}

/// Describes a problem of `entries` that prevents the creation of a client; `None` if `error` has another cause.
pub(super) fn entry_problem(error: &(dyn Error + 'static), entries: &ContextEntries) -> Option<String> {
    match (auth_error(error), kube_error(error)) {
        (Some(error), _) => Some(plugin::problem(error, entries).unwrap_or_else(|| credential_problem(error, entries))),
        (None, error) => client_problem(error?, entries),
    }
}

/// Returns the error of the credentials.
fn auth_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a AuthError> {
    match kube_error(error) {
        Some(kube::Error::Auth(failed)) => Some(failed),
        // The renewal of a token is part of the request.
        Some(kube::Error::Service(inner)) => inner.downcast_ref(),
        _ => error.downcast_ref(),
    }
}

/// Returns true if the response is a web page, as of a proxy: an apiserver responds with a `Status` or in plain text, and to a
/// request that succeeds with JSON.
fn is_web_page(error: &(dyn Error + 'static)) -> bool {
    match kube_error(error) {
        Some(kube::Error::Api(status)) => status.message.trim_start().starts_with('<'),
        // The first byte is not of JSON, or there is none.
        Some(kube::Error::SerdeError(cause)) => {
            cause.is_syntax() && cause.column() <= 1 || cause.is_eof() && cause.column() == 0
        }
        _ => false,
    }
}

/// Returns the status of the response with which the apiserver rejected the request.
fn api_status<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    match kube_error(error) {
        Some(kube::Error::Api(status)) => Some(status),
        _ => None,
    }
}

/// Returns true if the apiserver responds that the request may succeed later.
#[must_use]
pub fn is_temporary(error: &(dyn Error + 'static)) -> bool {
    let fails = |cause: &(dyn Error + 'static)| api_status(cause).is_some_and(|status| is_temporary_code(status.code));
    chain(error).iter().any(|cause| fails(*cause) && !is_web_page(*cause))
}

/// Returns true if a request with this response may succeed later.
fn is_temporary_code(code: u16) -> bool {
    code == 429 || code >= 500
}

/// Returns what to do about a response.
fn advice(status: &Status, server: &str, entries: &ContextEntries) -> Option<String> {
    Some(match status.code {
        _ if status.message.contains(TLS_EXPECTED) => {
            format!("write https:// in the server of {}", entries.cluster())
        }
        UNAUTHORIZED => {
            let user = entries.user();
            let reason = match entries.client_certificate_end() {
                Some(end) if end < Timestamp::now() => format!("the client certificate of {user} expired at {end}"),
                _ => "they may have expired".to_owned(),
            };
            format!("{server} does not accept the credentials: {reason}")
        }
        404 if !names_object(status) => {
            "the server has no such API (404): check the server of the context, with its path".to_owned()
        }
        code if is_temporary_code(code) => format!("status {code}: try again later"),
        _ => return None,
    })
}

/// Returns true if the response names an object that does not exist.
fn names_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

/// Returns the address of the apiserver, and the context that contains it.
async fn apiserver(context: Option<&str>, entries: &ContextEntries) -> String {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let Ok(config) = client::load(&options).await else {
        return Config::infer().await.map_or_else(|_| "the apiserver".to_owned(), |config| address(&config));
    };
    match entries.context() {
        Some(name) => format!("{} (context {name})", address(&config)),
        None => address(&config),
    }
}

/// Returns the messages of an error and its causes, up to the message of the apiserver's response.
fn messages(chain: &[&(dyn Error + 'static)]) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for cause in chain {
        let status = api_status(*cause);
        let message = status.map_or_else(|| cause.to_string(), response);
        // A cause that its error already repeats is omitted.
        if !message.is_empty() && !messages.last().is_some_and(|last| last.ends_with(&message)) {
            messages.push(message);
        }
        if status.is_some() {
            break;
        }
    }
    messages
}

/// Returns the message of a response; empty if the advice replaces it.
fn response(status: &Status) -> String {
    let message: String = status.message.trim().chars().take(MAX_MESSAGE).collect();
    match status.code {
        404 if !names_object(status) => String::new(),
        code if message.is_empty() && !is_temporary_code(code) => format!("status {code}"),
        _ => message,
    }
}

/// Returns the request of an error that repeats it, and whose causes do not contain it.
fn request_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a RequestError> {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(ReadError::Request(request)), _) | (_, Some(LiveError::Bounded(request))) => Some(request),
        _ => error.downcast_ref(),
    }
}

fn kube_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a kube::Error> {
    error.downcast_ref().or_else(|| error.downcast_ref::<Box<kube::Error>>().map(|boxed| &**boxed))
}

/// Returns `error` and its causes.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut chain = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        chain.push(error);
        // The source of an I/O error is that of the error in it.
        let inner = error.downcast_ref().and_then(io::Error::get_ref);
        next = inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
    }
    chain
}
