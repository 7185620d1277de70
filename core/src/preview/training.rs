//! Lints a workload as a whole, and each component of an `AppWrapper`.

use std::collections::BTreeSet;

use super::{PodReport, Preview, locate};
use crate::config::CheckId;
use crate::finding::{self, Finding};
use crate::gang::{GangWorkload, WorkloadKey};
use crate::lint::{LintInput, RolePods, WorkloadManifest, lint_selected};
use crate::manifest::Document;
use crate::mutate::lint_input;
use crate::pod::Pod;
use crate::scope::Mode;
use crate::workload::{self, Manifest};

impl Preview {
    /// Adds the findings about the training jobs in `document`, whose pods `reports` contains.
    pub(super) fn lint_training(&self, document: &Document, gang: Option<&GangWorkload>, reports: &mut [PodReport]) {
        let Some(PodReport { namespace, .. }) = reports.first() else { return };
        let (namespace, objects) = (namespace.clone(), self.context.objects(namespace));
        let components: BTreeSet<Option<usize>> = reports.iter().map(component).collect();
        for index in components {
            let members = || reports.iter().filter(move |report| component(report) == index);
            let roles: Vec<RolePods<'_>> = members().map(role_pods).collect();
            let pointer = index.map(|index| format!("/spec/components/{index}/template")).unwrap_or_default();
            let own = index.and_then(|_| self.component_gang(document, &namespace, &roles));
            let gang = if index.is_none() { gang } else { own.as_ref() };
            let workload =
                WorkloadManifest { document, pointer: &pointer, namespace: &namespace, roles: &roles, gang, objects };
            let lint = |(report, role): (&PodReport, &RolePods<'_>)| {
                let snapshot = self.snapshot(&namespace, Mode::Enabled, report.replicas);
                let original = Pod::new(&report.original);
                let input = lint_input(original, original, &snapshot);
                let input = LintInput { workload: Some(&workload), role: Some(role.name), ..input };
                lint_selected(&input, &self.config.fabric.lint, CheckId::is_training)
            };
            let findings: Vec<Vec<Finding>> = members().zip(&roles).map(lint).collect();
            let members = reports.iter_mut().filter(|report| component(report) == index);
            for (report, mut findings) in members.zip(findings) {
                locate(&mut findings, document, report);
                report.lint.extend(findings);
                finding::sort(&mut report.lint);
            }
        }
    }

    /// Returns the gangs of `roles`, the pods of a component of the `AppWrapper` in `document`, if it has any and their sizes are known.
    fn component_gang(&self, document: &Document, namespace: &str, roles: &[RolePods<'_>]) -> Option<GangWorkload> {
        let key = roles.iter().find_map(|role| WorkloadKey::of(role.original, namespace))?;
        let (kind, raw) = workload::created_workload(&document.value, &key.name)?;
        let manifest = Manifest { raw: &raw, namespace, runtimes: self.context.runtimes() };
        GangWorkload::from_manifest(&key, kind, &manifest).ok()
    }
}

/// Returns the index of the component that creates the pods of `report`; `None` if it is the workload itself.
fn component(report: &PodReport) -> Option<usize> {
    report.component.as_ref().map(|component| component.index)
}

fn role_pods(report: &PodReport) -> RolePods<'_> {
    let PodReport { role, replicas, original, pod, rules, component, .. } = report;
    let name = component.as_ref().map_or(role, |component| &component.role);
    RolePods { name, replicas: *replicas, original: Pod::new(original), patched: Pod::new(pod), rules }
}
