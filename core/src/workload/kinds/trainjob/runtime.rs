//! The runtime of a `TrainJob`: looked up in the input, patched, and completed from the job's spec.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::lookup::FoundRuntime;
use super::{ANCESTOR, DATASET_INITIALIZER, MODEL_INITIALIZER, NODE, TRAINER, lookup, overrides};
use crate::manifest::Document;
use crate::workload::template::{Field, append, container_named, env, object_mut, objects, require_containers, upsert};
use crate::workload::{AssumedRuntime, Manifest, RenderError};

/// A runtime with the patches of the job applied.
#[derive(Debug)]
pub(super) struct Runtime<'a> {
    /// `spec` of the `TrainJob`.
    pub(super) job: Field<'a>,
    /// `spec.mlPolicy` of the runtime.
    pub(super) policy: Field<'a>,
    /// Replicated jobs of the `JobSet`.
    pub(super) replicated_jobs: Vec<ReplicatedJob<'a>>,
    /// True if the number of processes of a node may be a word, such as `gpu`.
    pub(super) has_words: bool,
    /// Set if the runtime is a stock runtime that is assumed.
    pub(super) assumed: Option<AssumedRuntime>,
    /// Manifest of the runtime, if the input contains it.
    pub(super) document: Option<Arc<Document>>,
    /// `spec.podGroupPolicy` of the runtime.
    pod_group: Field<'a>,
    /// Path of the `JobSet`'s template, for errors.
    template_path: String,
    /// Annotations of the `JobSet`.
    annotations: Map<String, Value>,
    /// Spec of the `JobSet`, without the changes to `replicated_jobs`.
    job_set: Value,
}

/// A replicated job.
#[derive(Debug)]
pub(super) struct ReplicatedJob<'a> {
    /// Name of the replicated job.
    pub(super) name: String,
    /// Step of the `TrainJob` that is applied to it.
    pub(super) ancestor: Option<String>,
    /// Number of pods of each Job.
    pub(super) nodes: u64,
    /// Spec of the pod template.
    pub(super) pod: Map<String, Value>,
    /// Number of Jobs.
    replicas: u64,
    /// `spec` of the `TrainJob`.
    job: Field<'a>,
}

impl<'a> Runtime<'a> {
    /// Looks up the runtime, applies the job's patches and reads the replicated jobs.
    pub(super) fn resolve(manifest: &Manifest<'a>) -> Result<Self, RenderError> {
        let job = Field::root(manifest.raw).get("spec");
        let version = overrides::version(&job, manifest.runtimes.stock);
        let has_words = overrides::has_words(overrides::known_version(&job, manifest.runtimes.stock));
        let FoundRuntime { spec: found, assumed, document } = lookup::find(manifest, &job, version)?;
        let template = found.get("template");
        let mut annotations = template.get("metadata").get("annotations").cloned_object()?;
        let template_path = template.path().to_owned();
        let mut job_set = Value::Object(template.get("spec").required_object()?.clone());
        overrides::apply(&job, version, &mut annotations, &mut job_set)?;
        let mut replicated_jobs = Vec::new();
        let replicated = Field::with_path(&job_set, template.get("spec").path()).get("replicatedJobs");
        for replicated_job in replicated.items()? {
            replicated_jobs.push(ReplicatedJob::read(&replicated_job, &job, &found.get("mlPolicy"))?);
        }
        if replicated_jobs.is_empty() {
            return Err(replicated.missing());
        }
        let (policy, pod_group) = (found.get("mlPolicy"), found.get("podGroupPolicy"));
        Ok(Self {
            job,
            policy,
            replicated_jobs,
            has_words,
            assumed,
            document,
            pod_group,
            template_path,
            annotations,
            job_set,
        })
    }

    /// Returns the replicated job of the training step.
    pub(super) fn trainer(&mut self) -> Option<&mut ReplicatedJob<'a>> {
        self.replicated_jobs.iter_mut().find(|replicated_job| replicated_job.ancestor.as_deref() == Some(TRAINER))
    }

    /// Returns true if the launcher of an MPI runtime also runs ranks.
    pub(super) fn launcher_is_worker(&self) -> Result<bool, RenderError> {
        self.policy.get("mpi").get("runLauncherAsNode").is_true()
    }

    /// Applies the steps of the job to the replicated jobs.
    pub(super) fn apply_steps(&mut self) -> Result<(), RenderError> {
        let launcher_is_worker = self.launcher_is_worker()?;
        for replicated_job in &mut self.replicated_jobs {
            match replicated_job.ancestor.as_deref() {
                Some(DATASET_INITIALIZER) => replicated_job.initialize(DATASET_INITIALIZER, "dataset")?,
                Some(MODEL_INITIALIZER) => replicated_job.initialize(MODEL_INITIALIZER, "model")?,
                Some(TRAINER) => replicated_job.train()?,
                _ if launcher_is_worker && replicated_job.name == NODE => replicated_job.set_trainer_env()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the path of the `JobSet`'s template, and the `JobSet` that Trainer creates from it with the name of the
    /// job.
    pub(super) fn into_job_set(mut self, name: &str) -> Result<(String, Value), RenderError> {
        let suspend = self.job.get("suspend").is_true()?;
        let scheduled = |scheduler| self.pod_group.get(scheduler).is_present().then_some(name);
        let (label, annotation) = (scheduled("coscheduling"), scheduled("volcano"));
        if let Some(job_set) = self.job_set.as_object_mut() {
            job_set.insert("suspend".to_owned(), suspend.into());
            for (replicated_job, raw) in self.replicated_jobs.into_iter().zip(objects(job_set, "replicatedJobs")) {
                replicated_job.write(raw, label, annotation);
            }
        }
        Ok((self.template_path, json!({"metadata": {"annotations": self.annotations}, "spec": self.job_set})))
    }
}

impl<'a> ReplicatedJob<'a> {
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
            pod: spec.get("template").get("spec").cloned_object()?,
            replicas: field.get("replicas").count()?.unwrap_or(1),
            job: job.clone(),
        })
    }

    /// Writes the changes into the manifest of the replicated job, with the label or annotation of its pod group.
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

    /// Sets environment variables of the container `name`.
    pub(super) fn set_env(&mut self, name: &str, variables: impl IntoIterator<Item = Value>) {
        if let Some(container) = container_named(&mut self.pod, name) {
            variables.into_iter().for_each(|variable| upsert(container, "env", "name", variable));
        }
    }

    /// Sets the environment variables of `spec.trainer` in the main container.
    pub(super) fn set_trainer_env(&mut self) -> Result<(), RenderError> {
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
        self.set_trainer_env()
    }

    fn initialize(&mut self, container: &str, step: &str) -> Result<(), RenderError> {
        self.replicas = 1;
        let step = self.job.get("initializer").get(step);
        let location = step.get("storageUri").raw_text()?.map(|location| env("STORAGE_URI", location));
        self.set_env(container, location.into_iter().chain(variables(&step)?));
        let secret = step.get("secretRef");
        secret.get("name").raw_text()?;
        if let (Some(secret), Some(container)) = (secret.object()?, container_named(&mut self.pod, container)) {
            append(container, "envFrom", [json!({"secretRef": secret})]);
        }
        Ok(())
    }
}

fn variables(step: &Field<'_>) -> Result<Vec<Value>, RenderError> {
    step.object()?;
    Ok(step.get("env").items()?.iter().filter_map(Field::value).cloned().collect())
}
