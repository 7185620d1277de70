//! The pods of a `JobSet` (v0.12) that Trainer made.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};

use super::super::super::RenderError;
use super::super::super::template::{BatchJob, Draft, Field, NO_UID, append, strategic_merge, text};
use super::runtime::{Part, Runtime};

/// Label with the name of a pod's `JobSet`.
pub(super) const SET_NAME: &str = "jobset.sigs.k8s.io/jobset-name";
/// Label with the name of a pod's replicated job.
pub(super) const PART_NAME: &str = "jobset.sigs.k8s.io/replicatedjob-name";

const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
const BY_NODE_SELECTOR: &str = "alpha.jobset.sigs.k8s.io/node-selector";

/// A `JobSet`, which has the name of its `TrainJob`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set<'a> {
    name: &'a str,
    namespace: &'a str,
    jobs: u64,
}

impl<'a> Set<'a> {
    /// Counts the Jobs of `runtime`.
    pub(super) fn new(name: &'a str, namespace: &'a str, runtime: &Runtime<'_>) -> Self {
        Self { name, namespace, jobs: runtime.parts.iter().map(|part| part.replicas).sum() }
    }

    /// The first pod of the first Job of `part`.
    pub(super) fn pod(self, runtime: &Runtime<'_>, part: &Part<'_>) -> Result<Value, RenderError> {
        let spec = Field::named(&runtime.set, runtime.place.as_str());
        let network = spec.at("network");
        let subdomain = network.at("subdomain").text()?.filter(|name| !name.is_empty()).unwrap_or(self.name);
        let job = format!("{}-{}-0", self.name, part.name);
        let mut draft = part.draft.clone();
        if runtime.pod_group.at("coscheduling").is_present() {
            draft.label("scheduling.x-k8s.io/pod-group", self.name);
        }
        if runtime.pod_group.at("volcano").is_present() {
            draft.annotate("scheduling.k8s.io/group-name", self.name);
        }
        if text(&draft.spec, "restartPolicy").is_empty() {
            draft.restart("OnFailure");
        }
        let coordinator = coordinator(&spec.at("coordinator"), self.name, subdomain)?;
        for (key, value) in self.place(runtime, part, &job).into_iter().chain(coordinator) {
            draft.label(key, value.as_str());
            draft.annotate(key, value);
        }
        if network.at("enableDNSHostnames").flag()? != Some(false) {
            draft.set("subdomain", subdomain);
        }
        self.keep_exclusive(&mut draft, runtime, part, &job)?;
        let template = Field::named(&part.template, "template").at("spec");
        let indexed = template.at("completionMode").text()?.unwrap_or("Indexed") == "Indexed";
        let counts_failures = template.at("backoffLimitPerIndex").is_present();
        Ok(BatchJob { name: &job, indexed, counts_failures }.pod(draft, self.namespace))
    }

    /// Hands down the wish for a topology of one's own, made for the whole `JobSet` or for one part.
    fn keep_exclusive(
        self,
        draft: &mut Draft,
        runtime: &Runtime<'_>,
        part: &Part<'_>,
        job: &str,
    ) -> Result<(), RenderError> {
        let of_part = Field::named(&part.template, "template").at("metadata").at("annotations");
        let of_part = of_part.object()?.cloned().unwrap_or_default();
        for annotations in [&runtime.annotations, &of_part] {
            let Some(topology) = annotations.get(EXCLUSIVE) else { continue };
            draft.annotate(EXCLUSIVE, topology.clone());
            if let Some(strategy) = annotations.get(BY_NODE_SELECTOR) {
                draft.annotate(BY_NODE_SELECTOR, strategy.clone());
            }
        }
        if draft.annotations.contains_key(EXCLUSIVE) && draft.annotations.contains_key(BY_NODE_SELECTOR) {
            let node = format!("{}_{job}", self.namespace);
            let selector = draft.spec.entry("nodeSelector").or_insert_with(|| json!({}));
            strategic_merge(selector, &json!({"alpha.jobset.sigs.k8s.io/namespaced-job": node}));
            let toleration =
                json!({"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"});
            append(&mut draft.spec, "tolerations", [toleration]);
        }
        Ok(())
    }

    /// Where the pod stands in its `JobSet`: both labels and annotations.
    fn place(self, runtime: &Runtime<'_>, part: &Part<'_>, job: &str) -> Vec<(&'static str, String)> {
        let before = runtime.parts.iter().take_while(|other| other.name != part.name);
        let in_group = |other: &&Part<'_>| other.group == part.group;
        let total =
            |parts: &mut dyn Iterator<Item = &Part<'_>>| parts.map(|part| part.replicas).sum::<u64>().to_string();
        vec![
            (SET_NAME, self.name.to_owned()),
            ("jobset.sigs.k8s.io/jobset-uid", NO_UID.to_owned()),
            (PART_NAME, part.name.clone()),
            ("jobset.sigs.k8s.io/restart-attempt", "0".to_owned()),
            ("jobset.sigs.k8s.io/replicatedjob-replicas", part.replicas.to_string()),
            ("jobset.sigs.k8s.io/global-replicas", self.jobs.to_string()),
            ("jobset.sigs.k8s.io/job-index", "0".to_owned()),
            ("jobset.sigs.k8s.io/job-key", key(self.namespace, job)),
            ("jobset.sigs.k8s.io/job-global-index", total(&mut before.clone())),
            ("jobset.sigs.k8s.io/group-name", part.group.clone()),
            ("jobset.sigs.k8s.io/group-replicas", total(&mut runtime.parts.iter().filter(in_group))),
            ("jobset.sigs.k8s.io/job-group-index", total(&mut before.filter(in_group))),
        ]
    }
}

fn coordinator(
    coordinator: &Field<'_>,
    set: &str,
    subdomain: &str,
) -> Result<Option<(&'static str, String)>, RenderError> {
    let Some(part) = coordinator.at("replicatedJob").text()? else { return Ok(None) };
    let job = coordinator.at("jobIndex").count()?.unwrap_or(0);
    let pod = coordinator.at("podIndex").count()?.unwrap_or(0);
    Ok(Some(("jobset.sigs.k8s.io/coordinator", format!("{set}-{part}-{job}-{pod}.{subdomain}"))))
}

/// The key that `JobSet` gives a Job: SHA-1 of its name, in hexadecimal.
fn key(namespace: &str, job: &str) -> String {
    Sha1::digest(format!("{namespace}/{job}")).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
