//! Grammar of every field that rules may write. Writes to other fields are invalid.

use std::borrow::Cow;

use json_patch::jsonptr::Token;
use serde_json::Value;

use crate::config::profile::{
    AbsolutePath, Capability, DnsLabel, DnsPolicy, EnvName, Image, ObjectName, Quantity, ResourceName,
};
use crate::dns;
use crate::labels;
use crate::mutate::plan::WriteKind::{Append, Set};
use crate::mutate::plan::{Write, WriteKind};

/// Returns true if the value of `write` follows the grammar of its field, so that the apiserver accepts it.
pub(super) fn is_well_formed(write: &Write) -> bool {
    let tokens: Vec<Token<'_>> = write.path.tokens().collect();
    let keys: Vec<Cow<'_, str>> = tokens.iter().map(Token::decoded).collect();
    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    let value = &*write.value;
    match (keys.as_slice(), write.kind) {
        (["metadata", "annotations", key], Set) => labels::is_key(key) && value.is_string(),
        (["metadata", "labels", key], Set) => is_label(key, value),
        (["spec", list @ ("containers" | "initContainers"), index, field @ ..], kind) => {
            index.bytes().all(|digit| digit.is_ascii_digit()) && is_container_field(list, field, kind, value)
        }
        (["spec", field @ ..], kind) => is_pod_field(field, kind, value),
        _ => false,
    }
}

fn is_pod_field(field: &[&str], kind: WriteKind, value: &Value) -> bool {
    match (field, kind) {
        (["hostNetwork"], Set) => value.is_boolean(),
        (["schedulerName"] | ["schedulingGroup", "podGroupName"], Set) => is_text(value, dns::is_subdomain),
        (["dnsPolicy"], Set) => serde_json::from_value::<DnsPolicy>(value.clone()).is_ok(),
        (["nodeSelector", key], Set) => is_label(key, value),
        (["tolerations"], Append) => is_object(value, &["key", "operator"], |name, value| match name {
            "key" => is_text(value, labels::is_key),
            "operator" => is_one_of(value, &["Equal", "Exists"]),
            "value" => is_text(value, labels::is_value),
            "effect" => is_one_of(value, &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            _ => false,
        }),
        (["volumes"], Append) => is_object(value, &["name"], is_volume_field),
        (["resourceClaims"], Append) => {
            is_object(value, &["name", "resourceClaimTemplateName"], |name, value| match name {
                "name" => is_text(value, is_dns_label),
                "resourceClaimTemplateName" => is_text(value, is_object_name),
                _ => false,
            })
        }
        (["affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"], Append) => {
            is_object(value, &["labelSelector", "topologyKey"], |name, value| match name {
                "topologyKey" => is_text(value, labels::is_key),
                "labelSelector" => is_object(value, &["matchLabels"], |name, value| {
                    name == "matchLabels" && is_object(value, &[], is_label)
                }),
                _ => false,
            })
        }
        (["initContainers"], Append) => {
            is_object(value, &["name", "image", "restartPolicy"], |name, value| match name {
                "name" => is_text(value, is_dns_label),
                "image" => is_text(value, |image| Image::parse(image).is_some()),
                "restartPolicy" => value == "Always",
                "command" | "args" => is_string_list(value),
                "env" => is_list(value, is_env_var),
                "volumeMounts" => is_list(value, is_mount),
                "securityContext" => is_object(value, &["capabilities"], |name, value| {
                    name == "capabilities"
                        && is_object(value, &["add"], |name, value| name == "add" && is_list(value, is_capability))
                }),
                _ => false,
            })
        }
        _ => false,
    }
}

fn is_container_field(list: &str, field: &[&str], kind: WriteKind, value: &Value) -> bool {
    match (field, kind) {
        (["lifecycle", .., "command"], Set) => list == "containers" && is_string_list(value),
        (["env"], Append) => is_env_var(value),
        (["volumeMounts"], Append) => is_mount(value),
        (["resources", "limits" | "requests", resource], Set) => {
            ResourceName::parse(resource).is_some() && is_amount(resource, value)
        }
        (["resources", "claims"], Append) => {
            is_object(value, &["name"], |name, value| name == "name" && is_text(value, is_dns_label))
        }
        (["securityContext", "privileged"], Set) => value.is_boolean(),
        (["securityContext", "capabilities", "add"], Append) => is_text(value, is_capability_name),
        _ => false,
    }
}

fn is_env_var(value: &Value) -> bool {
    is_object(value, &["name", "value"], |name, value| match name {
        "name" => is_text(value, |name| EnvName::parse(name).is_some()),
        "value" => value.is_string(),
        _ => false,
    })
}

fn is_mount(value: &Value) -> bool {
    is_object(value, &["name", "mountPath"], |name, value| match name {
        "name" => is_text(value, is_dns_label),
        "mountPath" => is_text(value, is_absolute_path),
        "subPath" => is_text(value, is_relative_path),
        "readOnly" => value.is_boolean(),
        _ => false,
    })
}

fn is_volume_field(name: &str, value: &Value) -> bool {
    match name {
        "name" => is_text(value, is_dns_label),
        "emptyDir" => is_object(value, &["medium"], |name, value| match name {
            "medium" => value == "Memory",
            "sizeLimit" => is_text(value, |limit| Quantity::parse(limit).is_some()),
            _ => false,
        }),
        "hostPath" => is_object(value, &["path"], |name, value| match name {
            "path" => is_text(value, is_absolute_path),
            "type" => is_one_of(value, &["Directory", "DirectoryOrCreate", "File", "CharDevice", "Socket"]),
            _ => false,
        }),
        "configMap" => is_object(value, &["name", "optional"], |name, value| match name {
            "name" => is_text(value, is_object_name),
            "optional" => value.is_boolean(),
            _ => false,
        }),
        "downwardAPI" => {
            is_object(value, &["items"], |name, value| name == "items" && is_list(value, is_downward_item))
        }
        _ => false,
    }
}

fn is_downward_item(item: &Value) -> bool {
    is_object(item, &["path", "fieldRef"], |name, value| match name {
        "path" => is_text(value, is_relative_path),
        "fieldRef" => {
            is_object(value, &["fieldPath"], |name, value| name == "fieldPath" && is_text(value, is_annotation_path))
        }
        _ => false,
    })
}

/// Returns true for a positive integer, or for a quantity if `resource` is a huge page size.
fn is_amount(resource: &str, value: &Value) -> bool {
    is_text(value, |amount| {
        let devices = || amount.parse::<u32>().is_ok_and(|count| count > 0 && count.to_string() == amount);
        if resource.starts_with("hugepages-") { Quantity::parse(amount).is_some() } else { devices() }
    })
}

fn is_label(key: &str, value: &Value) -> bool {
    labels::is_key(key) && is_text(value, labels::is_value)
}

/// Returns true if `value` is an object with the `required` fields in which every field passes `check`.
fn is_object(value: &Value, required: &[&str], check: impl Fn(&str, &Value) -> bool) -> bool {
    value.as_object().is_some_and(|fields| {
        required.iter().all(|name| fields.contains_key(*name)) && fields.iter().all(|(name, value)| check(name, value))
    })
}

fn is_list(value: &Value, check: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(check))
}

fn is_string_list(value: &Value) -> bool {
    is_list(value, Value::is_string)
}

fn is_text(value: &Value, check: impl Fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(check)
}

fn is_one_of(value: &Value, known: &[&str]) -> bool {
    is_text(value, |text| known.contains(&text))
}

fn is_dns_label(text: &str) -> bool {
    DnsLabel::parse(text).is_some()
}

fn is_object_name(text: &str) -> bool {
    ObjectName::parse(text).is_some()
}

fn is_absolute_path(text: &str) -> bool {
    AbsolutePath::parse(text).is_some()
}

fn is_relative_path(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('/') && text.split('/').all(|part| part != "..")
}

fn is_capability(value: &Value) -> bool {
    is_text(value, is_capability_name)
}

fn is_capability_name(text: &str) -> bool {
    Capability::parse(text).is_some()
}

fn is_annotation_path(text: &str) -> bool {
    let key = text.strip_prefix("metadata.annotations['").and_then(|rest| rest.strip_suffix("']"));
    key.is_some_and(labels::is_key)
}

#[cfg(test)]
mod tests;
