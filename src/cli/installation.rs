//! Where trainmesh is installed, as a command is told.

use trainmesh_core::scope::Installation;

/// Where trainmesh is installed.
#[derive(Debug, clap::Args)]
pub(super) struct InstallationArguments {
    /// The namespace that trainmesh is installed in [default: that which 0-trainmesh calls, else trainmesh-system]
    #[arg(long, value_name = "NAMESPACE", env = "TRAINMESH_NAMESPACE")]
    trainmesh_namespace: Option<Installation>,
}

impl InstallationArguments {
    /// The installation, without a cluster.
    pub(super) fn offline(&self) -> Installation {
        self.trainmesh_namespace.clone().unwrap_or_default()
    }

    /// Whether it was named.
    #[cfg(feature = "cluster")]
    pub(super) fn is_given(&self) -> bool {
        self.trainmesh_namespace.is_some()
    }
}
