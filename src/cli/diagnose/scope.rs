//! Flags that select a cluster and namespaces of it.

use clap::Args;

use crate::cli::installation::InstallationArguments;

/// A cluster, and namespaces of it.
#[derive(Debug, Args)]
pub(in crate::cli) struct ScopeArguments {
    /// Namespace [default: that of the context; all for a dump]
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    pub(in crate::cli) namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long)]
    pub(in crate::cli) all_namespaces: bool,
    /// Name of the kubeconfig context to use
    #[arg(long, value_name = "CONTEXT", conflicts_with = "filename")]
    pub(in crate::cli) context: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) installation: InstallationArguments,
}
