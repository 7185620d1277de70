//! `batch.volcano.sh` Job.
//!
//! Follows the Job controller and the Job webhook of Volcano 1.15.

mod plugins;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::pod::Pod;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Draft, Field, Owner, append, containers};
use crate::workload::{
    Fidelity, GangRole, GangShape, GangTraits, Manifest, PodCreation, PodIdentity, RenderError, RolePod, WorkloadKind,
};

/// A Volcano Job: tasks that are scheduled as one gang.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "batch.volcano.sh",
    versions: &["v1alpha1"],
    kind: "Job",
    resource: "jobs",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[JOB, TASK, TASK_INDEX],
    gang: GangTraits { shape: Some(gang_shape), creation: Some(PodCreation::RolesInOrder), ..GangTraits::BY_OWNER },
};

const JOB: &str = "volcano.sh/job-name";
const TASK: &str = "volcano.sh/task-spec";
const TASK_INDEX: &str = "volcano.sh/task-index";
const QUEUE: &str = "volcano.sh/queue-name";
/// Placeholder for the random suffix of a volume's name.
const ZERO_VOLUME_SUFFIX: &str = "000000000000";

/// Annotations of the Job that its pods inherit.
const INHERITED_ANNOTATIONS: [&str; 3] =
    ["volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone"];
/// Disruption budget annotations of the Job, of which its pods inherit the first one that is set.
const DISRUPTION_BUDGETS: [&str; 2] = ["volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"];
/// Labels of the Job that its pods inherit.
const INHERITED_LABELS: [&str; 2] = ["volcano.sh/preemptable", "volcano.sh/cooldown-time"];

/// A Volcano Job, from which its pods are rendered.
struct Job<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    metadata: Field<'a>,
    spec: Field<'a>,
    tasks: Vec<Task<'a>>,
}

/// One entry of `spec.tasks`.
struct Task<'a> {
    name: String,
    replicas: u64,
    field: Field<'a>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let tasks = spec.get("tasks").required_items()?.into_iter().enumerate();
    let tasks = tasks.map(|(index, field)| Task::read(index, field)).collect::<Result<_, _>>()?;
    let owner = Owner::from_manifest(manifest, "batch.volcano.sh/v1alpha1", "Job")?;
    let job = Job { owner, namespace: manifest.namespace, metadata: root.get("metadata"), spec, tasks };
    job.tasks.iter().map(|task| Ok(job.pod(task)?.into_role(task.name.as_str(), task.replicas))).collect()
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let job = pod.label(JOB)?;
    Some(PodIdentity {
        kind: &KIND,
        workload: job,
        role: pod.label(TASK),
        index: numeric_label(pod, TASK_INDEX),
        training: true,
    })
}

/// Reads the gang: all tasks, of which `minAvailable` pods are scheduled together.
fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let tasks = spec.get("tasks").required_items()?.into_iter().enumerate();
    let tasks: Vec<Task<'_>> = tasks.map(|(index, field)| Task::read(index, field)).collect::<Result<_, _>>()?;
    let role = |task: Task<'_>| GangRole::new(task.name, task.replicas, &task.field.get("template"));
    let mut shape = GangShape::new(tasks.into_iter().map(role).collect());
    shape.min_members = spec.get("minAvailable").count()?;
    Ok(shape)
}

impl<'a> Task<'a> {
    fn read(index: usize, field: Field<'a>) -> Result<Self, RenderError> {
        // Only the scheduler uses it.
        field.get("minAvailable").count()?;
        let name = field.get("name").text()?.map_or_else(|| format!("default{index}"), str::to_owned);
        Ok(Self { name, replicas: field.get("replicas").count()?.unwrap_or(0), field })
    }
}

impl Job<'_> {
    fn pod(&self, task: &Task<'_>) -> Result<Draft, RenderError> {
        let mut draft = Draft::new(&task.field.get("template"), &self.owner, self.namespace)?;
        draft.set_name(format!("{}-{}-0", self.owner.name, task.name));
        draft.finalizers.clear();
        draft.set_default("schedulerName", self.spec.get("schedulerName").text()?.unwrap_or("volcano"));
        if let Some(priority) = self.spec.get("priorityClassName").text()? {
            draft.set_default("priorityClassName", priority);
        }
        if draft.uses_host_network() {
            draft.set_default("dnsPolicy", "ClusterFirstWithHostNet");
        }
        self.add_volumes(&mut draft)?;
        self.add_metadata(&mut draft, task)?;
        plugins::apply(&mut draft, self, task)?;
        Ok(draft)
    }

    fn add_metadata(&self, draft: &mut Draft, task: &Task<'_>) -> Result<(), RenderError> {
        let name = self.owner.name.as_str();
        draft.label_and_annotate(TASK_INDEX, "0");
        draft.label_and_annotate(TASK, &task.name);
        draft.label_and_annotate(JOB, name);
        draft.label_and_annotate(QUEUE, self.spec.get("queue").text()?.unwrap_or("default"));
        draft.label("volcano.sh/job-namespace", self.namespace);
        draft.annotate("scheduling.k8s.io/group-name", format!("{name}-{}", self.owner.uid));
        draft.annotate("volcano.sh/job-version", "0");
        draft.annotate("volcano.sh/template-uid", format!("{name}-{}", task.name));
        draft.annotate("volcano.sh/job-retry-count", "0");
        if let Some(policy) = task.field.get("topologyPolicy").text()? {
            draft.annotate("volcano.sh/numa-topology-policy", policy);
        }
        if task.field.get("partitionPolicy").is_present() {
            draft.label("volcano.sh/partition-id", "0");
        }
        let annotations = self.metadata.get("annotations");
        let budget = DISRUPTION_BUDGETS.into_iter().find(|key| annotations.get(key).is_present());
        for key in INHERITED_ANNOTATIONS.into_iter().chain(budget) {
            if let Some(value) = annotations.get(key).value() {
                draft.annotate(key, value.clone());
            }
        }
        for key in INHERITED_LABELS {
            if let Some(value) = self.metadata.get("labels").get(key).value() {
                draft.label(key, value.clone());
            }
        }
        Ok(())
    }

    /// Mounts the Job's volumes into every container of every task, except init containers.
    fn add_volumes(&self, draft: &mut Draft) -> Result<(), RenderError> {
        let volumes = self.spec.get("volumes").items()?;
        for (index, volume) in volumes.iter().enumerate() {
            // The name ends with twelve random characters; the index makes it unique here.
            let name = format!("{}-{index:012}", self.owner.name);
            let generated = || format!("{}-volume-{ZERO_VOLUME_SUFFIX}", self.owner.name);
            let path = volume.get("mountPath");
            path.raw_text()?;
            let claim = volume.get("volumeClaimName").text()?.map_or_else(generated, str::to_owned);
            append(&mut draft.spec, "volumes", [json!({"name": name, "persistentVolumeClaim": {"claimName": claim}})]);
            for container in containers(&mut draft.spec) {
                append(container, "volumeMounts", [mount(&name, path.value())]);
            }
        }
        if !volumes.is_empty() {
            draft.add_note(format!("the names of spec.volumes have a random suffix, shown as {ZERO_VOLUME_SUFFIX}"));
        }
        Ok(())
    }
}

fn mount(name: &str, path: Option<&Value>) -> Value {
    let mut mount = Map::from_iter([("name".to_owned(), Value::from(name))]);
    mount.extend(path.map(|path| ("mountPath".to_owned(), path.clone())));
    Value::Object(mount)
}
