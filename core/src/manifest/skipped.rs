//! Recognizes files that are not manifests: a directory of a repository also contains other YAML and JSON files.

use std::path::Path;
use std::sync::Arc;

use memchr::memmem;
use serde_json::Value;

use super::{DocumentError, Origin};

/// Reason for which a file of a directory is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkippedFile {
    /// No document has an `apiVersion` or a `kind`.
    NoObject,
    /// Configuration of kustomize.
    Kustomization,
    /// Configuration of kustomize in a file that kustomize does not read.
    MisnamedKustomization,
    /// Patch of a kustomization.
    KustomizePatch,
    /// Template of a Helm chart.
    HelmTemplate,
    /// Symbolic link to a directory.
    LinkedDirectory,
}

/// File names of kustomizations.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// API group of kustomizations, with the slash before its version.
const KUSTOMIZE_GROUP: &str = "kustomize.config.k8s.io/";
/// Kinds of kustomizations.
const KUSTOMIZATION_KINDS: [&str; 2] = ["Kustomization", "Component"];
/// File that describes a Helm chart. Unlike an object, it has an `apiVersion` and no `kind`.
pub const CHART_FILE: &str = "Chart.yaml";

/// Starts of the actions of Go templates, after `{{`, `-` and blanks. Other tools write `{{` too: Argo writes names.
const ACTIONS: [&str; 13] =
    [".", "$", "/*", "if ", "else", "end", "range ", "with ", "define ", "include ", "template ", "toYaml ", "tpl "];

impl SkippedFile {
    /// Returns the advice for a file that the user specified.
    pub(super) fn advice(self) -> Option<&'static str> {
        match self {
            Self::NoObject | Self::KustomizePatch | Self::LinkedDirectory => None,
            Self::Kustomization => Some("a kustomization: render its directory with -k"),
            Self::MisnamedKustomization => Some(
                "a kustomization, but kustomize reads only files named kustomization.yaml, kustomization.yml or Kustomization: \
                 rename it, and render its directory with -k",
            ),
            Self::HelmTemplate => Some(
                "a Helm template: render the chart with `helm template NAME CHART -n NAMESPACE`, and pipe it to `-f -`",
            ),
        }
    }
}

/// Returns the reason for which `source`, a file without an object, is skipped.
pub(super) fn without_object(source: &str) -> SkippedFile {
    if has_name(source, &KUSTOMIZATION_FILES) { SkippedFile::Kustomization } else { SkippedFile::NoObject }
}

/// Returns the reason for which `object` of `source` is skipped if it is a kustomization that states its type, as `kustomize create`
/// writes it. Its API group also has the configurations of transformers, which are other files.
pub(super) fn kustomization(source: &str, object: &Value) -> Option<SkippedFile> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    if !text("apiVersion").starts_with(KUSTOMIZE_GROUP) {
        None
    } else if has_name(source, &KUSTOMIZATION_FILES) {
        Some(SkippedFile::Kustomization)
    } else {
        KUSTOMIZATION_KINDS.contains(&text("kind")).then_some(SkippedFile::MisnamedKustomization)
    }
}

/// Returns the error for `source` if all files of `origin` are skipped.
pub(super) fn skipped(source: &Arc<str>, origin: Origin) -> Option<DocumentError> {
    let (skipped, message) = match origin {
        Origin::Named | Origin::Directory | Origin::Chart => return None,
        Origin::ChartTemplates => (SkippedFile::HelmTemplate, "a Helm template"),
        Origin::KustomizePatch => (SkippedFile::KustomizePatch, "a patch of a kustomization"),
        Origin::LinkedDirectory => (SkippedFile::LinkedDirectory, "a symbolic link to a directory"),
    };
    let (source, message) = (source.clone(), message.to_owned());
    Some(DocumentError { source, document: 0, line: None, message, skipped: Some(skipped), placeholders: Vec::new() })
}

/// Returns true if `source` describes a Helm chart.
pub(super) fn is_chart(source: &str) -> bool {
    has_name(source, &[CHART_FILE])
}

/// Returns true if `text` contains an action of a Go template.
pub(super) fn is_helm_template(text: &str) -> bool {
    memmem::find_iter(text.as_bytes(), "{{").any(|start| {
        let inner = &text[start + 2..];
        let action = inner.strip_prefix('-').unwrap_or(inner).trim_start_matches(' ');
        ACTIONS.iter().any(|known| action.starts_with(known))
    })
}

fn has_name(source: &str, names: &[&str]) -> bool {
    Path::new(source).file_name().is_some_and(|name| names.iter().any(|known| name == *known))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::value("a: {{ .Values.a }}", true)]
    #[case::trimmed("{{- if .Values.a }}", true)]
    #[case::comment("{{/* a */}}", true)]
    #[case::include("  {{- include \"a\" . | nindent 4 }}", true)]
    #[case::variable("{{$a}}", true)]
    #[case::second("{{a}} {{ end }}", true)]
    #[case::argo("a: {{inputs.parameters.a}}", false)]
    #[case::flow_mapping("{{a: b}: c}", false)]
    #[case::unfinished("a {{", false)]
    fn actions_of_go_templates_are_recognized(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_helm_template(text), expected);
    }

    #[rstest]
    #[case::kustomization("a/kustomization.yaml", SkippedFile::Kustomization)]
    #[case::other("a/kustomization-1.yaml", SkippedFile::NoObject)]
    fn kustomizations_are_recognized_by_their_name(#[case] source: &str, #[case] expected: SkippedFile) {
        assert_eq!(without_object(source), expected);
    }
}
