//! A Service that selects pods.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::strings;
use crate::json;
use crate::manifest::ObjectField;
use crate::pod::{Container, Pod};

/// Annotation that lists the namespaces whose proxies see a Service.
const EXPORT_TO: &str = "networking.istio.io/exportTo";
/// Values of the annotation for the Service's own namespace, and for none.
const PRIVATE: [&str; 2] = [".", "~"];

/// A Service that selects pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub name: String,
    /// True if it has no cluster IP: clients connect to the addresses of pods.
    pub is_headless: bool,
    /// True if the proxies of other namespaces see it.
    pub is_exported: bool,
    selector: BTreeMap<String, String>,
    /// TCP ports.
    ports: Vec<ServicePort>,
    /// Its field `spec.clusterIP`; `None` if the Service is not in the input.
    pub field: Option<ObjectField>,
}

/// Field that makes a Service headless.
pub(super) const FIELD: &str = "/spec/clusterIP";

/// A TCP port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServicePort {
    number: u16,
    target: TargetPort,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetPort {
    Number(u16),
    /// Name of a container port.
    Name(String),
}

impl Service {
    /// Parses a Service; `None` if it selects no pods.
    pub(super) fn parse(object: &Value, namespace: &str, name: &str) -> Option<Self> {
        let spec = object.get("spec")?;
        let selector = strings(spec.get("selector"));
        if selector.is_empty() || json::text(spec, "type") == Some("ExternalName") {
            return None;
        }
        let exported = object.pointer("/metadata/annotations").and_then(|found| json::text(found, EXPORT_TO));
        let is_tcp = |port: &&Value| json::text(port, "protocol").is_none_or(|protocol| protocol == "TCP");
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            is_headless: json::text(spec, "clusterIP") == Some("None"),
            is_exported: !exported.is_some_and(|to| to.split(',').all(|to| PRIVATE.contains(&to.trim()))),
            selector,
            ports: json::items(spec, "ports").filter(is_tcp).filter_map(ServicePort::parse).collect(),
            field: None,
        })
    }

    /// Returns true if the Service selects `pod`, which is in the same namespace.
    #[must_use]
    pub fn selects(&self, pod: Pod<'_>) -> bool {
        self.selector.iter().all(|(key, value)| pod.label(key) == Some(value))
    }

    /// Returns true if the selector requires this label.
    #[must_use]
    pub fn selects_label(&self, key: &str, value: &str) -> bool {
        self.selector.get(key).is_some_and(|required| required == value)
    }

    /// Returns true if the selector requires a label with one of `keys`.
    #[must_use]
    pub fn selects_by(&self, keys: &[&str]) -> bool {
        self.selector.keys().any(|key| keys.contains(&key.as_str()))
    }

    /// Returns true if the Service selects pods with these labels.
    #[must_use]
    pub fn selects_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// Returns the number of TCP ports.
    #[must_use]
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// Returns each port with the port of `pod` to which it sends connections. Ports that the pod does not name are left
    /// out.
    pub fn target_ports(&self, pod: Pod<'_>) -> impl Iterator<Item = (u16, u16)> {
        self.ports.iter().filter_map(move |port| {
            let target = match &port.target {
                TargetPort::Number(number) => *number,
                TargetPort::Name(name) => {
                    let mut declared = pod.containers().flat_map(Container::tcp_ports);
                    declared.find(|declared| declared.name == Some(name))?.number
                }
            };
            Some((port.number, target))
        })
    }

    /// Returns the numbers of the target ports; `None` for those with a name.
    pub(super) fn target_numbers(&self) -> impl Iterator<Item = Option<u16>> {
        self.ports.iter().map(|port| match port.target {
            TargetPort::Number(number) => Some(number),
            TargetPort::Name(_) => None,
        })
    }

    /// Returns true if `text` contains a DNS name of the Service. `namespace` is that of the client, in which the name
    /// alone is a DNS name.
    #[must_use]
    pub fn is_named_in(&self, text: &str, namespace: &str) -> bool {
        let is_label = |next: char| next.is_ascii_alphanumeric() || next == '-';
        let qualified = format!(".{}", self.namespace);
        text.match_indices(self.name.as_str()).any(|(start, name)| {
            let rest = &text[start + name.len()..];
            // A pod of a StatefulSet precedes the name with a dot.
            let starts = !text[..start].ends_with(is_label);
            let has_namespace = rest.strip_prefix(qualified.as_str()).is_some_and(|rest| !rest.starts_with(is_label));
            // Words of a text are not host names: a port or path follows, or nothing.
            let is_host = rest.is_empty() || rest.starts_with([':', '/', ',', ';']);
            starts && (has_namespace || namespace == self.namespace && is_host)
        })
    }

    /// Returns the fully qualified DNS name, with the default domain of clusters.
    pub(super) fn host(&self) -> String {
        format!("{}.{}.svc.cluster.local", self.name, self.namespace)
    }
}

impl ServicePort {
    fn parse(port: &Value) -> Option<Self> {
        let number = |value: &Value| u16::try_from(value.as_u64()?).ok();
        let own = port.get("port").and_then(number)?;
        let target = match port.get("targetPort") {
            None | Some(Value::Null) => TargetPort::Number(own),
            Some(Value::String(name)) => TargetPort::Name(name.clone()),
            Some(value) => TargetPort::Number(number(value)?),
        };
        Some(Self { number: own, target })
    }
}

impl fmt::Display for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn service(spec: &Value) -> Option<Service> {
        Service::parse(&json!({"spec": spec}), "team-a", "db")
    }

    #[rstest]
    #[case::number(json!({"port": 80, "targetPort": 8080}), &[(80, 8080)])]
    #[case::default(json!({"port": 80}), &[(80, 80)])]
    #[case::name(json!({"port": 80, "targetPort": "http"}), &[(80, 8000)])]
    #[case::name_that_the_pod_lacks(json!({"port": 80, "targetPort": "grpc"}), &[])]
    #[case::udp(json!({"port": 53, "protocol": "UDP"}), &[])]
    #[case::invalid(json!({"port": 80, "targetPort": 70000}), &[])]
    fn ports_are_resolved(#[case] port: Value, #[case] expected: &[(u16, u16)]) {
        let pod = json!({"spec": {"containers": [{"name": "a", "ports": [{"name": "http", "containerPort": 8000}]}]}});
        let service = service(&json!({"selector": {"app": "a"}, "ports": [port]})).unwrap();
        assert_eq!(service.target_ports(Pod::new(&pod)).collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case::selected(json!({"selector": {"app": "a"}}), Some(true))]
    #[case::other_pods(json!({"selector": {"app": "b"}}), Some(false))]
    #[case::two_labels(json!({"selector": {"app": "a", "tier": "b"}}), Some(false))]
    #[case::no_selector(json!({"clusterIP": "None"}), None)]
    #[case::external(json!({"selector": {"app": "a"}, "type": "ExternalName"}), None)]
    fn services_select_pods(#[case] spec: Value, #[case] expected: Option<bool>) {
        let pod = json!({"metadata": {"labels": {"app": "a"}}});
        assert_eq!(service(&spec).map(|service| service.selects(Pod::new(&pod))), expected);
    }

    #[rstest]
    #[case::url("http://db:5432/train", "team-a", true)]
    #[case::host("db", "team-a", true)]
    #[case::list("cache,db", "team-a", true)]
    #[case::qualified("postgres://db.team-a.svc:5432", "team-b", true)]
    #[case::pod_of_a_stateful_set("db-0.db.team-a.svc.cluster.local", "team-b", true)]
    #[case::other_namespace("http://db:5432", "team-b", false)]
    #[case::other_service("http://my-db:5432 db2.team-a", "team-a", false)]
    #[case::namespace_with_a_longer_name("db.team-ab", "team-b", false)]
    #[case::word("the db is full", "team-a", false)]
    #[case::file("db.sqlite", "team-a", false)]
    fn dns_names_are_recognized(#[case] text: &str, #[case] namespace: &str, #[case] expected: bool) {
        let service = service(&json!({"selector": {"app": "a"}})).unwrap();
        assert_eq!(service.is_named_in(text, namespace), expected);
    }
}
