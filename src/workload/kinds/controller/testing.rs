//! What the tests of all kinds share.

use serde_json::Value;

use crate::workload::{Manifest, RenderError, Role, Runtimes, find};

/// Renders a manifest in namespace `team`.
pub(in super::super) fn render(raw: &Value) -> Result<Vec<Role>, RenderError> {
    let runtimes = Runtimes::default();
    let kind = find(raw["apiVersion"].as_str().unwrap(), raw["kind"].as_str().unwrap()).unwrap();
    (kind.render)(&Manifest { raw, namespace: "team", runtimes: &runtimes })
}

/// Renders `raw` and compares the role called `role` with `expected`: its number of replicas and, for each JSON
/// pointer into its pod, what stands there (`null`: nothing).
#[track_caller]
pub(in super::super) fn check(raw: &Value, role: &str, replicas: u64, expected: &Value) {
    let roles = render(raw).unwrap();
    let role = roles.iter().find(|found| found.name == role).expect("a role of this name");
    assert_eq!(role.replicas, replicas);
    for (pointer, value) in expected.as_object().unwrap() {
        let found = role.pod.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, value, "{pointer} in {:#}", role.pod);
    }
}

/// The message of the error that `raw` renders to.
#[track_caller]
pub(in super::super) fn error(raw: &Value) -> String {
    render(raw).expect_err("an error").to_string()
}
