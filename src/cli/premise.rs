//! The namespace labels that a preview or lint assumes.

use std::collections::BTreeMap;
use std::io::Write;

use super::print_note;
use trainmesh_core::keys;
use trainmesh_core::names::join_names;
use trainmesh_core::preview::ManifestContext;
use trainmesh_core::render::Premise;

/// Labels by namespace.
pub(super) type AssumedLabels = BTreeMap<String, BTreeMap<String, String>>;

/// Namespaces with assumed labels.
#[derive(Debug, Default)]
pub(super) struct AssumedNamespaces {
    /// Their labels.
    pub(super) labels: AssumedLabels,
    /// File and line of the first workload in each, and the Namespace of the input with a similar name.
    places: BTreeMap<String, (String, Option<String>)>,
}

/// Describes where the labels of namespaces are from, which labels are assumed for the others, and which flags add to all.
pub(super) fn premise(context: &ManifestContext, from_cluster: bool) -> Premise {
    let added = context.added_labels();
    let without_added =
        |labels: &BTreeMap<String, String>| list(labels.iter().filter(|(key, value)| added.get(*key) != Some(*value)));
    let added: Vec<String> =
        added.iter().map(|(key, value)| format!("; {key}={value} for all ({})", flag(key))).collect();
    let added = added.concat();
    if let Some(labels) = context.override_labels() {
        let known = format!("namespace labels: {} (--namespace-labels){added}", without_added(labels));
        return Premise { known, assumed: None };
    }
    let assumed = without_added(context.assumed_labels());
    let (from, missing) = match (from_cluster, context.has_namespaces()) {
        (true, _) => ("the cluster's", "namespaces that do not exist"),
        (false, true) => ("those of the input's Namespaces", "other namespaces"),
        (false, false) => {
            let assumed = format!("namespace labels: assumed, because the input has no Namespace: {assumed}{added}");
            return Premise { known: String::new(), assumed: Some(assumed) };
        }
    };
    Premise {
        known: format!("namespace labels: {from}{added}"),
        assumed: Some(format!("namespace labels: {from}; assumed for {missing}: {assumed}{added}")),
    }
}

/// Prints the labels as a note, for an output that does not state them; nothing if the input has no pods.
pub(super) fn print_premise(premise: &Premise, assumed: &AssumedLabels, stderr: &mut impl Write) {
    let text = premise.text(!assumed.is_empty());
    if !text.is_empty() {
        print_note(stderr, format_args!("{text}"));
    }
}

/// Returns the flag that adds the label `key`.
fn flag(key: &str) -> &'static str {
    if key == keys::GANG { "--gang" } else { "--fabric" }
}

impl AssumedNamespaces {
    /// Records the labels of `namespace`, that of a workload on `line` of `source`, if they are assumed.
    pub(super) fn record(&mut self, context: &ManifestContext, namespace: &str, source: &str, line: u64) {
        if context.is_assumed(namespace) && !self.labels.contains_key(namespace) {
            self.labels.insert(namespace.to_owned(), context.assumed_labels().clone());
            let similar = context.similar_namespace(namespace).map(str::to_owned);
            self.places.insert(namespace.to_owned(), (format!("{source}:{line}"), similar));
        }
    }

    /// Returns the namespaces, each with its first workload and a similar name.
    fn descriptions(&self) -> impl Iterator<Item = String> {
        self.places.iter().map(|(namespace, (place, similar))| {
            let hint = similar.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            format!("{namespace} ({place}{hint})")
        })
    }
}

/// Returns a note that names the namespaces with assumed labels, if the labels of others are known: the name of one may be misspelled, or
/// its Namespace missing in the input.
pub(super) fn missing_namespaces(
    context: &ManifestContext,
    from_cluster: bool,
    assumed: &AssumedNamespaces,
) -> Option<String> {
    let cause = match (from_cluster, context.has_namespaces()) {
        _ if assumed.labels.is_empty() => return None,
        (true, _) => "do not exist in the cluster",
        (false, true) => "have no Namespace in the input, unlike others",
        (false, false) => return None,
    };
    Some(format!("labels are assumed for namespaces that {cause}: {}", join_names(assumed.descriptions())))
}

/// Lists labels as `--namespace-labels` takes them.
fn list<'a>(labels: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    if labels.is_empty() { "none".to_owned() } else { labels.join(",") }
}
