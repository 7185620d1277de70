//! `DestinationRule`: the TLS mode of clients with a sidecar, which overrides what they choose by the labels of pods.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Service;
use crate::json;
use crate::manifest::ObjectField;

/// TLS mode with Istio's certificates.
const ISTIO_MUTUAL: &str = "ISTIO_MUTUAL";
/// Specificity of a rule for one host; that of a wildcard is the length of its text, which is at most 255.
const ONE_HOST: usize = 1_000;

/// A `DestinationRule`. Subsets are ignored: they apply only to clients that a `VirtualService` routes to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DestinationRule {
    host: String,
    /// True if clients send mTLS.
    is_mutual: bool,
    /// Ports with settings of their own, which replace all others; the value is true if clients send mTLS.
    ports: BTreeMap<u16, bool>,
    /// Its field [`Self::pointer`]; `None` if the rule is not in the input.
    pub(super) field: Option<ObjectField>,
}

impl DestinationRule {
    /// Parses a rule; `None` if it has no host, or applies only to some clients.
    pub(super) fn parse(object: &Value) -> Option<Self> {
        let spec = object.get("spec")?;
        if spec.get("workloadSelector").is_some() {
            return None;
        }
        let policy = spec.get("trafficPolicy").unwrap_or(&Value::Null);
        let is_mutual =
            |settings: &Value| settings.get("tls").and_then(|tls| json::text(tls, "mode")) == Some(ISTIO_MUTUAL);
        let port = |settings: &Value| u16::try_from(settings.pointer("/port/number")?.as_u64()?).ok();
        let settings = json::items(policy, "portLevelSettings");
        Some(Self {
            host: json::text(spec, "host")?.to_owned(),
            is_mutual: is_mutual(policy),
            ports: settings.filter_map(|settings| Some((port(settings)?, is_mutual(settings)))).collect(),
            field: None,
        })
    }

    /// Returns the JSON pointer of the settings by which clients send mTLS.
    pub(super) fn pointer(&self) -> &'static str {
        if self.is_mutual { "/spec/trafficPolicy/tls/mode" } else { "/spec/trafficPolicy/portLevelSettings" }
    }

    /// Returns how specific the rule is for `service`; `None` if it does not apply. `namespace` is that of the rule.
    pub(super) fn specificity(&self, service: &Service, namespace: &str) -> Option<usize> {
        let host = service.host();
        if let Some(suffix) = self.host.strip_prefix('*') {
            return host.ends_with(suffix).then_some(self.host.len());
        }
        let is_short_name = !self.host.contains('.');
        let is_named =
            self.host == host || is_short_name && self.host == service.name && namespace == service.namespace;
        is_named.then_some(ONE_HOST)
    }

    /// Returns true if clients send mTLS to the Service's `port`.
    pub(super) fn is_mutual(&self, port: u16) -> bool {
        self.ports.get(&port).copied().unwrap_or(self.is_mutual)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::MeshObjects;
    use super::*;

    fn rule(namespace: &str, name: &str, host: &str, policy: &Value) -> Value {
        json!({"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
            "metadata": {"namespace": namespace, "name": name}, "spec": {"host": host, "trafficPolicy": policy}})
    }

    fn mutual() -> Value {
        json!({"tls": {"mode": "ISTIO_MUTUAL"}})
    }

    #[rstest]
    #[case::none(&[], None)]
    #[case::short_name(&[rule("team-a", "r", "db", &mutual())], Some("team-a/r"))]
    #[case::short_name_in_another_namespace(&[rule("team-b", "r", "db", &mutual())], None)]
    #[case::full_name(&[rule("team-b", "r", "db.team-a.svc.cluster.local", &mutual())], Some("team-b/r"))]
    #[case::mesh(&[rule("istio-system", "r", "*.local", &mutual())], Some("istio-system/r"))]
    #[case::other_wildcard(&[rule("istio-system", "r", "*.team-b.svc.cluster.local", &mutual())], None)]
    #[case::the_more_specific_rule_decides(
        &[rule("istio-system", "r", "*.local", &mutual()), rule("team-a", "db", "db", &json!({"tls": {"mode": "DISABLE"}}))],
        None
    )]
    #[case::port(&[rule("team-a", "r", "db", &json!({"portLevelSettings": [{"port": {"number": 80}, "tls": {"mode": "ISTIO_MUTUAL"}}]}))], Some("team-a/r"))]
    #[case::port_without_tls(
        &[rule("team-a", "r", "db", &json!({"tls": {"mode": "ISTIO_MUTUAL"}, "portLevelSettings": [{"port": {"number": 80}}]}))],
        None
    )]
    #[case::no_tls(&[rule("team-a", "r", "db", &json!({"loadBalancer": {"simple": "RANDOM"}}))], None)]
    fn rules_apply_by_host_and_port(#[case] rules: &[Value], #[case] expected: Option<&str>) {
        let mut all = MeshObjects::default();
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
            "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}});
        assert!(rules.iter().chain([&service]).all(|object| all.add(object, "team-a")));
        let found = all.services_in("team-a").next().and_then(|service| all.mutual_rule(service, 80));
        assert_eq!(found.as_ref().map(|rule| rule.name.as_str()), expected);
    }
}
