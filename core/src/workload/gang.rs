//! Gang properties of a workload kind: how its pods are grouped, which fields contain the gang size, and which roles do
//! not take part in collective communication.

use std::borrow::Cow;

mod shape;
mod template;

pub use shape::{GangRole, GangShape, PLACEMENT_FIELDS, placement};
pub use template::GangTemplate;

use super::{Manifest, PodIdentity, RenderError, WorkloadKind};
use crate::pod::{Container, ContainerKind, MAX_CLUSTER, Pod, parse_cluster};

/// Reads the gangs of a workload from its manifest.
pub type ReadShape = fn(&Manifest<'_>) -> Result<GangShape, RenderError>;

/// Gang properties of the pods of a kind.
#[derive(Clone, Copy, Debug)]
pub struct GangTraits {
    /// Returns an identifier that the pods of one gang share and that is unique in their namespace; `None` if unknown.
    pub id: for<'a> fn(Pod<'a>, PodIdentity<'a>) -> Option<Cow<'a, str>>,
    /// Fields in which the operator writes the number of pods.
    pub size_sources: &'static [SizeSource],
    /// Ports on which the pods communicate with each other.
    pub member_ports: &'static [MemberPort],
    /// Returns the ports of the operator's Service on which a pod listens although it declares none of them.
    pub service_ports: fn(Pod<'_>) -> &'static [u16],
    /// True if the operator creates a headless Service without ports for the pods.
    pub portless_service: bool,
    /// Roles, as in the operator's labels, that prepare, launch or evaluate the collective work without taking part in
    /// it.
    pub auxiliary_roles: &'static [&'static str],
    /// Roles, as in the operator's labels, whose ranks run in sshd sessions.
    pub ssh_roles: &'static [&'static str],
    /// True if the ranks of all roles are one process group: those of a `JobSet` may be independent.
    pub one_group: bool,
    /// Order in which the operator creates the pods; `None` if it is not known.
    pub creation: Option<PodCreation>,
    /// Kind of the object that contains the sizes, if it is not this one but created by it.
    pub object: Option<&'static WorkloadKind>,
    /// Reads roles and sizes from an object of this kind; `None` if they are not known.
    pub shape: Option<ReadShape>,
    /// Returns the UID of the object from a label of a pod that it does not control directly.
    pub uid: for<'a> fn(Pod<'a>) -> Option<&'a str>,
    /// Returns the restart attempt and the group of a pod; `None` if they are unknown.
    pub position: fn(Pod<'_>) -> Option<(u64, u64)>,
}

/// Declaration of a port on which the pods of a gang communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberPort {
    /// The container port with this name, which the operator adds or uses.
    Named(&'static str),
    /// The container port with this number, the default of the operator's programs.
    Numbered(u16),
    /// An environment variable that contains the port, or ends with it: `23456`, `host:23456`.
    Env(&'static str),
}

/// Order in which an operator creates the pods of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodCreation {
    /// All pods of all roles at the start.
    AllAtOnce,
    /// Roles may start one after another.
    RolesInOrder,
}

/// Source of the number of pods in a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSource {
    /// An environment variable that contains the number of pods, or a `min:max` range.
    Env(&'static str),
    /// An environment variable that is set only in pods that have peers.
    EnvWithPeers(&'static str),
    /// An environment variable that contains JSON with the hosts of each role under `cluster`.
    EnvCluster(&'static str),
    /// An annotation or label that contains the number of pods or Jobs.
    Metadata(&'static str),
}

/// Returns true if the ranks in `container`, in a pod of `member`'s workload, run in sshd sessions, which do not
/// inherit the container's environment.
#[must_use]
pub fn has_ssh_ranks(container: Container<'_>, member: Option<PodIdentity<'_>>) -> bool {
    let by_role = |member: PodIdentity<'_>| member.role.is_some_and(|role| member.kind.gang.ssh_roles.contains(&role));
    member.is_some_and(by_role) || runs_sshd(container)
}

/// Returns true if `container` runs sshd. Words end at whitespace, shell operators and slashes, so that
/// `/usr/sbin/sshd` contains the word `sshd`.
fn runs_sshd(container: Container<'_>) -> bool {
    let is_separator = |character: char| character.is_whitespace() || ";&|/".contains(character);
    container.command_line().any(|words| words.split(is_separator).any(|word| word == "sshd"))
}

impl GangTraits {
    /// Properties of pods that are not part of a gang.
    pub const NONE: Self = Self {
        id: |_, _| None,
        size_sources: &[],
        member_ports: &[],
        service_ports: |_| &[],
        portless_service: false,
        auxiliary_roles: &[],
        ssh_roles: &[],
        one_group: false,
        creation: None,
        object: None,
        shape: None,
        uid: |_| None,
        position: |_| Some((0, 0)),
    };
    /// Properties of pods that have the same controlling owner.
    pub const BY_OWNER: Self = Self { id: |pod, _| owner_uid(pod), ..Self::NONE };
    /// Properties of pods that share the name of their workload, but not their owner.
    pub const BY_NAME: Self =
        Self { id: |_, member| Some(Cow::Owned(format!("{}/{}", member.kind.kind, member.workload))), ..Self::NONE };

    /// Returns true if the objects of the kind contain the sizes of its gangs.
    #[must_use]
    pub fn contains_sizes(&self) -> bool {
        self.shape.is_some() && self.object.is_none()
    }
}

impl SizeSource {
    /// Returns true if one of `sources` indicates that `pod` is one of several. Reads the variables of each container
    /// once, because GPU pods have dozens of them.
    pub(super) fn any_indicates_peers(sources: &[Self], pod: Pod<'_>) -> bool {
        let has_metadata = |source: &Self| match source {
            Self::Metadata(key) => {
                pod.annotation(key).or(pod.label(key)).is_some_and(|text| source.value_indicates_peers(text))
            }
            Self::Env(_) | Self::EnvWithPeers(_) | Self::EnvCluster(_) => false,
        };
        let has_variable = |container: Container<'_>| {
            container.env_names().any(|name| {
                let mut sources = sources.iter().filter(|source| source.variable() == Some(name));
                sources.any(|source| container.env(name).is_some_and(|text| source.value_indicates_peers(text)))
            })
        };
        let mut containers = pod.containers().filter(|container| container.kind == ContainerKind::App);
        sources.iter().any(has_metadata) || containers.any(has_variable)
    }

    /// Returns the name of the environment variable.
    pub(super) fn variable(self) -> Option<&'static str> {
        match self {
            Self::Env(name) | Self::EnvWithPeers(name) | Self::EnvCluster(name) => Some(name),
            Self::Metadata(_) => None,
        }
    }

    /// Returns true if a field with this value indicates that the pod is one of several.
    pub(super) fn value_indicates_peers(self, text: &str) -> bool {
        match self {
            Self::Env(_) | Self::Metadata(_) => max_count(text) > 1,
            Self::EnvWithPeers(_) => true,
            Self::EnvCluster(_) => host_count(text) > 1,
        }
    }
}

/// Returns the UID of the pod's controlling owner.
pub(super) fn owner_uid(pod: Pod<'_>) -> Option<Cow<'_, str>> {
    pod.controller().and_then(|owner| owner.uid).map(Cow::Borrowed)
}

/// Returns the largest number of a `min:max` range; 0 if it contains no number.
fn max_count(text: &str) -> u64 {
    text.split(':').filter_map(|part| part.trim().parse().ok()).max().unwrap_or_default()
}

/// Returns the number of hosts in a cluster specification: 0 if it is invalid, `usize::MAX` if it is longer than
/// [`MAX_CLUSTER`], because it lists hundreds of hosts.
fn host_count(text: &str) -> usize {
    if text.len() > MAX_CLUSTER {
        return usize::MAX;
    }
    let roles = parse_cluster(text).unwrap_or_default();
    roles.values().filter_map(serde_json::Value::as_array).map(Vec::len).sum()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::path(json!(["/usr/sbin/sshd", "-De"]), true)]
    #[case::command_list(json!(["sh", "-c", "ssh-keygen -A;sshd -D&wait"]), true)]
    #[case::pipeline(json!(["sh", "-c", "cat keys|sshd -D"]), true)]
    #[case::alternative(json!(["sh", "-c", "true||sshd"]), true)]
    #[case::package_name(json!(["sh", "-c", "apt-get install openssh-server sshd-tools"]), false)]
    #[case::file(json!(["cat", "/etc/ssh/sshd_config"]), false)]
    #[case::none(json!(null), false)]
    fn sshd_is_detected_in_commands(#[case] command: Value, #[case] expected: bool) {
        for key in ["command", "args"] {
            let pod = json!({"spec": {"containers": [{"name": "a", key: command}]}});
            let container = Pod::new(&pod).containers().next().unwrap();
            assert_eq!(has_ssh_ranks(container, None), expected, "{key}");
        }
    }
}
