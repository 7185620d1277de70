//! Describes failed requests for people: each cause once, and the apiserver's address and the kubeconfig context if it
//! cannot be reached.

use std::error::Error;
use std::io;

use kube::Config;
use kube::client::AuthError;
use kube::config::KubeConfigOptions;
use kube::core::Status;

use super::client;
use super::request::RequestError;

/// Maximum length of the output of a credential plugin in a message, in characters.
const MAX_PRINTED: usize = 300;

/// Describes `error`, which a client for `context` or the current context returned.
pub async fn describe(error: &(dyn Error + 'static), context: Option<&str>) -> String {
    if let Some(cause) = chain(error).iter().find_map(|cause| unstarted_plugin(*cause)) {
        let program = plugin_of(context).unwrap_or_else(|| "of the kubeconfig".to_owned());
        return format!("cannot run the credential plugin {program}: {cause}");
    }
    if chain(error).iter().any(|cause| is_web_page(*cause)) {
        return format!("{} is no apiserver: check the server of the context, with its path", apiserver(context).await);
    }
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

/// Returns true if the apiserver forbids the request to the user.
#[must_use]
pub fn is_forbidden(error: &(dyn Error + 'static)) -> bool {
    let is_denied = |cause: &(dyn Error + 'static)| api_status(cause).is_some_and(Status::is_forbidden);
    chain(error).iter().any(|cause| is_denied(*cause) && !is_web_page(*cause))
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

/// Returns true if the apiserver does not accept the credentials.
fn is_unauthorized(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|cause| api_status(*cause).is_some_and(|status| status.code == 401))
}

/// Returns the address of the apiserver, and the context that contains it.
async fn apiserver(context: Option<&str>) -> String {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let address = |config: Config| config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let Ok(config) = client::load(&options).await else {
        return Config::infer().await.map_or_else(|_| "the apiserver".to_owned(), address);
    };
    let current = || client::read_kubeconfig().ok().and_then(|kubeconfig| kubeconfig.current_context);
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
        let status = api_status(cause).map(|status| status.message.as_str()).filter(|message| !message.is_empty());
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
    let AuthError::AuthExecRun { cmd, out } = auth_error(error)? else { return None };
    let printed = String::from_utf8_lossy(&out.stderr);
    let printed: String = printed.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_PRINTED).collect();
    let separator = if printed.is_empty() { "" } else { ": " };
    let program = program(cmd).unwrap_or("of the kubeconfig");
    Some(format!("the credential plugin {program} failed ({}){separator}{printed}", out.status))
}

/// Returns why a credential plugin could not be started.
fn unstarted_plugin(error: &(dyn Error + 'static)) -> Option<String> {
    let AuthError::AuthExecStart(cause) = auth_error(error)? else { return None };
    Some(if cause.kind() == io::ErrorKind::NotFound {
        "it is not in the PATH".to_owned()
    } else {
        cause.kind().to_string()
    })
}

fn auth_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a AuthError> {
    match kube_error(error) {
        Some(kube::Error::Auth(failed)) => Some(failed),
        // The renewal of a token is part of the request.
        Some(kube::Error::Service(inner)) => inner.downcast_ref(),
        _ => error.downcast_ref(),
    }
}

/// Returns the credential plugin of the user of `context` or the current context, with the name of the user.
fn plugin_of(context: Option<&str>) -> Option<String> {
    let kubeconfig = client::read_kubeconfig().ok()?;
    let name = context.map(str::to_owned).or(kubeconfig.current_context)?;
    let user = kubeconfig.contexts.into_iter().find(|known| known.name == name)?.context?.user?;
    let named = kubeconfig.auth_infos.into_iter().find(|known| known.name == user)?;
    let command = named.auth_info?.exec?.command?;
    Some(format!("{command} (user {user})"))
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
