//! `jobset.x-k8s.io` JobSet: the pods of its Jobs, and what a kind that makes a JobSet shares with it.
//!
//! Source of the rules: the controller and the webhook of JobSet 0.12. What JobSet's webhook for *pods* adds is left
//! out: it is called after ours, whose configuration sorts first.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, json};

use super::job::{self, CompletionMode, Settings};
use crate::pod::Pod;
use crate::workload::gang::owner;
use crate::workload::member::label_number;
use crate::workload::template::{Draft, Field, Owner, append, every_container, has_entry, name_key, object_mut};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role, SizeSource};

/// A JobSet: Jobs that belong together, each a role of some replicas.
pub(super) static KIND: Kind = Kind {
    group: "jobset.x-k8s.io",
    versions: &["v1alpha2"],
    kind: "JobSet",
    resource: "jobsets",
    fidelity: Fidelity::Exact,
    render,
    identify,
    gang: GANG,
};

/// The label, and annotation, with the name of a pod's JobSet.
pub(in crate::workload) const NAME: &str = "jobset.sigs.k8s.io/jobset-name";
/// The label, and annotation, with the uid of a pod's JobSet.
pub(in crate::workload) const UID: &str = "jobset.sigs.k8s.io/jobset-uid";
/// The label, and annotation, with the name of a pod's replicated Job.
pub(in crate::workload) const ROLE: &str = "jobset.sigs.k8s.io/replicatedjob-name";

/// The label, and annotation, with the number of all Jobs of a pod's JobSet.
const GLOBAL_REPLICAS: &str = "jobset.sigs.k8s.io/global-replicas";

/// The pods of a JobSet are one gang, also where another workload makes it.
pub(super) const GANG: GangTraits = GangTraits {
    id: |pod, _| pod.label(UID).map(Cow::Borrowed).or_else(|| owner(pod)),
    size: &[SizeSource::Metadata(GLOBAL_REPLICAS)],
    ..GangTraits::NONE
};

const API_VERSION: &str = "jobset.x-k8s.io/v1alpha2";
pub(in crate::workload) const JOBS_OF_ROLE: &str = "jobset.sigs.k8s.io/replicatedjob-replicas";
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

/// A JobSet, as its pods are made from it.
pub(super) struct Set<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    annotations: Field<'a>,
    spec: Field<'a>,
    jobs: Vec<ReplicatedJob<'a>>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let root = Field::root(manifest.raw);
    let owner = Owner::of(manifest, API_VERSION, "JobSet")?;
    Set::read(owner, manifest.namespace, root.get("metadata").get("annotations"), root.get("spec"))?.roles()
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = pod.label(NAME)?;
    // With several Jobs in a role their labels do not say how many pods come before this one.
    let index = (pod.label(JOBS_OF_ROLE) == Some("1")).then(|| label_number(pod, job::COMPLETION_INDEX)).flatten();
    Some(Member { kind: &KIND, job, role: pod.label(ROLE), index, training: true })
}

/// The JobSet that another workload creates under its own name.
pub(super) fn made_by<'a>(workload: &Owner<'a>) -> Owner<'a> {
    workload.makes(API_VERSION, "JobSet", workload.name.clone())
}

impl<'a> ReplicatedJob<'a> {
    fn read(field: &Field<'a>) -> Result<Self, RenderError> {
        let depends_on = field.get("dependsOn").items()?;
        Ok(Self {
            name: field.get("name").required_text()?,
            group: field.get("groupName").text()?.unwrap_or(DEFAULT_GROUP),
            replicas: field.get("replicas").count()?.unwrap_or(1),
            template: field.get("template"),
            depends_on: depends_on
                .iter()
                .filter_map(|other| other.get("name").text().transpose())
                .collect::<Result<_, _>>()?,
        })
    }

    /// The annotations of each of its Jobs.
    fn annotations(&self) -> Field<'a> {
        self.template.get("metadata").get("annotations")
    }
}

impl<'a> Set<'a> {
    /// Reads the JobSet with these `annotations` and this `spec`.
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

    /// One role for each replicated Job.
    pub(super) fn roles(&self) -> Result<Vec<Role>, RenderError> {
        (0..self.jobs.len()).map(|place| self.role(place)).collect()
    }

    /// The role at `place`: the pod of index 0 in the first of its Jobs.
    fn role(&self, place: usize) -> Result<Role, RenderError> {
        let job = &self.jobs[place];
        let spec = job.template.get("spec");
        let settings = Settings::read(&spec, CompletionMode::Indexed)?;
        let pods = settings.pods_at_once(&spec)?;
        let owner = job::made_by(&self.owner, format!("{}-{}-0", self.owner.name, job.name));
        let mut draft = Draft::new(&spec.get("template"), &owner, self.namespace)?;
        draft.set_default("restartPolicy", "OnFailure");
        self.mark(&mut draft, place, &owner.name)?;
        self.place_exclusively(&mut draft, job, &owner.name)?;
        if self.spec.get("network").get("enableDNSHostnames").flag()? != Some(false) {
            draft.set("subdomain", self.subdomain()?);
        }
        self.mount_claims(&mut draft)?;
        settings.finish(&mut draft, &owner);
        if self.spec.get("suspend").is_true()? {
            draft.note("the JobSet is suspended: its pods are created when it is resumed");
        }
        if !job.depends_on.is_empty() {
            draft.note(format!("these pods are created only after {} is ready or complete", job.depends_on.join(", ")));
        }
        Ok(draft.into_role(job.name, job.replicas * pods))
    }

    /// Where the pod stands in its set, as labels and as annotations.
    fn mark(&self, draft: &mut Draft, place: usize, job_name: &str) -> Result<(), RenderError> {
        let job = &self.jobs[place];
        let jobs_of = |jobs: &[ReplicatedJob<'_>], group: Option<&str>| -> String {
            let counted = jobs.iter().filter(|job| group.is_none_or(|group| job.group == group));
            counted.map(|job| job.replicas).sum::<u64>().to_string()
        };
        let (all, before) = (&self.jobs[..], &self.jobs[..place]);
        let key = name_key(self.namespace, job_name);
        for (name, value) in [
            (NAME, self.owner.name.as_str()),
            (UID, self.owner.uid),
            (ROLE, job.name),
            ("jobset.sigs.k8s.io/restart-attempt", "0"),
            (JOBS_OF_ROLE, &job.replicas.to_string()),
            (GLOBAL_REPLICAS, &jobs_of(all, None)),
            ("jobset.sigs.k8s.io/job-index", "0"),
            ("jobset.sigs.k8s.io/job-key", &key),
            ("jobset.sigs.k8s.io/job-global-index", &jobs_of(before, None)),
            ("jobset.sigs.k8s.io/group-name", job.group),
            ("jobset.sigs.k8s.io/group-replicas", &jobs_of(all, Some(job.group))),
            ("jobset.sigs.k8s.io/job-group-index", &jobs_of(before, Some(job.group))),
        ] {
            draft.mark(name, value);
        }
        if let Some(coordinator) = self.coordinator()? {
            draft.mark("jobset.sigs.k8s.io/coordinator", &coordinator);
        }
        Ok(())
    }

    /// DNS name of the pod that leads the set.
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

    /// One Job for each topology domain. The annotations of the role beat those of the set.
    fn place_exclusively(&self, draft: &mut Draft, job: &ReplicatedJob<'a>, job_name: &str) -> Result<(), RenderError> {
        let own = job.annotations();
        // A Job keeps its own annotations, whether or not it asks for a topology itself.
        let mut by_node_selector = own.get(BY_NODE_SELECTOR).is_present();
        let mut is_exclusive = false;
        for annotations in [&self.annotations, &own] {
            let Some(topology) = annotations.get(EXCLUSIVE).text_as_given()? else { continue };
            is_exclusive = true;
            draft.annotate(EXCLUSIVE, topology);
            if let Some(selector) = annotations.get(BY_NODE_SELECTOR).text_as_given()? {
                draft.annotate(BY_NODE_SELECTOR, selector);
                by_node_selector = true;
            }
        }
        if !is_exclusive {
            return Ok(());
        }
        if !by_node_selector {
            draft
                .note("JobSet's own webhook adds the affinity of exclusive placement after trainmesh has seen the pod");
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

    /// The set's claims become volumes of the pods that mount them.
    fn mount_claims(&self, draft: &mut Draft) -> Result<(), RenderError> {
        for policy in self.spec.get("volumeClaimPolicies").items()? {
            for claim in policy.get("templates").items()? {
                let Some(name) = claim.get("metadata").get("name").text()? else { continue };
                let mounts = |container: &mut Map<_, _>| has_entry(container, "volumeMounts", "name", name);
                if every_container(&mut draft.spec).any(mounts) {
                    let claim = format!("{name}-{}", self.owner.name);
                    let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": claim}});
                    append(&mut draft.spec, "volumes", [volume]);
                }
            }
        }
        Ok(())
    }
}
