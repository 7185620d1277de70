//! Previews of documents whose kind is not supported.

use serde_json::Value;

use super::gangs::Gangs;
use super::operator_fields::require_types;
use super::requests::{self, EmbeddedWorkload, Request};
use super::walk::has_pod_template;
use super::{
    CONTEXT_KINDS, DocumentPreview, Preview, api_types, namespace, namespace_metadata, namespace_of, omitted,
    placeholders, severities,
};
use crate::gang::object::GroupApi;
use crate::manifest::Document;
use crate::workload::{self, Manifest, RenderError, RuntimeReference, generic};

/// API version and kind of a claim for storage. The API type contains its amounts as text.
const VOLUME_CLAIM: (&str, &str) = ("v1", "PersistentVolumeClaim");
/// API group of Argo.
const ARGO: &str = "argoproj.io";
/// Kinds of Argo CD and Flux whose controllers render the manifests of pods: API group and kind.
const RENDERED: [(&str, &str); 4] = [
    (ARGO, "Application"),
    (ARGO, "ApplicationSet"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"),
];

/// Fails if a value in `object` has the wrong type. The error about a placeholder names those of the whole object.
fn require_valid_types(object: &Value) -> Result<(), RenderError> {
    let checked = require_types(object).and_then(|()| api_types::require(object));
    if let Err(RenderError::Invalid { found, .. }) = &checked
        && found.starts_with("\"$")
    {
        placeholders::reject([(String::new(), object)])?;
    }
    checked
}

impl Preview {
    /// Previews a document whose kind is not in [`workload::KINDS`]: shows the pod templates that it contains, if any.
    pub(super) fn unknown_kind(
        &self,
        document: &Document,
        api_version: &str,
        kind: &str,
    ) -> Result<DocumentPreview, RenderError> {
        let name = format!("{api_version} {kind}");
        let same_kind = || workload::KINDS.iter().filter(|workload_kind| workload_kind.kind.eq_ignore_ascii_case(kind));
        if let Some(error) = workload::misnamed(api_version, kind) {
            return Err(error);
        }
        require_valid_types(&document.value)?;
        if (api_version, kind) == ("v1", "Namespace") {
            namespace_metadata::validate(&document.value)?;
            let effective = self.context.labels(super::name_of(document));
            let is_excluded = self.installation.excludes(super::name_of(document));
            let warnings = namespace::label_warnings(document, effective, &self.config.fabric, is_excluded);
            return Ok(DocumentPreview::Namespace(severities::configured(warnings, &self.config.fabric.lint)));
        }
        if RuntimeReference::from_runtime(&document.value, &self.namespace).is_some() {
            placeholders::reject([(String::new(), &document.value)])?;
        }
        let amounts = document.value.pointer("/spec/resources").filter(|_| (api_version, kind) == VOLUME_CLAIM);
        placeholders::reject(amounts.map(|amounts| ("spec.resources".to_owned(), amounts)))?;
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if kind == "PodGroup" && GroupApi::ALL.into_iter().any(|api| api.group() == group) {
            workload::validate_group(&document.value)?;
        }
        if generic::creates_no_pods(api_version, kind) {
            return Ok(DocumentPreview::Skipped(format!("{name} creates no pods")));
        }
        let templates = generic::templates(&document.value);
        if templates.shown.is_empty() && templates.omitted > 0 {
            let warnings =
                omitted::warning(document, kind, namespace_of(document, &self.namespace)).into_iter().collect();
            return Ok(DocumentPreview::Pods { reports: Vec::new(), notes: Vec::new(), warnings });
        }
        let templates = templates.shown;
        let hint = same_kind().next().map(|workload_kind| format!("did you mean {}?", workload_kind.name()));
        if !templates.is_empty() {
            let names = ["name", "generateName", "namespace"].into_iter();
            let names =
                names.filter_map(|key| Some((format!("metadata.{key}"), document.value.get("metadata")?.get(key)?)));
            placeholders::reject(names.chain(templates.into_iter().flat_map(fields)))?;
            let namespace = namespace_of(document, &self.namespace);
            let runtimes = self.context.runtimes();
            let roles = generic::roles(&Manifest { raw: &document.value, namespace, runtimes });
            let hint = hint.map(|hint| format!("{name} is not supported: {hint}"));
            return Ok(self.pods(document, kind, roles, &Gangs::default(), hint.into_iter().collect()));
        }
        if let Some(hint) = hint {
            return Ok(DocumentPreview::Unsupported(format!("{name} is not supported: {hint}")));
        }
        // Values for a chart may contain parts of pods and requests for accelerators.
        if RENDERED.contains(&(group, kind)) {
            let how = match kind {
                "Kustomization" => "check its path with -k",
                _ => "render them first, for example with helm template",
            };
            return Ok(DocumentPreview::Unrendered(format!(
                "{kind}: the manifests that it installs are not in the input: {how}"
            )));
        }
        if !CONTEXT_KINDS.contains(&kind) && has_pod_template(&document.value) {
            return Ok(DocumentPreview::Unsupported(format!("{name} is not supported: its pods are not shown")));
        }
        if let Some(hidden) = hidden_pods(&document.value, group) {
            return Ok(DocumentPreview::Unsupported(format!("{name} is not supported: {hidden}")));
        }
        let is_of_kubernetes = workload::is_group_of_kubernetes(group);
        let what = if is_of_kubernetes { "creates no pods" } else { "contains no pod template" };
        Ok(DocumentPreview::Skipped(format!("{name} {what}")))
    }
}

/// Returns why an object of an API group seems to have pods that are not shown: requests outside of templates, or a manifest in it.
fn hidden_pods(object: &Value, group: &str) -> Option<String> {
    let request = requests::outside_templates(object)
        .map(|Request { path, resource }| format!("{path} requests {resource} outside a pod template"));
    let embedded = requests::embedded_workload(object).filter(|_| group == ARGO);
    let embedded = embedded.map(|EmbeddedWorkload { path, kind }| format!("{path} is the manifest of a {kind}"));
    match (request, embedded) {
        (Some(request), Some(embedded)) => Some(format!("{request}, and {embedded}, so that these pods are not shown")),
        (Some(request), None) => Some(format!("{request}, so that its pods are not shown")),
        (None, Some(embedded)) => Some(format!("{embedded}, whose pods are not shown")),
        (None, None) => None,
    }
}

/// Returns the fields that belong to `template`, with their paths. Other fields of an unknown kind may contain any text.
fn fields(template: generic::Template<'_>) -> impl Iterator<Item = (String, &Value)> {
    let generic::Template { path, value, replicas } = template;
    let parent = path.rsplit_once('.').map(|(parent, _)| format!("{parent}."));
    let replicas = replicas.map(|replicas| (format!("{}replicas", parent.unwrap_or_default()), replicas));
    replicas.into_iter().chain([(path, value)])
}
