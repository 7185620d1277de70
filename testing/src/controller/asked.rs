//! What was asked of the containers of a pod: the apiserver's audit log has every exec and every port-forward.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::Namespace;

/// The usual way to end a proxy, through Envoy.
pub const ADMIN: &str = "pilot-agent request POST quitquitquit";

/// The next one, through the agent.
pub const STATUS: &str = "pilot-agent request --debug-port 15020 POST quitquitquit";

/// One request to reach into a pod, however it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This command was to be run.
    Exec { container: String, command: String },
    /// Bytes were to be sent to a port.
    PortForward,
}

/// What was asked of pod `name`, in order, `kubectl`'s own requests left out.
pub fn asked(namespace: &Namespace, name: &str) -> Vec<Asked> {
    asked_of_all(namespace).remove(name).unwrap_or_default()
}

/// What was asked of each pod of a namespace; those that were left alone are not in it.
pub fn asked_of_all(namespace: &Namespace) -> BTreeMap<String, Vec<Asked>> {
    let mut requests = namespace.audit_begun(|event| {
        let reaching = matches!(event["objectRef"]["subresource"].as_str(), Some("exec" | "portforward"));
        reaching && !event["userAgent"].as_str().is_some_and(|agent| agent.starts_with("kubectl/"))
    });
    requests.sort_by_key(|event| event["requestReceivedTimestamp"].to_string());
    let mut all: BTreeMap<String, Vec<Asked>> = BTreeMap::new();
    for event in &requests {
        let name = event["objectRef"]["name"].as_str().expect("a pod has a name");
        all.entry(name.to_owned()).or_default().push(Asked::new(event));
    }
    all
}

impl Asked {
    /// An exec in the proxy.
    pub fn proxy(command: &str) -> Self {
        Self::Exec { container: super::PROXY.to_owned(), command: command.to_owned() }
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

/// Undoes the encoding of a query's value.
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
