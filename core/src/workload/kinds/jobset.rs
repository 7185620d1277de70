//! `jobset.x-k8s.io` JobSet, and code shared with the kinds that create `JobSets`.
//!
//! Follows the controller and the JobSet webhook of JobSet 0.12. Changes by JobSet's *pod* webhook are omitted, because
//! the apiserver calls it after trainmesh's webhook: webhook configurations are called in the order of their names.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::job::{self, CompletionMode, Settings};
use crate::pod::Pod;
use crate::workload::gang::owner_uid;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Draft, Field, Owner, all_containers, append, has_entry, name_hash, object_mut};
use crate::workload::{
    Fidelity, GangRole, GangShape, GangTraits, Manifest, PodCreation, PodIdentity, RenderError, RolePod, SizeSource,
    WorkloadKind,
};

/// A JobSet: replicated Jobs, each of which is a role.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "jobset.x-k8s.io",
    versions: &["v1alpha2"],
    kind: "JobSet",
    resource: "jobsets",
    fidelity: Fidelity::Exact,
    render,
    identify,
    labels: &[NAME, UID, ROLE, REPLICATED_JOB_REPLICAS, RESTART_ATTEMPT, job::COMPLETION_INDEX],
    gang: GANG,
};

/// Label and annotation that contain the name of a pod's JobSet.
pub(super) const NAME: &str = "jobset.sigs.k8s.io/jobset-name";
/// Label and annotation that contain the UID of a pod's JobSet.
pub(super) const UID: &str = "jobset.sigs.k8s.io/jobset-uid";
/// Label and annotation that contain the name of a pod's replicated Job.
pub(super) const ROLE: &str = "jobset.sigs.k8s.io/replicatedjob-name";

/// Label and annotation that contain the total number of Jobs of a pod's JobSet.
const GLOBAL_REPLICAS: &str = "jobset.sigs.k8s.io/global-replicas";

/// Gang properties of the pods of a JobSet, including one that another workload creates: all pods are one gang.
pub(super) const GANG: GangTraits = GangTraits {
    id: |pod, _| pod.label(UID).map(Cow::Borrowed).or_else(|| owner_uid(pod)),
    size_sources: &[SizeSource::Metadata(GLOBAL_REPLICAS)],
    portless_service: true,
    creation: Some(PodCreation::RolesInOrder),
    shape: Some(|manifest| gang_shape(&Field::root(manifest.raw))),
    uid: |pod| pod.label(UID),
    position: |pod| Some((numeric_label(pod, RESTART_ATTEMPT).unwrap_or(0), 0)),
    ..GangTraits::NONE
};

const API_VERSION: &str = "jobset.x-k8s.io/v1alpha2";
const REPLICATED_JOB_REPLICAS: &str = "jobset.sigs.k8s.io/replicatedjob-replicas";
const EXCLUSIVE_TOPOLOGY: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
/// Annotation that selects exclusive placement by node labels instead of affinity; its value is ignored.
const NODE_SELECTOR_STRATEGY: &str = "alpha.jobset.sigs.k8s.io/node-selector";
const DEFAULT_GROUP: &str = "default";
/// Label and annotation that contain the number of times that all Jobs of the JobSet were recreated.
pub(super) const RESTART_ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";

/// Sets the UID and the restarts of the `JobSet` called `name` in `pod`, a pod of a manifest, if that belongs to it.
pub(crate) fn set_job_set(pod: &mut Value, name: &str, uid: &str, restarts: u64) {
    if Pod::new(pod).label(NAME) != Some(name) {
        return;
    }
    let restarts = restarts.to_string();
    for place in ["labels", "annotations"] {
        for (key, value) in [(UID, uid), (RESTART_ATTEMPT, &restarts)] {
            if let Some(found) = pod.get_mut("metadata").and_then(|metadata| metadata.get_mut(place)?.get_mut(key)) {
                *found = value.into();
            }
        }
    }
}

/// One entry of `spec.replicatedJobs`.
struct ReplicatedJob<'a> {
    name: &'a str,
    group: &'a str,
    replicas: u64,
    template: Field<'a>,
    /// Replicated Jobs that are ready or complete before this one is created.
    depends_on: Vec<Dependency<'a>>,
}

/// One entry of `dependsOn`: the name of a replicated Job and the status that it must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency<'a> {
    name: &'a str,
    status: Option<&'a str>,
}

/// A JobSet, from which its pods are rendered.
pub(super) struct JobSet<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    annotations: Field<'a>,
    spec: Field<'a>,
    jobs: Vec<ReplicatedJob<'a>>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let owner = Owner::from_manifest(manifest, API_VERSION, "JobSet")?;
    JobSet::read(owner, manifest.namespace, root.get("metadata").get("annotations"), root.get("spec"))?.roles()
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let job = pod.label(NAME)?;
    // With multiple Jobs in a role, the labels do not contain the index of the pod within the role.
    let index =
        (pod.label(REPLICATED_JOB_REPLICAS) == Some("1")).then(|| numeric_label(pod, job::COMPLETION_INDEX)).flatten();
    Some(PodIdentity { kind: &KIND, workload: job, role: pod.label(ROLE), index, training: true })
}

/// Reads the gangs of the JobSet `job_set`. Replicated Jobs with the same dependencies start together; those that start in
/// order are a gang each.
pub(super) fn gang_shape(job_set: &Field<'_>) -> Result<GangShape, RenderError> {
    let spec = job_set.get("spec");
    // JobSet's webhook rejects the other pods of a Job until its first pod has a node.
    let follows_leader = |annotations: &Field<'_>| {
        annotations.get(EXCLUSIVE_TOPOLOGY).is_present() && !annotations.get(NODE_SELECTOR_STRATEGY).is_present()
    };
    let in_order = spec.get("startupPolicy").get("startupPolicyOrder").text()? == Some("InOrder");
    let items = spec.get("replicatedJobs").required_items()?;
    let jobs: Vec<ReplicatedJob<'_>> = items.iter().map(ReplicatedJob::read).collect::<Result<_, _>>()?;
    let mut is_exclusive = follows_leader(&job_set.get("metadata").get("annotations"));
    let mut roles = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        is_exclusive |= follows_leader(&job.annotations());
        let starts_with = |other: &ReplicatedJob<'_>| !in_order && other.depends_on == job.depends_on;
        let stage = jobs.iter().position(starts_with).unwrap_or(index);
        let spec = job.template.get("spec");
        let pods = Settings::read(&spec, CompletionMode::Indexed)?.concurrent_pods(&spec)?;
        let size = job.replicas.saturating_mul(pods);
        roles.push(GangRole::new(job.name, size, &spec.get("template")).in_stage(stage));
    }
    let mut shape = GangShape::new(roles);
    shape.suspended = spec.get("suspend").is_true()?;
    shape.conflict = is_exclusive
        .then_some("with exclusive placement, the pods of a Job are created only after its first pod has a node");
    Ok(shape)
}

/// Returns the JobSet that another workload creates under the name of the workload.
pub(super) fn child_of<'a>(workload: &Owner<'a>) -> Owner<'a> {
    workload.child(API_VERSION, "JobSet", workload.name.clone())
}

impl<'a> ReplicatedJob<'a> {
    fn read(field: &Field<'a>) -> Result<Self, RenderError> {
        let mut depends_on = Vec::new();
        for other in field.get("dependsOn").items()? {
            let Some(name) = other.get("name").text()? else { continue };
            depends_on.push(Dependency { name, status: other.get("status").text().ok().flatten() });
        }
        // Their order has no effect.
        depends_on.sort_unstable();
        Ok(Self {
            name: field.get("name").required_text()?,
            group: field.get("groupName").text()?.unwrap_or(DEFAULT_GROUP),
            replicas: field.get("replicas").count()?.unwrap_or(1),
            template: field.get("template"),
            depends_on,
        })
    }

    /// Returns the annotations of the Jobs.
    fn annotations(&self) -> Field<'a> {
        self.template.get("metadata").get("annotations")
    }
}

impl<'a> JobSet<'a> {
    /// Reads a JobSet from its annotations and spec.
    pub(super) fn read(
        owner: Owner<'a>,
        namespace: &'a str,
        annotations: Field<'a>,
        spec: Field<'a>,
    ) -> Result<Self, RenderError> {
        let jobs = spec.get("replicatedJobs").required_items()?;
        let jobs = jobs.iter().map(ReplicatedJob::read).collect::<Result<_, _>>()?;
        Ok(Self { owner, namespace, annotations, spec, jobs })
    }

    /// Renders one role for each replicated Job.
    pub(super) fn roles(&self) -> Result<Vec<RolePod>, RenderError> {
        (0..self.jobs.len()).map(|index| self.role(index)).collect()
    }

    /// Renders the replicated Job at `index`: the pod with completion index 0 of its first Job.
    fn role(&self, index: usize) -> Result<RolePod, RenderError> {
        let job = &self.jobs[index];
        let spec = job.template.get("spec");
        let settings = Settings::read(&spec, CompletionMode::Indexed)?;
        let pods = settings.concurrent_pods(&spec)?;
        let owner = job::child_of(&self.owner, format!("{}-{}-0", self.owner.name, job.name));
        let mut draft = Draft::new(&spec.get("template"), &owner, self.namespace)?;
        draft.set_default("restartPolicy", "OnFailure");
        self.add_metadata(&mut draft, index, &owner.name)?;
        self.apply_exclusive_placement(&mut draft, job, &owner.name)?;
        if self.spec.get("network").get("enableDNSHostnames").boolean()? != Some(false) {
            draft.set("subdomain", self.subdomain()?);
        }
        self.add_claims(&mut draft)?;
        settings.apply(&mut draft, &owner);
        if self.spec.get("suspend").is_true()? {
            draft.add_note("the JobSet is suspended: its pods are created when it is resumed");
        }
        if !job.depends_on.is_empty() {
            let names: Vec<&str> = job.depends_on.iter().map(|other| other.name).collect();
            draft.add_note(format!("these pods are created only after {} is ready or complete", names.join(", ")));
        }
        let completed = job.depends_on.iter().filter(|other| other.status == Some("Complete"));
        let follows = completed.map(|other| other.name.to_owned()).collect();
        Ok(RolePod { follows, ..draft.into_role(job.name, job.replicas * pods) })
    }

    /// Adds the labels and annotations that contain the position of the pod in the JobSet.
    fn add_metadata(&self, draft: &mut Draft, index: usize, job_name: &str) -> Result<(), RenderError> {
        let job = &self.jobs[index];
        let count_jobs = |jobs: &[ReplicatedJob<'_>], group: Option<&str>| -> String {
            let counted = jobs.iter().filter(|job| group.is_none_or(|group| job.group == group));
            counted.map(|job| job.replicas).sum::<u64>().to_string()
        };
        let (all, before) = (&self.jobs[..], &self.jobs[..index]);
        let key = name_hash(self.namespace, job_name);
        for (name, value) in [
            (NAME, self.owner.name.as_str()),
            (UID, self.owner.uid),
            (ROLE, job.name),
            (RESTART_ATTEMPT, "0"),
            (REPLICATED_JOB_REPLICAS, &job.replicas.to_string()),
            (GLOBAL_REPLICAS, &count_jobs(all, None)),
            ("jobset.sigs.k8s.io/job-index", "0"),
            ("jobset.sigs.k8s.io/job-key", &key),
            ("jobset.sigs.k8s.io/job-global-index", &count_jobs(before, None)),
            ("jobset.sigs.k8s.io/group-name", job.group),
            ("jobset.sigs.k8s.io/group-replicas", &count_jobs(all, Some(job.group))),
            ("jobset.sigs.k8s.io/job-group-index", &count_jobs(before, Some(job.group))),
        ] {
            draft.label_and_annotate(name, value);
        }
        if let Some(coordinator) = self.coordinator()? {
            draft.label_and_annotate("jobset.sigs.k8s.io/coordinator", &coordinator);
        }
        Ok(())
    }

    /// Returns the DNS name of the coordinator pod.
    fn coordinator(&self) -> Result<Option<String>, RenderError> {
        let coordinator = self.spec.get("coordinator");
        let Some(role) = coordinator.get("replicatedJob").text()? else { return Ok(None) };
        let job = coordinator.get("jobIndex").count()?.unwrap_or(0);
        let pod = coordinator.get("podIndex").count()?.unwrap_or(0);
        Ok(Some(format!("{}-{role}-{job}-{pod}.{}", self.owner.name, self.subdomain()?)))
    }

    fn subdomain(&self) -> Result<&str, RenderError> {
        Ok(self.spec.get("network").get("subdomain").text()?.unwrap_or(&self.owner.name))
    }

    /// Applies exclusive placement: one Job per topology domain. Annotations of the replicated Job take precedence over
    /// those of the JobSet.
    fn apply_exclusive_placement(
        &self,
        draft: &mut Draft,
        job: &ReplicatedJob<'a>,
        job_name: &str,
    ) -> Result<(), RenderError> {
        let job_annotations = job.annotations();
        // The replicated Job's annotation applies even if only the JobSet sets the topology.
        let mut by_node_selector = job_annotations.get(NODE_SELECTOR_STRATEGY).is_present();
        let mut is_exclusive = false;
        for annotations in [&self.annotations, &job_annotations] {
            let Some(topology) = annotations.get(EXCLUSIVE_TOPOLOGY).raw_text()? else { continue };
            is_exclusive = true;
            draft.annotate(EXCLUSIVE_TOPOLOGY, topology);
            if let Some(selector) = annotations.get(NODE_SELECTOR_STRATEGY).raw_text()? {
                draft.annotate(NODE_SELECTOR_STRATEGY, selector);
                by_node_selector = true;
            }
        }
        if !is_exclusive {
            return Ok(());
        }
        if !by_node_selector {
            draft.add_note(
                "JobSet's pod webhook, which runs after trainmesh's, adds the affinity for exclusive placement",
            );
            return Ok(());
        }
        if let Some(nodes) = object_mut(&mut draft.spec, "nodeSelector") {
            let value = format!("{}_{job_name}", self.namespace);
            nodes.insert("alpha.jobset.sigs.k8s.io/namespaced-job".to_owned(), value.into());
        }
        let taint = "alpha.jobset.sigs.k8s.io/no-schedule";
        append(&mut draft.spec, "tolerations", [json!({"key": taint, "operator": "Exists", "effect": "NoSchedule"})]);
        Ok(())
    }

    /// Adds the claims of the JobSet as volumes to the pods that mount them.
    fn add_claims(&self, draft: &mut Draft) -> Result<(), RenderError> {
        for policy in self.spec.get("volumeClaimPolicies").items()? {
            for claim in policy.get("templates").items()? {
                let Some(name) = claim.get("metadata").get("name").text()? else { continue };
                let mounts = |container: &mut Map<_, _>| has_entry(container, "volumeMounts", "name", name);
                if all_containers(&mut draft.spec).any(mounts) {
                    let claim = format!("{name}-{}", self.owner.name);
                    let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": claim}});
                    append(&mut draft.spec, "volumes", [volume]);
                }
            }
        }
        Ok(())
    }
}
