//! Istio's proxy in an injected pod, and whether it holds the application.

use serde::Deserialize;
use serde_json::Value;

use super::{Container, ContainerKind, Pod};
use crate::keys;

/// Name of the proxy container in all injection templates of Istio.
pub(super) const PROXY_CONTAINER: &str = "istio-proxy";
/// Value of [`keys::INTERCEPTION_MODE`] with which the proxy redirects no connections.
const NO_INTERCEPTION: &str = "NONE";
/// Start of the link-local IPv4 addresses.
const LINK_LOCAL: &str = "169.254.";

/// The proxy of an injected pod.
#[derive(Clone, Copy, Debug)]
pub struct Proxy<'a> {
    /// Kind of the proxy.
    pub kind: ProxyKind,
    /// Container of the proxy.
    pub container: Container<'a>,
}

/// Kind of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// An application container, which keeps running after the main containers have completed.
    Classic,
    /// A native sidecar, which the kubelet starts before the application and terminates after it.
    Native,
    /// pilot-agent without Envoy, for proxyless gRPC.
    GrpcAgent,
}

/// Value of `sidecar.istio.io/status`: the containers that Istio's injector added. Absent lists are `null`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InjectionStatus {
    init_containers: Option<Vec<String>>,
    containers: Option<Vec<String>>,
}

impl Container<'_> {
    /// Returns true for the container named `istio-proxy`: rendered by the injector, or the user's customization for it.
    #[must_use]
    pub fn is_proxy(self) -> bool {
        self.name() == PROXY_CONTAINER
    }
}

impl<'a> Pod<'a> {
    /// Returns the proxy that Istio's injector rendered, according to the annotation `sidecar.istio.io/status`, which
    /// only the injector writes. A container named `istio-proxy` that the annotation does not list is the user's
    /// customization for the injector. A listed container that the pod lacks was removed from a copied template.
    #[must_use]
    pub fn proxy(self) -> Option<Proxy<'a>> {
        let container = self.proxy_container()?;
        let status: InjectionStatus = serde_json::from_str(self.annotation(keys::SIDECAR_STATUS)?).ok()?;
        let listed = match container.kind {
            ContainerKind::NativeSidecar => status.init_containers,
            _ => status.containers,
        };
        if !listed?.iter().any(|name| name == PROXY_CONTAINER) {
            return None;
        }
        let kind = if self.uses_grpc_agent_template() || container.env("DISABLE_ENVOY") == Some("true") {
            ProxyKind::GrpcAgent
        } else if container.kind == ContainerKind::NativeSidecar {
            ProxyKind::Native
        } else {
            ProxyKind::Classic
        };
        Some(Proxy { kind, container })
    }

    /// Returns the container named `istio-proxy`: rendered by the injector, or the user's customization for it.
    #[must_use]
    pub fn proxy_container(self) -> Option<Container<'a>> {
        self.containers()
            .filter(|container| container.name() == PROXY_CONTAINER)
            .find(|container| matches!(container.kind, ContainerKind::App | ContainerKind::NativeSidecar))
    }

    /// Returns true if the proxy captures all traffic of the pod, or an annotation requests this for one direction. Without
    /// such a request, an annotation that limits capture may exclude the connections between ranks.
    #[must_use]
    pub fn captures_all_traffic(self) -> bool {
        !self.annotation_keys().any(|key| self.limits_capture(key)) || self.requests_capture()
    }

    /// Returns true if the proxy captures all traffic of `interface`: annotations exclude at most other interfaces.
    #[must_use]
    pub fn captures_all_of(self, interface: &str) -> bool {
        let excluded = self.annotation(keys::EXCLUDE_INTERFACES).unwrap_or_default();
        let is_excluded = excluded.split(',').any(|name| name.trim() == interface);
        let mut others = self.annotation_keys().filter(|key| *key != keys::EXCLUDE_INTERFACES);
        !is_excluded && !others.any(|key| self.limits_capture(key))
    }

    /// Returns true if the proxy captures the connections to other pods on one of `ports`: annotations exclude at most other
    /// ports, and link-local addresses, such as that of a metadata server.
    #[must_use]
    pub fn captures_one_of(self, ports: &[u16]) -> bool {
        const PORT_KEYS: [&str; 2] = [keys::EXCLUDE_INBOUND_PORTS, keys::EXCLUDE_OUTBOUND_PORTS];

        let is_narrow = |key: &str| match key {
            keys::EXCLUDE_OUTBOUND_RANGES => self.list(key).all(|range| range.starts_with(LINK_LOCAL)),
            _ => PORT_KEYS.contains(&key) && self.list(key).all(|port| port.parse::<u16>().is_ok()),
        };
        let is_excluded =
            |port: &u16| PORT_KEYS.iter().flat_map(|key| self.list(key)).any(|own| own.parse() == Ok(*port));
        let limits_capture = |key: &str| self.limits_capture(key) && !is_narrow(key);
        !self.annotation_keys().any(limits_capture) && ports.iter().any(|port| !is_excluded(port))
    }

    /// Returns the entries of an annotation that is a comma-separated list.
    fn list(self, key: &str) -> impl Iterator<Item = &'a str> {
        let entries = self.annotation(key).unwrap_or_default().split(',').map(str::trim);
        entries.filter(|entry| !entry.is_empty())
    }

    /// Returns true if annotation `key` limits what the proxy captures.
    fn limits_capture(self, key: &str) -> bool {
        let neutral = match key {
            keys::INCLUDE_INBOUND_PORTS | keys::INCLUDE_OUTBOUND_RANGES => keys::CAPTURE_ALL,
            _ => "",
        };
        key.starts_with(keys::TRAFFIC_PREFIX) && self.annotation(key) != Some(neutral)
    }

    /// Returns true if an annotation requests that the proxy captures all traffic of one direction, and none limits it.
    #[must_use]
    pub fn requests_capture(self) -> bool {
        let is_all = |key| self.annotation(key) == Some(keys::CAPTURE_ALL);
        let is_unset = |key| self.annotation(key).is_none_or(str::is_empty);
        let inbound = is_all(keys::INCLUDE_INBOUND_PORTS) && is_unset(keys::EXCLUDE_INBOUND_PORTS);
        let outbound = is_all(keys::INCLUDE_OUTBOUND_RANGES)
            && is_unset(keys::EXCLUDE_OUTBOUND_RANGES)
            && is_unset(keys::EXCLUDE_OUTBOUND_PORTS);
        (inbound || outbound) && is_unset(keys::EXCLUDE_INTERFACES)
    }

    /// Returns true if the pod is an Istio gateway: it runs only the proxy, or selects the `gateway` injection template,
    /// which renders neither a hold nor traffic capture.
    #[must_use]
    pub fn is_gateway(self) -> bool {
        let mut containers = self.containers().filter(|container| container.kind == ContainerKind::App).peekable();
        let runs_only_proxy =
            containers.peek().is_some() && containers.all(|container| container.name() == PROXY_CONTAINER);
        runs_only_proxy
            || self.annotation(keys::INJECT_TEMPLATES).is_some_and(|templates| templates.trim() == "gateway")
    }

    /// Returns true if the pod selects the `grpc-agent` injection template.
    #[must_use]
    pub fn uses_grpc_agent_template(self) -> bool {
        self.annotation(keys::INJECT_TEMPLATES)
            .is_some_and(|templates| templates.split(',').any(|template| template.trim() == "grpc-agent"))
    }

    /// Returns true if the proxy redirects no connections of the pod: its interception mode is `NONE`, or the template
    /// `grpc-agent` renders it without Envoy.
    #[must_use]
    pub fn disables_interception(self) -> bool {
        self.annotation(keys::INTERCEPTION_MODE) == Some(NO_INTERCEPTION) || self.uses_grpc_agent_template()
    }

    /// Returns true if the pod's annotation requests a native sidecar. Istio applies its default to an empty value and
    /// treats every other value but `false` as a request. The `grpc-agent` template ignores the annotation.
    #[must_use]
    pub fn requests_native_sidecar(self) -> bool {
        let requested =
            self.annotation(keys::NATIVE_SIDECAR).is_some_and(|value| !value.is_empty() && value != "false");
        requested && !self.uses_grpc_agent_template()
    }
}

impl<'a> Proxy<'a> {
    /// Returns true if the application waits for the proxy: the proxy is the first container, and its `postStart` hook,
    /// which the kubelet completes before it starts the next container, waits until the proxy is ready.
    #[must_use]
    pub fn holds_application(self) -> bool {
        self.container.kind == ContainerKind::App && self.container.index == 0 && self.has_wait_hook()
    }

    /// Returns true if the container's `postStart` hook waits until the proxy is ready.
    #[must_use]
    pub fn has_wait_hook(self) -> bool {
        let command = self.post_start().and_then(|hook| hook.pointer("/exec/command")).and_then(Value::as_array);
        let mut arguments = command.into_iter().flatten().filter_map(Value::as_str);
        arguments.next() == Some("pilot-agent") && arguments.next() == Some("wait")
    }

    /// Returns the `postStart` hook of the container.
    #[must_use]
    pub fn post_start(self) -> Option<&'a Value> {
        self.container.raw().pointer("/lifecycle/postStart").filter(|hook| !hook.is_null())
    }

    /// Returns whether the `ProxyConfig` from which the proxy was rendered requests the hold. `None` if the container
    /// does not contain that configuration.
    #[must_use]
    pub fn rendered_hold(self) -> Option<bool> {
        let config: Value = serde_json::from_str(self.container.env("PROXY_CONFIG")?).ok()?;
        Some(config.get("holdApplicationUntilProxyStarts") == Some(&Value::Bool(true)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Adds the annotation that the injector writes.
    fn injected(mut raw: Value, status: &str) -> Value {
        raw["metadata"]["annotations"][keys::SIDECAR_STATUS] = status.into();
        raw
    }

    const IN_CONTAINERS: &str = r#"{"initContainers":["istio-init"],"containers":["istio-proxy"]}"#;
    const IN_INIT_CONTAINERS: &str = r#"{"initContainers":["istio-init","istio-proxy"],"containers":null}"#;

    #[rstest]
    #[case::none(json!({"spec": {"containers": [{"name": "a"}]}}), None)]
    #[case::classic(
        injected(json!({"spec": {"containers": [{"name": "a"}, {"name": "istio-proxy"}]}}), IN_CONTAINERS),
        Some(ProxyKind::Classic)
    )]
    #[case::native(
        injected(
            json!({"spec": {"initContainers": [{"name": "istio-proxy", "restartPolicy": "Always"}], "containers": [{"name": "a"}]}}),
            IN_INIT_CONTAINERS
        ),
        Some(ProxyKind::Native)
    )]
    #[case::plain_init_container(
        injected(json!({"spec": {"initContainers": [{"name": "istio-proxy"}]}}), IN_INIT_CONTAINERS),
        None
    )]
    #[case::grpc_by_template(
        injected(
            json!({"metadata": {"annotations": {"inject.istio.io/templates": "grpc-agent"}}, "spec": {"containers": [{"name": "istio-proxy"}]}}),
            IN_CONTAINERS
        ),
        Some(ProxyKind::GrpcAgent)
    )]
    #[case::grpc_by_env(
        injected(json!({"spec": {"containers": [{"name": "istio-proxy", "env": [{"name": "DISABLE_ENVOY", "value": "true"}]}]}}), IN_CONTAINERS),
        Some(ProxyKind::GrpcAgent)
    )]
    #[case::container_without_status(json!({"spec": {"containers": [{"name": "istio-proxy", "image": "auto"}]}}), None)]
    #[case::status_without_container(injected(json!({"spec": {"containers": [{"name": "a"}]}}), IN_CONTAINERS), None)]
    #[case::status_of_another_container(
        injected(json!({"spec": {"containers": [{"name": "istio-proxy"}]}}), r#"{"containers":["other"]}"#),
        None
    )]
    #[case::status_of_the_other_list(
        injected(json!({"spec": {"containers": [{"name": "istio-proxy"}]}}), IN_INIT_CONTAINERS),
        None
    )]
    #[case::malformed_status(injected(json!({"spec": {"containers": [{"name": "istio-proxy"}]}}), "{"), None)]
    fn the_proxy_is_identified_by_the_status_annotation(#[case] raw: Value, #[case] expected: Option<ProxyKind>) {
        assert_eq!(Pod::new(&raw).proxy().map(|proxy| proxy.kind), expected);
    }
}
