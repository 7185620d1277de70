//! Flag for the namespace of the installation.

use super::config::InstallationFacts;
use trainmesh_core::scope::Installation;

/// Namespace of the installation.
#[derive(Debug, clap::Args)]
pub(super) struct InstallationArguments {
    /// Namespace that trainmesh is installed in [default: from the webhook configuration 0-trainmesh, or from
    /// namespaceOverride of Helm values, else trainmesh-system]
    #[arg(long, value_name = "NAMESPACE", env = "TRAINMESH_NAMESPACE")]
    trainmesh_namespace: Option<Installation>,
}

impl InstallationArguments {
    /// Returns the installation without reading it from a cluster, with the facts of Helm values.
    pub(super) fn offline_with(&self, mut values: InstallationFacts) -> Installation {
        let of_values = values.namespace.take().map(Installation::from);
        let installation = self.trainmesh_namespace.clone().or(of_values).unwrap_or_default();
        values.add_to(installation)
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
