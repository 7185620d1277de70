//! `PeerAuthentication`: the mTLS mode that pods require from their clients.

use std::collections::BTreeMap;

use serde_json::Value;

use super::strings;
use crate::json;

/// Root namespace of Istio, by default: a `PeerAuthentication` in it applies to the whole mesh.
const ROOT_NAMESPACE: &str = "istio-system";

/// mTLS mode of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtlsMode {
    /// Plain connections are rejected.
    Strict,
    /// Plain connections and mTLS are accepted.
    Permissive,
    /// Only plain connections are accepted.
    Disabled,
}

/// A `PeerAuthentication`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerAuthentication {
    /// Labels of the pods; empty for all pods of the namespace.
    selector: BTreeMap<String, String>,
    /// Mode; `None` if it is inherited.
    mode: Option<MtlsMode>,
    ports: BTreeMap<u16, MtlsMode>,
    /// Time of creation. Of several objects that apply, the oldest one counts.
    created: String,
}

impl PeerAuthentication {
    pub(super) fn parse(object: &Value) -> Self {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let mode = |object: &Value| parse_mode(json::text(object, "mode")?);
        let ports = spec.get("portLevelMtls").and_then(Value::as_object).into_iter().flatten();
        let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
        Self {
            selector: strings(spec.pointer("/selector/matchLabels")),
            mode: spec.get("mtls").and_then(mode),
            ports: ports.filter_map(|(port, setting)| Some((port.parse().ok()?, mode(setting)?))).collect(),
            created: created.unwrap_or_default().to_owned(),
        }
    }
}

fn parse_mode(text: &str) -> Option<MtlsMode> {
    match text {
        "STRICT" => Some(MtlsMode::Strict),
        "PERMISSIVE" => Some(MtlsMode::Permissive),
        "DISABLE" => Some(MtlsMode::Disabled),
        _ => None,
    }
}

/// Returns the mode of a port: of the object that selects the pod, else of the namespace, else of the mesh.
pub(super) fn mode(
    all: &BTreeMap<(String, String), PeerAuthentication>,
    namespace: &str,
    port: Option<u16>,
    has_label: impl Fn(&str, &str) -> bool,
) -> MtlsMode {
    let oldest = |namespace: &str, is_candidate: &dyn Fn(&PeerAuthentication) -> bool| {
        let of_namespace = all.iter().filter(|((own, _), _)| own == namespace).map(|(_, found)| found);
        of_namespace.filter(|found| is_candidate(found)).min_by(|a, b| a.created.cmp(&b.created))
    };
    let selects = |found: &PeerAuthentication| {
        !found.selector.is_empty() && found.selector.iter().all(|(key, value)| has_label(key, value))
    };
    let own = oldest(namespace, &selects);
    let of_port = own.zip(port).and_then(|(own, port)| own.ports.get(&port).copied());
    let applies_to_all = |found: &PeerAuthentication| found.selector.is_empty();
    let inherited = || {
        let of = |namespace: &str| oldest(namespace, &applies_to_all).and_then(|found| found.mode);
        of(namespace).or_else(|| of(ROOT_NAMESPACE))
    };
    of_port.or_else(|| own.and_then(|own| own.mode)).or_else(inherited).unwrap_or(MtlsMode::Permissive)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::MeshObjects;
    use super::*;

    fn object(namespace: &str, name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication",
            "metadata": {"namespace": namespace, "name": name}, "spec": spec})
    }

    const STRICT: &str = "STRICT";

    #[rstest]
    #[case::none(&[], MtlsMode::Permissive)]
    #[case::mesh(&[object("istio-system", "default", &json!({"mtls": {"mode": STRICT}}))], MtlsMode::Strict)]
    #[case::other_namespace(&[object("team-b", "default", &json!({"mtls": {"mode": STRICT}}))], MtlsMode::Permissive)]
    #[case::namespace_overrides_mesh(
        &[object("istio-system", "default", &json!({"mtls": {"mode": STRICT}})), object("team-a", "default", &json!({"mtls": {"mode": "PERMISSIVE"}}))],
        MtlsMode::Permissive
    )]
    #[case::unset_inherits(
        &[object("istio-system", "default", &json!({"mtls": {"mode": STRICT}})), object("team-a", "default", &json!({"mtls": {"mode": "UNSET"}}))],
        MtlsMode::Strict
    )]
    #[case::pods(&[object("team-a", "a", &json!({"selector": {"matchLabels": {"app": "a"}}, "mtls": {"mode": "DISABLE"}}))], MtlsMode::Disabled)]
    #[case::other_pods(&[object("team-a", "a", &json!({"selector": {"matchLabels": {"app": "b"}}, "mtls": {"mode": STRICT}}))], MtlsMode::Permissive)]
    #[case::port(
        &[object("team-a", "a", &json!({"selector": {"matchLabels": {"app": "a"}}, "mtls": {"mode": STRICT}, "portLevelMtls": {"8080": {"mode": "PERMISSIVE"}}}))],
        MtlsMode::Permissive
    )]
    #[case::other_port(
        &[object("team-a", "a", &json!({"selector": {"matchLabels": {"app": "a"}}, "mtls": {"mode": STRICT}, "portLevelMtls": {"8081": {"mode": "PERMISSIVE"}}}))],
        MtlsMode::Strict
    )]
    fn the_most_specific_object_decides(#[case] objects: &[Value], #[case] expected: MtlsMode) {
        let mut all = MeshObjects::default();
        assert!(objects.iter().all(|object| all.add(object, "default")));
        assert_eq!(all.mode("team-a", Some(8080), |key, value| (key, value) == ("app", "a")), expected);
    }

    #[test]
    fn of_several_objects_the_oldest_counts() {
        let mut all = MeshObjects::default();
        for (name, created, mode) in
            [("a", "2026-02-01T00:00:00Z", "PERMISSIVE"), ("b", "2026-01-01T00:00:00Z", STRICT)]
        {
            let mut object = object("team-a", name, &json!({"mtls": {"mode": mode}}));
            object["metadata"]["creationTimestamp"] = created.into();
            assert!(all.add(&object, "default"));
        }
        assert_eq!(all.mode("team-a", None, |_, _| false), MtlsMode::Strict);
    }
}
