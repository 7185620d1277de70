//! Values that legitimately differ between a pod that a controller created and its preview.
//!
//! Everything else must be equal. Each entry states why the preview cannot predict the value.

use std::fmt;

use serde_json::Value;

/// A value that is replaced before the comparison.
struct Nondeterminism {
    location: Location,
    /// Value that the preview shows.
    placeholder: &'static str,
    /// Why the preview cannot predict the value.
    reason: &'static str,
}

enum Location {
    /// Any string in the form of a UID.
    Uid,
    /// The last part of a label's value, and its other occurrences in the pod.
    LabelEnd { key: &'static str, form: fn(&str) -> bool },
    /// The value at a JSON pointer.
    Field { pointer: &'static str },
    /// The value at a JSON pointer in the init container of this name.
    InitContainer { name: &'static str, pointer: &'static str },
    /// The order of the claims at the start of the volumes, in pods with an owner of this kind.
    ClaimOrder { owner: &'static str },
}

const NONDETERMINISTIC: &[Nondeterminism] = &[
    Nondeterminism {
        location: Location::Uid,
        placeholder: "00000000-0000-0000-0000-000000000000",
        reason: "the apiserver generates random UIDs",
    },
    Nondeterminism {
        location: Location::LabelEnd { key: "pod-template-hash", form: is_hash },
        placeholder: "0000000000",
        reason: "a hash of Go structs that depends on the version of the controller-manager",
    },
    Nondeterminism {
        location: Location::LabelEnd { key: "controller-revision-hash", form: is_hash },
        placeholder: "0000000000",
        reason: "a hash of Go structs that depends on the version of the controller-manager",
    },
    Nondeterminism {
        location: Location::LabelEnd { key: "batch.kubernetes.io/job-name", form: is_minute },
        placeholder: "00000000",
        reason: "the name of a CronJob's Job contains the scheduled minute",
    },
    Nondeterminism {
        location: Location::Field {
            pointer: "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0",
        },
        placeholder: "unknown-node",
        reason: "a DaemonSet's pods name the nodes of the cluster",
    },
    Nondeterminism {
        location: Location::ClaimOrder { owner: "StatefulSet" },
        placeholder: "sorted by name",
        reason: "the controller iterates over a Go map of claims, in random order",
    },
    Nondeterminism {
        location: Location::InitContainer { name: "init-pytorch", pointer: "/image" },
        placeholder: "alpine:3.10",
        reason: "the test cluster sets another --pytorch-init-container-image",
    },
    Nondeterminism {
        location: Location::InitContainer { name: "init-pytorch", pointer: "/command/2" },
        placeholder: "wait for the Master",
        reason: "the test cluster configures its own template for this container",
    },
];

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid => f.write_str("UIDs"),
            Self::LabelEnd { key, .. } => write!(f, "the end of label {key}"),
            Self::Field { pointer } => f.write_str(pointer),
            Self::InitContainer { name, pointer } => write!(f, "{pointer} of init container {name}"),
            Self::ClaimOrder { owner } => write!(f, "the order of the claims of a {owner}"),
        }
    }
}

/// Replaces the nondeterministic values of a pod with placeholders. `generated` are names that the apiserver completed,
/// each with its placeholder.
pub(super) fn normalize(pod: &Value, generated: &[(String, String)]) -> Value {
    let mut pod = pod.clone();
    for (name, placeholder) in generated {
        rewrite(&mut pod, &|text| text.contains(name.as_str()).then(|| text.replace(name, placeholder)));
    }
    for Nondeterminism { location, placeholder, .. } in NONDETERMINISTIC {
        match location {
            Location::Uid => rewrite(&mut pod, &|text| is_uid(text).then(|| (*placeholder).to_owned())),
            Location::LabelEnd { key, form } => {
                let label = pod["metadata"]["labels"][key].as_str().unwrap_or_default();
                let end = label.rsplit('-').next().unwrap_or_default().to_owned();
                if form(&end) {
                    rewrite(&mut pod, &|text| text.contains(&end).then(|| text.replace(&end, placeholder)));
                }
            }
            Location::Field { pointer } => replace(&mut pod, pointer, placeholder),
            Location::InitContainer { name, pointer } => {
                let containers = pod["spec"]["initContainers"].as_array_mut().into_iter().flatten();
                containers
                    .filter(|container| container["name"] == *name)
                    .for_each(|item| replace(item, pointer, placeholder));
            }
            Location::ClaimOrder { owner } => {
                if pod["metadata"]["ownerReferences"][0]["kind"] == *owner
                    && let Some(volumes) = pod["spec"]["volumes"].as_array_mut()
                {
                    let claims =
                        volumes.iter().take_while(|volume| volume["persistentVolumeClaim"].is_object()).count();
                    volumes[..claims].sort_by_key(|volume| volume["name"].to_string());
                }
            }
        }
    }
    pod
}

/// Describes the values that are not compared, for the message of a failed test.
pub(super) fn describe() -> String {
    let lines = NONDETERMINISTIC
        .iter()
        .map(|Nondeterminism { location, placeholder, reason }| format!("  {location} as {placeholder}: {reason}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn replace(value: &mut Value, pointer: &str, placeholder: &str) {
    if let Some(value) = value.pointer_mut(pointer) {
        *value = placeholder.into();
    }
}

fn rewrite(value: &mut Value, change: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(changed) = change(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rewrite(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_uid(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Returns true for the alphabet that Kubernetes encodes hashes with, and for the zeros of the preview.
fn is_hash(text: &str) -> bool {
    (8..=10).contains(&text.len()) && text.bytes().all(|byte| b"0bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

fn is_minute(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}
