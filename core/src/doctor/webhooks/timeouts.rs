//! The sum of the timeouts of all webhooks that the apiserver calls for a pod, which may exceed its own deadline.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::super::{CheckFinding, Code, join_names};
use super::{Labels, called_for_pods, is_called};

/// Seconds after which the apiserver aborts a write, whatever its flag `--request-timeout` (`requestTimeoutUpperBound` in
/// k8s.io/apiserver, `pkg/endpoints/handlers/rest.go`).
const DEADLINE: i32 = 34;
/// Seconds of a webhook without `timeoutSeconds`.
const DEFAULT_TIMEOUT: i32 = 10;

/// Compares the sum with the deadline in each of `namespaces`, and reports the namespaces with the largest sum before the
/// others that exceed it.
/// `validating` are the validating webhooks, which are called at the same time, after the mutating ones.
pub(in super::super) fn check<'a>(
    mutating: &[MutatingWebhookConfiguration],
    validating: &[MutatingWebhook],
    namespaces: impl Iterator<Item = (&'a String, &'a Labels)>,
) -> Vec<CheckFinding> {
    let sums: Vec<(&String, i32, String)> = namespaces
        .map(|(namespace, labels)| {
            let (sum, names) = sum(mutating, validating, labels);
            (namespace, sum, names)
        })
        .collect();
    let Some((namespace, most, names)) =
        sums.iter().rev().max_by_key(|(_, sum, _)| *sum).filter(|(_, sum, _)| *sum > 0)
    else {
        return vec![(Code::TimeoutsFit, String::new())];
    };
    if *most < DEADLINE {
        return vec![(Code::TimeoutsFit, format!("at most {most} s, in {namespace}"))];
    }
    let (slowest, others): (Vec<_>, Vec<_>) = sums
        .iter()
        .filter(|(_, sum, _)| *sum >= DEADLINE)
        .partition(|(_, sum, webhooks)| (sum, webhooks) == (most, names));
    let slowest = join_names(slowest.iter().map(|(namespace, ..)| namespace));
    let mut parts = vec![format!("{slowest}: {most} s: {names}")];
    if !others.is_empty() {
        let others = join_names(others.iter().map(|(namespace, sum, _)| format!("{namespace} ({sum} s)")));
        parts.push(format!("also {others}"));
    }
    vec![(Code::TimeoutsExceedDeadline, parts.join("; "))]
}

/// Returns the sum of the timeouts, and the webhooks with theirs.
fn sum(mutating: &[MutatingWebhookConfiguration], validating: &[MutatingWebhook], labels: &Labels) -> (i32, String) {
    let timeout = |webhook: &MutatingWebhook| webhook.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT);
    let (mut sum, mut names) = (0_i32, Vec::new());
    for (_, webhook) in called_for_pods(mutating, labels) {
        // A webhook is called a second time if another one changes the pod after it, whether or not it has responded.
        let is_repeated = webhook.reinvocation_policy.as_deref() == Some("IfNeeded");
        let seconds = timeout(webhook).saturating_mul(if is_repeated { 2 } else { 1 });
        sum = sum.saturating_add(seconds);
        names.push((seconds, webhook.name.clone()));
    }
    let validating = validating.iter().filter(|webhook| is_called(webhook, labels));
    if let Some(webhook) = validating.max_by_key(|webhook| timeout(webhook)) {
        sum = sum.saturating_add(timeout(webhook));
        names.push((timeout(webhook), webhook.name.clone()));
    }
    names.sort_by_key(|(seconds, _)| -seconds);
    (sum, join_names(names.into_iter().map(|(seconds, name)| format!("{name} {seconds} s"))))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::super::testing::webhook_configurations;
    use super::super::testing::webhook;
    use super::*;

    fn seconds(name: &str, seconds: i32) -> Value {
        webhook(name, &json!({"timeoutSeconds": seconds}))
    }

    const FIT: Code = Code::TimeoutsFit;
    const EXCEED: Code = Code::TimeoutsExceedDeadline;

    #[rstest]
    #[case::none(&[], &[], FIT, "")]
    #[case::three(&[seconds("a", 10), seconds("b", 10), seconds("c", 10)], &[], FIT, "at most 30 s, in team-a")]
    #[case::four(
        &[seconds("a", 10), seconds("b", 10), seconds("c", 10), seconds("d", 10)],
        &[],
        EXCEED,
        "team-a: 40 s: a.example.com 10 s, b.example.com 10 s, c.example.com 10 s, d.example.com 10 s"
    )]
    #[case::the_deadline(&[seconds("a", 30), seconds("b", 4)], &[], EXCEED, "team-a: 34 s: a.example.com 30 s, b.example.com 4 s")]
    #[case::default_timeout(&[webhook("a", &json!({}))], &[], FIT, "at most 10 s, in team-a")]
    #[case::called_twice(
        &[webhook("a", &json!({"reinvocationPolicy": "IfNeeded"})), seconds("b", 15)],
        &[],
        EXCEED,
        "team-a: 35 s: a.example.com 20 s, b.example.com 15 s"
    )]
    #[case::validating_at_the_same_time(
        &[seconds("a", 20)],
        &[seconds("b", 10), seconds("c", 5)],
        FIT,
        "at most 30 s, in team-a"
    )]
    #[case::validating(&[seconds("a", 25)], &[seconds("b", 10)], EXCEED, "team-a: 35 s: a.example.com 25 s, b.example.com 10 s")]
    #[case::other_namespaces(&[webhook("a", &json!({"timeoutSeconds": 30, "namespaceSelector": {"matchLabels": {"team": "b"}}}))], &[], FIT, "")]
    fn sums_the_timeouts(
        #[case] mutating: &[Value],
        #[case] validating: &[Value],
        #[case] code: Code,
        #[case] evidence: &str,
    ) {
        let validating = webhook_configurations(validating);
        let validating: Vec<MutatingWebhook> =
            validating.into_iter().flat_map(|configuration| configuration.webhooks.unwrap_or_default()).collect();
        let (namespace, labels) = ("team-a".to_owned(), Labels::from([("team".to_owned(), "a".to_owned())]));
        let found = check(&webhook_configurations(mutating), &validating, [(&namespace, &labels)].into_iter());
        assert_eq!(found, [(code, evidence.to_owned())]);
    }

    /// The sum and the webhooks are those of the namespaces before them.
    #[test]
    fn names_the_slowest_namespaces_first() {
        let of_team = |name: &str, team: &str, seconds: i32| {
            let selector = json!({"matchLabels": {"team": team}});
            webhook(name, &json!({"timeoutSeconds": seconds, "namespaceSelector": selector}))
        };
        let mutating = [of_team("a1", "a", 20), of_team("a2", "a", 20), of_team("b1", "b", 30), of_team("b2", "b", 30)];
        let namespaces: Vec<(String, Labels)> = [("team-a", "a"), ("team-b", "b"), ("team-b2", "b"), ("team-c", "c")]
            .map(|(name, team)| (name.to_owned(), Labels::from([("team".to_owned(), team.to_owned())])))
            .into();
        let found =
            check(&webhook_configurations(&mutating), &[], namespaces.iter().map(|(name, labels)| (name, labels)));
        let evidence = "team-b, team-b2: 60 s: b1.example.com 30 s, b2.example.com 30 s; also team-a (40 s)";
        assert_eq!(found, [(EXCEED, evidence.to_owned())]);
    }
}
