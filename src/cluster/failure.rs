//! Describes failed requests for people: each cause once, and the apiserver's address and the kubeconfig context if it
//! cannot be reached.

use std::error::Error;
use std::io;

use kube::Config;
use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::request::RequestError;

/// Maximum length of the output of a credential plugin in a message, in characters.
const MAX_PRINTED: usize = 300;

/// Describes `error`, which a client for `context` or the current context returned.
pub async fn describe(error: &(dyn Error + 'static), context: Option<&str>) -> String {
    let is_plugin = || chain(error).iter().any(|cause| credential_plugin(*cause).is_some());
    match connection_error(error).filter(|_| !is_plugin()) {
        Some(cause) => format!("cannot reach {}: {cause}", apiserver(context).await),
        None if is_unauthorized(error) => {
            let text = causes(error);
            format!("{text}: {} does not accept the credentials: they may have expired", apiserver(context).await)
        }
        None => causes(error),
    }
}

/// Returns true if the apiserver was not reached.
#[must_use]
pub fn is_unreachable(error: &(dyn Error + 'static)) -> bool {
    connection_error(error).is_some()
}

/// Returns true if the apiserver does not accept the credentials.
fn is_unauthorized(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|cause| matches!(kube_error(*cause), Some(kube::Error::Api(status)) if status.code == 401))
}

/// Returns the address of the apiserver, and the context that contains it.
async fn apiserver(context: Option<&str>) -> String {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let address = |config: Config| config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let Ok(config) = Config::from_kubeconfig(&options).await else {
        return Config::infer().await.map_or_else(|_| "the apiserver".to_owned(), address);
    };
    let current = || Kubeconfig::read().ok().and_then(|kubeconfig| kubeconfig.current_context);
    match context.map(str::to_owned).or_else(current) {
        Some(name) => format!("{} (context {name})", address(config)),
        None => address(config),
    }
}

/// Returns the cause of a failed connection; `None` if the apiserver was reached.
fn connection_error(error: &(dyn Error + 'static)) -> Option<String> {
    let chain = chain(error);
    if chain.iter().any(|cause| matches!(cause.downcast_ref(), Some(RequestError::TimedOut(_)))) {
        return Some("no response in time".to_owned());
    }
    let is_transport = |error: &kube::Error| matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_));
    let root = chain.last().filter(|_| chain.iter().any(|cause| kube_error(*cause).is_some_and(is_transport)))?;
    Some(match root.downcast_ref::<io::Error>() {
        // The text of the kind omits the number of the error, which depends on the platform.
        Some(error) if is_descriptive(error.kind()) => error.kind().to_string(),
        _ => root.to_string(),
    })
}

/// Returns the messages of `error` and its causes, up to the message of the apiserver's response.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in chain(error) {
        let status = match kube_error(cause) {
            Some(kube::Error::Api(status)) => Some(status.message.as_str()).filter(|message| !message.is_empty()),
            _ => None,
        };
        let plugin = credential_plugin(cause);
        let message = plugin.clone().or_else(|| status.map(str::to_owned)).unwrap_or_else(|| cause.to_string());
        if !text.ends_with(&message) {
            text += if text.is_empty() { "" } else { ": " };
            text += &message;
        }
        if status.is_some() || plugin.is_some() {
            break;
        }
    }
    text
}

/// Describes the failure of a credential plugin that the kubeconfig names: its program and the start of its standard error.
/// Its arguments, environment and output may contain credentials.
fn credential_plugin(error: &(dyn Error + 'static)) -> Option<String> {
    let failed = match kube_error(error) {
        Some(kube::Error::Auth(failed)) => Some(failed),
        // The renewal of a token is part of the request.
        Some(kube::Error::Service(inner)) => inner.downcast_ref(),
        _ => error.downcast_ref(),
    };
    let AuthError::AuthExecRun { cmd, out } = failed? else { return None };
    let printed = String::from_utf8_lossy(&out.stderr);
    let printed: String = printed.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_PRINTED).collect();
    let separator = if printed.is_empty() { "" } else { ": " };
    let program = program(cmd).unwrap_or("of the kubeconfig");
    Some(format!("the credential plugin {program} failed ({}){separator}{printed}", out.status))
}

/// Returns the program of a command as `Command` formats it for debugging: `NAME="value" … "program" "argument" …`.
fn program(command: &str) -> Option<&str> {
    let end_of_text = |text: &str| {
        let mut is_escaped = false;
        text.find(|letter| {
            let is_end = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        })
    };
    let mut rest = command.trim_start();
    loop {
        if let Some(text) = rest.strip_prefix('"') {
            return text.get(..end_of_text(text)?);
        }
        let (_, value) = rest.split_once("=\"")?;
        rest = value.get(end_of_text(value)? + 1..)?.trim_start();
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
        next = error.source();
    }
    chain
}

/// Returns true if the text of `kind` describes the error completely.
fn is_descriptive(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(kind, ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable | TimedOut)
}
