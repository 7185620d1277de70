//! The runtime of a `TrainJob`: found, patched, and filled in with what the job itself says.

use serde_json::{Map, Value, json};

use super::merge::strategic_merge;
use super::{ANCESTOR, DATASET_INITIALIZER, MODEL_INITIALIZER, NODE, TRAINER};
use crate::workload::template::{Field, append, container_named, env, object_mut, objects, require_containers, upsert};
use crate::workload::{Manifest, RenderError};

/// A runtime under the patches of its job.
#[derive(Debug)]
pub(super) struct Runtime<'a> {
    /// `spec` of the `TrainJob`.
    pub(super) job: Field<'a>,
    /// `spec.mlPolicy` of the runtime.
    pub(super) policy: Field<'a>,
    /// The replicated jobs of the `JobSet`.
    pub(super) parts: Vec<Part<'a>>,
    /// `spec.podGroupPolicy` of the runtime.
    pod_group: Field<'a>,
    /// Where the `JobSet`'s template stands, for errors.
    place: String,
    /// Annotations of the `JobSet`.
    annotations: Map<String, Value>,
    /// The `JobSet`'s spec, without what its parts have been filled in with.
    set: Value,
}

/// A replicated job.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// Its name.
    pub(super) name: String,
    /// The step of the `TrainJob` that fills it in.
    pub(super) ancestor: Option<String>,
    /// How many pods of each Job.
    pub(super) nodes: u64,
    /// The spec of the pod's template.
    pub(super) pod: Map<String, Value>,
    /// How many Jobs.
    replicas: u64,
    /// `spec` of the `TrainJob`.
    job: Field<'a>,
}

impl<'a> Runtime<'a> {
    /// Finds the runtime in the input, patches it and reads its parts.
    pub(super) fn resolve(manifest: &Manifest<'a>) -> Result<Self, RenderError> {
        let job = Field::root(manifest.raw).get("spec");
        let found = find(manifest, &job)?;
        let template = found.get("template");
        let mut annotations = template.get("metadata").get("annotations").copied_object()?;
        let place = template.path().to_owned();
        let mut set = Value::Object(template.get("spec").required_object()?.clone());
        for patch in job.get("runtimePatches").items()? {
            let patch = patch.get("trainingRuntimeSpec").get("template");
            annotations.extend(patch.get("metadata").get("annotations").copied_object()?);
            apply(&mut set, &patch.get("spec"))?;
        }
        let mut parts = Vec::new();
        let replicated = Field::named(&set, template.get("spec").path()).get("replicatedJobs");
        for part in replicated.items()? {
            parts.push(Part::read(&part, &job, &found.get("mlPolicy"))?);
        }
        if parts.is_empty() {
            return Err(replicated.missing());
        }
        let (policy, pod_group) = (found.get("mlPolicy"), found.get("podGroupPolicy"));
        Ok(Self { job, policy, parts, pod_group, place, annotations, set })
    }

    /// The part that trains.
    pub(super) fn trainer(&mut self) -> Option<&mut Part<'a>> {
        self.parts.iter_mut().find(|part| part.ancestor.as_deref() == Some(TRAINER))
    }

    /// Whether the launcher of an MPI runtime computes too.
    pub(super) fn launcher_works(&self) -> Result<bool, RenderError> {
        self.policy.get("mpi").get("runLauncherAsNode").is_true()
    }

    /// Puts in what the job says of its steps.
    pub(super) fn fill_in(&mut self) -> Result<(), RenderError> {
        let launcher_works = self.launcher_works()?;
        for part in &mut self.parts {
            match part.ancestor.as_deref() {
                Some(DATASET_INITIALIZER) => part.initialize(DATASET_INITIALIZER, "dataset")?,
                Some(MODEL_INITIALIZER) => part.initialize(MODEL_INITIALIZER, "model")?,
                Some(TRAINER) => part.train()?,
                _ if launcher_works && part.name == NODE => part.trainer_env()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Where the `JobSet`'s template stands, and the `JobSet` that Trainer creates from it under the name of the job.
    pub(super) fn into_job_set(mut self, name: &str) -> Result<(String, Value), RenderError> {
        let suspend = self.job.get("suspend").is_true()?;
        let scheduled = |scheduler| self.pod_group.get(scheduler).is_present().then_some(name);
        let (label, annotation) = (scheduled("coscheduling"), scheduled("volcano"));
        if let Some(set) = self.set.as_object_mut() {
            set.insert("suspend".to_owned(), suspend.into());
            for (part, raw) in self.parts.into_iter().zip(objects(set, "replicatedJobs")) {
                part.write(raw, label, annotation);
            }
        }
        Ok((self.place, json!({"metadata": {"annotations": self.annotations}, "spec": self.set})))
    }
}

impl<'a> Part<'a> {
    fn read(field: &Field<'_>, job: &Field<'a>, policy: &Field<'a>) -> Result<Self, RenderError> {
        let template = field.get("template");
        let spec = template.get("spec");
        let ancestor = template.get("metadata").get("labels").get(ANCESTOR).text()?.map(str::to_owned);
        let mut nodes = spec.get("parallelism").count()?.unwrap_or(1);
        if ancestor.as_deref() == Some(TRAINER) && policy.is_present() {
            nodes = policy.get("numNodes").count()?.unwrap_or(1);
        }
        let name = field.get("name").required_text()?.to_owned();
        template.required_object()?;
        require_containers(&spec.get("template"))?;
        Ok(Self {
            name,
            ancestor,
            nodes: nodes.max(1),
            pod: spec.get("template").get("spec").copied_object()?,
            replicas: field.get("replicas").count()?.unwrap_or(1),
            job: job.clone(),
        })
    }

    /// Puts what the part has been filled in with into its replicated job, and names its pod group.
    fn write(self, replicated: &mut Map<String, Value>, label: Option<&str>, annotation: Option<&str>) {
        replicated.insert("replicas".to_owned(), self.replicas.into());
        let Some(job) = object_mut(replicated, "template").and_then(|job| object_mut(job, "spec")) else { return };
        job.insert("parallelism".to_owned(), self.nodes.into());
        job.insert("completions".to_owned(), self.nodes.into());
        let Some(template) = object_mut(job, "template") else { return };
        template.insert("spec".to_owned(), self.pod.into());
        let Some(metadata) = object_mut(template, "metadata") else { return };
        for (list, key, group) in [
            ("labels", "scheduling.x-k8s.io/pod-group", label),
            ("annotations", "scheduling.k8s.io/group-name", annotation),
        ] {
            if let (Some(group), Some(list)) = (group, object_mut(metadata, list)) {
                list.insert(key.to_owned(), group.into());
            }
        }
    }

    /// Lays variables over those of the container `name`.
    pub(super) fn set_env(&mut self, name: &str, variables: impl IntoIterator<Item = Value>) {
        if let Some(container) = container_named(&mut self.pod, name) {
            variables.into_iter().for_each(|variable| upsert(container, "env", "name", variable));
        }
    }

    /// Lays the variables of `spec.trainer` over those of the container that trains.
    pub(super) fn trainer_env(&mut self) -> Result<(), RenderError> {
        let variables = variables(&self.job.get("trainer"))?;
        self.set_env(NODE, variables);
        Ok(())
    }

    fn train(&mut self) -> Result<(), RenderError> {
        self.replicas = 1;
        let trainer = self.job.get("trainer");
        trainer.get("image").text()?;
        trainer.get("command").items()?;
        trainer.get("args").items()?;
        if let Some(container) = container_named(&mut self.pod, NODE) {
            for key in ["image", "command", "args"] {
                if let Some(value) = trainer.get(key).value() {
                    container.insert(key.to_owned(), value.clone());
                }
            }
        }
        self.trainer_env()
    }

    fn initialize(&mut self, container: &str, step: &str) -> Result<(), RenderError> {
        self.replicas = 1;
        let step = self.job.get("initializer").get(step);
        let location = step.get("storageUri").text_as_given()?.map(|location| env("STORAGE_URI", location));
        self.set_env(container, location.into_iter().chain(variables(&step)?));
        if let (Some(secret), Some(container)) =
            (step.get("secretRef").object()?, container_named(&mut self.pod, container))
        {
            append(container, "envFrom", [json!({"secretRef": secret})]);
        }
        Ok(())
    }
}

fn variables(step: &Field<'_>) -> Result<Vec<Value>, RenderError> {
    step.object()?;
    Ok(step.get("env").items()?.iter().filter_map(Field::value).cloned().collect())
}

fn find<'a>(manifest: &Manifest<'a>, job: &Field<'a>) -> Result<Field<'a>, RenderError> {
    let reference = job.get("runtimeRef");
    let name = reference.get("name").required_text()?;
    if reference.get("apiGroup").text_as_given()?.is_some_and(|group| group != "trainer.kubeflow.org") {
        return Err(reference.get("apiGroup").invalid("trainer.kubeflow.org"));
    }
    let namespace = match reference.get("kind").text_as_given()?.unwrap_or("ClusterTrainingRuntime") {
        "ClusterTrainingRuntime" => None,
        "TrainingRuntime" => Some(manifest.namespace.to_owned()),
        _ => return Err(reference.get("kind").invalid("TrainingRuntime or ClusterTrainingRuntime")),
    };
    let found = manifest.runtimes.by_name.get(&(namespace, name.to_owned())).ok_or_else(|| {
        RenderError::Unresolved(format!("runtime {name} is in no document of the input: add its manifest"))
    })?;
    Ok(Field::named(found, format!("runtime {name}")).get("spec"))
}

/// Patches the `JobSet`'s spec, and keeps its replicated jobs in their order: it is the order of their start.
fn apply(set: &mut Value, patch: &Field<'_>) -> Result<(), RenderError> {
    let Some(changes) = patch.object()? else { return Ok(()) };
    let names = |set: &Value| -> Vec<Value> {
        let parts = set.get("replicatedJobs").and_then(Value::as_array).into_iter().flatten();
        parts.map(|part| part["name"].clone()).collect()
    };
    let order = names(set);
    strategic_merge(set, &Value::Object(changes.clone()));
    if let Some(parts) = set.get_mut("replicatedJobs").and_then(Value::as_array_mut) {
        parts.sort_by_key(|part| order.iter().position(|name| *name == part["name"]).unwrap_or(0));
    }
    Ok(())
}
