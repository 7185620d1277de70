//! What differs by chance between a pod that a controller has made and the one that the preview shows.
//!
//! Everything else must be equal. Who adds an entry here says why no preview could know the value.

use std::fmt;

use serde_json::Value;

/// A value that is not compared.
struct Chance {
    place: Place,
    /// What the preview shows in its place.
    shown: &'static str,
    /// Why the preview cannot know it.
    why: &'static str,
}

enum Place {
    /// Each text that has the form of a uid.
    Uid,
    /// The last part of a label's value, wherever else in the pod it stands too.
    LabelEnd { key: &'static str, form: fn(&str) -> bool },
    /// The value at a JSON pointer.
    Field { pointer: &'static str },
    /// The value at a JSON pointer into the init container of this name.
    InitContainer { name: &'static str, pointer: &'static str },
    /// The order of the claims at the head of the volumes, for pods of this kind of owner.
    ClaimOrder { owner: &'static str },
}

/// All of them.
const CHANCES: &[Chance] = &[
    Chance {
        place: Place::Uid,
        shown: "00000000-0000-0000-0000-000000000000",
        why: "the apiserver draws uids at random",
    },
    Chance {
        place: Place::LabelEnd { key: "pod-template-hash", form: is_hash },
        shown: "0000000000",
        why: "a hash over the Go structs of the controller-manager's own version",
    },
    Chance {
        place: Place::LabelEnd { key: "controller-revision-hash", form: is_hash },
        shown: "0000000000",
        why: "a hash over the Go structs of the controller-manager's own version",
    },
    Chance {
        place: Place::LabelEnd { key: "batch.kubernetes.io/job-name", form: is_minute },
        shown: "00000000",
        why: "a CronJob's Job is named after the minute in which it was due",
    },
    Chance {
        place: Place::Field {
            pointer: "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0",
        },
        shown: "unknown-node",
        why: "a DaemonSet's pods are made for the nodes that exist",
    },
    Chance {
        place: Place::ClaimOrder { owner: "StatefulSet" },
        shown: "sorted by name",
        why: "the controller goes through a Go map of the set's claims, whose order is random",
    },
    Chance {
        place: Place::InitContainer { name: "init-pytorch", pointer: "/image" },
        shown: "alpine:3.10",
        why: "the test cluster starts the operator with another --pytorch-init-container-image",
    },
    Chance {
        place: Place::InitContainer { name: "init-pytorch", pointer: "/command/2" },
        shown: "wait for the Master",
        why: "the test cluster gives the operator a template of its own for this container",
    },
];

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid => f.write_str("uids"),
            Self::LabelEnd { key, .. } => write!(f, "the end of label {key}"),
            Self::Field { pointer } => f.write_str(pointer),
            Self::InitContainer { name, pointer } => write!(f, "{pointer} of init container {name}"),
            Self::ClaimOrder { owner } => write!(f, "the order of the claims of a {owner}"),
        }
    }
}

/// A pod without what differs by chance. `generated`: names that the apiserver completed, and what stands for each.
pub(super) fn settle(pod: &Value, generated: &[(String, String)]) -> Value {
    let mut pod = pod.clone();
    for (name, shown) in generated {
        rewrite(&mut pod, &|text| text.contains(name.as_str()).then(|| text.replace(name, shown)));
    }
    for Chance { place, shown, .. } in CHANCES {
        match place {
            Place::Uid => rewrite(&mut pod, &|text| is_uid(text).then(|| (*shown).to_owned())),
            Place::LabelEnd { key, form } => {
                let label = pod["metadata"]["labels"][key].as_str().unwrap_or_default();
                let end = label.rsplit('-').next().unwrap_or_default().to_owned();
                if form(&end) {
                    rewrite(&mut pod, &|text| text.contains(&end).then(|| text.replace(&end, shown)));
                }
            }
            Place::Field { pointer } => replace(&mut pod, pointer, shown),
            Place::InitContainer { name, pointer } => {
                let containers = pod["spec"]["initContainers"].as_array_mut().into_iter().flatten();
                containers.filter(|container| container["name"] == *name).for_each(|it| replace(it, pointer, shown));
            }
            Place::ClaimOrder { owner } => {
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

/// What was not compared, for the message of a failed test.
pub(super) fn reasons() -> String {
    let lines: Vec<_> =
        CHANCES.iter().map(|Chance { place, shown, why }| format!("  {place} as {shown}: {why}")).collect();
    lines.join("\n")
}

fn replace(value: &mut Value, pointer: &str, shown: &str) {
    if let Some(place) = value.pointer_mut(pointer) {
        *place = shown.into();
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

/// Kubernetes writes hashes in these letters, so that they make no words; zeros stand for them in the preview.
fn is_hash(text: &str) -> bool {
    (8..=10).contains(&text.len()) && text.bytes().all(|byte| b"0bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

fn is_minute(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}
