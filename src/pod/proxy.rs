//! The mesh's proxy in a pod that has already been injected.

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

impl<'a> Pod<'a> {
    /// The proxy, when the pod has one. The container is the evidence: the status annotation alone may have been
    /// copied with a template.
    #[must_use]
    pub fn proxy(self) -> Option<Proxy<'a>> {
        let container = self
            .containers()
            .filter(|container| container.name() == PROXY_CONTAINER)
            .find(|container| matches!(container.kind, ContainerKind::App | ContainerKind::NativeSidecar))?;
        let kind = if self.asks_for_grpc_agent() || container.env("DISABLE_ENVOY") == Some("true") {
            ProxyKind::GrpcAgent
        } else if container.kind == ContainerKind::NativeSidecar {
            ProxyKind::Native
        } else {
            ProxyKind::Classic
        };
        Some(Proxy { kind, container })
    }

    /// Whether the pod names the `grpc-agent` injection template.
    #[must_use]
    pub fn asks_for_grpc_agent(self) -> bool {
        self.annotation(keys::INJECT_TEMPLATES)
            .is_some_and(|templates| templates.split(',').any(|template| template.trim() == "grpc-agent"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::none(json!({"spec": {"containers": [{"name": "a"}]}}), None)]
    #[case::classic(json!({"spec": {"containers": [{"name": "a"}, {"name": "istio-proxy"}]}}), Some(ProxyKind::Classic))]
    #[case::native(
        json!({"spec": {"initContainers": [{"name": "istio-proxy", "restartPolicy": "Always"}], "containers": [{"name": "a"}]}}),
        Some(ProxyKind::Native)
    )]
    #[case::plain_init_container(json!({"spec": {"initContainers": [{"name": "istio-proxy"}]}}), None)]
    #[case::grpc_by_template(
        json!({"metadata": {"annotations": {"inject.istio.io/templates": "grpc-agent"}}, "spec": {"containers": [{"name": "istio-proxy"}]}}),
        Some(ProxyKind::GrpcAgent)
    )]
    #[case::grpc_by_env(
        json!({"spec": {"containers": [{"name": "istio-proxy", "env": [{"name": "DISABLE_ENVOY", "value": "true"}]}]}}),
        Some(ProxyKind::GrpcAgent)
    )]
    #[case::status_without_container(
        json!({"metadata": {"annotations": {"sidecar.istio.io/status": "{\"containers\":[\"istio-proxy\"]}"}}, "spec": {"containers": [{"name": "a"}]}}),
        None
    )]
    fn the_proxy_is_known_by_its_container(#[case] raw: Value, #[case] expected: Option<ProxyKind>) {
        assert_eq!(Pod::new(&raw).proxy().map(|proxy| proxy.kind), expected);
    }
}
