//! The lookup of a `TrainJob`'s runtime.

use std::sync::Arc;

use serde_json::Value;

use super::stock;
use crate::hint::nearest;
use crate::manifest::Document;
use crate::workload::template::Field;
use crate::workload::{
    AssumedRuntime, CLUSTER_RUNTIME, Manifest, NAMESPACED_RUNTIME, RenderError, RuntimeReference, Runtimes,
    StockRuntimes, TRAINER_GROUP, TrainerVersion,
};

/// The runtime of a `TrainJob`.
pub(super) struct FoundRuntime<'a> {
    /// `spec` of the runtime.
    pub(super) spec: Field<'a>,
    /// Set if the runtime is a stock runtime that is assumed.
    pub(super) assumed: Option<AssumedRuntime>,
    /// Manifest of the runtime, if the input contains it.
    pub(super) document: Option<Arc<Document>>,
}

/// Maximum number of runtimes that a message lists.
const MAX_NAMES: usize = 5;

/// Returns the runtime: that of the input, or else the stock runtime that is assumed, of `version` or, if the user selected no
/// version, of the newest version that has it.
pub(super) fn find<'a>(
    manifest: &Manifest<'a>,
    job: &Field<'a>,
    version: TrainerVersion,
) -> Result<FoundRuntime<'a>, RenderError> {
    let reference = job.get("runtimeRef");
    let name = reference.get("name").required_text()?;
    if reference.get("apiGroup").raw_text()?.is_some_and(|group| group != TRAINER_GROUP) {
        return Err(reference.get("apiGroup").invalid(TRAINER_GROUP));
    }
    let namespace = match reference.get("kind").raw_text()?.unwrap_or(CLUSTER_RUNTIME) {
        CLUSTER_RUNTIME => None,
        NAMESPACED_RUNTIME => Some(manifest.namespace.to_owned()),
        _ => return Err(reference.get("kind").invalid("TrainingRuntime or ClusterTrainingRuntime")),
    };
    let key = RuntimeReference { namespace, name: name.to_owned() };
    let spec = |found| Field::with_path(found, format!("runtime {name}")).get("spec");
    let runtimes = manifest.runtimes;
    if let Some(found) = runtimes.by_name.get(&key) {
        return Ok(FoundRuntime { spec: spec(&found.value), assumed: None, document: Some(Arc::clone(found)) });
    }
    if key.namespace.is_none()
        && let Some((found, assumed)) = find_stock(name, version, runtimes.stock)
    {
        return Ok(FoundRuntime { spec: spec(found), assumed: Some(assumed), document: None });
    }
    if let Some(message) = of_another_kind(runtimes, &key) {
        return Err(RenderError::Unresolved { path: reference.get("name").path().to_owned(), message });
    }
    let of_stock = stock::nearest_name(name, runtimes.stock).filter(|_| key.namespace.is_none());
    let near = of_input(runtimes, &key, MAX_NAMES).find(|known| nearest(name, &[known]).is_some()).or(of_stock);
    let question = near.map(|near| format!("did you mean {near}?"));
    let near = question.as_ref().map(|question| format!("; {question}")).unwrap_or_default();
    let message = match runtimes.stock {
        StockRuntimes::None => format!("runtime {name} is neither in the input nor in the cluster: add its manifest"),
        StockRuntimes::Newest => {
            format!("runtime {name} is not in the input: add its manifest, or set --runtime FILE{near}")
        }
        StockRuntimes::Version(version) => {
            let version = version.name();
            format!(
                "runtime {name} is neither in the input nor in Kubeflow Trainer {version}: set --runtime FILE{near}"
            )
        }
    };
    let message = known_names(runtimes, &key).map_or(message, |known| {
        let question = question.map(|question| format!(": {question}")).unwrap_or_default();
        format!("runtime {name} is not in the input, which contains {known}{question}")
    });
    Err(RenderError::Unresolved { path: reference.get("name").path().to_owned(), message })
}

/// Returns the message about a reference to a runtime of the other kind, or of another namespace.
fn of_another_kind(runtimes: &Runtimes, reference: &RuntimeReference) -> Option<String> {
    let name = &reference.name;
    let (kind, other) = if reference.namespace.is_some() {
        (NAMESPACED_RUNTIME, CLUSTER_RUNTIME)
    } else {
        (CLUSTER_RUNTIME, NAMESPACED_RUNTIME)
    };
    let mut known = runtimes.by_name.keys().filter(|known| known.name == *name);
    let message = match known.next().map(|known| known.namespace.as_deref()) {
        Some(Some(namespace)) if reference.namespace.is_some() => {
            format!(
                "{kind} {name} is not in this namespace, but in {namespace}: a TrainJob uses those of its own namespace"
            )
        }
        Some(Some(namespace)) => format!(
            "{kind} {name} is not in the input, which contains a {other} of this name for TrainJobs in {namespace}: set \
             runtimeRef.kind to {other} there"
        ),
        Some(None) => format!(
            "{kind} {name} is not in the input, which contains a {other} of this name: set runtimeRef.kind to {other}"
        ),
        None if reference.namespace.is_some() && stock::find(name, runtimes.stock).is_some() => {
            format!(
                "{kind} {name} is not in the input; Kubeflow Trainer installs a {other} of this name: set runtimeRef.kind to {other}"
            )
        }
        None => return None,
    };
    Some(message)
}

/// Lists the runtimes of the input to which `reference` may be meant to refer.
fn known_names(runtimes: &Runtimes, reference: &RuntimeReference) -> Option<String> {
    let names: Vec<&str> = of_input(runtimes, reference, MAX_NAMES).collect();
    let others = if of_input(runtimes, reference, usize::MAX).nth(MAX_NAMES).is_some() { ", …" } else { "" };
    (!names.is_empty()).then(|| format!("{}{others}", names.join(", ")))
}

/// Returns at most `limit` names of runtimes of the input that are of the kind and namespace of `reference`.
fn of_input<'a>(runtimes: &'a Runtimes, reference: &RuntimeReference, limit: usize) -> impl Iterator<Item = &'a str> {
    let known = runtimes.by_name.keys().filter(move |known| known.namespace == reference.namespace);
    known.map(|known| known.name.as_str()).take(limit)
}

fn find_stock(name: &str, version: TrainerVersion, stock: StockRuntimes) -> Option<(&'static Value, AssumedRuntime)> {
    if stock == StockRuntimes::Newest
        && let Some((found, assumed)) = stock::find(name, StockRuntimes::Version(version))
    {
        return Some((found, AssumedRuntime { is_selected: false, ..assumed }));
    }
    stock::find(name, stock)
}
