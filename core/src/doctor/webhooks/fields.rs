//! Fields of pods that webhooks with an old API drop. They decode the pod, encode it again, and send the difference as
//! their patch.
//!
//! The apiserver itself drops fields whose feature is disabled. A pod in a namespace for which no other webhook is called
//! shows which ones.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use serde_json::{Value, json};

use super::super::{CheckFinding, Code, FieldProbe, ProbedFields, Version, join_names};
use super::{Labels, OWN, called_for_pods};
use crate::json;

/// Name of the pod, which is never created.
const PROBE: &str = "trainmesh-doctor-probe";
/// Name of the native sidecar and of the claim.
const PART: &str = "probe";
/// Maximum number of namespaces in which a pod is sent: one for each set of webhooks.
const MAX_NAMESPACES: usize = 50;
/// Maximum number of namespaces without other webhooks in which a pod is sent until one accepts it: a quota or another policy
/// may deny it in some.
const MAX_CONTROLS: usize = 5;

/// A field of the pod that is sent.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Path, as `kubectl explain` writes it.
    path: &'static str,
    /// Minor version of Kubernetes in which it is enabled by default.
    since: u32,
    /// Adds the field to a pod.
    add: fn(&mut Value),
    /// Returns true if a pod has the field.
    exists: fn(&Value) -> bool,
}

const FIELDS: [Field; 4] = [
    Field {
        path: "initContainers.restartPolicy",
        since: 29,
        add: |pod| pod["spec"]["initContainers"][0]["restartPolicy"] = "Always".into(),
        exists: |pod| part(pod, "initContainers").is_some_and(|found| found.get("restartPolicy").is_some()),
    },
    Field {
        path: "schedulingGates",
        since: 30,
        add: |pod| pod["spec"]["schedulingGates"] = json!([{"name": "trainmesh.dev/probe"}]),
        exists: |pod| pod.pointer("/spec/schedulingGates/0").is_some(),
    },
    Field {
        path: "resourceClaims",
        since: 34,
        add: |pod| {
            pod["spec"]["resourceClaims"] = json!([{"name": PART, "resourceClaimTemplateName": PROBE}]);
            pod["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": PART}]);
        },
        exists: |pod| {
            pod.pointer("/spec/resourceClaims/0").is_some()
                && part(pod, "containers").is_some_and(|found| found.pointer("/resources/claims/0").is_some())
        },
    },
    Field {
        path: "containers.restartPolicy",
        since: 35,
        add: |pod| pod["spec"]["containers"][0]["restartPolicy"] = "Never".into(),
        exists: |pod| part(pod, "containers").is_some_and(|found| found.get("restartPolicy").is_some()),
    },
];

/// Returns the pod to send, with the fields that an apiserver of `version` supports by default.
#[must_use]
pub fn probe_pod(version: &Version) -> Value {
    // It must pass quotas and every Pod Security level.
    let resources = json!({"cpu": "1m", "memory": "1Mi"});
    let container = json!({
        "name": PART,
        "image": "trainmesh.invalid/probe",
        "resources": {"requests": resources, "limits": resources},
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    });
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": PROBE},
        "spec": {
            "automountServiceAccountToken": false,
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            "initContainers": [container],
        },
    });
    pod["spec"]["initContainers"][0]["name"] = format!("{PART}-sidecar").into();
    supported(version).for_each(|field| (field.add)(&mut pod));
    pod
}

/// Returns which fields of the pod for `version` are missing in `created`, the pod as it would be created.
#[must_use]
pub fn read_probe(version: &Version, created: &Value) -> ProbedFields {
    ProbedFields::Created(supported(version).filter(|field| !(field.exists)(created)).map(|field| field.path).collect())
}

/// Returns one of `namespaces` for each set of configurations whose webhooks are called for its pods, with their names.
/// Namespaces in which only trainmesh is called are left out.
#[must_use]
pub fn namespaces_to_probe<'a>(
    configurations: &[MutatingWebhookConfiguration],
    namespaces: impl IntoIterator<Item = (&'a String, &'a Labels)>,
) -> BTreeMap<String, Vec<String>> {
    let mut sets = BTreeSet::new();
    let mut selected = BTreeMap::new();
    for (namespace, labels) in namespaces {
        let called = candidates(configurations, labels);
        if !called.is_empty() && selected.len() < MAX_NAMESPACES && sets.insert(called.clone()) {
            selected.insert(namespace.clone(), called);
        }
    }
    selected
}

/// Returns those of `namespaces` for whose pods no webhook is called, but that of trainmesh, up to a limit.
pub fn control_namespaces<'a>(
    configurations: &[MutatingWebhookConfiguration],
    namespaces: impl IntoIterator<Item = (&'a String, &'a Labels)>,
) -> impl Iterator<Item = &'a String> {
    let without = namespaces.into_iter().filter(|(_, labels)| candidates(configurations, labels).is_empty());
    without.map(|(namespace, _)| namespace).take(MAX_CONTROLS)
}

pub(in super::super) fn check(probe: &FieldProbe) -> Vec<CheckFinding> {
    let FieldProbe { control, namespaces } = probe;
    // Without the control, the apiserver may have dropped the fields.
    let unsupported: &[&str] = match control {
        Some(ProbedFields::Created(missing)) => missing,
        _ => &[],
    };
    let is_controlled = matches!(control, Some(ProbedFields::Created(_)));
    let (mut certain, mut possible, mut slow, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (namespace, (called, result)) in namespaces {
        match result {
            ProbedFields::Created(missing) => {
                let dropped: Vec<&str> = missing.iter().copied().filter(|field| !unsupported.contains(field)).collect();
                if dropped.is_empty() {
                    continue;
                }
                let about = format!("{} in {namespace}: {}", join_names(dropped), join_names(called));
                if called.len() == 1 && is_controlled { certain.push(about) } else { possible.push(about) }
            }
            ProbedFields::TimedOut => slow.push(format!("{namespace}: {}", join_names(called))),
            ProbedFields::Unknown => unknown.push(namespace.clone()),
        }
    }
    let found = [
        (Code::FieldsDropped, certain.join("; ")),
        (Code::FieldsDroppedBySome, possible.join("; ")),
        (Code::FieldsTimedOut, slow.join("; ")),
        (Code::FieldsUnknown, join_names(unknown)),
        (Code::FieldsUnsupported, join_names(unsupported)),
    ];
    let found: Vec<CheckFinding> = found.into_iter().filter(|(_, evidence)| !evidence.is_empty()).collect();
    let has_problems = found.iter().any(|(code, _)| *code != Code::FieldsUnsupported);
    let probed = || match namespaces.len() {
        1 => "1 namespace was probed".to_owned(),
        count => format!("{count} namespaces were probed"),
    };
    let kept = (!has_problems).then(|| (Code::FieldsKept, probed()));
    kept.into_iter().chain(found).collect()
}

/// Returns the fields that an apiserver of `version` supports by default.
fn supported(version: &Version) -> impl Iterator<Item = &'static Field> + use<> {
    let digits: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    let minor: u32 = digits.parse().unwrap_or_default();
    FIELDS.iter().filter(move |field| field.since <= minor)
}

/// Returns the names of the configurations of others whose webhooks are called.
fn candidates(configurations: &[MutatingWebhookConfiguration], labels: &Labels) -> Vec<String> {
    let called = called_for_pods(configurations, labels).filter(|(_, webhook)| !webhook.name.ends_with(OWN));
    let mut names: Vec<String> = called.map(|(name, _)| name.to_owned()).collect();
    names.dedup();
    names
}

/// Returns the container of the pod that was sent, among those that webhooks have added.
fn part<'a>(pod: &'a Value, list: &str) -> Option<&'a Value> {
    json::items(pod.get("spec")?, list)
        .find(|container| json::text(container, "name").is_some_and(|name| name.starts_with(PART)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::super::testing::{own_configuration, webhook_configurations};
    use super::super::testing::webhook;
    use super::*;

    fn version(minor: &str) -> Version {
        Version { major: "1".to_owned(), minor: minor.to_owned(), full: String::new() }
    }

    #[rstest]
    #[case::all_fields("36+", &["initContainers.restartPolicy", "schedulingGates", "resourceClaims", "containers.restartPolicy"])]
    #[case::older_apiserver("33", &["initContainers.restartPolicy", "schedulingGates"])]
    #[case::unknown_version("", &[])]
    fn missing_fields_are_reported(#[case] minor: &str, #[case] expected: &[&'static str]) {
        let version = version(minor);
        let sent = probe_pod(&version);
        assert_eq!(read_probe(&version, &sent), ProbedFields::Created(Vec::new()));
        let mut created = sent;
        for path in ["/spec", "/spec/initContainers/0", "/spec/containers/0"] {
            let fields = created.pointer_mut(path).and_then(Value::as_object_mut).unwrap();
            fields.retain(|key, _| !["restartPolicy", "schedulingGates", "resourceClaims"].contains(&key.as_str()));
        }
        // A webhook has added a container of its own, and a native sidecar.
        created["spec"]["containers"]
            .as_array_mut()
            .unwrap()
            .insert(0, json!({"name": "a", "restartPolicy": "Always"}));
        created["spec"]["initContainers"]
            .as_array_mut()
            .unwrap()
            .insert(0, json!({"name": "b", "restartPolicy": "Always"}));
        assert_eq!(read_probe(&version, &created), ProbedFields::Created(expected.to_vec()));
    }

    #[test]
    fn one_namespace_of_each_set_of_webhooks_is_probed() {
        let team = |name: &str| Labels::from([("team".to_owned(), name.to_owned())]);
        let namespaces = BTreeMap::from([
            ("a1".to_owned(), team("a")),
            ("a2".to_owned(), team("a")),
            ("b".to_owned(), team("b")),
            ("c".to_owned(), team("c")),
        ]);
        let all = webhook_configurations(&[
            own_configuration(),
            webhook("x", &json!({})),
            webhook(
                "y",
                &json!({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}}),
            ),
        ]);
        let expected = [("a1", vec!["x", "y"]), ("b", vec!["y"])];
        let expected =
            expected.map(|(name, called)| (name.to_owned(), called.into_iter().map(str::to_owned).collect()));
        assert_eq!(namespaces_to_probe(&all, &namespaces), BTreeMap::from(expected));
        assert_eq!(control_namespaces(&all, &namespaces).collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn the_number_of_namespaces_without_webhooks_is_limited() {
        let namespaces: BTreeMap<String, Labels> = (0..9).map(|index| (format!("n{index}"), Labels::new())).collect();
        let found: Vec<&String> = control_namespaces(&[], &namespaces).collect();
        assert_eq!(found, ["n0", "n1", "n2", "n3", "n4"]);
    }

    fn dropped() -> ProbedFields {
        ProbedFields::Created(vec!["resourceClaims"])
    }

    fn kept() -> ProbedFields {
        ProbedFields::Created(Vec::new())
    }

    #[rstest]
    #[case::kept(Some(kept()), &["x"], kept(), &[(Code::FieldsKept, "1 namespace was probed")])]
    #[case::one_webhook(Some(kept()), &["x"], dropped(), &[(Code::FieldsDropped, "resourceClaims in a: x")])]
    #[case::several_webhooks(Some(kept()), &["x", "y"], dropped(), &[(Code::FieldsDroppedBySome, "resourceClaims in a: x, y")])]
    #[case::without_control(None, &["x"], dropped(), &[(Code::FieldsDroppedBySome, "resourceClaims in a: x")])]
    #[case::by_the_apiserver(Some(dropped()), &["x"], dropped(), &[(Code::FieldsKept, "1 namespace was probed"), (Code::FieldsUnsupported, "resourceClaims")])]
    #[case::no_response(Some(kept()), &["x"], ProbedFields::TimedOut, &[(Code::FieldsTimedOut, "a: x")])]
    #[case::denied(Some(kept()), &["x"], ProbedFields::Unknown, &[(Code::FieldsUnknown, "a")])]
    fn the_webhook_is_certain_only_if_it_is_the_only_one(
        #[case] control: Option<ProbedFields>,
        #[case] called: &[&str],
        #[case] result: ProbedFields,
        #[case] expected: &[(Code, &str)],
    ) {
        let called = called.iter().map(|name| (*name).to_owned()).collect();
        let found = check(&FieldProbe { control, namespaces: [("a".to_owned(), (called, result))].into() });
        let expected: Vec<CheckFinding> = expected.iter().map(|(code, about)| (*code, (*about).to_owned())).collect();
        assert_eq!(found, expected);
    }
}
