//! The networks that Multus attaches to a pod.

use serde_json::Value;

use super::Pod;
use crate::fabric::MAX_NETWORKS_ANNOTATION;

/// Annotation in which Multus reads the networks of a pod.
pub(crate) const MULTUS: &str = "k8s.v1.cni.cncf.io/networks";
/// Network that Istio attaches on `OpenShift`. It adds no interface for the application.
pub(crate) const ISTIO_CNI: &str = "istio-cni";

/// A network that Multus attaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// Name without the namespace.
    pub(crate) name: String,
    /// Interface in the pod: the one that the annotation names, or Multus' default.
    pub(crate) interface: String,
}

impl Attachment {
    fn new(index: usize, name: &str, interface: Option<&str>) -> Self {
        let interface = interface.map_or_else(|| format!("net{}", index + 1), str::to_owned);
        Self { name: name.to_owned(), interface }
    }
}

/// Parses Multus' annotation in either of its two forms. Returns `None` if it is malformed or too long.
pub(crate) fn attachments(annotation: &str) -> Option<Vec<Attachment>> {
    let annotation = annotation.trim();
    if annotation.len() > MAX_NETWORKS_ANNOTATION {
        return None;
    }
    if annotation.starts_with('[') {
        let entries: Vec<Value> = serde_json::from_str(annotation).ok()?;
        let attachment = |(index, entry): (usize, &Value)| {
            let field = |name: &str| entry.get(name).and_then(Value::as_str);
            Some(Attachment::new(index, field("name")?, field("interface")))
        };
        return entries.iter().enumerate().map(attachment).collect();
    }
    let entries = annotation.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let attachments = entries.enumerate().map(|(index, entry)| {
        let (network, interface) = entry.split_once('@').map_or((entry, None), |(name, tail)| (name, Some(tail)));
        Attachment::new(index, network.rsplit('/').next().unwrap_or(network), interface)
    });
    Some(attachments.collect())
}

impl<'a> Pod<'a> {
    /// Returns the value of Multus' annotation.
    pub(crate) fn networks(self) -> Option<&'a str> {
        self.annotation(MULTUS)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("", Some(vec![]))]
    #[case::list("a, b/c@rdma0,d", Some(vec![("a", "net1"), ("c", "rdma0"), ("d", "net3")]))]
    #[case::json(r#"[{"name": "a"}, {"name": "c", "namespace": "b", "interface": "rdma0"}]"#, Some(vec![("a", "net1"), ("c", "rdma0")]))]
    #[case::truncated_json(r#"[{"name": "a"}"#, None)]
    #[case::json_without_a_name(r#"[{"interface": "net1"}]"#, None)]
    fn both_forms_are_parsed(#[case] annotation: &str, #[case] expected: Option<Vec<(&str, &str)>>) {
        let found = attachments(annotation);
        let found: Option<Vec<(&str, &str)>> = found
            .as_ref()
            .map(|list| list.iter().map(|network| (network.name.as_str(), network.interface.as_str())).collect());
        assert_eq!(found, expected);
    }
}
