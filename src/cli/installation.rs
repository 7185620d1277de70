//! Flag for the namespace of the installation.

use super::config::InstallationFacts;
use super::input::parse_namespace;
use trainmesh_core::scope::Installation;

/// Namespace of the installation.
#[derive(Debug, clap::Args)]
pub(super) struct InstallationArguments {
    /// Namespace that trainmesh is installed in [default: from the webhook configuration 0-trainmesh, or from
    /// namespaceOverride of Helm values, else trainmesh-system]
    #[arg(long, value_name = "NAMESPACE", value_parser = parse_installation, env = "TRAINMESH_NAMESPACE")]
    trainmesh_namespace: Option<Installation>,
}

/// Namespace of the installation, for a command that reads no cluster.
#[derive(Debug, clap::Args)]
pub(super) struct OfflineInstallationArguments {
    /// Namespace that trainmesh is installed in [default: from namespaceOverride of Helm values, else trainmesh-system]
    #[arg(long, value_name = "NAMESPACE", value_parser = parse_installation, env = "TRAINMESH_NAMESPACE")]
    trainmesh_namespace: Option<Installation>,
}

impl InstallationArguments {
    /// Returns the installation without reading it from a cluster, with the facts of Helm values.
    pub(super) fn offline_with(&self, values: InstallationFacts) -> Installation {
        with_values(self.trainmesh_namespace.as_ref(), values)
    }

    /// Returns the installation without reading it from a cluster.
    #[cfg(feature = "cluster")]
    pub(super) fn offline(&self) -> Installation {
        self.trainmesh_namespace.clone().unwrap_or_default()
    }

    /// Returns true if the flag is set.
    #[cfg(feature = "cluster")]
    pub(super) fn is_given(&self) -> bool {
        self.trainmesh_namespace.is_some()
    }
}

impl OfflineInstallationArguments {
    /// Returns the installation with the facts of Helm values.
    pub(super) fn with_values(&self, values: InstallationFacts) -> Installation {
        with_values(self.trainmesh_namespace.as_ref(), values)
    }
}

/// Returns the installation of the flag, or else that of Helm values, with their facts.
fn with_values(given: Option<&Installation>, mut values: InstallationFacts) -> Installation {
    let of_values = values.namespace.take().map(Installation::from);
    let installation = given.cloned().or(of_values).unwrap_or_default();
    values.add_to(installation)
}

/// Parses the namespace of an installation. An empty one is the default.
pub(super) fn parse_installation(text: &str) -> Result<Installation, String> {
    let namespace = parse_namespace(text)?;
    Ok(if namespace.is_empty() { Installation::default() } else { Installation::from(namespace) })
}
