//! Services.

use serde_json::Value;

use super::read::{MAX_NAME, items, name, text, truncate};

/// Maximum number of ports and of selector labels of a Service.
const MAX_ENTRIES: usize = 64;

/// A Service.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct ServiceRecord {
    pub(in crate::diagnosis) namespace: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    /// Labels of the pods that it selects; empty if somebody else maintains its endpoints.
    pub(in crate::diagnosis) selector: Vec<(Box<str>, Box<str>)>,
    pub(in crate::diagnosis) ports: Vec<ServicePort>,
    /// True if its name resolves to the addresses of its pods, which makes its ports irrelevant.
    pub(in crate::diagnosis) is_headless: bool,
    /// True if its name is an alias of another one.
    pub(in crate::diagnosis) is_external: bool,
    /// True if pods that are not ready have DNS records.
    pub(in crate::diagnosis) publishes_not_ready: bool,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) struct ServicePort {
    pub(in crate::diagnosis) port: u64,
    /// Port of the pods; `None` for the name of a container port.
    pub(in crate::diagnosis) target: Option<u64>,
}

impl ServiceRecord {
    /// Reads a Service. `namespace` is that of objects without one.
    pub(super) fn read(raw: &Value, namespace: &str) -> Self {
        let selector = raw.pointer("/spec/selector").and_then(Value::as_object).into_iter().flatten();
        let selector = selector
            .take(MAX_ENTRIES)
            .filter_map(|(key, value)| Some((truncate(key, 316), truncate(value.as_str()?, MAX_NAME))));
        Self {
            namespace: name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into()),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            selector: selector.collect(),
            ports: items(raw, "/spec/ports", MAX_ENTRIES).filter_map(ServicePort::read).collect(),
            is_headless: raw.pointer("/spec/clusterIP").and_then(Value::as_str) == Some("None"),
            is_external: text(raw, "/spec/type").as_deref() == Some("ExternalName"),
            publishes_not_ready: raw.pointer("/spec/publishNotReadyAddresses").and_then(Value::as_bool) == Some(true),
        }
    }

    /// Returns kind, namespace and name.
    pub(in crate::diagnosis) fn title(&self) -> String {
        format!("Service {}/{}", self.namespace, self.name)
    }

    /// Returns the ports for people.
    pub(in crate::diagnosis) fn ports_text(&self) -> String {
        self.ports.iter().map(|entry| entry.port.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the selector as kubectl prints it.
    pub(in crate::diagnosis) fn selector_text(&self) -> String {
        self.selector.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
    }
}

impl ServicePort {
    fn read(raw: &Value) -> Option<Self> {
        let port = raw.get("port")?.as_u64()?;
        let target = match raw.get("targetPort") {
            None | Some(Value::Null) => Some(port),
            Some(target) => target.as_u64(),
        };
        Some(Self { port, target })
    }
}
