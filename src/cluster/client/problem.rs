//! Describes for people why a kubeconfig cannot be used: the file, the context and its entries, and the fix.

use std::env;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use kube::client::{AuthError, RustlsTlsError};
use kube::config::{InferConfigError, Kubeconfig, KubeconfigError, LoadDataError};

use super::{listed_files, read_kubeconfig};
use crate::cluster::context::ContextEntries;

/// Maximum number of contexts in a message.
const MAX_CONTEXTS: usize = 10;

/// Returns why no cluster was found. Omits the failed attempt to use the service account of a pod.
pub(super) fn no_cluster(error: &InferConfigError) -> String {
    let cause = error.source().and_then(|source| source.downcast_ref());
    cause.map_or_else(|| "found no cluster: set KUBECONFIG".to_owned(), |cause| unusable(cause, None))
}

/// Describes why `context`, or else the current one, cannot be used.
pub(super) fn unusable(error: &KubeconfigError, context: Option<&str>) -> String {
    let entries = ContextEntries::read(None, context);
    let problem = problem(error, None, &entries);
    match context.or_else(|| entries.context().filter(|_| is_of_entries(error))) {
        Some(context) => unusable_context(Some(context), &problem),
        None => format!("found no cluster: {problem}"),
    }
}

/// Describes why the kubeconfig at `path` cannot be used.
pub(super) fn unusable_file(error: &KubeconfigError, path: &Path) -> String {
    let entries = ContextEntries::read(Some(path), None);
    unusable_entry(&problem(error, Some(path), &entries), Some(path), &entries)
}

/// Returns the message that an entry of the kubeconfig at `path`, or at the default locations, cannot be used.
pub(super) fn unusable_entry(problem: &str, path: Option<&Path>, entries: &ContextEntries) -> String {
    match path {
        Some(path) => format!("could not use the kubeconfig {}: {problem}", path.display()),
        None => unusable_context(entries.context(), problem),
    }
}

/// Describes an error that prevents the creation of a client for `entries`; `None` if it is not of the configuration.
pub(in crate::cluster) fn client_problem(error: &kube::Error, entries: &ContextEntries) -> Option<String> {
    Some(match error {
        kube::Error::InferKubeconfig(cause) => problem(cause, None, entries),
        kube::Error::RustlsTls(cause) => tls_problem(cause, entries),
        kube::Error::ProxyProtocolDisabled { proxy_url, .. } | kube::Error::ProxyProtocolUnsupported { proxy_url } => {
            // The URL may contain a password.
            let host = proxy_url.host().unwrap_or_default();
            let fix = if entries.has_proxy() {
                format!("remove proxy-url of {}", entries.cluster())
            } else {
                format!("add the server of {} to NO_PROXY, if it can be reached without", entries.cluster())
            };
            format!("trainmesh does not connect through a proxy ({host}): {fix}, or use kubectl proxy")
        }
        _ => return None,
    })
}

/// Describes a problem with the credentials of `entries` that is not one of a plugin.
pub(in crate::cluster) fn credential_problem(error: &AuthError, entries: &ContextEntries) -> String {
    let user = entries.user();
    match error {
        AuthError::ReadTokenFile(cause, path) => unreadable("tokenFile", path, &user, cause),
        AuthError::InvalidBearerToken(_) => format!("the token of {user} contains characters that no token has"),
        AuthError::InvalidBasicAuth(_) => format!("the password of {user} contains characters that no password has"),
        _ if entries.has_auth_provider() => {
            format!(
                "the auth-provider of {user} cannot be used ({error}): use the credential plugin of the provider (exec)"
            )
        }
        other => format!("the credentials of {user} are not usable: {other}"),
    }
}

/// Returns the message that `context`, or else the configuration, cannot be used because of `problem`.
pub(in crate::cluster) fn unusable_context(context: Option<&str>, problem: &str) -> String {
    match context {
        Some(context) => format!("could not use the context {context}: {problem}"),
        None => format!("could not use the cluster's configuration: {problem}"),
    }
}

/// Returns true if the error is one of the cluster or user of the context.
fn is_of_entries(error: &KubeconfigError) -> bool {
    use KubeconfigError as E;
    matches!(
        error,
        E::LoadCertificateAuthority(_)
            | E::LoadClientCertificate(_)
            | E::LoadClientKey(_)
            | E::ParseCertificates(_)
            | E::MissingClusterUrl
            | E::ParseClusterUrl(_)
            | E::ParseProxyUrl(_)
    )
}

fn no_current_context() -> String {
    "the kubeconfig has no current context: set KUBECONFIG, or use --context".to_owned()
}

/// Describes a problem of the kubeconfig at `path`, or at the default locations, with its fix.
fn problem(error: &KubeconfigError, path: Option<&Path>, entries: &ContextEntries) -> String {
    match error {
        KubeconfigError::ReadConfig(cause, path) if cause.kind() == io::ErrorKind::NotFound => {
            let path = path.display();
            match env::var_os("KUBECONFIG") {
                Some(_) => format!("KUBECONFIG names {path}, which does not exist"),
                None => format!("{path} does not exist: create it, or set KUBECONFIG"),
            }
        }
        KubeconfigError::ReadConfig(cause, path) => format!("{}: {cause}", path.display()),
        KubeconfigError::Parse(cause) => {
            let invalid = path.map(Path::to_owned).or_else(invalid_file);
            let name = invalid.map(|path| format!(" {}", path.display())).unwrap_or_default();
            format!("the kubeconfig{name} is not valid: {cause}")
        }
        KubeconfigError::CurrentContextNotSet => no_current_context(),
        // `kubectl config unset current-context` leaves an empty name.
        KubeconfigError::LoadContext(context) if context.is_empty() => no_current_context(),
        KubeconfigError::LoadContext(context) => {
            let existing = contexts(path);
            if existing.contains(context) {
                return format!("the context {context} is empty: set its cluster and user");
            }
            format!("the kubeconfig has no context {context}; it has {}", listed(existing))
        }
        KubeconfigError::LoadClusterOfContext(cluster) if cluster.is_empty() => {
            "the context names no cluster: set its cluster".to_owned()
        }
        KubeconfigError::LoadClusterOfContext(cluster) => {
            format!("the kubeconfig has no cluster {cluster}, which the context names")
        }
        KubeconfigError::LoadCertificateAuthority(cause) => {
            unloaded("certificate-authority", &entries.cluster(), cause)
        }
        KubeconfigError::LoadClientCertificate(cause) => unloaded("client-certificate", &entries.user(), cause),
        KubeconfigError::LoadClientKey(cause) => unloaded("client-key", &entries.user(), cause),
        KubeconfigError::ParseCertificates(cause) => {
            format!("the certificate authority of {} is not valid PEM: {cause}", entries.cluster())
        }
        KubeconfigError::MissingClusterUrl => format!("{} has no server", entries.cluster()),
        KubeconfigError::ParseClusterUrl(cause) => {
            format!("the server of {} is not a valid URL: {cause}", entries.cluster())
        }
        KubeconfigError::ParseProxyUrl(cause) if entries.has_proxy() => {
            format!("proxy-url of {} is not a valid URL: {cause}", entries.cluster())
        }
        KubeconfigError::ParseProxyUrl(cause) => format!("HTTPS_PROXY is not a valid URL: {cause}"),
        KubeconfigError::FindPath => "the home directory is unknown: set KUBECONFIG".to_owned(),
        other => other.to_string(),
    }
}

/// Describes why `field` of `entry` could not be loaded.
fn unloaded(field: &str, entry: &str, error: &LoadDataError) -> String {
    match error {
        LoadDataError::ReadFile(cause, path) => unreadable(field, path, entry, cause),
        LoadDataError::DecodeBase64(cause) => format!("{field}-data of {entry} is not valid base64: {cause}"),
        LoadDataError::NoBase64DataOrFile => format!("{entry} has no {field}"),
    }
}

fn unreadable(field: &str, path: &Path, entry: &str, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path}, the {field} of {entry}, does not exist"),
        kind => format!("could not read {path}, the {field} of {entry}: {kind}"),
    }
}

fn tls_problem(error: &RustlsTlsError, entries: &ContextEntries) -> String {
    let user = entries.user();
    match error {
        RustlsTlsError::InvalidIdentityPem(cause) => {
            format!("the client certificate or key of {user} is not valid PEM: {cause}")
        }
        RustlsTlsError::MissingPrivateKey | RustlsTlsError::UnknownPrivateKeyFormat => {
            format!("the client key of {user} contains no private key in PEM")
        }
        RustlsTlsError::MissingCertificate => {
            format!("the client certificate of {user} contains no certificate in PEM")
        }
        RustlsTlsError::InvalidPrivateKey(cause) => {
            format!("the client key of {user} is not usable with its certificate: {cause}")
        }
        RustlsTlsError::AddRootCertificate(cause) if entries.has_authority() => {
            format!("the certificate authority of {} is not valid: {cause}", entries.cluster())
        }
        RustlsTlsError::AddRootCertificate(cause) => {
            let cluster = entries.cluster();
            format!("{cluster} has no certificate-authority, and this machine has no usable CAs: {cause}")
        }
        RustlsTlsError::InvalidServerName(cause) => {
            format!("the tls-server-name of {} is not a name: {cause}", entries.cluster())
        }
        other @ RustlsTlsError::NoValidNativeRootCA(_) => other.to_string(),
    }
}

/// Returns the first file of the default locations that is not valid YAML: those in `KUBECONFIG`, or else `~/.kube/config`.
fn invalid_file() -> Option<PathBuf> {
    let mut paths = listed_files();
    if paths.is_empty() {
        paths.extend(env::home_dir().map(|home| home.join(".kube/config")));
    }
    paths.into_iter().find(|path| matches!(Kubeconfig::read_from(path), Err(KubeconfigError::Parse(_))))
}

/// Returns the names of the contexts of the kubeconfig at `path`, or at the default locations.
fn contexts(path: Option<&Path>) -> Vec<String> {
    let kubeconfig = path.map_or_else(read_kubeconfig, Kubeconfig::read_from);
    kubeconfig.into_iter().flat_map(|kubeconfig| kubeconfig.contexts).map(|context| context.name).collect()
}

/// Lists the first names.
fn listed(mut names: Vec<String>) -> String {
    let omitted = names.len().saturating_sub(MAX_CONTEXTS);
    names.truncate(MAX_CONTEXTS);
    match (names.is_empty(), omitted) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, _) => format!("{} and {omitted} more", names.join(", ")),
    }
}
