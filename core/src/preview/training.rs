//! Lints a workload as a whole.

use super::{INDEPENDENT, PodReport, Preview, locate};
use crate::config::CheckId;
use crate::finding::{self, Finding};
use crate::gang::GangWorkload;
use crate::lint::{LintInput, RolePods, WorkloadManifest, lint_selected};
use crate::manifest::Document;
use crate::mutate::lint_input;
use crate::pod::Pod;
use crate::scope::Mode;

impl Preview {
    /// Adds the findings about the training job `document`, whose pods `reports` contains.
    pub(super) fn lint_training(&self, document: &Document, gang: Option<&GangWorkload>, reports: &mut [PodReport]) {
        let Some(PodReport { namespace, kind, .. }) = reports.first() else { return };
        // Its roles may belong to several jobs.
        if kind == INDEPENDENT {
            return;
        }
        let namespace = namespace.clone();
        let roles: Vec<RolePods<'_>> = reports.iter().map(role_pods).collect();
        let objects = self.context.objects(&namespace);
        let workload = WorkloadManifest { document, namespace: &namespace, roles: &roles, gang, objects };
        let lint = |report: &PodReport| {
            let snapshot = self.snapshot(&namespace, Mode::Enabled, report.replicas);
            let original = Pod::new(&report.original);
            let input = lint_input(original, original, &snapshot);
            let input = LintInput { workload: Some(&workload), role: Some(&report.role), ..input };
            lint_selected(&input, &self.config.fabric.lint, CheckId::is_training)
        };
        let findings: Vec<Vec<Finding>> = reports.iter().map(lint).collect();
        for (report, mut findings) in reports.iter_mut().zip(findings) {
            locate(&mut findings, document, report);
            report.lint.extend(findings);
            finding::sort(&mut report.lint);
        }
    }
}

fn role_pods(report: &PodReport) -> RolePods<'_> {
    let PodReport { role, replicas, original, pod, rules, .. } = report;
    RolePods { name: role, replicas: *replicas, original: Pod::new(original), patched: Pod::new(pod), rules }
}
