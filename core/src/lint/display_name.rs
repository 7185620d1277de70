//! Containers in messages.

use crate::pod::{Container, ContainerKind};

/// Returns the container for messages: `container train`, or its position if it has no name.
pub(super) fn display_name(container: Container<'_>) -> String {
    let kind = if container.kind == ContainerKind::App { "container" } else { "init container" };
    match container.name() {
        "" => format!("{kind} {} without a name", container.index + 1),
        name => format!("{kind} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::Pod;

    #[test]
    fn containers_without_a_name_have_their_position() {
        let raw = json!({"spec": {
            "initContainers": [{"name": "a"}, {"name": false, "restartPolicy": "Always"}],
            "containers": [{"name": "b"}, {}],
        }});
        let names: Vec<String> = Pod::new(&raw).containers().map(display_name).collect();
        let expected =
            ["init container a", "init container 2 without a name", "container b", "container 2 without a name"];
        assert_eq!(names, expected);
    }
}
