//! Exec and port-forward requests to pods, from the apiserver's audit log.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{ObservedPod, PROXY};
use crate::cluster::Namespace;

/// The first termination method: terminates the proxy through Envoy's admin port.
pub const QUIT_ENVOY: &str = "pilot-agent request POST quitquitquit";

/// The second termination method: terminates the proxy through the agent's status port.
pub const QUIT_AGENT: &str = "pilot-agent request --debug-port 15020 POST quitquitquit";

/// An exec or port-forward request, whatever its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerRequest {
    /// A command to run in a container.
    Exec { container: String, command: String },
    /// A connection to a port of the pod.
    PortForward,
}

/// Returns the requests to pod `name`, in order, without those of `kubectl`.
pub fn container_requests(namespace: &Namespace, name: &str) -> Vec<ContainerRequest> {
    container_requests_by_pod(namespace).remove(name).unwrap_or_default()
}

/// Most requests to a pod until a busy kubelet has reported that its proxy terminated.
const MAX_REQUESTS: usize = 10;

/// Returns the requests to a pod until its proxy terminated; successive ones that are equal count once. While a busy kubelet has
/// not reported the termination, the controller may repeat them. Panics if there are more than [`MAX_REQUESTS`] in all.
pub fn requests_until_termination(namespace: &Namespace, pod: &ObservedPod) -> Vec<ContainerRequest> {
    // Rounded down to seconds.
    let end = pod.terminated_at(PROXY).expect("the proxy has terminated") + SignedDuration::from_secs(1);
    let is_earlier = |event: &Value| {
        let received = event["requestReceivedTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        received.expect("a request has a time") < end
    };
    let all = container_requests(namespace, pod.name());
    assert!(all.len() <= MAX_REQUESTS, "{all:?}");
    let mut requests = by_pod(namespace, is_earlier).remove(pod.name()).unwrap_or_default();
    requests.dedup();
    requests
}

/// Returns the requests to each pod of a namespace. Pods without requests are absent.
pub fn container_requests_by_pod(namespace: &Namespace) -> BTreeMap<String, Vec<ContainerRequest>> {
    by_pod(namespace, |_| true)
}

fn by_pod(namespace: &Namespace, keep: impl Fn(&Value) -> bool) -> BTreeMap<String, Vec<ContainerRequest>> {
    let mut requests = namespace.audit_started(|event| {
        let is_container_request = matches!(event["objectRef"]["subresource"].as_str(), Some("exec" | "portforward"));
        is_container_request && !event["userAgent"].as_str().is_some_and(|agent| agent.starts_with("kubectl/"))
    });
    requests.retain(keep);
    requests.sort_by_key(|event| event["requestReceivedTimestamp"].to_string());
    let mut by_pod: BTreeMap<String, Vec<ContainerRequest>> = BTreeMap::new();
    for event in &requests {
        let name = event["objectRef"]["name"].as_str().expect("a pod has a name");
        by_pod.entry(name.to_owned()).or_default().push(ContainerRequest::new(event));
    }
    by_pod
}

impl ContainerRequest {
    /// Returns an exec of `command` in the proxy.
    pub fn proxy(command: &str) -> Self {
        Self::Exec { container: PROXY.to_owned(), command: command.to_owned() }
    }

    fn new(event: &Value) -> Self {
        if event["objectRef"]["subresource"] == "portforward" {
            return Self::PortForward;
        }
        let uri = event["requestURI"].as_str().expect("a request has a URI");
        let (_, query) = uri.split_once('?').unwrap_or_default();
        let values = |name: &'static str| {
            query
                .split('&')
                .filter_map(move |pair| pair.split_once('=').filter(|(key, _)| *key == name))
                .map(|(_, value)| decode(value))
        };
        Self::Exec {
            container: values("container").next().unwrap_or_default(),
            command: values("command").collect::<Vec<_>>().join(" "),
        }
    }
}

/// Decodes a percent-encoded query value.
fn decode(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next(), bytes.next()].map(|digit| char::from(digit.expect("two digits")));
                let digit = |at: usize| digits[at].to_digit(16).expect("a hexadecimal digit");
                u8::try_from(digit(0) * 16 + digit(1)).expect("two digits make a byte")
            }
            other => other,
        });
    }
    String::from_utf8(decoded).expect("a query is UTF-8")
}
