//! Checks of a training job as a whole: its manifest, the pods of all its roles, and the other objects of the input. An
//! admission review contains one pod only, so that the webhook does not run them.

mod completion_index;
mod gang;
mod partial_gang;
mod process_group;
mod restart;
mod service;
mod storage;

use serde_json::Value;

pub(super) use gang::{launcher_in_gang, minimum_above_pods, mixed_priorities, mixed_schedulers, unreserved_devices};
pub(super) use partial_gang::partial_gang;
pub(super) use process_group::{different_settings, unreachable_address, wrong_number_of_nodes};
pub(super) use restart::{never_restarted, overridden_policy};
pub(super) use service::store_without_v2;
pub(super) use storage::{lost_checkpoints, shared_claim, shared_nfs};

use super::context::CheckContext;
use super::{RolePods, WorkloadManifest};
use crate::json;
use crate::pod::{Container, ContainerKind, Rendezvous};
use crate::workload;

/// A container that runs torchrun, with its settings.
struct Agent<'a> {
    role: &'a RolePods<'a>,
    container: Container<'a>,
    settings: Rendezvous,
}

/// Label with the number of Jobs of a role in a `JobSet`.
const REPLICATED_JOBS: &str = "jobset.sigs.k8s.io/replicatedjob-replicas";
/// Maximum number of words of a command that are searched, as for the settings of the process group.
const MAX_WORDS: usize = 512;

impl<'a> CheckContext<'a> {
    /// Returns the workload with the pod's role; `None` in an admission review.
    fn workload(&self) -> Option<(&'a WorkloadManifest<'a>, &'a RolePods<'a>)> {
        let workload = self.input.workload?;
        let role = workload.roles.iter().find(|role| Some(role.name) == self.input.role)?;
        Some((workload, role))
    }
}

impl<'a> WorkloadManifest<'a> {
    /// Returns the roles whose pods take part in the training.
    fn ranks(&self) -> impl Iterator<Item = &'a RolePods<'a>> {
        self.roles.iter().filter(|role| role.is_rank())
    }

    /// Returns the agents of all roles.
    fn agents(&self) -> Vec<Agent<'a>> {
        self.ranks().flat_map(RolePods::agents).collect()
    }

    /// Returns the number of pods of `roles`; `None` if it is unknown.
    fn pods(mut roles: impl Iterator<Item = &'a RolePods<'a>>) -> Option<u64> {
        roles.try_fold(0_u64, |sum, role| Some(sum.saturating_add(role.replicas?)))
    }

    /// Returns the kind of the workload.
    fn kind(&self) -> &'a str {
        self.value().get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns true if the workload has this kind, and an API version with the start `version`.
    fn is_kind(&self, kind: &str, version: &str) -> bool {
        let api_version = json::text(self.value(), "apiVersion");
        self.kind() == kind && api_version.is_some_and(|found| found.starts_with(version))
    }

    /// Returns the elastic policy of a `PyTorchJob`, from which the training-operator sets the number of nodes.
    fn elastic_policy(&self) -> Option<&'a Value> {
        self.value().get("spec")?.get("elasticPolicy").filter(|policy| !policy.is_null())
    }

    /// Returns true if the training-operator creates a `HorizontalPodAutoscaler`, which changes the number of workers: it
    /// raises it to the minimum of the elastic policy.
    fn is_autoscaled(&self) -> bool {
        self.elastic_policy().and_then(|policy| policy.get("metrics")).is_some_and(|metrics| !metrics.is_null())
    }

    /// Returns the field `name` of the scheduling policy of an operator of Kubeflow.
    fn scheduling_policy(&self, name: &str) -> Option<&'a Value> {
        self.value().get("spec")?.get("runPolicy")?.get("schedulingPolicy")?.get(name).filter(|value| !value.is_null())
    }
}

impl<'a> RolePods<'a> {
    /// Returns true if the pods take part in the training.
    fn is_rank(&self) -> bool {
        workload::identify(self.original).is_some_and(|member| member.training && !workload::is_auxiliary_role(member))
    }

    /// Returns the number of Jobs of the role, if it is one of a `JobSet`.
    fn replicated_jobs(&self) -> Option<u64> {
        self.original.label(REPLICATED_JOBS)?.parse().ok()
    }

    /// Returns the containers that run torchrun.
    fn agents(&'a self) -> impl Iterator<Item = Agent<'a>> {
        self.main_containers().filter_map(|container| self.agent(container))
    }

    /// Returns `container` with its settings, if it runs torchrun.
    fn agent(&'a self, container: Container<'a>) -> Option<Agent<'a>> {
        runs_torchrun(container).then(|| Agent { role: self, container, settings: Rendezvous::read(container) })
    }

    /// Returns true unless each main container certainly runs another program than torchrun. A script or the entry point of the image may
    /// start it.
    fn may_run_torchrun(&self) -> bool {
        !self.main_containers().all(runs_python)
    }

    /// Returns the containers in `spec.containers`.
    fn main_containers(&self) -> impl Iterator<Item = Container<'a>> {
        self.original.containers().filter(|container| container.kind == ContainerKind::App)
    }
}

impl Agent<'_> {
    /// Returns the value of a flag, or else that of its variable; `None` if it is not set or not known.
    fn setting(&self, name: &str) -> Option<&str> {
        let has_flag = self.settings.has_flag(&[name]) || self.settings.is_computed(name);
        if has_flag { self.settings.flag(name) } else { self.settings.variable(name) }.filter(|value| !value.is_empty())
    }

    /// Returns the JSON pointer of the field that contains the setting `name`.
    fn field(&self, name: &str) -> String {
        let container = self.container;
        let by_command = |name: &str| Some(container.argument_pointer(Rendezvous::argument(container, name)?));
        let by_flag = self.settings.has_flag(&[name]).then(|| by_command(name)).flatten();
        // The endpoint may contain the port.
        let found = by_flag.or_else(|| container.env_pointer(name)).or_else(|| by_command(service::ENDPOINT));
        found.unwrap_or_else(|| container.pointer())
    }
}

/// Returns the number of `pods` for a message.
fn number_of_pods(pods: u64) -> String {
    if pods == 1 { "1 pod".to_owned() } else { format!("{pods} pods") }
}

/// Returns the words of the container's command; those of scripts end at blanks.
fn words(container: Container<'_>) -> impl Iterator<Item = &str> {
    numbered_words(container).map(|(_, word)| word)
}

/// Like [`words`], each with the index of its text in the command line.
fn numbered_words(container: Container<'_>) -> impl Iterator<Item = (usize, &str)> {
    let texts = container.command_line().enumerate();
    texts.flat_map(|(index, text)| text.split_whitespace().map(move |word| (index, word))).take(MAX_WORDS)
}

/// Returns true if the container starts a Python program that neither is nor resembles a launcher.
fn runs_python(container: Container<'_>) -> bool {
    let program = words(container).next().and_then(|word| word.rsplit('/').next());
    let resembles_launcher = |word: &str| word.contains("torch") || word.contains("launch");
    program.is_some_and(|program| program.starts_with("python")) && !words(container).any(resembles_launcher)
}

fn runs_torchrun(container: Container<'_>) -> bool {
    words(container).any(is_launcher)
}

/// Returns true if `word` is the name of torchrun, or that of its module.
fn is_launcher(word: &str) -> bool {
    word.ends_with("torchrun") || word.contains("torch.distributed.")
}
