//! `workload.codeflare.dev` `AppWrapper`: a workload that contains the manifests of others.
//!
//! Follows the controller of AppWrapper 1.2.1 (project-codeflare/appwrapper at b47a99e, 2026-05-03:
//! `internal/controller/appwrapper/resource_management.go` and `pkg/utils/utils.go`). The controller labels the pod
//! templates of each component and creates the component; the component's own operator creates the pods. The node
//! affinity that AppWrapper's Autopilot support adds to pods with GPUs is not rendered.

mod inject;
mod pod_sets;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::find;
use crate::workload::template::Field;
use crate::workload::{
    Fidelity, GangTraits, Manifest, RenderError, RoleComponent, RolePod, SOLE_ROLE, WorkloadKind, generic, misnamed,
};

/// An `AppWrapper`. Its pods are identified as part of the workloads in it, each of which is a gang of its own.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "workload.codeflare.dev",
    versions: &["v1beta2"],
    kind: "AppWrapper",
    resource: "appwrappers",
    fidelity: Fidelity::Documented,
    render,
    identify: |_| None,
    labels: &[],
    gang: GangTraits::NONE,
};

/// Label of the components and their pod templates with the name of the `AppWrapper`.
const LABEL: &str = "workload.codeflare.dev/appwrapper";

/// The roles of a component, its index and its name.
struct Component {
    index: usize,
    name: String,
    roles: Vec<RolePod>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let metadata = root.get("metadata");
    // The caller has taken another namespace for one that is no string.
    metadata.get("namespace").text()?;
    let name = match metadata.get("name").text()? {
        Some(name) => name,
        // The label's value is not known before the apiserver generates the name.
        None => metadata.get("generateName").text()?.ok_or_else(|| metadata.get("name").missing())?,
    };
    let spec = root.get("spec");
    let listed = spec.get("components");
    if !listed.is_present() {
        return Err(spec.missing_field("components", "AppWrapperSpec"));
    }
    let mut components = Vec::new();
    for (index, component) in listed.items()?.iter().enumerate() {
        let (component_name, roles) = component_roles(component, manifest, name)?;
        if !roles.is_empty() {
            components.push(Component { index, name: component_name, roles });
        }
    }
    let is_suspended = spec.get("suspend").is_true()?;
    let has_several = components.len() > 1;
    let mut roles = Vec::new();
    for component in components {
        for mut role in component.roles {
            role.component = Some(RoleComponent { index: component.index, role: role.name.clone() });
            if has_several {
                role.name = role_name(&component.name, &role.name);
                for other in &mut role.follows {
                    *other = role_name(&component.name, other);
                }
            }
            if is_suspended {
                role.notes.push("the AppWrapper is suspended: its pods are created when it is resumed".to_owned());
            }
            roles.push(role);
        }
    }
    Ok(roles)
}

/// Returns the component whose pods form the gangs of the workload `name`, as the controller creates it, and its kind. A single one
/// needs no name, which the apiserver may generate.
pub(in crate::workload) fn gang_component(manifest: &Value, name: &str) -> Option<(&'static WorkloadKind, Value)> {
    let root = Field::root(manifest);
    let wrapper = root.get("metadata").get("name").text().ok()?.unwrap_or_default();
    let components = root.get("spec").get("components").items().ok()?;
    let gangs = components.iter().filter_map(|component| {
        let template = component.get("template");
        let text = |field: &str| template.get(field).text().ok().flatten();
        let kind = find(text("apiVersion")?, text("kind")?)?;
        kind.gang.shape.is_some().then_some((kind, component))
    });
    let gangs: Vec<(&WorkloadKind, &Field<'_>)> = gangs.collect();
    let has_name = |component: &Field<'_>| {
        component.get("template").get("metadata").get("name").value().and_then(Value::as_str) == Some(name)
    };
    let (kind, component) = match gangs.as_slice() {
        [only] => *only,
        several => *several.iter().find(|(_, component)| has_name(component))?,
    };
    let mut object = component.get("template").value()?.clone();
    inject::inject(&mut object, component, wrapper).ok()?;
    Some((kind, object))
}

/// Returns a role name that is unique among the roles of several components.
fn role_name(component: &str, role: &str) -> String {
    if role == SOLE_ROLE { component.to_owned() } else { format!("{component}/{role}") }
}

/// Returns the name of a component and its roles.
fn component_roles(
    component: &Field<'_>,
    manifest: &Manifest<'_>,
    name: &str,
) -> Result<(String, Vec<RolePod>), RenderError> {
    let template = component.get("template");
    let mut object = Value::Object(template.required_object()?.clone());
    let of_type =
        |field: &'static str| template.get(field).text()?.ok_or_else(|| template.missing_field(field, "the component"));
    let (api_version, kind) = (of_type("apiVersion")?, of_type("kind")?);
    if kind == KIND.kind && find(api_version, kind).is_some() {
        return Err(template.get("kind").invalid("another kind: AppWrappers cannot contain AppWrappers"));
    }
    let metadata = template.get("metadata");
    let namespace = metadata.get("namespace");
    if namespace.text()?.is_some_and(|namespace| namespace != manifest.namespace) {
        return Err(namespace.invalid("the namespace of the AppWrapper"));
    }
    inject::inject(&mut object, component, name)?;
    let own_name = metadata.get("name").text()?.or(metadata.get("generateName").text()?);
    let manifest = Manifest { raw: &object, ..*manifest };
    let roles = match find(api_version, kind) {
        Some(kind) => (kind.render)(&manifest).map_err(|error| error.below(template.path()))?,
        None => match misnamed(api_version, kind) {
            Some(error) => return Err(error.below(template.path())),
            None if generic::creates_no_pods(api_version, kind) => Vec::new(),
            None => generic::roles(&manifest),
        },
    };
    Ok((own_name.unwrap_or(kind).to_owned(), roles))
}
