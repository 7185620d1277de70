//! The result of a diagnosis.

use jiff::Timestamp;

use super::snapshot::read::{MAX_TEXT, truncate};
use super::{DiagnosisCode, Recovery, Waste, WasteCause, WorkloadName};
use crate::finding::{Finding, Severity};

/// Maximum number of findings. Further ones are counted.
pub const MAX_DIAGNOSES: usize = 1_000;
/// Maximum number of pieces of evidence of a finding. More pods of a job repeat the same fields.
pub const MAX_EVIDENCE: usize = 6;
/// Maximum length of a message in bytes.
pub const MAX_MESSAGE: usize = 1_024;

/// The result of a diagnosis.
#[derive(Clone, Debug)]
pub struct DiagnosisReport {
    /// Time to which all durations refer.
    pub now: Timestamp,
    /// Number of workloads that were checked.
    pub workloads: usize,
    /// Number of pods that were checked.
    pub pods: usize,
    /// Number of logs of these pods.
    pub logs: usize,
    /// Number of these logs that consist of objects in JSON, in which lines are not recognized.
    pub json_logs: usize,
    /// Findings, worst first.
    pub diagnoses: Vec<Diagnosis>,
    /// Number of findings beyond the limit.
    pub omitted: usize,
    /// Which workloads exist, if none was selected: a lowercase clause.
    pub hint: Option<String>,
    /// Number of pods in the selected namespaces, if none of them belongs to a workload that is diagnosed.
    pub excluded_pods: usize,
}

/// One cause, with its evidence.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// Code of the finding.
    pub code: DiagnosisCode,
    /// The finding.
    pub finding: Finding,
    /// Workload with the problem.
    pub workload: WorkloadName,
    /// Row of the table of recoveries that applies.
    pub recovery: Recovery,
    /// Fields that prove the finding.
    pub evidence: Vec<Evidence>,
    /// Number of pieces of evidence beyond the limit.
    pub more_evidence: usize,
    /// Accelerators that are idle because of it.
    pub waste: Option<Waste>,
    /// Time at which the problem began, where it decides which failures are consequences.
    pub(super) since: Option<Timestamp>,
}

/// A field of an object at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Kind, namespace and name of the object.
    pub object: String,
    /// Path of the field, as in the object's YAML.
    pub field: String,
    /// Value of the field.
    pub value: String,
    /// Time since which the field has the value, or of the event.
    pub time: Option<Timestamp>,
}

impl DiagnosisReport {
    /// Returns true if nothing needs an action: notes do not.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.diagnoses.iter().all(|found| found.finding.severity > Severity::Warning)
    }
}

impl Diagnosis {
    /// Returns why accelerators are idle; `None` if none is, or the pods themselves show it.
    #[must_use]
    pub fn waste_cause(&self) -> Option<WasteCause> {
        let waste = self.waste?;
        match self.code {
            DiagnosisCode::SidecarOutlivesMain => Some(WasteCause::SidecarRunning),
            DiagnosisCode::FabricMixed => Some(WasteCause::FabricMixed),
            _ => waste.includes_peers.then_some(WasteCause::PeersWaiting),
        }
    }

    /// Creates the finding `code` about `workload`.
    pub(super) fn new(code: DiagnosisCode, workload: WorkloadName, recovery: Recovery, message: &str) -> Self {
        let finding = Finding {
            code: code.code(),
            severity: code.severity(),
            message: String::from(truncate(message, MAX_MESSAGE)).into(),
            evidence: String::new(),
            fix: Some(code.fix()),
            subject: workload.to_string(),
            link: code.link(),
            line: None,
            source: None,
        };
        Self { code, finding, workload, recovery, evidence: Vec::new(), more_evidence: 0, waste: None, since: None }
    }

    /// Adds evidence, up to the limit.
    pub(super) fn push_evidence(&mut self, evidence: Evidence) {
        if self.evidence.is_empty() {
            let Evidence { object, field, value, time: _ } = &evidence;
            self.finding.evidence = format!("{object}: {field}: {value}");
        }
        let is_same = |known: &Evidence| {
            (&known.object, &known.field, &known.value) == (&evidence.object, &evidence.field, &evidence.value)
        };
        // Several pods may have one claim.
        if self.evidence.iter().any(is_same) {
            return;
        }
        if self.evidence.len() < MAX_EVIDENCE {
            self.evidence.push(evidence);
        } else {
            self.more_evidence += 1;
        }
    }

    /// Adds pieces of evidence.
    pub(super) fn with_evidence(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        evidence.into_iter().for_each(|evidence| self.push_evidence(evidence));
        self
    }

    /// Returns true if the finding is about a workload, or its evidence names it.
    pub(super) fn concerns(&self, workload: &WorkloadName) -> bool {
        let name = workload.to_string();
        self.workload == *workload || self.evidence.iter().any(|evidence| evidence.object == name)
    }

    /// Sets the time at which the problem began.
    pub(super) fn with_since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }

    /// Replaces the fix by that of a special case, if there is one.
    pub(super) fn with_fix(mut self, fix: impl Into<Option<&'static str>>) -> Self {
        self.finding.fix = fix.into().or(self.finding.fix);
        self
    }

    /// Replaces the severity by that of a special case.
    pub(super) fn with_severity(mut self, severity: Severity) -> Self {
        self.finding.severity = severity;
        self
    }

    /// Sets the idle accelerators.
    pub(super) fn with_waste(self, waste: Option<Waste>) -> Self {
        Self { waste, ..self }
    }
}

impl Evidence {
    /// Creates a piece of evidence.
    pub(super) fn new(object: String, field: impl Into<String>, value: &str, time: Option<Timestamp>) -> Self {
        Self { object, field: field.into(), value: truncate(value, MAX_TEXT).into(), time }
    }
}
