//! Decides about the pod of a role, and lints it.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use serde_json::Value;

use super::gangs::Gangs;
use super::invalid_quantity::invalid_quantities;
use super::{InvalidField, PodReport, Preview};
use crate::config::CheckId;
use crate::finding::{self, Finding, Severity};
use crate::gang::GangView;
use crate::lint::{
    CAPTURED_TRAFFIC, DecidedRole, JobContext, LintInput, MESH, OPTED_OUT, PORTLESS_SERVICE, PatchedRole, QUOTA,
    UNKNOWN_CLAIMS, WorkloadFacts, is_exclusion_audited, lint_selected, mesh_findings, of_all_roles, unknown_claims,
};
use crate::mutate::{Outcome, Reason, Snapshot, excluded, lint_input, mutate_and_apply};
use crate::pod::{Pod, predict_injection};
use crate::scope::Mode;
use crate::workload::RolePod;

impl Preview {
    /// Returns the lint findings for the pod of `report`: for the patched pod if a fabric profile applies, else for the
    /// original.
    #[must_use]
    pub fn lint(&self, report: &PodReport) -> Vec<Finding> {
        let namespace = report.namespace.as_str();
        let snapshot = self.snapshot(namespace, Mode::Enabled, report.replicas);
        let settings = &self.config.fabric;
        let (original, patched) = (Pod::new(&report.original), Pod::new(&report.pod));
        let after = lint_input(original, patched, &snapshot);
        let input = if after.profile.is_some() { after } else { lint_input(original, original, &snapshot) };
        let compute_domains = self.context.compute_domains(namespace);
        let rules = &report.rules;
        let invalid: Vec<(String, Severity, String)> = report.invalid.iter().map(InvalidField::as_problem).collect();
        let (generic, role) = (report.generic, Some(report.role.as_str()));
        let input =
            LintInput { job: Some(&report.job), compute_domains, rules, invalid: &invalid, generic, role, ..input };
        // Without the watch, all claims are unknown.
        let is_selected = |check| !MESH.contains(&check) && (check != UNKNOWN_CLAIMS || settings.resource_claims);
        let mut findings = lint_selected(&input, &settings.lint, is_selected);
        findings.extend(mesh_findings(&LintInput { job: Some(&report.job), role, rules, ..after }, &settings.lint));
        // The workload is complete only when its document is previewed.
        findings.extend(report.lint.iter().filter(|finding| is_training(finding)).cloned());
        finding::sort(&mut findings);
        self.locate_in_namespace(namespace, &mut findings);
        findings
    }

    /// Returns the decisions about the pod of `role`, and the pod with their patch.
    pub(super) fn outcome(
        &self,
        role: &RolePod,
        namespace: &str,
        labels: &BTreeMap<String, String>,
        gang: GangView<'_>,
    ) -> (Outcome, Value) {
        let (pod, settings) = (Pod::new(&role.pod), &self.config.fabric);
        match self.installation.pod_mode(pod, namespace, labels) {
            Err(exclusion) => (excluded(pod, exclusion, labels, settings), role.pod.clone()),
            Ok(mode) => {
                let mut snapshot = self.snapshot(namespace, mode, role.replicas);
                snapshot.cluster.gang = gang;
                let rejection = invalid_quantities(&role.pod).first().map(ToString::to_string);
                let (mut outcome, patched) = mutate_and_apply(&role.pod, &snapshot, rejection);
                if settings.resource_claims {
                    let input = lint_input(pod, pod, &snapshot);
                    outcome.findings.extend(unknown_claims(&input, &settings.lint));
                }
                (outcome, patched)
            }
        }
    }

    /// Returns the facts of the job of each role of `workload`, whose pods form `gangs`: of the whole workload, or of the component
    /// of an `AppWrapper`. `outcomes` are the decisions about the pods of the roles, and these pods after the patch.
    pub(super) fn job_contexts(
        &self,
        workload: &Value,
        namespace: &str,
        roles: &[RolePod],
        outcomes: &[(Outcome, Value)],
        gangs: &Gangs,
    ) -> Vec<Arc<JobContext>> {
        let facts = Arc::new(self.workload_facts(namespace, roles, outcomes));
        let (mut jobs, mut others) = (Vec::with_capacity(roles.len()), outcomes);
        for members in roles.chunk_by(|role, next| component(role) == component(next)) {
            let (outcomes, rest) = others.split_at(members.len());
            others = rest;
            let job = JobContext::new(Arc::clone(&facts), jobs.len()).with_workload(workload);
            let job = Arc::new(self.with_roles(job, namespace, members, outcomes, gangs));
            jobs.extend(iter::repeat_n(job, members.len()));
        }
        jobs
    }

    /// Returns the facts of the pods of all `roles` of a workload.
    fn workload_facts(&self, namespace: &str, roles: &[RolePod], outcomes: &[(Outcome, Value)]) -> WorkloadFacts {
        let pods = roles.iter().map(|role| (Pod::new(&role.pod), role.replicas));
        let mut facts = WorkloadFacts::from_pods(pods, self.facts.view(namespace, None).claims);
        for (role, (_, patched)) in roles.iter().zip(outcomes) {
            let snapshot = self.snapshot(namespace, Mode::Enabled, role.replicas);
            facts = facts.with_patched(&lint_input(Pod::new(&role.pod), Pod::new(patched), &snapshot));
        }
        facts
    }

    /// Adds the facts of one job, which has these `roles`, to `job`.
    fn with_roles(
        &self,
        job: JobContext,
        namespace: &str,
        roles: &[RolePod],
        outcomes: &[(Outcome, Value)],
        gangs: &Gangs,
    ) -> JobContext {
        let mesh = self.facts.view(namespace, None).mesh;
        let joint_roles = roles.iter().filter(|role| gangs.starts_with_others(Pod::new(&role.pod), namespace));
        let job = job.with_joint_roles(joint_roles.map(|role| &*role.name));
        let labels = self.context.labels(namespace);
        let decided = roles
            .iter()
            .zip(outcomes)
            .map(|(role, (outcome, patched))| DecidedRole::new(role, Pod::new(patched), &outcome.rules));
        // The apiserver rejects a pod that does not decode, which therefore has no patch.
        let exists = |outcome: &Outcome| !outcome.rules.iter().any(|rule| rule.reason == Reason::NotAPod);
        let existing = roles.iter().zip(outcomes).filter(|(_, (outcome, _))| exists(outcome));
        let patched = existing.map(|(role, (_, patched))| {
            let pod = Pod::new(patched);
            let injection = predict_injection(pod, namespace, labels);
            let original = Pod::new(&role.pod);
            PatchedRole { name: &role.name, replicas: role.replicas, original, pod, injection }
        });
        let patched: Vec<PatchedRole<'_>> = patched.collect();
        let job = job.with_decisions(&decided.collect::<Vec<_>>(), &self.config.fabric.profiles);
        job.with_mesh(patched.iter().copied(), mesh).with_traffic(patched.into_iter(), mesh)
    }

    /// Adds the findings for the pod of `role`, after the patch, that need the facts of the whole job: those that depend on all its
    /// roles, and those about the mesh and the quota. Also those about pods that opt out.
    pub(super) fn lint_in_job(
        &self,
        role: &RolePod,
        patched: &Value,
        namespace: &str,
        job: &JobContext,
        outcome: &mut Outcome,
    ) {
        let (snapshot, settings) = (self.snapshot(namespace, Mode::Enabled, role.replicas), &self.config.fabric.lint);
        let input = lint_input(Pod::new(&role.pod), Pod::new(patched), &snapshot);
        let (generic, name) = (role.generic, Some(role.name.as_str()));
        let input = LintInput { job: Some(job), role: name, rules: &outcome.rules, generic, ..input };
        let mut findings = mesh_findings(&input, settings);
        if is_exclusion_audited(input.pod, &outcome.rules) {
            // The pod as it is, without the change that audit mode prevents, as for captured traffic.
            findings.retain(|finding| finding.code != PORTLESS_SERVICE.code());
        }
        findings.extend(of_all_roles(&input, settings));
        // Without a patch, nothing is outside the quota.
        if !outcome.patch.is_empty() {
            findings.extend(lint_selected(&input, settings, |check| check == QUOTA));
            outcome.findings.retain(|finding| finding.code != QUOTA.code());
        }
        if outcome.rules.iter().any(|rule| rule.reason == Reason::PodOptedOut) {
            // The rules, which report captured traffic, do not run.
            let is_selected = |check| check == OPTED_OUT || check == CAPTURED_TRAFFIC;
            findings.extend(lint_selected(&input, settings, is_selected));
        }
        outcome.findings.extend(findings);
    }

    /// Returns the snapshot for a pod of a new job.
    pub(super) fn snapshot<'a>(&'a self, namespace: &'a str, mode: Mode, replicas: Option<u64>) -> Snapshot<'a> {
        Snapshot {
            mode,
            namespace,
            namespace_labels: self.context.labels(namespace),
            labels_assumed: self.context.is_assumed(namespace),
            config: &self.config,
            config_hash: &self.config_hash,
            replicas,
            cluster: self.facts.view(namespace, None),
        }
    }
}

/// Returns the index of the component of an `AppWrapper` that creates the pods of `role`; `None` if it is the workload itself.
fn component(role: &RolePod) -> Option<usize> {
    role.component.as_ref().map(|component| component.index)
}

/// Returns true if a check of training jobs reports `finding`.
fn is_training(finding: &Finding) -> bool {
    CheckId::parse(finding.code).is_some_and(CheckId::is_training)
}
