//! Diagnoses a live cluster.

use anstream::ColorChoice;

use super::Arguments;
use crate::cli::live::{configuration_or_embedded, describe_error, runtime};
use crate::cli::status_message::with_status;
use crate::cli::{print_note, stderr};
use crate::cluster::diagnosis::{ReadSnapshot, read_snapshot};
use crate::cluster::{client, clock};
use trainmesh_core::diagnosis::{DiagnosisReport, Selection, diagnose};

/// Reads the objects of the selected namespace, or of all, and diagnoses them at the apiserver's time.
pub(super) fn diagnose_cluster(arguments: &Arguments) -> anyhow::Result<DiagnosisReport> {
    let Arguments { target, namespace, all_namespaces, context, installation, .. } = arguments;
    runtime()?.block_on(describe_error(context.as_deref(), async {
        let client = client::connect(None, context.as_deref()).await?;
        let namespace = match namespace {
            _ if *all_namespaces => None,
            Some(namespace) => Some(namespace.clone()),
            None => Some(client.default_namespace().to_owned()),
        };
        let installation = installation.discover(&client).await?;
        let settings = configuration_or_embedded(&client, &installation).await?.termination;
        // Read first: later objects are newer than it, never older.
        let now = clock::now(&client).await?;
        let reading = read_snapshot(&client, namespace.as_deref(), settings);
        let ReadSnapshot { snapshot, forbidden } = with_status("reading the cluster", Box::pin(reading)).await?;
        if !forbidden.is_empty() {
            let resources = forbidden.join(", ");
            print_note(
                &mut stderr(ColorChoice::Auto),
                format_args!("not checked, because you may not list them: {resources}"),
            );
        }
        Ok(diagnose(&snapshot, &Selection { target: target.clone(), namespace }, now))
    }))
}
