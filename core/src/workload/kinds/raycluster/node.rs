//! Fields that KubeRay adds to the pod spec of a head or worker. The Ray container is the first container.

use serde_json::{Map, Value, json};

use super::{AUTOSCALER, CLUSTER, Cluster, GROUP};
use crate::workload::RenderError;
use crate::workload::template::{
    Draft, Field, append, containers, ensure_env, env, env_from_field, has_entry, init_containers,
};

const SHARED_MEMORY: &str = "/dev/shm";
const FT_ENABLED: &str = "ray.io/ft-enabled";
const OVERWRITE_COMMAND: &str = "ray.io/overwrite-container-cmd";
/// Name of the port that KubeRay adds to the Ray container.
pub(super) const METRICS_PORT_NAME: &str = "metrics";
const METRICS_PORT: u64 = 8080;
/// Init container of workers.
pub(super) const WAIT_CONTAINER: &str = "wait-gcs-ready";
/// CPU of the init container, which only polls the head.
const WAIT_CPU: &str = "200m";
/// Memory of the init container.
const WAIT_MEMORY: &str = "256Mi";
/// Fields that the init container inherits from the Ray container.
const INHERITED_FIELDS: [&str; 5] = ["image", "imagePullPolicy", "securityContext", "env", "volumeMounts"];

/// Adds KubeRay's fields to the pod of the head.
pub(super) fn complete_head(draft: &mut Draft, cluster: &Cluster<'_>, group: &Field<'_>) -> Result<(), RenderError> {
    let fault_tolerant = is_fault_tolerant(cluster)?;
    draft.annotate(FT_ENABLED, fault_tolerant.to_string());
    if fault_tolerant {
        draft.add_note("the environment variables and volumes of GCS fault tolerance are not shown");
    }
    if cluster.spec.get("enableInTreeAutoscaling").is_true()? {
        add_autoscaler(draft, cluster)?;
    }
    complete_node(draft, cluster, group, "127.0.0.1")
}

/// Adds KubeRay's fields to the pod of a worker.
pub(super) fn complete_worker(draft: &mut Draft, cluster: &Cluster<'_>, group: &Field<'_>) -> Result<(), RenderError> {
    let head = cluster.head_service()?;
    let ray = containers(&mut draft.spec).next();
    if let Some(wait) = ray.map(|ray| wait_container(ray)) {
        append(&mut draft.spec, "initContainers", [wait]);
        draft.add_note("the script of init container wait-gcs-ready is not shown");
    }
    if let Some(ray) = containers(&mut draft.spec).next() {
        if is_fault_tolerant(cluster)? {
            ensure_env(ray, env("RAY_gcs_rpc_server_reconnect_timeout_s", "600"));
        }
        append(ray, "env", head_address_env(&head));
    }
    if autoscaler_version(cluster)? == Some("v2") && cluster.spec.get("enableInTreeAutoscaling").is_true()? {
        draft.set("restartPolicy", "Never");
    }
    complete_node(draft, cluster, group, &head)
}

/// Adds the fields common to heads and workers; `address` is the address at which this pod reaches the head.
fn complete_node(
    draft: &mut Draft,
    cluster: &Cluster<'_>,
    group: &Field<'_>,
    address: &str,
) -> Result<(), RenderError> {
    if is_annotation_true(cluster, OVERWRITE_COMMAND)? {
        draft.annotate(OVERWRITE_COMMAND, "true");
    }
    let parameters = group.get("rayStartParams");
    for (_, parameter) in parameters.entries()? {
        parameter.raw_text()?;
    }
    if !parameters.get("plasma-directory").is_present() {
        add_shared_memory(&mut draft.spec);
    }
    let service = cluster.head_service()?;
    for container in init_containers(&mut draft.spec) {
        append(container, "env", head_address_env(&service));
    }
    let start = cluster.spec.get("headGroupSpec").get("rayStartParams");
    let port = start.get("port").text()?.unwrap_or("6379");
    if let Some(ray) = containers(&mut draft.spec).next() {
        open_metrics(ray);
        for (name, path) in [
            ("RAY_CLUSTER_NAME", format!("metadata.labels['{CLUSTER}']")),
            ("RAY_CLUSTER_NAMESPACE", "metadata.namespace".to_owned()),
            ("RAY_CLOUD_INSTANCE_ID", "metadata.name".to_owned()),
            ("RAY_NODE_TYPE_NAME", format!("metadata.labels['{GROUP}']")),
        ] {
            append(ray, "env", [env_from_field(name, &path)]);
        }
        ensure_env(ray, env("RAY_PORT", port));
        if cluster.is_ray_service {
            ensure_env(ray, env("RAY_timeout_ms_task_wait_for_death_info", "0"));
            ensure_env(ray, env("RAY_gcs_server_request_timeout_seconds", "5"));
            ensure_env(ray, env("RAY_SERVE_KV_TIMEOUT_S", "5"));
        }
        ensure_env(ray, env("RAY_ADDRESS", format!("{address}:{port}")));
        ensure_env(ray, env("RAY_USAGE_STATS_KUBERAY_IN_USE", "1"));
        ensure_env(ray, env("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1"));
    }
    draft.add_note("the `ray start` command and the probes that KubeRay adds to the first container are not shown");
    for feature in ["authOptions", "tlsOptions"] {
        if cluster.spec.get(feature).is_present() {
            draft.add_note(format!("the fields that KubeRay adds for spec.{feature} are not shown"));
        }
    }
    Ok(())
}

fn is_fault_tolerant(cluster: &Cluster<'_>) -> Result<bool, RenderError> {
    Ok(is_annotation_true(cluster, FT_ENABLED)? || cluster.spec.get("gcsFaultToleranceOptions").is_present())
}

/// Returns true if an annotation of the cluster is `true`.
fn is_annotation_true(cluster: &Cluster<'_>, annotation: &str) -> Result<bool, RenderError> {
    Ok(cluster.annotations.get(annotation).text()?.is_some_and(|value| value.eq_ignore_ascii_case("true")))
}

fn autoscaler_version<'a>(cluster: &Cluster<'a>) -> Result<Option<&'a str>, RenderError> {
    cluster.spec.get("autoscalerOptions").get("version").text()
}

/// Adds the autoscaler sidecar to the head.
fn add_autoscaler(draft: &mut Draft, cluster: &Cluster<'_>) -> Result<(), RenderError> {
    let options = cluster.spec.get("autoscalerOptions");
    let Some(ray) = containers(&mut draft.spec).next() else { return Ok(()) };
    let image = options.get("image").value().or_else(|| ray.get("image")).cloned().unwrap_or_default();
    let policy = options.get("imagePullPolicy").text()?.unwrap_or("IfNotPresent");
    options.get("resources").check_resources()?;
    let resources = autoscaler_resources(&cluster.spec);
    let version = autoscaler_version(cluster)?;
    if let Some(version) = version {
        append(ray, "env", [env("RAY_enable_autoscaler_v2", if version == "v2" { "true" } else { "false" })]);
    }
    if version == Some("v2") {
        draft.set("restartPolicy", "Never");
    }
    draft.set_default("serviceAccountName", cluster.owner.name.as_str());
    let container = json!({"name": AUTOSCALER, "image": image, "imagePullPolicy": policy, "resources": resources});
    append(&mut draft.spec, "containers", [container]);
    draft.add_note("the command and environment of the autoscaler container are not shown");
    Ok(())
}

/// Returns the init container that waits until the head is ready; its script is omitted.
fn wait_container(ray: &Map<String, Value>) -> Value {
    let inherited = INHERITED_FIELDS.into_iter().filter_map(|key| Some((key.to_owned(), ray.get(key)?.clone())));
    let mut container = Map::from_iter([("name".to_owned(), Value::from(WAIT_CONTAINER))]);
    container.extend(inherited);
    container.insert("command".to_owned(), json!(["/bin/bash", "-c", "--"]));
    container.insert("resources".to_owned(), wait_resources());
    Value::Object(container)
}

/// Returns the resources of the init container of workers.
pub(super) fn wait_resources() -> Value {
    let amounts = json!({"cpu": WAIT_CPU, "memory": WAIT_MEMORY});
    json!({"limits": amounts, "requests": amounts})
}

/// Returns the resources of the autoscaler of a cluster with this `spec`.
pub(super) fn autoscaler_resources(spec: &Field<'_>) -> Value {
    let amounts = json!({"cpu": "500m", "memory": "512Mi"});
    let resources = spec.get("autoscalerOptions").get("resources").value().cloned();
    resources.unwrap_or_else(|| json!({"limits": amounts, "requests": amounts}))
}

/// Returns the variables that contain the name of the head's Service, with and without its domain.
fn head_address_env(service: &str) -> [Value; 2] {
    let name = service.split('.').next().unwrap_or_default();
    [env("FQ_RAY_IP", service), env("RAY_IP", name)]
}

fn open_metrics(ray: &mut Map<String, Value>) {
    if !has_entry(ray, "ports", "name", METRICS_PORT_NAME) {
        append(ray, "ports", [json!({"name": METRICS_PORT_NAME, "containerPort": METRICS_PORT})]);
    }
}

/// Mounts shared memory for Ray's object store: without a volume, a container has only 64 MiB.
fn add_shared_memory(spec: &mut Map<String, Value>) {
    let Some(ray) = containers(spec).next() else { return };
    let memory = |kind| ray.get("resources")?.get(kind)?.get("memory");
    let limit = memory("limits").or_else(|| memory("requests")).cloned();
    if has_entry(ray, "volumeMounts", "mountPath", SHARED_MEMORY) {
        return;
    }
    append(ray, "volumeMounts", [json!({"name": "shared-mem", "mountPath": SHARED_MEMORY})]);
    let mut source = json!({"medium": "Memory"});
    if let Some(limit) = limit {
        source["sizeLimit"] = limit;
    }
    if !has_entry(spec, "volumes", "name", "shared-mem") {
        append(spec, "volumes", [json!({"name": "shared-mem", "emptyDir": source})]);
    }
}
