//! `ray.io` `RayJob`: the pods of the `RayCluster` that it creates, and the pod that submits the job.
//!
//! Follows the `RayJob` controller of KubeRay 1.7 with default settings.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::job::{self, Settings};
use super::raycluster::{self, API_VERSION, AUTOSCALER, CREATED_BY, Cluster, RANDOM_NAME_NOTE};
use crate::dns;
use crate::pod::Pod;
use crate::workload::template::{Draft, Field, Owner, ZERO_SUFFIX, append, containers, env, list_mut};
use crate::workload::{Fidelity, GangTraits, Manifest, PodIdentity, RenderError, RolePod, WorkloadKind};

/// A `RayJob`.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "ray.io",
    versions: &["v1", "v1alpha1"],
    kind: "RayJob",
    resource: "rayjobs",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[ORIGIN, ORIGIN_KIND],
    // The submitter, the only pod that is identified as part of a RayJob, starts when the cluster runs.
    gang: GangTraits {
        auxiliary_roles: &["submittergroup"],
        member_ports: raycluster::GANG.member_ports,
        object: Some(&raycluster::KIND),
        shape: Some(|manifest| raycluster::gang_shape(&Field::root(manifest.raw).get("spec").get("rayClusterSpec"))),
        ..GangTraits::NONE
    },
};

const ORIGIN: &str = "ray.io/originated-from-cr-name";
const ORIGIN_KIND: &str = "ray.io/originated-from-crd";
const SUBMITTER: &str = "submitter";
/// How to name the cluster of a job without one of its own.
const NO_CLUSTER: &str = "for a RayCluster that exists, set clusterSelector with its name as ray.io/cluster";
/// Note about a submitter of a job for a cluster that exists.
const UNKNOWN_IMAGE_NOTE: &str = "the image, that of the RayCluster that spec.clusterSelector selects, is not shown";
const DASHBOARD_PORT: u64 = 8265;

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let job = Owner::from_manifest(manifest, API_VERSION, "RayJob")?;
    let selected = spec.get("clusterSelector").get("ray.io/cluster").text()?;
    // The status of a job that exists.
    let created = root.get("status").get("rayClusterName").value().and_then(Value::as_str);
    let known = selected.or(created.filter(|name| dns::is_subdomain(name)));
    let name = known.map_or_else(|| format!("{}-{ZERO_SUFFIX}", job.name), str::to_owned);
    let cluster = Cluster {
        owner: job.child(API_VERSION, "RayCluster", name),
        namespace: manifest.namespace,
        annotations: root.get("metadata").get("annotations"),
        spec: spec.get("rayClusterSpec"),
        is_ray_service: false,
    };
    let mut roles = Vec::new();
    if selected.is_none() {
        cluster.spec.object()?.ok_or_else(|| cluster.spec.missing_beside(&spec, NO_CLUSTER))?;
        roles = cluster.roles()?;
    }
    let is_head_empty = selected.is_none() && head_containers(&cluster).is_ok_and(|containers| containers.is_empty());
    let has_own_submitter = spec.get("submitterPodTemplate").is_present();
    match spec.get("submissionMode").text()? {
        // The head, whose image the submitter would have, has a finding: its containers may be misspelled.
        None | Some("K8sJobMode") if is_head_empty && !has_own_submitter => {}
        None | Some("K8sJobMode") => roles.push(submitter_pod(&spec, &job, &cluster)?.into_role(SUBMITTER, 1)),
        Some("SidecarMode") => add_submitter_sidecar(&mut roles, &spec, &job, &cluster)?,
        Some(_) => {}
    }
    for role in &mut roles {
        if known.is_none() {
            role.notes.push(RANDOM_NAME_NOTE.to_owned());
        }
        if spec.get("suspend").is_true()? {
            role.notes.push("the RayJob is suspended: its pods are created when it is resumed".to_owned());
        }
    }
    Ok(roles)
}

/// Identifies the submitter, the only pod whose labels name the `RayJob`; other pods are identified as part of their
/// `RayCluster`.
fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let job = pod.label(ORIGIN).filter(|_| pod.label(ORIGIN_KIND) == Some(KIND.kind))?;
    Some(PodIdentity { kind: &KIND, workload: job, role: Some(SUBMITTER), index: Some(0), training: true })
}

/// Renders the pod of the Job that submits the entrypoint.
fn submitter_pod(spec: &Field<'_>, job: &Owner<'_>, cluster: &Cluster<'_>) -> Result<Draft, RenderError> {
    let user_template = spec.get("submitterPodTemplate");
    let submitter = if user_template.value().is_none() { Some(default_submitter(cluster)?) } else { None };
    let is_image_unknown = submitter.as_ref().is_some_and(|container| !container.contains_key("image"));
    let default_template =
        submitter.map(|container| json!({"spec": {"containers": [container], "restartPolicy": "Never"}}));
    let template = default_template.as_ref().map_or(user_template, Field::root);
    let owner = job::child_of(job, job.name.clone());
    let mut draft = Draft::new(&template, &owner, cluster.namespace)?;
    draft.label(ORIGIN, job.name.as_str());
    draft.label(ORIGIN_KIND, KIND.kind);
    draft.label(CREATED_BY, "kuberay-operator");
    if let Some(container) = containers(&mut draft.spec).next() {
        add_submission_env(container, spec, job, cluster)?;
    }
    draft.add_note("the `ray job submit` command that KubeRay adds if the template has no command is not shown");
    if is_image_unknown {
        draft.add_note(UNKNOWN_IMAGE_NOTE);
    }
    Settings::default().apply(&mut draft, &owner);
    Ok(draft)
}

/// Adds the submitter to the head's containers in sidecar mode. The pod then terminates with the submitter.
fn add_submitter_sidecar(
    roles: &mut [RolePod],
    spec: &Field<'_>,
    job: &Owner<'_>,
    cluster: &Cluster<'_>,
) -> Result<(), RenderError> {
    let submitter = default_submitter(cluster).ok().filter(|submitter| submitter.contains_key("image"));
    let Some(mut submitter) = submitter else { return Ok(()) };
    let Some(head) = roles.first_mut() else { return Ok(()) };
    let Some(pod) = head.pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    add_submission_env(&mut submitter, spec, job, cluster)?;
    if let Some(containers) = list_mut(pod, "containers") {
        let autoscaler = containers.iter().position(|container| container["name"] == AUTOSCALER);
        containers.insert(autoscaler.unwrap_or(containers.len()), Value::Object(submitter));
    }
    pod.insert("restartPolicy".to_owned(), "Never".into());
    head.notes.push("the `ray job submit` command of container ray-job-submitter is not shown".to_owned());
    Ok(())
}

/// Returns the default submitter container, which uses the head's image: without one if the cluster exists already.
fn default_submitter(cluster: &Cluster<'_>) -> Result<Map<String, Value>, RenderError> {
    let resources = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}});
    let mut submitter = Map::new();
    submitter.insert("name".to_owned(), "ray-job-submitter".into());
    if let Some(ray) = head_containers(cluster)?.first() {
        submitter.insert("image".to_owned(), ray.get("image").value().cloned().unwrap_or_default());
    }
    submitter.insert("resources".to_owned(), resources);
    Ok(submitter)
}

/// Returns the containers of the head.
fn head_containers<'a>(cluster: &Cluster<'a>) -> Result<Vec<Field<'a>>, RenderError> {
    cluster.spec.get("headGroupSpec").get("template").get("spec").get("containers").items()
}

/// Adds the environment variables that contain the dashboard address and the submission ID.
fn add_submission_env(
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
