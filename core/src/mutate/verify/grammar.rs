//! What each field that we write may hold. A field that is not here is written by nobody.

use std::borrow::Cow;

use json_patch::jsonptr::Token;
use serde_json::Value;

use crate::config::profile::{
    AbsolutePath, Capability, DnsPolicy, EnvName, Image, ObjectName, PartName, Quantity, ResourceName,
};
use crate::labels;
use crate::mutate::plan::Manner::{Append, Set};
use crate::mutate::plan::{Manner, Write};

/// Whether the value of `write` obeys the grammar of its field, so that the apiserver takes it.
pub(super) fn well_formed(write: &Write) -> bool {
    let tokens: Vec<Token<'_>> = write.path.tokens().collect();
    let keys: Vec<Cow<'_, str>> = tokens.iter().map(Token::decoded).collect();
    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    let value = &*write.value;
    match (keys.as_slice(), write.manner) {
        (["metadata", "annotations", key], Set) => labels::is_key(key) && value.is_string(),
        (["metadata", "labels", key], Set) => label(key, value),
        (["spec", list @ ("containers" | "initContainers"), index, field @ ..], manner) => {
            index.bytes().all(|digit| digit.is_ascii_digit()) && of_container(list, field, manner, value)
        }
        (["spec", field @ ..], manner) => of_pod(field, manner, value),
        _ => false,
    }
}

fn of_pod(field: &[&str], manner: Manner, value: &Value) -> bool {
    match (field, manner) {
        (["hostNetwork"], Set) => value.is_boolean(),
        (["dnsPolicy"], Set) => serde_json::from_value::<DnsPolicy>(value.clone()).is_ok(),
        (["nodeSelector", key], Set) => label(key, value),
        (["tolerations"], Append) => object(value, &["key", "operator"], |name, value| match name {
            "key" => text(value, labels::is_key),
            "operator" => one_of(value, &["Equal", "Exists"]),
            "value" => text(value, labels::is_value),
            "effect" => one_of(value, &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            _ => false,
        }),
        (["volumes"], Append) => object(value, &["name"], volume),
        (["resourceClaims"], Append) => {
            object(value, &["name", "resourceClaimTemplateName"], |name, value| match name {
                "name" => text(value, is_part),
                "resourceClaimTemplateName" => text(value, is_object),
                _ => false,
            })
        }
        (["affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"], Append) => {
            object(value, &["labelSelector", "topologyKey"], |name, value| match name {
                "topologyKey" => text(value, labels::is_key),
                "labelSelector" => {
                    object(value, &["matchLabels"], |name, value| name == "matchLabels" && object(value, &[], label))
                }
                _ => false,
            })
        }
        (["initContainers"], Append) => object(value, &["name", "image", "restartPolicy"], |name, value| match name {
            "name" => text(value, is_part),
            "image" => text(value, |image| Image::parse(image).is_some()),
            "restartPolicy" => value == "Always",
            "command" | "args" => words(value),
            "env" => list(value, setting),
            "volumeMounts" => list(value, mount),
            "securityContext" => object(value, &["capabilities"], |name, value| {
                name == "capabilities"
                    && object(value, &["add"], |name, value| name == "add" && list(value, is_capability))
            }),
            _ => false,
        }),
        _ => false,
    }
}

fn of_container(list: &str, field: &[&str], manner: Manner, value: &Value) -> bool {
    match (field, manner) {
        (["lifecycle", .., "command"], Set) => list == "containers" && words(value),
        (["env"], Append) => setting(value),
        (["volumeMounts"], Append) => mount(value),
        (["resources", "limits" | "requests", resource], Set) => {
            ResourceName::parse(resource).is_some() && amount(resource, value)
        }
        (["resources", "claims"], Append) => {
            object(value, &["name"], |name, value| name == "name" && text(value, is_part))
        }
        (["securityContext", "privileged"], Set) => value.is_boolean(),
        (["securityContext", "capabilities", "add"], Append) => text(value, is_capability_name),
        _ => false,
    }
}

fn setting(value: &Value) -> bool {
    object(value, &["name", "value"], |name, value| match name {
        "name" => text(value, |name| EnvName::parse(name).is_some()),
        "value" => value.is_string(),
        _ => false,
    })
}

fn mount(value: &Value) -> bool {
    object(value, &["name", "mountPath"], |name, value| match name {
        "name" => text(value, is_part),
        "mountPath" => text(value, is_path),
        "subPath" => text(value, is_inner_path),
        "readOnly" => value.is_boolean(),
        _ => false,
    })
}

fn volume(name: &str, value: &Value) -> bool {
    match name {
        "name" => text(value, is_part),
        "emptyDir" => object(value, &["medium"], |name, value| match name {
            "medium" => value == "Memory",
            "sizeLimit" => text(value, |limit| Quantity::parse(limit).is_some()),
            _ => false,
        }),
        "hostPath" => object(value, &["path"], |name, value| match name {
            "path" => text(value, is_path),
            "type" => one_of(value, &["Directory", "DirectoryOrCreate", "File", "CharDevice", "Socket"]),
            _ => false,
        }),
        "configMap" => object(value, &["name", "optional"], |name, value| match name {
            "name" => text(value, is_object),
            "optional" => value.is_boolean(),
            _ => false,
        }),
        "downwardAPI" => object(value, &["items"], |name, value| name == "items" && list(value, downward_item)),
        _ => false,
    }
}

fn downward_item(item: &Value) -> bool {
    object(item, &["path", "fieldRef"], |name, value| match name {
        "path" => text(value, is_inner_path),
        "fieldRef" => {
            object(value, &["fieldPath"], |name, value| name == "fieldPath" && text(value, is_annotation_path))
        }
        _ => false,
    })
}

/// Devices are whole numbers, memory is a quantity.
fn amount(resource: &str, value: &Value) -> bool {
    text(value, |amount| {
        let devices = || amount.parse::<u32>().is_ok_and(|count| count > 0 && count.to_string() == amount);
        if resource.starts_with("hugepages-") { Quantity::parse(amount).is_some() } else { devices() }
    })
}

fn label(key: &str, value: &Value) -> bool {
    labels::is_key(key) && text(value, labels::is_value)
}

/// Whether `value` is an object that has the fields `needed`, and none that `check` does not know.
fn object(value: &Value, needed: &[&str], check: impl Fn(&str, &Value) -> bool) -> bool {
    value.as_object().is_some_and(|fields| {
        needed.iter().all(|name| fields.contains_key(*name)) && fields.iter().all(|(name, value)| check(name, value))
    })
}

fn list(value: &Value, check: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(check))
}

fn words(value: &Value) -> bool {
    list(value, Value::is_string)
}

fn text(value: &Value, check: impl Fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(check)
}

fn one_of(value: &Value, known: &[&str]) -> bool {
    text(value, |text| known.contains(&text))
}

fn is_part(text: &str) -> bool {
    PartName::parse(text).is_some()
}

fn is_object(text: &str) -> bool {
    ObjectName::parse(text).is_some()
}

fn is_path(text: &str) -> bool {
    AbsolutePath::parse(text).is_some()
}

fn is_inner_path(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('/') && text.split('/').all(|part| part != "..")
}

fn is_capability(value: &Value) -> bool {
    text(value, is_capability_name)
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
