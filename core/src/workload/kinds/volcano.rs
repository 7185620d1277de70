//! `batch.volcano.sh` Job, Volcano's own.
//!
//! Source of the rules: the Job controller of Volcano 1.15 and its webhook for Jobs.

mod plugins;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::pod::Pod;
use crate::workload::member::label_number;
use crate::workload::template::{Draft, Field, Owner, append, containers};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role};

/// A Volcano Job: tasks that are scheduled as one gang.
pub(super) static KIND: Kind = Kind {
    group: "batch.volcano.sh",
    versions: &["v1alpha1"],
    kind: "Job",
    resource: "jobs",
    fidelity: Fidelity::Documented,
    render,
    identify,
    gang: GangTraits::BY_OWNER,
};

pub(in crate::workload) const JOB: &str = "volcano.sh/job-name";
pub(in crate::workload) const TASK: &str = "volcano.sh/task-spec";
pub(in crate::workload) const TASK_INDEX: &str = "volcano.sh/task-index";
const QUEUE: &str = "volcano.sh/queue-name";
/// Stands for the random end of a volume's name.
const ZERO_VOLUME: &str = "000000000000";

/// Annotations of the Job that its pods inherit.
const INHERITED: [&str; 3] = ["volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone"];
/// Disruption budgets: the first one that is there is inherited.
const BUDGETS: [&str; 2] = ["volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"];
/// Labels of the Job that its pods inherit.
const INHERITED_LABELS: [&str; 2] = ["volcano.sh/preemptable", "volcano.sh/cooldown-time"];

/// A Job, as its pods are made from it.
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

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let tasks = spec.get("tasks").required_items()?.into_iter().enumerate();
    let tasks = tasks.map(|(index, field)| Task::read(index, field)).collect::<Result<_, _>>()?;
    let owner = Owner::of(manifest, "batch.volcano.sh/v1alpha1", "Job")?;
    let job = Job { owner, namespace: manifest.namespace, metadata: root.get("metadata"), spec, tasks };
    job.tasks.iter().map(|task| Ok(job.pod(task)?.into_role(task.name.as_str(), task.replicas))).collect()
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = pod.label(JOB)?;
    Some(Member { kind: &KIND, job, role: pod.label(TASK), index: label_number(pod, TASK_INDEX), training: true })
}

impl<'a> Task<'a> {
    fn read(index: usize, field: Field<'a>) -> Result<Self, RenderError> {
        let name = field.get("name").text()?.map_or_else(|| format!("default{index}"), str::to_owned);
        Ok(Self { name, replicas: field.get("replicas").count()?.unwrap_or(0), field })
    }
}

impl Job<'_> {
    fn pod(&self, task: &Task<'_>) -> Result<Draft, RenderError> {
        let mut draft = Draft::new(&task.field.get("template"), &self.owner, self.namespace)?;
        draft.rename(format!("{}-{}-0", self.owner.name, task.name));
        draft.finalizers.clear();
        draft.set_default("schedulerName", self.spec.get("schedulerName").text()?.unwrap_or("volcano"));
        if let Some(priority) = self.spec.get("priorityClassName").text()? {
            draft.set_default("priorityClassName", priority);
        }
        if draft.host_network() {
            draft.set_default("dnsPolicy", "ClusterFirstWithHostNet");
        }
        self.mount(&mut draft)?;
        self.mark(&mut draft, task)?;
        plugins::apply(&mut draft, self, task)?;
        Ok(draft)
    }

    fn mark(&self, draft: &mut Draft, task: &Task<'_>) -> Result<(), RenderError> {
        let name = self.owner.name.as_str();
        draft.mark(TASK_INDEX, "0");
        draft.mark(TASK, &task.name);
        draft.mark(JOB, name);
        draft.mark(QUEUE, self.spec.get("queue").text()?.unwrap_or("default"));
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
        let budget = BUDGETS.into_iter().find(|key| annotations.get(key).is_present());
        for key in INHERITED.into_iter().chain(budget) {
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

    /// The Job's volumes are mounted into every container of every task, init containers excepted.
    fn mount(&self, draft: &mut Draft) -> Result<(), RenderError> {
        let volumes = self.spec.get("volumes").items()?;
        for (index, volume) in volumes.iter().enumerate() {
            // The end of the name is random, twelve characters long; the index keeps the names apart here.
            let name = format!("{}-{index:012}", self.owner.name);
            let made = || format!("{}-volume-{ZERO_VOLUME}", self.owner.name);
            let claim = volume.get("volumeClaimName").text()?.map_or_else(made, str::to_owned);
            append(&mut draft.spec, "volumes", [json!({"name": name, "persistentVolumeClaim": {"claimName": claim}})]);
            for container in containers(&mut draft.spec) {
                append(container, "volumeMounts", [mount(&name, volume.get("mountPath").value())]);
            }
        }
        if !volumes.is_empty() {
            draft.note(format!("the names of spec.volumes end in random characters: {ZERO_VOLUME} stands for them"));
        }
        Ok(())
    }
}

fn mount(name: &str, path: Option<&Value>) -> Value {
    let mut mount = Map::from_iter([("name".to_owned(), Value::from(name))]);
    mount.extend(path.map(|path| ("mountPath".to_owned(), path.clone())));
    Value::Object(mount)
}
