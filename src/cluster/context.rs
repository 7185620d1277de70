//! The entries of the kubeconfig that a context names, for messages.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::config::{AuthInfo, Cluster, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::client;

/// Maximum length of a file with a client certificate in bytes.
const MAX_CERTIFICATE: u64 = 1 << 20;

/// A context of a kubeconfig, and the cluster and user that it names.
#[derive(Debug, Default)]
pub(super) struct ContextEntries {
    context: Option<String>,
    cluster_name: Option<String>,
    user_name: Option<String>,
    cluster: Cluster,
    user: AuthInfo,
    has_user: bool,
}

impl ContextEntries {
    /// Reads the entries of `context` or the current one, from the kubeconfig at `path` or the one that kubectl would use. What
    /// does not exist, or cannot be read, is empty.
    pub(super) fn read(path: Option<&Path>, context: Option<&str>) -> Self {
        let kubeconfig = path.map_or_else(client::read_kubeconfig, Kubeconfig::read_from);
        kubeconfig.map_or_else(|_| Self::default(), |kubeconfig| Self::of(kubeconfig, context))
    }

    fn of(kubeconfig: Kubeconfig, context: Option<&str>) -> Self {
        let Some(name) = context.map(str::to_owned).or(kubeconfig.current_context) else { return Self::default() };
        let named = kubeconfig.contexts.into_iter().find(|known| known.name == name).and_then(|known| known.context);
        let Some(named) = named else { return Self::default() };
        let cluster = kubeconfig.clusters.into_iter().find(|known| known.name == named.cluster);
        let user = kubeconfig.auth_infos.into_iter().find(|known| Some(&known.name) == named.user.as_ref());
        Self {
            context: Some(name),
            cluster_name: Some(named.cluster),
            has_user: user.is_some(),
            user_name: named.user,
            cluster: cluster.and_then(|known| known.cluster).unwrap_or_default(),
            user: user.and_then(|known| known.auth_info).unwrap_or_default(),
        }
    }

    /// Returns the name of the context.
    pub(super) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns the cluster: `cluster NAME`, or a general term.
    pub(super) fn cluster(&self) -> String {
        self.cluster_name.as_ref().map_or_else(|| "the cluster".to_owned(), |name| format!("cluster {name}"))
    }

    /// Returns the user: `user NAME`, or a general term.
    pub(super) fn user(&self) -> String {
        self.user_name.as_ref().map_or_else(|| "the user".to_owned(), |name| format!("user {name}"))
    }

    /// Returns the name of the user, if it does not exist.
    pub(super) fn missing_user(&self) -> Option<&str> {
        self.user_name.as_deref().filter(|name| !self.has_user && !name.is_empty())
    }

    /// Returns true if the user has an authentication provider.
    pub(super) fn has_auth_provider(&self) -> bool {
        self.user.auth_provider.is_some()
    }

    /// Returns the program of the user's credential plugin.
    pub(super) fn plugin(&self) -> Option<&str> {
        self.user.exec.as_ref()?.command.as_deref().filter(|command| !command.is_empty())
    }

    /// Returns true if the cluster names a proxy.
    pub(super) fn has_proxy(&self) -> bool {
        self.cluster.proxy_url.as_ref().is_some_and(|url| !url.is_empty())
    }

    /// Returns true if the cluster names a CA. Otherwise, those of the machine count.
    pub(super) fn has_authority(&self) -> bool {
        let Cluster { certificate_authority, certificate_authority_data, .. } = &self.cluster;
        [certificate_authority, certificate_authority_data].into_iter().flatten().any(|value| !value.is_empty())
    }

    /// Returns true if the user has a client certificate, or a plugin that may return one.
    pub(super) fn has_client_certificate(&self) -> bool {
        let AuthInfo { client_certificate, client_certificate_data, exec, .. } = &self.user;
        exec.is_some() || client_certificate.is_some() || client_certificate_data.is_some()
    }

    /// Returns the end of the validity of the user's client certificate, if it is in the kubeconfig and can be read.
    pub(super) fn client_certificate_end(&self) -> Option<Timestamp> {
        let AuthInfo { client_certificate, client_certificate_data, .. } = &self.user;
        let text = match (client_certificate_data, client_certificate) {
            (Some(data), _) if !data.is_empty() => {
                serde_json::from_value::<ByteString>(Value::String(data.clone())).ok()?.0
            }
            (_, path) => {
                let mut text = Vec::new();
                File::open(path.as_ref()?).ok()?.take(MAX_CERTIFICATE).read_to_end(&mut text).ok()?;
                text
            }
        };
        let first = CertificateDer::from_pem_slice(&text).ok()?;
        let (_, certificate) = X509Certificate::from_der(&first).ok()?;
        Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
    }
}
