//! Status of a pod, as the kubelet reports it.

use serde_json::{Map, Value};

use super::{Container, ContainerKind, Pod};

impl ContainerKind {
    /// Returns the name of the list in `status` for containers of this kind.
    fn status_list(self) -> &'static str {
        match self {
            Self::Init | Self::NativeSidecar => "initContainerStatuses",
            Self::App => "containerStatuses",
            Self::Ephemeral => "ephemeralContainerStatuses",
        }
    }
}

impl<'a> Pod<'a> {
    /// Returns `status`, if it is an object.
    #[must_use]
    pub fn status(self) -> Option<&'a Map<String, Value>> {
        self.raw.get("status")?.as_object()
    }

    /// Returns `status.phase`.
    #[must_use]
    pub fn phase(self) -> Option<&'a str> {
        self.status()?.get("phase")?.as_str()
    }

    /// Returns true if the pod has a condition of type `condition_type` with status `True`.
    #[must_use]
    pub fn has_condition(self, condition_type: &str) -> bool {
        let conditions = self.status().and_then(|status| status.get("conditions")).and_then(Value::as_array);
        conditions.into_iter().flatten().any(|condition| {
            let has_text = |key: &str, text: &str| condition.get(key).and_then(Value::as_str) == Some(text);
            has_text("type", condition_type) && has_text("status", "True")
        })
    }

    /// Returns the status of `container`, which must belong to this pod.
    #[must_use]
    pub fn container_status(self, container: Container<'a>) -> Option<&'a Map<String, Value>> {
        let statuses = self.status()?.get(container.kind.status_list())?.as_array()?;
        let named = |status: &&Value| status.get("name").and_then(Value::as_str) == Some(container.name());
        statuses.iter().find(named)?.as_object()
    }
}
