//! Publishes findings to the log, the metrics, and as events on the objects concerned.
//!
//! The only place that maps a finding to an event and a metric.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use super::text::printable;
use crate::cluster::events::{self, EventRecord, Events};
use crate::telemetry::Metrics;
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::lifecycle::{PodFacts, Report, ReportCode, TerminationDetails};

/// Publishes the controller's findings.
pub(super) struct Publisher {
    events: Events,
    metrics: Arc<Metrics>,
}

/// A finding of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// A report from a decision about a pod.
    Report(ReportCode),
    /// A new pod that the webhook should have changed.
    PodMissedByWebhook,
    /// A new pod for which the webhook refused rules.
    RuleRefused,
    /// A pod whose fabric differs from that of its gang.
    FabricMixed,
    /// A configuration that was rejected.
    ConfigRejected,
}

impl Publisher {
    pub(super) fn new(events: Events, metrics: Arc<Metrics>) -> Self {
        Self { events, metrics }
    }

    /// Publishes a report from a decision about the pod of `facts`.
    pub(super) async fn report(&self, facts: &PodFacts, report: &Report) {
        if let (ReportCode::ProxyEnded, Some(TerminationDetails { method, delay })) = (report.code, report.termination)
        {
            self.metrics.lifecycle.proxy_ended(method.name(), delay);
        }
        let pod = events::pod(&facts.namespace, &facts.name, &facts.uid);
        self.publish(&pod, Code::Report(report.code), event_note(&report.finding())).await;
    }

    /// Publishes a finding about `object` with the text `note`.
    pub(super) async fn publish(&self, object: &ObjectReference, code: Code, note: String) {
        match code {
            Code::Report(ReportCode::PrematureEnd) => self.metrics.lifecycle.premature_end(),
            Code::PodMissedByWebhook => self.metrics.lifecycle.pod_missed(),
            _ => {}
        }
        let warning = code.severity() <= Severity::Warning;
        // Every replica logs a rejected configuration itself.
        if code != Code::ConfigRejected {
            let [namespace, pod] = [&object.namespace, &object.name].map(|it| it.as_deref().unwrap_or_default());
            let code = code.report().map(ReportCode::code);
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

impl Code {
    fn report(self) -> Option<ReportCode> {
        if let Self::Report(code) = self { Some(code) } else { None }
    }

    fn severity(self) -> Severity {
        self.report().map_or(Severity::Warning, ReportCode::severity)
    }

    /// Returns the reason of the event; `None` for a finding that is only logged.
    fn event(self) -> Option<&'static str> {
        let report = match self {
            Self::PodMissedByWebhook => return Some("PodMissedByWebhook"),
            Self::RuleRefused => return Some("RuleRefused"),
            Self::FabricMixed => return Some("FabricMixed"),
            Self::ConfigRejected => return Some("ConfigRejected"),
            Self::Report(report) => report,
        };
        match report {
            ReportCode::ProxyEnded | ReportCode::WouldEnd => Some("ProxyEnded"),
            ReportCode::ProxyEndFailed
            | ReportCode::ProxyRestarted
            | ReportCode::ProxyCrashLoop
            | ReportCode::HelperEndFailed
            | ReportCode::PayloadUnknown
            | ReportCode::Forbidden => Some("ProxyEndFailed"),
            ReportCode::ProxyDiedEarly => Some("ProxyDiedEarly"),
            // A defect of the controller: its event must not suggest one of the proxy.
            ReportCode::PrematureEnd => Some("PrematureEnd"),
            ReportCode::HelperEnded => Some("HelperEnded"),
            ReportCode::HelperHasNoMethod | ReportCode::HelperUnknown => Some("HelperHasNoMethod"),
            ReportCode::SettleUnreadable => None,
        }
    }

    /// Returns the action of the event.
    fn action(self) -> &'static str {
        match self {
            Self::Report(_) => "EndPod",
            Self::PodMissedByWebhook | Self::RuleRefused | Self::FabricMixed => "Create",
            Self::ConfigRejected => "Reload",
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
        ReportCode::ProxyEnded, Some("istio-proxy"), "", Some((Method::EnvoyAdmin, Some(2_000))),
        "istio-proxy: terminated the proxy after the main containers completed (by envoy-admin, 2 s later)"
    )]
    #[case::no_delay(
        ReportCode::HelperEnded, Some("vault-agent"), "", Some((Method::SidecarPost, None)),
        "vault-agent: terminated the sidecar after the main containers completed (by helper-post)"
    )]
    #[case::detail(
        ReportCode::ProxyEndFailed,
        Some("istio-proxy"),
        "status-forward: HTTP 403 Forbidden",
        None,
        "istio-proxy: the main containers have completed, but the proxy could not be terminated: status-forward: HTTP 403 Forbidden"
    )]
    #[case::no_container(
        ReportCode::SettleUnreadable,
        None,
        "",
        None,
        "trainmesh.dev/settle is not a valid duration: the configured value is used"
    )]
    fn notes_name_container_and_detail(
        #[case] code: ReportCode,
        #[case] container: Option<&str>,
        #[case] detail: &str,
        #[case] termination: Option<(Method, Option<u64>)>,
        #[case] expected: &str,
    ) {
        let termination =
            termination.map(|(method, delay)| TerminationDetails { method, delay: delay.map(Duration::from_millis) });
        let report = Report { code, container: container.map(Into::into), detail: detail.to_owned(), termination };
        assert_eq!(event_note(&report.finding()), expected);
    }

    /// Output of a container reaches events, logs and terminals.
    #[rstest]
    #[case::colors("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}")]
    #[case::rows("a\r\nteam-b  llama", "a  team-b  llama")]
    #[case::reordered("a\u{202e}b\u{2028}c", "a\u{fffd}b\u{fffd}c")]
    fn notes_are_printable(#[case] detail: &str, #[case] expected: &str) {
        let report =
            Report { code: ReportCode::ProxyEndFailed, container: None, detail: detail.to_owned(), termination: None };
        assert_eq!(event_note(&report.finding()), format!("{}: {expected}", ReportCode::ProxyEndFailed.text()));
    }

    #[test]
    fn notes_fit_into_an_event() {
        for character in ["x", "é", "\n", "\u{1b}"] {
            let detail = character.repeat(256 * 1024);
            let report = Report { code: ReportCode::HelperUnknown, container: None, detail, termination: None };
            let note = event_note(&report.finding());
            assert!((1000..=1024).contains(&note.len()), "{character:?}: {} bytes", note.len());
        }
    }

    /// A defect of the controller must not look like a crash of the proxy.
    #[test]
    fn a_premature_end_has_its_own_event() {
        let event = |code: ReportCode| Code::Report(code).event();
        assert_eq!(event(ReportCode::PrematureEnd), Some("PrematureEnd"));
        let same = ReportCode::ALL.iter().copied().filter(|code| event(*code) == Some("PrematureEnd"));
        assert_eq!(same.collect::<Vec<_>>(), [ReportCode::PrematureEnd]);
        assert_eq!(ReportCode::PrematureEnd.severity(), Severity::Warning);
    }
}
