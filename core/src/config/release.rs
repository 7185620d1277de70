//! Objects of Argo CD and Flux that install a chart, in place of a configuration: where their values are.

use super::Problem;
use crate::yaml::Node;

/// Maximum number of files of values that a message names.
const MAX_FILES: usize = 4;
/// Fields of a source of Argo CD with values, in the order of precedence.
const INLINE: [&str; 2] = ["helm.valuesObject", "helm.values"];
/// Field of a source of Argo CD with the names of files.
const FILES: &str = "helm.valueFiles";

/// Returns true for an object that installs a chart.
pub(super) fn is_release(root: Node<'_>) -> bool {
    advice(root).is_some()
}

/// Returns the problem of an object that installs a chart: it contains or names the values, but is none.
pub(super) fn values_in_release(root: Node<'_>) -> Option<Problem> {
    let message = format!("expected a configuration or Helm values: {}", advice(root)?);
    Some(Problem { line: Some(root.get("kind")?.line), field: "kind".to_owned(), message })
}

/// Returns how to pass the values of an object that installs a chart.
fn advice(root: Node<'_>) -> Option<String> {
    let group = root.get("apiVersion")?.value.as_str()?.split('/').next()?;
    match (group, root.get("kind")?.value.as_str()?) {
        ("argoproj.io", "Application") => Some(application(root)),
        ("helm.toolkit.fluxcd.io", "HelmRelease") => Some(as_file("spec.values")),
        _ => None,
    }
}

/// Returns the advice for an Application of Argo CD, which has one source or several. The values of a source take precedence over
/// its files.
fn application(root: Node<'_>) -> String {
    let spec = root.get("spec");
    let source = spec.and_then(|spec| spec.get("source")).map(|source| ("spec.source".to_owned(), source));
    let sources = spec.and_then(|spec| spec.get("sources")).into_iter().flat_map(Node::items).enumerate();
    let sources = sources.map(|(index, source)| (format!("spec.sources[{index}]"), source));
    let sources: Vec<(String, Node<'_>)> = source.into_iter().chain(sources).collect();
    let inline = sources.iter().find_map(|(path, source)| {
        let field = INLINE.into_iter().find(|field| at(*source, field).is_some())?;
        Some(as_file(&format!("{path}.{field}")))
    });
    let files = sources.iter().find_map(|(path, source)| {
        let names: Vec<String> =
            at(*source, FILES)?.items().filter_map(|name| name.value.as_str()).map(file_name).collect();
        let more = names.len().saturating_sub(MAX_FILES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let shown: Vec<String> = names.into_iter().take(MAX_FILES).collect();
        (!shown.is_empty()).then(|| format!("pass the files of {path}.{FILES}: {}{more}", shown.join(", ")))
    });
    match (files, inline) {
        (Some(files), Some(inline)) => format!("{files}; then {inline}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => as_file(&format!("spec.source.{}", INLINE[0])),
    }
}

fn as_file(path: &str) -> String {
    format!("pass the values in {path} as a file of their own")
}

/// Returns the name of a file of values: `$values/site.yaml` is a file of the source with `ref: values`.
fn file_name(name: &str) -> String {
    match name.strip_prefix('$').and_then(|name| name.split_once('/')) {
        Some((source, file)) => format!("{file} (of the source with ref: {source})"),
        None => name.to_owned(),
    }
}

fn at<'tree>(node: Node<'tree>, path: &str) -> Option<Node<'tree>> {
    path.split('.').try_fold(node, Node::get)
}
