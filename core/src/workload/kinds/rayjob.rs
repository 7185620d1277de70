//! `ray.io` `RayJob`: the pods of the `RayCluster` that it creates, and the one that submits the job.
//!
//! Source of the rules: the `RayJob` controller of KubeRay 1.7 with its default settings.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::job::{self, Settings};
use super::raycluster::{API_VERSION, AUTOSCALER, CREATED_BY, Cluster, NAME_IS_RANDOM};
use crate::pod::Pod;
use crate::workload::template::{Draft, Field, Owner, ZERO_SUFFIX, append, containers, env, list_mut};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role};

/// A `RayJob`.
pub(super) static KIND: Kind = Kind {
    group: "ray.io",
    versions: &["v1", "v1alpha1"],
    kind: "RayJob",
    resource: "rayjobs",
    fidelity: Fidelity::Documented,
    render,
    identify,
    gang: GangTraits { auxiliary_roles: &["submittergroup"], ..GangTraits::BY_OWNER },
};

pub(in crate::workload) const ORIGIN: &str = "ray.io/originated-from-cr-name";
pub(in crate::workload) const ORIGIN_KIND: &str = "ray.io/originated-from-crd";
const SUBMITTER: &str = "submitter";
const DASHBOARD_PORT: u64 = 8265;

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let job = Owner::of(manifest, API_VERSION, "RayJob")?;
    let selected = spec.get("clusterSelector").get("ray.io/cluster").text()?;
    let name = selected.map_or_else(|| format!("{}-{ZERO_SUFFIX}", job.name), str::to_owned);
    let cluster = Cluster {
        owner: job.makes(API_VERSION, "RayCluster", name),
        namespace: manifest.namespace,
        annotations: root.get("metadata").get("annotations"),
        spec: spec.get("rayClusterSpec"),
        serves: false,
    };
    let mut roles = Vec::new();
    if selected.is_none() {
        cluster.spec.required_object()?;
        roles = cluster.roles()?;
    }
    match spec.get("submissionMode").text()? {
        None | Some("K8sJobMode") => roles.push(submitter(&spec, &job, &cluster)?.into_role(SUBMITTER, 1)),
        Some("SidecarMode") => submit_from_head(&mut roles, &spec, &job, &cluster)?,
        Some(_) => {}
    }
    for role in &mut roles {
        if selected.is_none() {
            role.notes.push(NAME_IS_RANDOM.to_owned());
        }
        if spec.get("suspend").is_true()? {
            role.notes.push("the RayJob is suspended: its pods are created when it is resumed".to_owned());
        }
    }
    Ok(roles)
}

/// Only the submitter names the `RayJob`; heads and workers are recognised as their `RayCluster`'s.
fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = pod.label(ORIGIN).filter(|_| pod.label(ORIGIN_KIND) == Some(KIND.kind))?;
    Some(Member { kind: &KIND, job, role: Some(SUBMITTER), index: Some(0), training: true })
}

/// The pod of the Job that submits the entrypoint.
fn submitter(spec: &Field<'_>, job: &Owner<'_>, cluster: &Cluster<'_>) -> Result<Draft, RenderError> {
    let own = spec.get("submitterPodTemplate");
    let made = match own.value() {
        Some(_) => None,
        None => Some(json!({"spec": {"containers": [container(cluster)?], "restartPolicy": "Never"}})),
    };
    let template = made.as_ref().map_or(own, Field::root);
    let owner = job::made_by(job, job.name.clone());
    let mut draft = Draft::new(&template, &owner, cluster.namespace)?;
    draft.label(ORIGIN, job.name.as_str());
    draft.label(ORIGIN_KIND, KIND.kind);
    draft.label(CREATED_BY, "kuberay-operator");
    if let Some(container) = containers(&mut draft.spec).next() {
        address(container, spec, job, cluster)?;
    }
    draft.note("the `ray job submit` command that KubeRay writes where the template has none is not shown");
    Settings::default().finish(&mut draft, &owner);
    Ok(draft)
}

/// In sidecar mode the submitter is a container of the head, whose pod then ends with it.
fn submit_from_head(
    roles: &mut [Role],
    spec: &Field<'_>,
    job: &Owner<'_>,
    cluster: &Cluster<'_>,
) -> Result<(), RenderError> {
    let Ok(Value::Object(mut submitter)) = container(cluster) else { return Ok(()) };
    let Some(head) = roles.first_mut() else { return Ok(()) };
    let Some(pod) = head.pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    address(&mut submitter, spec, job, cluster)?;
    if let Some(containers) = list_mut(pod, "containers") {
        let autoscaler = containers.iter().position(|container| container["name"] == AUTOSCALER);
        containers.insert(autoscaler.unwrap_or(containers.len()), Value::Object(submitter));
    }
    pod.insert("restartPolicy".to_owned(), "Never".into());
    head.notes.push("the `ray job submit` command of the container ray-job-submitter is not shown".to_owned());
    Ok(())
}

/// The container of a submitter that the user has not described. It takes the head's image.
fn container(cluster: &Cluster<'_>) -> Result<Value, RenderError> {
    let head = cluster.spec.get("headGroupSpec").get("template").get("spec");
    let Some(ray) = head.get("containers").items()?.into_iter().next() else {
        return Err(RenderError::Unresolved(
            "the submitter takes its image from the RayCluster that spec.clusterSelector names, which the manifest \
             does not hold: set spec.submitterPodTemplate"
                .to_owned(),
        ));
    };
    Ok(json!({
        "name": "ray-job-submitter",
        "image": ray.get("image").value(),
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "200Mi"},
        },
    }))
}

/// Where to submit, and under which name.
fn address(
    container: &mut Map<String, Value>,
    spec: &Field<'_>,
    job: &Owner<'_>,
    cluster: &Cluster<'_>,
) -> Result<(), RenderError> {
    let id = spec.get("jobId").text()?.map_or_else(|| format!("{}-{ZERO_SUFFIX}", job.name), str::to_owned);
    let variables = [
        env("PYTHONUNBUFFERED", "1"),
        env("RAY_DASHBOARD_ADDRESS", format!("{}:{DASHBOARD_PORT}", cluster.head_service()?)),
        env("RAY_JOB_SUBMISSION_ID", id),
    ];
    append(container, "env", variables);
    Ok(())
}
