//! Publishes findings in the log, in the metrics, and as events on the objects that they are about.
//!
//! The one place that maps a finding to an event and a metric.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use super::text::printable;
use crate::cluster::events::{self, EventRecord, Events};
use crate::telemetry::Metrics;
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::lifecycle::{Ended, PodFacts, Report, ReportCode};

/// Publishes what the controller finds.
pub(super) struct Publisher {
    events: Events,
    metrics: Arc<Metrics>,
}

/// What the controller finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// What a decision reports about a pod.
    Report(ReportCode),
    /// A new pod that the webhook should have changed.
    PodMissedByWebhook,
    /// A pod that was set up unlike the others of its gang.
    FabricMixed,
    /// A configuration that was not applied.
    ConfigRejected,
}

impl Publisher {
    pub(super) fn new(events: Events, metrics: Arc<Metrics>) -> Self {
        Self { events, metrics }
    }

    /// Publishes what a decision reports about the pod of `facts`.
    pub(super) async fn report(&self, facts: &PodFacts, report: &Report) {
        if let (ReportCode::ProxyEnded, Some(Ended { method, delay })) = (report.code, report.ended) {
            self.metrics.lifecycle.proxy_ended(method.name(), delay);
        }
        let pod = events::pod(&facts.namespace, &facts.name, &facts.uid);
        self.publish(&pod, Code::Report(report.code), line(&report.finding())).await;
    }

    /// Publishes a finding about `object`, in the words of `note`.
    pub(super) async fn publish(&self, object: &ObjectReference, code: Code, note: String) {
        match code {
            Code::Report(ReportCode::PrematureEnd) => self.metrics.lifecycle.premature_end(),
            Code::PodMissedByWebhook => self.metrics.lifecycle.missed(),
            _ => {}
        }
        let warning = code.severity() <= Severity::Warning;
        // A rejected configuration is logged by every replica.
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

    /// The reason of its event; `None`: it is worth a line in the log only.
    fn event(self) -> Option<&'static str> {
        let report = match self {
            Self::PodMissedByWebhook => return Some("PodMissedByWebhook"),
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
            // A mistake of the controller, which nobody should search for in the proxy.
            ReportCode::PrematureEnd => Some("PrematureEnd"),
            ReportCode::HelperEnded => Some("HelperEnded"),
            ReportCode::HelperHasNoMethod | ReportCode::HelperUnknown => Some("HelperHasNoMethod"),
            ReportCode::SettleUnreadable => None,
        }
    }

    /// What was being done, as events say it.
    fn action(self) -> &'static str {
        match self {
            Self::Report(_) => "EndPod",
            Self::PodMissedByWebhook | Self::FabricMixed => "Create",
            Self::ConfigRejected => "Reload",
        }
    }
}

/// A finding in one printable line that fits into an event: parts of it are in the words of others.
pub(super) fn line(finding: &Finding) -> String {
    printable(&finding.to_string(), events::NOTE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use trainmesh_core::lifecycle::Method;

    #[rstest]
    #[case::ended(
        ReportCode::ProxyEnded, Some("istio-proxy"), "", Some((Method::EnvoyAdmin, Some(2_000))),
        "istio-proxy: the payload has ended: the proxy was ended (by envoy-admin, 2 s after the payload)"
    )]
    #[case::no_times(
        ReportCode::HelperEnded, Some("vault-agent"), "", Some((Method::HelperPost, None)),
        "vault-agent: the payload has ended: the helper was ended (by helper-post)"
    )]
    #[case::particular(
        ReportCode::ProxyEndFailed,
        Some("istio-proxy"),
        "status-forward: HTTP 403 Forbidden",
        None,
        "istio-proxy: the payload has ended, but the proxy could not be ended: status-forward: HTTP 403 Forbidden"
    )]
    #[case::of_the_pod(
        ReportCode::SettleUnreadable,
        None,
        "",
        None,
        "trainmesh.dev/settle is no duration: the configured one is used"
    )]
    fn lines(
        #[case] code: ReportCode,
        #[case] container: Option<&str>,
        #[case] detail: &str,
        #[case] ended: Option<(Method, Option<u64>)>,
        #[case] expected: &str,
    ) {
        let ended = ended.map(|(method, delay)| Ended { method, delay: delay.map(Duration::from_millis) });
        let report = Report { code, container: container.map(Into::into), detail: detail.to_owned(), ended };
        assert_eq!(line(&report.finding()), expected);
    }

    /// What a container prints reaches events, logs and terminals.
    #[rstest]
    #[case::colors("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}")]
    #[case::rows("a\r\nteam-b  llama", "a  team-b  llama")]
    #[case::reordered("a\u{202e}b\u{2028}c", "a\u{fffd}b\u{fffd}c")]
    fn lines_are_printable(#[case] detail: &str, #[case] expected: &str) {
        let report =
            Report { code: ReportCode::ProxyEndFailed, container: None, detail: detail.to_owned(), ended: None };
        assert_eq!(line(&report.finding()), format!("{}: {expected}", ReportCode::ProxyEndFailed.text()));
    }

    #[test]
    fn lines_fit_into_an_event() {
        for character in ["x", "é", "\n", "\u{1b}"] {
            let detail = character.repeat(256 * 1024);
            let report = Report { code: ReportCode::HelperUnknown, container: None, detail, ended: None };
            let line = line(&report.finding());
            assert!((1000..=1024).contains(&line.len()), "{character:?}: {} bytes", line.len());
        }
    }

    /// A mistake of the controller must not read like a crash of the proxy.
    #[test]
    fn a_premature_end_has_an_event_of_its_own() {
        let event = |code: ReportCode| Code::Report(code).event();
        assert_eq!(event(ReportCode::PrematureEnd), Some("PrematureEnd"));
        let same = ReportCode::ALL.iter().copied().filter(|code| event(*code) == Some("PrematureEnd"));
        assert_eq!(same.collect::<Vec<_>>(), [ReportCode::PrematureEnd]);
        assert_eq!(ReportCode::PrematureEnd.severity(), Severity::Warning);
    }
}
