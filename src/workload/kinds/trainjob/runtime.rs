//! The runtime of a `TrainJob`: found, patched, and filled in with what the job itself says.

use serde_json::{Map, Value, json};

use super::super::super::template::{Draft, Field, append, env, strategic_merge, upsert};
use super::super::super::{Manifest, RenderError};
use super::{ANCESTOR, NODE, TRAINER};

/// A runtime under the patches of its job.
#[derive(Debug)]
pub(super) struct Runtime<'a> {
    /// `spec` of the `TrainJob`.
    pub(super) job: Field<'a>,
    /// `spec.mlPolicy` of the runtime.
    pub(super) policy: Field<'a>,
    /// `spec.podGroupPolicy` of the runtime.
    pub(super) pod_group: Field<'a>,
    /// Annotations of the `JobSet`.
    pub(super) annotations: Map<String, Value>,
    /// Where the `JobSet`'s spec stands, for errors.
    pub(super) place: String,
    /// The `JobSet`'s spec.
    pub(super) set: Value,
    /// The replicated jobs of the `JobSet`.
    pub(super) parts: Vec<Part<'a>>,
}

/// A replicated job.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// Its name.
    pub(super) name: String,
    /// The step of the `TrainJob` that fills it in.
    pub(super) ancestor: Option<String>,
    /// The group that `JobSet` counts it in.
    pub(super) group: String,
    /// How many Jobs.
    pub(super) replicas: u64,
    /// How many pods of each Job.
    pub(super) nodes: u64,
    /// The Job's template.
    pub(super) template: Value,
    /// The pod's template.
    pub(super) draft: Draft,
    /// `spec` of the `TrainJob`.
    job: Field<'a>,
}

impl<'a> Runtime<'a> {
    /// Finds the runtime in the input, patches it and reads its parts.
    pub(super) fn resolve(manifest: &Manifest<'a>) -> Result<Self, RenderError> {
        let job = Field::root(manifest.raw).at("spec");
        let found = find(manifest, &job)?;
        let template = found.at("template");
        let mut annotations = template.at("metadata").at("annotations").object()?.cloned().unwrap_or_default();
        let place = template.at("spec").path().to_owned();
        let mut set = Value::Object(template.at("spec").required_object()?.clone());
        for patch in job.at("runtimePatches").items()? {
            let patch = patch.at("trainingRuntimeSpec").at("template");
            annotations.extend(patch.at("metadata").at("annotations").object()?.cloned().unwrap_or_default());
            apply(&mut set, &patch.at("spec"))?;
        }
        let mut parts = Vec::new();
        for part in Field::named(&set, place.as_str()).at("replicatedJobs").items()? {
            parts.push(Part::read(&part, &job, &found.at("mlPolicy"))?);
        }
        if parts.is_empty() {
            return Err(RenderError::Missing(format!("{place}.replicatedJobs")));
        }
        let (policy, pod_group) = (found.at("mlPolicy"), found.at("podGroupPolicy"));
        Ok(Self { job, policy, pod_group, annotations, place, set, parts })
    }

    /// The part that trains.
    pub(super) fn trainer(&mut self) -> Option<&mut Part<'a>> {
        self.parts.iter_mut().find(|part| part.ancestor.as_deref() == Some(TRAINER))
    }

    /// Whether the launcher of an MPI runtime computes too.
    pub(super) fn launcher_works(&self) -> Result<bool, RenderError> {
        Ok(self.policy.at("mpi").at("runLauncherAsNode").flag()?.unwrap_or_default())
    }

    /// Puts in what the job says of its steps.
    pub(super) fn fill_in(&mut self) -> Result<(), RenderError> {
        let launcher_works = self.launcher_works()?;
        for part in &mut self.parts {
            match part.ancestor.as_deref() {
                Some("dataset-initializer") => part.initialize("dataset-initializer", "dataset")?,
                Some("model-initializer") => part.initialize("model-initializer", "model")?,
                Some(TRAINER) => part.train()?,
                _ if launcher_works && part.name == NODE => part.trainer_env()?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> Part<'a> {
    fn read(field: &Field<'_>, job: &Field<'a>, policy: &Field<'a>) -> Result<Self, RenderError> {
        let template = field.at("template");
        let spec = template.at("spec");
        let ancestor = template.at("metadata").at("labels").at(ANCESTOR).text()?.map(str::to_owned);
        let mut nodes = spec.at("parallelism").count()?.unwrap_or(1);
        if ancestor.as_deref() == Some(TRAINER) && policy.is_present() {
            nodes = policy.at("numNodes").count()?.unwrap_or(1);
        }
        Ok(Self {
            name: field.at("name").text()?.ok_or_else(|| field.at("name").missing())?.to_owned(),
            ancestor,
            group: field.at("groupName").text()?.unwrap_or("default").to_owned(),
            replicas: field.at("replicas").count()?.unwrap_or(1),
            nodes: nodes.max(1),
            template: Value::Object(template.required_object()?.clone()),
            draft: Draft::read(&spec.at("template"))?,
            job: job.clone(),
        })
    }

    /// Lays variables over those of the container `name`.
    pub(super) fn set_env(&mut self, name: &str, variables: impl IntoIterator<Item = Value>) {
        if let Some(container) = self.draft.container(name) {
            variables.into_iter().for_each(|variable| upsert(container, "env", "name", variable));
        }
    }

    /// Lays the variables of `spec.trainer` over those of the container that trains.
    pub(super) fn trainer_env(&mut self) -> Result<(), RenderError> {
        let variables = variables(&self.job.at("trainer"))?;
        self.set_env(NODE, variables);
        Ok(())
    }

    fn train(&mut self) -> Result<(), RenderError> {
        self.replicas = 1;
        let trainer = self.job.at("trainer");
        trainer.at("image").text()?;
        trainer.at("command").items()?;
        trainer.at("args").items()?;
        if let Some(container) = self.draft.container(NODE) {
            for key in ["image", "command", "args"] {
                if let Some(value) = trainer.at(key).value() {
                    container.insert(key.to_owned(), value.clone());
                }
            }
        }
        self.trainer_env()
    }

    fn initialize(&mut self, container: &str, step: &str) -> Result<(), RenderError> {
        self.replicas = 1;
        let step = self.job.at("initializer").at(step);
        let location = step.at("storageUri").text()?.map(|location| env("STORAGE_URI", location));
        self.set_env(container, location.into_iter().chain(variables(&step)?));
        if let (Some(secret), Some(container)) = (step.at("secretRef").object()?, self.draft.container(container)) {
            append(container, "envFrom", [json!({"secretRef": secret})]);
        }
        Ok(())
    }
}

fn variables(step: &Field<'_>) -> Result<Vec<Value>, RenderError> {
    step.object()?;
    Ok(step.at("env").items()?.iter().filter_map(Field::value).cloned().collect())
}

fn find<'a>(manifest: &Manifest<'a>, job: &Field<'a>) -> Result<Field<'a>, RenderError> {
    let reference = job.at("runtimeRef");
    let name = reference.at("name").text()?.ok_or_else(|| reference.at("name").missing())?;
    if reference.at("apiGroup").text()?.is_some_and(|group| group != "trainer.kubeflow.org") {
        return Err(reference.at("apiGroup").invalid("trainer.kubeflow.org"));
    }
    let namespace = match reference.at("kind").text()?.unwrap_or("ClusterTrainingRuntime") {
        "ClusterTrainingRuntime" => None,
        "TrainingRuntime" => Some(manifest.namespace.to_owned()),
        _ => return Err(reference.at("kind").invalid("TrainingRuntime or ClusterTrainingRuntime")),
    };
    let found = manifest.runtimes.by_name.get(&(namespace, name.to_owned())).ok_or_else(|| {
        RenderError::Unresolved(format!("runtime {name} is in no document of the input: add its manifest"))
    })?;
    Ok(Field::named(found, format!("runtime {name}")).at("spec"))
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
