//! The machine-readable form of a report, for JSON and YAML.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Diagnosis, DiagnosisReport, Evidence, Waste};
use crate::finding::Finding;

/// Incremented only when a field is removed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

impl DiagnosisReport {
    /// Returns the report as JSON. `version` is that of trainmesh.
    #[must_use]
    pub fn to_json(&self, version: &str, errors: &[Value]) -> Value {
        let Self { now, workloads, pods, logs, json_logs: _, diagnoses, omitted, hint: _, excluded_pods: _ } = self;
        let findings: Vec<Value> = diagnoses.iter().map(Diagnosis::to_json).collect();
        json!({
            "schemaVersion": SCHEMA_VERSION,
            "version": version,
            // An input without any time has none.
            "now": (*now != Timestamp::UNIX_EPOCH).then(|| now.to_string()),
            "workloads": workloads,
            "pods": pods,
            "logs": logs,
            "findings": findings,
            "omittedFindings": omitted,
            "errors": errors,
        })
    }
}

impl Diagnosis {
    /// Returns the finding as JSON. The names of shared fields are those of lint.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { code, finding, workload, recovery, evidence, more_evidence, waste, since: _ } = self;
        let Finding { code: id, severity, message, link, .. } = finding;
        let waste = waste.map(|Waste { accelerators, accelerator_seconds, .. }| {
            json!({"accelerators": accelerators, "acceleratorSeconds": accelerator_seconds})
        });
        json!({
            "id": id,
            "severity": severity,
            "layer": code.layer().name(),
            // Only for a kind that has the name of a built-in one.
            "workload": {"apiGroup": (!workload.qualifier.is_empty()).then_some(workload.qualifier), "kind": workload.kind, "namespace": workload.namespace, "name": workload.name},
            "message": message,
            "evidence": evidence.iter().map(Evidence::to_json).collect::<Vec<_>>(),
            "moreEvidence": more_evidence,
            "recovers": recovery.recovers().name(),
            "recoversBecause": recovery.reason(),
            "waste": waste,
            "cure": self.fix(),
            "link": link,
        })
    }
}

impl Evidence {
    fn to_json(&self) -> Value {
        let Self { object, field, value, time } = self;
        json!({"object": object, "field": field, "value": value, "time": time.map(|time| time.to_string())})
    }
}
