//! Tells what was found about a pod: by an event on it, in the log, and in the metrics.

use std::fmt::Write as _;

use super::text::printable;
use crate::cluster::events::{self, Events, Told};
use crate::lifecycle::{Ended, Finding, PodFacts, Report};
use crate::telemetry::Metrics;

/// What events say was being done.
const ACTION: &str = "EndPod";
/// Longest note that the apiserver takes, in bytes.
const NOTE: usize = 1024;

/// Tells `report` about the pod of `facts`.
pub(super) async fn tell(events: &Events, metrics: &Metrics, facts: &PodFacts, report: &Report) {
    let Report { finding, container: _, detail: _, ended } = report;
    match (finding, ended) {
        (Finding::ProxyEnded, Some(Ended { method, delay })) => metrics.lifecycle.proxy_ended(method.name(), *delay),
        (Finding::PrematureEnd, _) => metrics.lifecycle.premature_end(),
        _ => {}
    }
    let note = note(report);
    let (namespace, pod, code) = (&facts.namespace, &facts.name, finding.code());
    if finding.is_warning() {
        tracing::warn!(%namespace, %pod, code, "{note}");
    } else {
        tracing::info!(%namespace, %pod, code, "{note}");
    }
    if let Some(reason) = finding.event() {
        let told = Told { warning: finding.is_warning(), reason, action: ACTION, note };
        events.tell(&events::pod(namespace, pod, &facts.uid), told).await;
    }
}

/// The text of an event, in one line that fits: which container, what, how, and what is particular.
pub(super) fn note(report: &Report) -> String {
    let Report { finding, container, detail, ended } = report;
    let mut note = String::new();
    if let Some(container) = container {
        note.push_str(container);
        note.push_str(": ");
    }
    note.push_str(finding.text());
    match ended {
        Some(Ended { method, delay: Some(delay) }) => {
            // Writing to a String cannot fail.
            let _ = write!(note, " (by {}, {:.0} s after the payload)", method.name(), delay.as_secs_f64());
        }
        Some(Ended { method, delay: None }) => {
            // As above.
            let _ = write!(note, " (by {})", method.name());
        }
        None if detail.is_empty() => {}
        None => {
            note.push_str(": ");
            note.push_str(detail);
        }
    }
    printable(&note, NOTE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use crate::lifecycle::Method;

    #[rstest]
    #[case::ended(
        Finding::ProxyEnded, Some("istio-proxy"), "", Some((Method::EnvoyAdmin, Some(2_000))),
        "istio-proxy: the payload has ended: the proxy was ended (by envoy-admin, 2 s after the payload)"
    )]
    #[case::no_times(
        Finding::HelperEnded, Some("vault-agent"), "", Some((Method::HelperPost, None)),
        "vault-agent: the payload has ended: the helper was ended (by helper-post)"
    )]
    #[case::particular(
        Finding::ProxyEndFailed,
        Some("istio-proxy"),
        "status-forward: HTTP 403 Forbidden",
        None,
        "istio-proxy: the payload has ended, but the proxy could not be ended: status-forward: HTTP 403 Forbidden"
    )]
    #[case::of_the_pod(
        Finding::SettleUnreadable,
        None,
        "",
        None,
        "trainmesh.dev/settle is no duration: the configured one is used"
    )]
    fn notes(
        #[case] finding: Finding,
        #[case] container: Option<&str>,
        #[case] detail: &str,
        #[case] ended: Option<(Method, Option<u64>)>,
        #[case] expected: &str,
    ) {
        let ended = ended.map(|(method, delay)| Ended { method, delay: delay.map(Duration::from_millis) });
        let report = Report { finding, container: container.map(Into::into), detail: detail.to_owned(), ended };
        assert_eq!(note(&report), expected);
    }

    /// What a container prints reaches events, logs and terminals.
    #[rstest]
    #[case::colors("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}")]
    #[case::rows("a\r\nteam-b  llama", "a  team-b  llama")]
    #[case::reordered("a\u{202e}b\u{2028}c", "a\u{fffd}b\u{fffd}c")]
    fn notes_are_printable(#[case] detail: &str, #[case] expected: &str) {
        let report =
            Report { finding: Finding::ProxyEndFailed, container: None, detail: detail.to_owned(), ended: None };
        assert_eq!(note(&report), format!("{}: {expected}", Finding::ProxyEndFailed.text()));
    }

    #[test]
    fn notes_fit_into_an_event() {
        for character in ["x", "é", "\n", "\u{1b}"] {
            let detail = character.repeat(256 * 1024);
            let report = Report { finding: Finding::HelperUnknown, container: None, detail, ended: None };
            let note = note(&report);
            assert!((1000..=1024).contains(&note.len()), "{character:?}: {} bytes", note.len());
        }
    }
}
