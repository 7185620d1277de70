//! Changes between two diagnoses of the same workloads.

use std::collections::HashMap;

use super::{Diagnosis, DiagnosisCode, DiagnosisReport, Recovery, WorkloadName};
use crate::finding::Severity;

/// Findings that differ between two reports.
#[derive(Clone, Debug, Default)]
pub struct ReportChanges<'a> {
    /// Findings of the later report that the earlier one lacks.
    pub appeared: Vec<&'a Diagnosis>,
    /// Findings of the later report whose severity, recovery or message differs.
    pub changed: Vec<&'a Diagnosis>,
    /// Findings of the earlier report that the later one lacks.
    pub resolved: Vec<&'a Diagnosis>,
}

/// Workload and code of a finding. A workload may have several findings of a code: one for each image, for example.
type Key<'a> = (&'a WorkloadName, DiagnosisCode);

impl ReportChanges<'_> {
    /// Returns true if the findings are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { appeared, changed, resolved } = self;
        appeared.is_empty() && changed.is_empty() && resolved.is_empty()
    }
}

impl DiagnosisReport {
    /// Returns the findings that differ from those of an earlier report. Times and the accelerators that are idle do not
    /// count.
    #[must_use]
    pub fn changes_since<'a>(&'a self, earlier: &'a Self) -> ReportChanges<'a> {
        let mut unchanged: HashMap<(Key<'a>, Content<'a>), usize> = HashMap::new();
        for found in &earlier.diagnoses {
            *unchanged.entry((key(found), content(found))).or_default() += 1;
        }
        let differs = |found: &&'a Diagnosis| match unchanged.get_mut(&(key(found), content(found))) {
            Some(count @ 1..) => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let later: Vec<&Diagnosis> = self.diagnoses.iter().filter(differs).collect();
        let mut changes = ReportChanges::default();
        // The counts that are left are those of earlier findings without an equal one.
        let mut before: HashMap<Key<'a>, Vec<&'a Diagnosis>> = HashMap::new();
        for found in earlier.diagnoses.iter().rev() {
            if let Some(count @ 1..) = unchanged.get_mut(&(key(found), content(found))) {
                *count -= 1;
                before.entry(key(found)).or_default().push(found);
            }
        }
        for found in later {
            let is_known = before.get_mut(&key(found)).is_some_and(|before| before.pop().is_some());
            if is_known { changes.changed.push(found) } else { changes.appeared.push(found) }
        }
        changes.resolved = before.into_values().flatten().collect();
        changes.resolved.sort_by(|a, b| (key(a), &a.finding.message).cmp(&(key(b), &b.finding.message)));
        changes
    }
}

/// Severity, recovery and message of a finding.
type Content<'a> = (Severity, Recovery, &'a str);

fn key(found: &Diagnosis) -> Key<'_> {
    (&found.workload, found.code)
}

fn content(found: &Diagnosis) -> Content<'_> {
    // The message of a silent rank contains a duration, which grows.
    let message = if found.code == DiagnosisCode::RankSilent { "" } else { &found.finding.message };
    (found.finding.severity, found.recovery, message)
}
