//! Webhook calls of a request, from the apiserver's audit log.

use serde_json::Value;

const MUTATION: &str = "mutation.webhook.admission.k8s.io/round_";
const FAILED_OPEN: &str = "failed-open.mutation.webhook.admission.k8s.io/round_";

/// One call of a mutating webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// 0 for the first round, 1 for a reinvocation.
    pub round: u32,
    /// Name of the webhook configuration.
    pub configuration: String,
    /// Name of the webhook.
    pub webhook: String,
    /// True if its patch changed the object.
    pub mutated: bool,
}

/// Returns the calls that an audit event records, in order.
pub fn calls(event: &Value) -> Vec<Call> {
    let mut calls: Vec<(u32, u32, Call)> = annotations(event, MUTATION)
        .map(|(place, value)| {
            let (round, index) = place.split_once("_index_").expect("a round and an index");
            let (round, index) = (round.parse().expect("a round"), index.parse().expect("an index"));
            let value: Value = serde_json::from_str(value).expect("the annotation is JSON");
            let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            let mutated = value["mutated"] == true;
            (round, index, Call { round, configuration: text("configuration"), webhook: text("webhook"), mutated })
        })
        .collect();
    calls.sort_by_key(|(round, index, _)| (*round, *index));
    calls.into_iter().map(|(_, _, call)| call).collect()
}

/// Returns the webhooks whose calls failed open.
pub fn failed_open(event: &Value) -> Vec<&str> {
    annotations(event, FAILED_OPEN).map(|(_, webhook)| webhook).collect()
}

fn annotations<'a>(event: &'a Value, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = event["annotations"].as_object().into_iter().flatten();
    all.filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_str()?)))
}
