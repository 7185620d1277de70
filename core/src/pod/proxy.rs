//! Istio's proxy in a pod: whether the injector has rendered it, and whether it holds the application.

use serde::Deserialize;
use serde_json::Value;

use super::{Container, ContainerKind, Pod};
use crate::keys;

/// The name that every Istio injection template gives to its proxy.
pub(super) const PROXY_CONTAINER: &str = "istio-proxy";

/// The proxy of an injected pod.
#[derive(Clone, Copy, Debug)]
pub struct Proxy<'a> {
    /// How it runs.
    pub kind: ProxyKind,
    /// Its container.
    pub container: Container<'a>,
}

/// How a proxy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// An application container: it starts beside the payload and outlives it.
    Classic,
    /// A native sidecar: started before, ended after the application by the kubelet.
    Native,
    /// pilot-agent without Envoy, for proxyless gRPC.
    GrpcAgent,
}

/// What `sidecar.istio.io/status` lists: the containers that Istio's injector added. Absent lists are `null`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InjectionStatus {
    init_containers: Option<Vec<String>>,
    containers: Option<Vec<String>>,
}

impl<'a> Pod<'a> {
    /// The proxy that Istio's injector rendered. The annotation `sidecar.istio.io/status`, which only the injector
    /// writes, is the evidence: a container named `istio-proxy` that it does not list is the user's customization of the
    /// sidecar to come, and a listed container that the pod lacks was removed from a copied template.
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
        let kind = if self.asks_for_grpc_agent() || container.env("DISABLE_ENVOY") == Some("true") {
            ProxyKind::GrpcAgent
        } else if container.kind == ContainerKind::NativeSidecar {
            ProxyKind::Native
        } else {
            ProxyKind::Classic
        };
        Some(Proxy { kind, container })
    }

    /// The container named `istio-proxy`: rendered by the injector, or the user's customization of what it will render.
    #[must_use]
    pub fn proxy_container(self) -> Option<Container<'a>> {
        self.containers()
            .filter(|container| container.name() == PROXY_CONTAINER)
            .find(|container| matches!(container.kind, ContainerKind::App | ContainerKind::NativeSidecar))
    }

    /// Whether the pod is an Istio gateway: it runs nothing but the proxy, or names the `gateway` injection template,
    /// which renders neither a hold nor traffic capture.
    #[must_use]
    pub fn is_gateway(self) -> bool {
        let mut applications = self.containers().filter(|container| container.kind == ContainerKind::App).peekable();
        let only_proxy = applications.peek().is_some() && applications.all(|it| it.name() == PROXY_CONTAINER);
        only_proxy || self.annotation(keys::INJECT_TEMPLATES).is_some_and(|templates| templates.trim() == "gateway")
    }

    /// Whether the pod names the `grpc-agent` injection template.
    #[must_use]
    pub fn asks_for_grpc_agent(self) -> bool {
        self.annotation(keys::INJECT_TEMPLATES)
            .is_some_and(|templates| templates.split(',').any(|template| template.trim() == "grpc-agent"))
    }

    /// Whether the pod's annotation makes its sidecar a native one. Istio applies its default to an empty value, and
    /// reads every other value but `false` as a request; the `grpc-agent` template ignores the annotation.
    #[must_use]
    pub fn requests_native_sidecar(self) -> bool {
        let requested =
            self.annotation(keys::NATIVE_SIDECAR).is_some_and(|value| !value.is_empty() && value != "false");
        requested && !self.asks_for_grpc_agent()
    }
}

impl<'a> Proxy<'a> {
    /// Whether the application waits for the proxy: it is the first container, and the kubelet runs its `postStart` hook,
    /// which waits, before it starts the next one.
    #[must_use]
    pub fn holds_application(self) -> bool {
        self.container.kind == ContainerKind::App && self.container.index == 0 && self.waits()
    }

    /// Whether the container's `postStart` hook waits until the proxy is ready.
    #[must_use]
    pub fn waits(self) -> bool {
        let command = self.post_start().and_then(|hook| hook.pointer("/exec/command")).and_then(Value::as_array);
        let mut words = command.into_iter().flatten().filter_map(Value::as_str);
        words.next() == Some("pilot-agent") && words.next() == Some("wait")
    }

    /// The container's `postStart` hook.
    #[must_use]
    pub fn post_start(self) -> Option<&'a Value> {
        self.container.raw().pointer("/lifecycle/postStart").filter(|hook| !hook.is_null())
    }

    /// Whether the `ProxyConfig` that the proxy was rendered from requests the hold; `None` where the container does not
    /// say what it was rendered from.
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
    fn marked(mut raw: Value, status: &str) -> Value {
        raw["metadata"]["annotations"][keys::SIDECAR_STATUS] = status.into();
        raw
    }

    const IN_CONTAINERS: &str = r#"{"initContainers":["istio-init"],"containers":["istio-proxy"]}"#;
    const IN_INIT_CONTAINERS: &str = r#"{"initContainers":["istio-init","istio-proxy"],"containers":null}"#;

    #[rstest]
    #[case::none(json!({"spec": {"containers": [{"name": "a"}]}}), None)]
    #[case::classic(
        marked(json!({"spec": {"containers": [{"name": "a"}, {"name": "istio-proxy"}]}}), IN_CONTAINERS),
        Some(ProxyKind::Classic)
    )]
    #[case::native(
        marked(
            json!({"spec": {"initContainers": [{"name": "istio-proxy", "restartPolicy": "Always"}], "containers": [{"name": "a"}]}}),
            IN_INIT_CONTAINERS
        ),
        Some(ProxyKind::Native)
    )]
    #[case::plain_init_container(
        marked(json!({"spec": {"initContainers": [{"name": "istio-proxy"}]}}), IN_INIT_CONTAINERS),
        None
    )]
    #[case::grpc_by_template(
        marked(
            json!({"metadata": {"annotations": {"inject.istio.io/templates": "grpc-agent"}}, "spec": {"containers": [{"name": "istio-proxy"}]}}),
            IN_CONTAINERS
        ),
        Some(ProxyKind::GrpcAgent)
    )]
    #[case::grpc_by_env(
        marked(json!({"spec": {"containers": [{"name": "istio-proxy", "env": [{"name": "DISABLE_ENVOY", "value": "true"}]}]}}), IN_CONTAINERS),
        Some(ProxyKind::GrpcAgent)
    )]
    #[case::container_without_status(json!({"spec": {"containers": [{"name": "istio-proxy", "image": "auto"}]}}), None)]
    #[case::status_without_container(marked(json!({"spec": {"containers": [{"name": "a"}]}}), IN_CONTAINERS), None)]
    #[case::status_of_another_container(
        marked(json!({"spec": {"containers": [{"name": "istio-proxy"}]}}), r#"{"containers":["other"]}"#),
        None
    )]
    #[case::status_of_the_other_list(
        marked(json!({"spec": {"containers": [{"name": "istio-proxy"}]}}), IN_INIT_CONTAINERS),
        None
    )]
    #[case::malformed_status(marked(json!({"spec": {"containers": [{"name": "istio-proxy"}]}}), "{"), None)]
    fn the_proxy_is_known_by_the_status(#[case] raw: Value, #[case] expected: Option<ProxyKind>) {
        assert_eq!(Pod::new(&raw).proxy().map(|proxy| proxy.kind), expected);
    }
}
