//! Changes that the AppWrapper controller makes to the pod templates of a component.

use serde_json::{Map, Value};

use super::LABEL;
use super::pod_sets::pod_sets;
use crate::workload::RenderError;
use crate::workload::template::{Field, append, has_entry, object_mut};

/// Labels `object`, the manifest of `component`, and its pod templates with `name`, the name of the `AppWrapper`. The
/// pod templates also get the fields that Kueue has added to `podSetInfos`.
pub(super) fn inject(object: &mut Value, component: &Field<'_>, name: &str) -> Result<(), RenderError> {
    let pod_sets = pod_sets(component, object)?;
    let mut infos = component.get("podSetInfos").items()?.into_iter();
    for pointer in pod_sets {
        let path = || format!("{}{}", component.get("template").path(), pointer.replace('/', "."));
        let template = object.pointer_mut(&pointer).and_then(Value::as_object_mut);
        let template = template.ok_or_else(|| RenderError::Missing(path()))?;
        let info = infos.next();
        let empty = Value::Null;
        let info = info.unwrap_or_else(|| Field::with_path(&empty, ""));
        if let Some(metadata) = object_mut(template, "metadata") {
            merge(metadata, "metadata.annotations", info.get("annotations").cloned_object()?, &path)?;
            let mut labels = info.get("labels").cloned_object()?;
            labels.entry(LABEL).or_insert_with(|| name.into());
            merge(metadata, "metadata.labels", labels, &path)?;
        }
        if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
            inject_spec(spec, &info, &path)?;
        }
    }
    let metadata = object.as_object_mut().and_then(|object| object_mut(object, "metadata"));
    if let Some(labels) = metadata.and_then(|metadata| object_mut(metadata, "labels")) {
        labels.entry(LABEL).or_insert_with(|| name.into());
    }
    Ok(())
}

fn inject_spec(spec: &mut Map<String, Value>, info: &Field<'_>, path: &impl Fn() -> String) -> Result<(), RenderError> {
    merge(spec, "spec.nodeSelector", info.get("nodeSelector").cloned_object()?, path)?;
    let tolerations = info.get("tolerations").items()?;
    if !tolerations.is_empty() {
        append(spec, "tolerations", tolerations.iter().filter_map(Field::value).cloned());
    }
    for gate in info.get("schedulingGates").items()?.iter().filter_map(Field::value) {
        if !gate.get("name").is_some_and(|name| has_entry(spec, "schedulingGates", "name", name)) {
            append(spec, "schedulingGates", [gate.clone()]);
        }
    }
    Ok(())
}

/// Adds `entries` to the map whose key in `object` is the last part of the path `field`. Fails, as the controller does,
/// if the map contains another value for a key.
fn merge(
    object: &mut Map<String, Value>,
    field: &str,
    entries: Map<String, Value>,
    path: &impl Fn() -> String,
) -> Result<(), RenderError> {
    if entries.is_empty() {
        return Ok(());
    }
    let key = field.rsplit_once('.').map_or(field, |(_, key)| key);
    let Some(map) = object_mut(object, key) else { return Ok(()) };
    for (name, value) in entries {
        let present = map.entry(&name).or_insert_with(|| value.clone());
        if *present != value {
            let path = format!("{}.{field}[{name}]", path());
            return Err(RenderError::Invalid {
                path,
                found: present.to_string(),
                expected: "the value that AppWrapper sets".into(),
            });
        }
    }
    Ok(())
}
