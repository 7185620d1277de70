//! `jobset.x-k8s.io` JobSet: the pods of its Jobs.
//!
//! Source of the rules: the controller and the webhook of JobSet 0.12. What JobSet's webhook for *pods* adds is left
//! out: it is called after ours, whose configuration sorts first.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::super::{Fidelity, Kind, Manifest, Member, RenderError, Role};
use super::controller::{Draft, Field, Owner, label_number, name_key, object_mut, objects_mut, push};
use super::job::{self, CompletionMode};
use crate::pod::Pod;

/// A JobSet: Jobs that belong together, each a role of some replicas.
pub(super) static KIND: Kind = Kind {
    group: "jobset.x-k8s.io",
    versions: &["v1alpha2"],
    kind: "JobSet",
    fidelity: Fidelity::Exact,
    render,
    identify,
};

const NAME: &str = "jobset.sigs.k8s.io/jobset-name";
const ROLE: &str = "jobset.sigs.k8s.io/replicatedjob-name";
const JOBS_OF_ROLE: &str = "jobset.sigs.k8s.io/replicatedjob-replicas";
const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
/// Exclusive placement by labels on the nodes instead of affinity; its value does not matter.
const BY_NODE_SELECTOR: &str = "alpha.jobset.sigs.k8s.io/node-selector";
const DEFAULT_GROUP: &str = "default";

/// One entry of `spec.replicatedJobs`.
struct ReplicatedJob<'a> {
    name: &'a str,
    group: &'a str,
    replicas: u64,
    template: Field<'a>,
    depends_on: Vec<&'a str>,
}

/// What all Jobs of a JobSet have in common.
struct Set<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    root: Field<'a>,
    spec: Field<'a>,
    jobs: Vec<ReplicatedJob<'a>>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let jobs =
        spec.get("replicatedJobs").required_items()?.iter().map(ReplicatedJob::read).collect::<Result<_, _>>()?;
    let owner = Owner::of(manifest, "jobset.x-k8s.io/v1alpha2", "JobSet")?;
    let set = Set { owner, namespace: manifest.namespace, root, spec, jobs };
    (0..set.jobs.len()).map(|place| set.role(place)).collect()
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = pod.label(NAME)?;
    // With several Jobs in a role their labels do not say how many pods come before this one.
    let index = (pod.label(JOBS_OF_ROLE) == Some("1")).then(|| label_number(pod, job::COMPLETION_INDEX)).flatten();
    Some(Member { kind: KIND.kind, job, role: pod.label(ROLE), index, training: true })
}

impl<'a> ReplicatedJob<'a> {
    fn read(field: &Field<'a>) -> Result<Self, RenderError> {
        Ok(Self {
            name: field.get("name").required_text()?,
            group: field.get("groupName").text().unwrap_or(DEFAULT_GROUP),
            replicas: field.get("replicas").count()?.unwrap_or(1),
            template: field.get("template"),
            depends_on: field.get("dependsOn").items().iter().filter_map(|other| other.get("name").text()).collect(),
        })
    }

    fn annotation(&self, key: &str) -> Option<&'a str> {
        self.template.get("metadata").get("annotations").get(key).value()?.as_str()
    }
}

impl<'a> Set<'a> {
    /// The role at `place`: the pod of index 0 in the first of its Jobs.
    fn role(&self, place: usize) -> Result<Role, RenderError> {
        let job = &self.jobs[place];
        let spec = job.template.get("spec");
        let mode = CompletionMode::read(&spec, CompletionMode::Indexed);
        let pods = job::at_once(&spec, mode)?;
        let owner = self.owner.makes("batch/v1", "Job", format!("{}-{}-0", self.owner.name, job.name));
        let mut draft = Draft::new(&spec.get("template"), &owner, self.namespace)?;
        if draft.is_unset("restartPolicy") {
            draft.set("restartPolicy", "OnFailure");
        }
        self.mark(&mut draft, place, &owner.name);
        self.place_exclusively(&mut draft, job, &owner.name);
        if self.spec.get("network").get("enableDNSHostnames").value().is_none_or(|enabled| *enabled == true) {
            draft.set("subdomain", self.subdomain());
        }
        self.mount_claims(&mut draft);
        job::finish(&mut draft, &spec, &owner, mode);
        if self.spec.get("suspend").is_true() {
            draft.note("the JobSet is suspended: its pods are created when it is resumed");
        }
        if !job.depends_on.is_empty() {
            draft.note(format!("these pods are created only after {} is ready or complete", job.depends_on.join(", ")));
        }
        Ok(draft.into_role(job.name, job.replicas * pods))
    }

    fn mark(&self, draft: &mut Draft, place: usize, job_name: &str) {
        let job = &self.jobs[place];
        let jobs_of = |jobs: &[ReplicatedJob<'_>], group: Option<&str>| -> String {
            let counted = jobs.iter().filter(|job| group.is_none_or(|group| job.group == group));
            counted.map(|job| job.replicas).sum::<u64>().to_string()
        };
        let (all, before) = (&self.jobs[..], &self.jobs[..place]);
        let key = name_key(self.namespace, job_name);
        for (name, value) in [
            (NAME, self.owner.name.as_str()),
            ("jobset.sigs.k8s.io/jobset-uid", self.owner.uid),
            (ROLE, job.name),
            ("jobset.sigs.k8s.io/restart-attempt", "0"),
            (JOBS_OF_ROLE, &job.replicas.to_string()),
            ("jobset.sigs.k8s.io/global-replicas", &jobs_of(all, None)),
            ("jobset.sigs.k8s.io/job-index", "0"),
            ("jobset.sigs.k8s.io/job-key", &key),
            ("jobset.sigs.k8s.io/job-global-index", &jobs_of(before, None)),
            ("jobset.sigs.k8s.io/group-name", job.group),
            ("jobset.sigs.k8s.io/group-replicas", &jobs_of(all, Some(job.group))),
            ("jobset.sigs.k8s.io/job-group-index", &jobs_of(before, Some(job.group))),
        ] {
            draft.mark(name, value);
        }
        if let Some(coordinator) = self.coordinator() {
            draft.mark("jobset.sigs.k8s.io/coordinator", &coordinator);
        }
    }

    /// DNS name of the pod that leads the set.
    fn coordinator(&self) -> Option<String> {
        let coordinator = self.spec.get("coordinator");
        let index = |key| coordinator.get(key).value().and_then(Value::as_u64).unwrap_or(0);
        let role = coordinator.get("replicatedJob").text()?;
        let set = &self.owner.name;
        Some(format!("{set}-{role}-{}-{}.{}", index("jobIndex"), index("podIndex"), self.subdomain()))
    }

    fn subdomain(&self) -> &str {
        self.spec.get("network").get("subdomain").text().unwrap_or(&self.owner.name)
    }

    /// One Job for each topology domain. The annotations of the role beat those of the set.
    fn place_exclusively(&self, draft: &mut Draft, job: &ReplicatedJob<'a>, job_name: &str) {
        let of_set = |key: &str| self.root.get("metadata").get("annotations").get(key).value()?.as_str();
        let Some(topology) = job.annotation(EXCLUSIVE).or_else(|| of_set(EXCLUSIVE)) else { return };
        let of_set = of_set(EXCLUSIVE).and_then(|_| of_set(BY_NODE_SELECTOR));
        let own = job.annotation(BY_NODE_SELECTOR);
        draft.annotate(EXCLUSIVE, topology);
        if let Some(selector) = job.annotation(EXCLUSIVE).and(own).or(of_set) {
            draft.annotate(BY_NODE_SELECTOR, selector);
        }
        if own.or(of_set).is_none() {
            draft
                .note("JobSet's own webhook adds the affinity of exclusive placement after trainmesh has seen the pod");
            return;
        }
        if let Some(nodes) = object_mut(&mut draft.spec, "nodeSelector") {
            let value = format!("{}_{job_name}", self.namespace);
            nodes.insert("alpha.jobset.sigs.k8s.io/namespaced-job".to_owned(), value.into());
        }
        let taint = "alpha.jobset.sigs.k8s.io/no-schedule";
        push(&mut draft.spec, "tolerations", json!({"key": taint, "operator": "Exists", "effect": "NoSchedule"}));
    }

    /// The set's claims become volumes of the pods that mount them.
    fn mount_claims(&self, draft: &mut Draft) {
        for claim in self.spec.get("volumeClaimPolicies").items().iter().flat_map(|p| p.get("templates").items()) {
            let Some(name) = claim.get("metadata").get("name").text() else { continue };
            let mounted = ["containers", "initContainers"]
                .into_iter()
                .any(|list| objects_mut(&mut draft.spec, list).any(|container| mounts(container, name)));
            if mounted {
                let claim = format!("{name}-{}", self.owner.name);
                let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": claim}});
                push(&mut draft.spec, "volumes", volume);
            }
        }
    }
}

fn mounts(container: &Map<String, Value>, volume: &str) -> bool {
    let mounts = container.get("volumeMounts").and_then(Value::as_array).into_iter().flatten();
    mounts.filter_map(|mount| mount.get("name")).any(|name| name == volume)
}
