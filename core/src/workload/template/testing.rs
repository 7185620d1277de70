//! Test fixtures for all kinds.

use serde_json::Value;

use crate::workload::{Manifest, RenderError, RolePod, Runtimes, find};

/// Renders a manifest in namespace `team`.
pub(in crate::workload) fn render(raw: &Value) -> Result<Vec<RolePod>, RenderError> {
    render_with(raw, &Runtimes::default())
}

/// Renders a manifest in namespace `team` with training runtimes.
pub(in crate::workload) fn render_with(raw: &Value, runtimes: &Runtimes) -> Result<Vec<RolePod>, RenderError> {
    let kind = find(raw["apiVersion"].as_str().unwrap(), raw["kind"].as_str().unwrap()).unwrap();
    (kind.render)(&Manifest { raw, namespace: "team", runtimes })
}

/// Returns the manifest `raw` with `value` at a JSON pointer.
pub(in crate::workload) fn with(mut raw: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    raw.pointer_mut(parent).unwrap()[field] = value;
    raw
}

/// Returns the message of the error that rendering `raw` returns.
#[track_caller]
pub(in crate::workload) fn error(raw: &Value) -> String {
    render(raw).expect_err("an error").to_string()
}

/// Renders `raw`, and checks the number of replicas and the pod of the role `role`. `expected` maps JSON pointers in
/// the pod to values; `null` expects an absent value.
#[track_caller]
pub(in crate::workload) fn check(raw: &Value, role: &str, replicas: u64, expected: &Value) {
    let roles = render(raw).unwrap();
    let role = roles.iter().find(|found| found.name == role).expect("a role of this name");
    assert_eq!(role.replicas, Some(replicas));
    for (pointer, value) in expected.as_object().unwrap() {
        let found = role.pod.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, value, "{pointer} in {:#}", role.pod);
    }
}

/// Returns the environment of a container, one line per variable: `NAME=value`, or `NAME<path` for a field reference.
pub(in crate::workload) fn env_lines(role: &RolePod, container: usize) -> Vec<String> {
    let format_line = |variable: &Value| {
        let name = variable["name"].as_str().unwrap();
        match &variable["valueFrom"]["fieldRef"]["fieldPath"] {
            Value::String(path) => format!("{name}<{path}"),
            _ => format!("{name}={}", variable.get("value").and_then(Value::as_str).unwrap_or_default()),
        }
    };
    role.pod["spec"]["containers"][container]["env"].as_array().into_iter().flatten().map(format_line).collect()
}
