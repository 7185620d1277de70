//! Publishes findings to the log, the metrics, and as events on the objects concerned.
//!
//! The only place that maps a finding to an event and a metric.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use super::text::printable;
use crate::cluster::events::{self, EventRecord, EventRecorder};
use crate::telemetry::Metrics;
use trainmesh_core::diagnosis::DiagnosisCode;
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::lifecycle::{PodFacts, PodFinding, PodFindingCode, TerminationDetails};

/// Publishes the controller's findings.
pub(super) struct Publisher {
    events: EventRecorder,
    metrics: Arc<Metrics>,
}

/// A finding of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindingCode {
    /// A finding about a pod from a decision.
    Pod(PodFindingCode),
    /// A new pod that the webhook should have changed.
    PodMissedByWebhook,
    /// A new pod for which the webhook refused rules.
    RuleRefused,
    /// A pod whose fabric differs from that of its gang.
    FabricMixed,
    /// A gang whose pods are not placed all together.
    GangReleased,
    /// A gang whose pods wait for a `PodGroup` that does not exist.
    GangObjectMissing,
    /// A configuration that was rejected.
    ConfigRejected,
    /// A finding of the diagnosis with its severity.
    Diagnosis(DiagnosisCode, Severity),
    /// A finding of the diagnosis that is gone.
    Resolved(DiagnosisCode),
}

impl Publisher {
    pub(super) fn new(events: EventRecorder, metrics: Arc<Metrics>) -> Self {
        Self { events, metrics }
    }

    /// Publishes a finding about the pod of `facts`.
    pub(super) async fn publish_pod_finding(&self, facts: &PodFacts, finding: &PodFinding) {
        if let (PodFindingCode::ProxyEnded, Some(TerminationDetails { method, delay })) =
            (finding.code, finding.termination)
        {
            self.metrics.lifecycle.record_termination(method.name(), delay);
        }
        let pod = events::pod(&facts.namespace, &facts.name, &facts.uid);
        self.publish(&pod, FindingCode::Pod(finding.code), event_note(&finding.to_finding())).await;
    }

    /// Publishes a finding about `object` with the text `note`.
    pub(super) async fn publish(&self, object: &ObjectReference, code: FindingCode, note: String) {
        match code {
            FindingCode::Pod(PodFindingCode::PrematureEnd) => self.metrics.lifecycle.record_premature_end(),
            FindingCode::PodMissedByWebhook => self.metrics.lifecycle.record_missed_pod(),
            _ => {}
        }
        let warning = code.severity() <= Severity::Warning;
        // Every replica logs a rejected configuration itself.
        if code != FindingCode::ConfigRejected {
            let [namespace, pod] = [&object.namespace, &object.name].map(|field| field.as_deref().unwrap_or_default());
            let code = code.log_code();
            if warning {
                tracing::warn!(%namespace, %pod, code, "{note}");
            } else {
                tracing::info!(%namespace, %pod, code, "{note}");
            }
        }
        if let Some(reason) = code.event() {
            self.events.publish(object, EventRecord { warning, reason, action: code.action(), note }).await;
        }
    }
}

impl FindingCode {
    /// Returns the code of a finding that has one of its own.
    fn log_code(self) -> Option<&'static str> {
        match self {
            Self::Pod(code) => Some(code.code()),
            Self::Diagnosis(code, _) | Self::Resolved(code) => Some(code.code()),
            _ => None,
        }
    }

    fn severity(self) -> Severity {
        match self {
            Self::Pod(code) => code.severity(),
            Self::Diagnosis(_, severity) => severity,
            Self::Resolved(_) => Severity::Info,
            _ => Severity::Warning,
        }
    }

    /// Returns the reason of the event; `None` for a finding that is only logged.
    fn event(self) -> Option<&'static str> {
        let finding = match self {
            Self::PodMissedByWebhook => return Some("PodMissedByWebhook"),
            Self::RuleRefused => return Some("RuleRefused"),
            Self::FabricMixed => return Some("FabricMixed"),
            Self::GangReleased => return Some("GangReleased"),
            Self::GangObjectMissing => return Some("GangObjectMissing"),
            Self::ConfigRejected => return Some("ConfigRejected"),
            Self::Diagnosis(code, _) | Self::Resolved(code) => return Some(code.code()),
            Self::Pod(finding) => finding,
        };
        match finding {
            PodFindingCode::ProxyEnded | PodFindingCode::WouldEnd => Some("ProxyEnded"),
            PodFindingCode::ProxyEndFailed
            | PodFindingCode::ProxyRestarted
            | PodFindingCode::ProxyCrashLoop
            | PodFindingCode::HelperEndFailed
            | PodFindingCode::PayloadUnknown
            | PodFindingCode::Forbidden => Some("ProxyEndFailed"),
            PodFindingCode::ProxyDiedEarly => Some("ProxyDiedEarly"),
            // A defect of the controller: its event must not suggest one of the proxy.
            PodFindingCode::PrematureEnd => Some("PrematureEnd"),
            PodFindingCode::HelperEnded => Some("HelperEnded"),
            PodFindingCode::HelperHasNoMethod | PodFindingCode::HelperUnknown => Some("HelperHasNoMethod"),
            PodFindingCode::SettleUnreadable => None,
        }
    }

    /// Returns the action of the event.
    fn action(self) -> &'static str {
        match self {
            Self::Pod(_) => "EndPod",
            Self::PodMissedByWebhook | Self::RuleRefused | Self::FabricMixed => "Create",
            Self::GangReleased | Self::GangObjectMissing => "Schedule",
            Self::ConfigRejected => "Reload",
            Self::Diagnosis(..) | Self::Resolved(_) => "Diagnose",
        }
    }
}

/// Formats a finding as one printable line that fits into an event. Parts of it are untrusted.
pub(super) fn event_note(finding: &Finding) -> String {
    printable(&finding.to_string(), events::MAX_NOTE_BYTES)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use trainmesh_core::lifecycle::Method;

    #[rstest]
    #[case::terminated(
        PodFindingCode::ProxyEnded, Some("istio-proxy"), "", Some((Method::EnvoyAdmin, Some(2_000))),
        "istio-proxy: terminated the proxy after the main containers completed (by envoy-admin, 2 s later)"
    )]
    #[case::no_delay(
        PodFindingCode::HelperEnded, Some("vault-agent"), "", Some((Method::SidecarPost, None)),
        "vault-agent: terminated the sidecar after the main containers completed (by helper-post)"
    )]
    #[case::detail(
        PodFindingCode::ProxyEndFailed,
        Some("istio-proxy"),
        "status-forward: HTTP 403 Forbidden",
        None,
        "istio-proxy: the main containers have completed, but the proxy could not be terminated: status-forward: HTTP 403 Forbidden"
    )]
    #[case::no_container(
        PodFindingCode::SettleUnreadable,
        None,
        "",
        None,
        "trainmesh.dev/settle is not a valid duration or exceeds the maximum: the configured value is used"
    )]
    fn notes_name_container_and_detail(
        #[case] code: PodFindingCode,
        #[case] container: Option<&str>,
        #[case] detail: &str,
        #[case] termination: Option<(Method, Option<u64>)>,
        #[case] expected: &str,
    ) {
        let termination =
            termination.map(|(method, delay)| TerminationDetails { method, delay: delay.map(Duration::from_millis) });
        let finding = PodFinding { code, container: container.map(Into::into), detail: detail.to_owned(), termination };
        assert_eq!(event_note(&finding.to_finding()), expected);
    }

    /// Output of a container reaches events, logs and terminals.
    #[rstest]
    #[case::colors("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}")]
    #[case::rows("a\r\nteam-b  llama", "a  team-b  llama")]
    #[case::reordered("a\u{202e}b\u{2028}c", "a\u{fffd}b\u{fffd}c")]
    fn notes_are_printable(#[case] detail: &str, #[case] expected: &str) {
        let finding = PodFinding {
            code: PodFindingCode::ProxyEndFailed,
            container: None,
            detail: detail.to_owned(),
            termination: None,
        };
        assert_eq!(event_note(&finding.to_finding()), format!("{}: {expected}", PodFindingCode::ProxyEndFailed.text()));
    }

    #[test]
    fn notes_fit_into_an_event() {
        for character in ["x", "é", "\n", "\u{1b}"] {
            let detail = character.repeat(256 * 1024);
            let finding =
                PodFinding { code: PodFindingCode::HelperUnknown, container: None, detail, termination: None };
            let note = event_note(&finding.to_finding());
            assert!((1000..=1024).contains(&note.len()), "{character:?}: {} bytes", note.len());
        }
    }

    /// A defect of the controller must not look like a crash of the proxy.
    #[test]
    fn a_premature_end_has_its_own_event() {
        let event = |code: PodFindingCode| FindingCode::Pod(code).event();
        assert_eq!(event(PodFindingCode::PrematureEnd), Some("PrematureEnd"));
        let same = PodFindingCode::ALL.iter().copied().filter(|code| event(*code) == Some("PrematureEnd"));
        assert_eq!(same.collect::<Vec<_>>(), [PodFindingCode::PrematureEnd]);
        assert_eq!(PodFindingCode::PrematureEnd.severity(), Severity::Warning);
    }
}
