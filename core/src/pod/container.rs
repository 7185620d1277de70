//! Containers of a pod.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::Pod;
use crate::json;

/// A container of a pod.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a> {
    /// Kind of the container, which determines its list in `spec`.
    pub kind: ContainerKind,
    /// Index in the list.
    pub index: usize,
    raw: &'a Value,
    pod_policy: RestartPolicy,
}

/// A TCP port that a container declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerPort<'a> {
    /// Name of the port.
    pub name: Option<&'a str>,
    /// Number of the port.
    pub number: u16,
}

/// Kind of a container, by the way in which the kubelet runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// An init container, which runs to completion before the next one starts.
    Init,
    /// An init container with `restartPolicy: Always`, which starts in order and runs as long as the pod (KEP-753).
    NativeSidecar,
    /// An application container in `spec.containers`.
    App,
    /// A container in `spec.ephemeralContainers`. Never a main container.
    Ephemeral,
}

/// Condition under which the kubelet restarts a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartPolicy {
    /// After every exit.
    Always,
    /// After an exit code other than 0.
    OnFailure,
    /// Never.
    Never,
}

impl RestartPolicy {
    /// Parses the JSON value of a `restartPolicy` field. Unknown values are treated as absent.
    #[must_use]
    pub fn parse(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "Always" => Some(Self::Always),
            "OnFailure" => Some(Self::OnFailure),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }
}

impl ContainerKind {
    /// Returns the name of the list in `spec` for containers of this kind.
    #[must_use]
    pub fn spec_list(self) -> &'static str {
        match self {
            Self::Init | Self::NativeSidecar => "initContainers",
            Self::App => "containers",
            Self::Ephemeral => "ephemeralContainers",
        }
    }
}

impl<'a> Container<'a> {
    /// Returns the JSON of the container.
    #[must_use]
    pub fn raw(self) -> &'a Value {
        self.raw
    }

    /// Returns the name of the container. Empty if it has none.
    #[must_use]
    pub fn name(self) -> &'a str {
        json::text(self.raw, "name").unwrap_or_default()
    }

    /// Returns the JSON pointer of the container in its pod.
    #[must_use]
    pub fn pointer(self) -> String {
        format!("/spec/{}/{}", self.kind.spec_list(), self.index)
    }

    /// Returns the effective restart policy: the container's own (KEP-5307), else the pod's. Init containers without
    /// their own policy are restarted until they succeed, unless the pod's policy is `Never`.
    #[must_use]
    pub fn restart_policy(self) -> RestartPolicy {
        let own = json::get(self.raw, "restartPolicy").and_then(RestartPolicy::parse);
        match (own, self.kind) {
            (Some(policy), _) => policy,
            (None, ContainerKind::Init) if self.pod_policy == RestartPolicy::Always => RestartPolicy::OnFailure,
            (None, ContainerKind::Ephemeral) => RestartPolicy::Never,
            (None, _) => self.pod_policy,
        }
    }

    /// Returns the effective entry of environment variable `name`, with its index. As in the kubelet, the last entry wins.
    pub(crate) fn env_entry(self, name: &str) -> Option<(usize, &'a Value)> {
        let entries = json::get(self.raw, "env")?.as_array()?;
        entries.iter().enumerate().rev().find(|(_, entry)| json::text(entry, "name") == Some(name))
    }

    /// Returns the literal value of environment variable `name`. `None` if the value comes from another source
    /// (`valueFrom`).
    #[must_use]
    pub fn env(self, name: &str) -> Option<&'a str> {
        json::text(self.env_entry(name)?.1, "value")
    }

    /// Returns the literal values of all environment variables. `None` is a value from another source.
    pub(crate) fn env_values(self) -> BTreeMap<&'a str, Option<&'a str>> {
        let entries = json::items(self.raw, "env");
        // A later entry replaces an earlier one, as in `env_entry`.
        entries.filter_map(|entry| Some((json::text(entry, "name")?, json::text(entry, "value")))).collect()
    }

    /// Returns the names of the environment variables, in the order of the pod.
    pub fn env_names(self) -> impl Iterator<Item = &'a str> {
        json::items(self.raw, "env").filter_map(|entry| json::text(entry, "name"))
    }

    /// Returns the TCP ports that the container declares. TCP is the default of Kubernetes.
    pub fn tcp_ports(self) -> impl Iterator<Item = ContainerPort<'a>> {
        let entries = self.raw.get("ports").and_then(Value::as_array).into_iter().flatten();
        let is_tcp = |entry: &&Value| entry.get("protocol").and_then(Value::as_str).is_none_or(|name| name == "TCP");
        entries.filter(is_tcp).filter_map(|entry| {
            let number = entry.get("containerPort")?.as_u64()?.try_into().ok()?;
            Some(ContainerPort { name: entry.get("name").and_then(Value::as_str), number })
        })
    }

    /// Returns the command of the container, followed by its arguments.
    pub fn command_line(self) -> impl Iterator<Item = &'a str> {
        let lists = ["command", "args"].into_iter().filter_map(move |key| json::get(self.raw, key)?.as_array());
        lists.flatten().filter_map(Value::as_str)
    }

    /// Returns the JSON pointer of the text with this index in [`Self::command_line`], or of the container.
    #[must_use]
    pub fn argument_pointer(self, index: usize) -> String {
        let lists = ["command", "args"].into_iter();
        let items =
            lists.flat_map(|list| json::items(self.raw, list).enumerate().map(move |(item, text)| (list, item, text)));
        let mut texts = items.filter(|(.., text)| text.is_string());
        let found = texts.nth(index).map(|(list, item, _)| format!("{}/{list}/{item}", self.pointer()));
        found.unwrap_or_else(|| self.pointer())
    }

    /// Returns the JSON pointer of the variable `name`, of which the last entry takes effect; `None` if it is not set.
    #[must_use]
    pub fn env_pointer(self, name: &str) -> Option<String> {
        let entries: Vec<&Value> = json::items(self.raw, "env").collect();
        let index = entries.iter().rposition(|entry| json::text(entry, "name") == Some(name))?;
        Some(format!("{}/env/{index}", self.pointer()))
    }
}

impl<'a> Pod<'a> {
    /// Returns all containers of the pod: init containers and native sidecars in order, then application containers,
    /// then ephemeral ones.
    pub fn containers(self) -> impl Iterator<Item = Container<'a>> {
        let pod_policy = self.restart_policy();
        let list = move |kind: ContainerKind| {
            self.spec()
                .and_then(|spec| json::field(spec, kind.spec_list()))
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .enumerate()
                .filter(|(_, raw)| raw.is_object())
                .map(move |(index, raw)| Container { kind: kind.refine(raw), index, raw, pod_policy })
        };
        list(ContainerKind::Init).chain(list(ContainerKind::App)).chain(list(ContainerKind::Ephemeral))
    }
}

impl ContainerKind {
    /// Returns [`Self::NativeSidecar`] for an init container that is restarted always, else the kind itself.
    fn refine(self, raw: &Value) -> Self {
        let always = json::get(raw, "restartPolicy").and_then(RestartPolicy::parse) == Some(RestartPolicy::Always);
        if self == Self::Init && always { Self::NativeSidecar } else { self }
    }
}

impl fmt::Display for RestartPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Always => "Always",
            Self::OnFailure => "OnFailure",
            Self::Never => "Never",
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn kinds_and_pointers_follow_the_lists() {
        let raw = json!({"spec": {
            "initContainers": [{"name": "fetch"}, {"name": "proxy", "restartPolicy": "Always"}],
            "containers": [{"name": "train"}],
            "ephemeralContainers": [{"name": "debug"}],
        }});
        let found: Vec<_> = Pod::new(&raw).containers().map(|c| (c.name(), c.kind, c.pointer())).collect();
        assert_eq!(
            found,
            [
                ("fetch", ContainerKind::Init, "/spec/initContainers/0".to_owned()),
                ("proxy", ContainerKind::NativeSidecar, "/spec/initContainers/1".to_owned()),
                ("train", ContainerKind::App, "/spec/containers/0".to_owned()),
                ("debug", ContainerKind::Ephemeral, "/spec/ephemeralContainers/0".to_owned()),
            ]
        );
    }

    #[rstest]
    #[case::policy_of_the_pod(json!("OnFailure"), "containers", json!({"name": "a"}), RestartPolicy::OnFailure)]
    #[case::policy_of_the_container(json!("Never"), "containers", json!({"name": "a", "restartPolicy": "OnFailure"}), RestartPolicy::OnFailure)]
    #[case::default_policy(Value::Null, "containers", json!({"name": "a"}), RestartPolicy::Always)]
    #[case::unknown_policy(json!("Sometimes"), "containers", json!({"name": "a"}), RestartPolicy::Always)]
    #[case::init_of_always(json!("Always"), "initContainers", json!({"name": "a"}), RestartPolicy::OnFailure)]
    #[case::init_of_never(json!("Never"), "initContainers", json!({"name": "a"}), RestartPolicy::Never)]
    #[case::native(json!("Never"), "initContainers", json!({"name": "a", "restartPolicy": "Always"}), RestartPolicy::Always)]
    fn the_effective_restart_policy(
        #[case] pod: Value,
        #[case] list: &str,
        #[case] container: Value,
        #[case] expected: RestartPolicy,
    ) {
        let raw = json!({"spec": {"restartPolicy": pod, list: [container]}});
        let found = Pod::new(&raw).containers().next().map(Container::restart_policy);
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn tcp_ports_are_read() {
        let raw = json!({"spec": {"containers": [{"name": "a", "ports": [
            {"name": "http", "containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 443, "protocol": "TCP"}, {"containerPort": 70000}, {"containerPort": "x"}, 1,
        ]}]}});
        let container = Pod::new(&raw).containers().next().unwrap();
        let found: Vec<_> = container.tcp_ports().map(|port| (port.name, port.number)).collect();
        assert_eq!(found, [(Some("http"), 8080), (None, 443)]);
    }

    #[test]
    fn the_last_entry_of_an_environment_variable_wins() {
        let raw = json!({"spec": {"containers": [{"name": "a", "env": [
            {"name": "MASTER_PORT", "value": "1"}, {"name": "MASTER_PORT", "value": "2"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ]}]}});
        let container = Pod::new(&raw).containers().next().unwrap();
        assert_eq!(container.env("MASTER_PORT"), Some("2"));
        assert_eq!(container.env("IP"), None);
        assert_eq!(container.env("RANK"), None);
    }
}
