//! What the pods of a kind have in common as a gang: how they are recognized as one, where their number stands, and which
//! roles take no part in the collective work.

use std::borrow::Cow;

use super::Member;
use crate::pod::{Container, ContainerKind, Pod};

/// The longest JSON of a cluster that is parsed, in bytes: it takes many times its length. A longer one lists hundreds of
/// hosts.
const CLUSTER_LIMIT: usize = 32 * 1024;

/// What the pods of a kind have in common as a gang.
#[derive(Clone, Copy, Debug)]
pub struct GangTraits {
    /// What all pods of one gang share, and no other pod of their namespace; `None` where nothing shows it.
    pub id: for<'a> fn(Pod<'a>, Member<'a>) -> Option<Cow<'a, str>>,
    /// Where the operator writes how many pods there are.
    pub size: &'static [SizeSource],
    /// Roles, as the operator's labels name them, that prepare, start or evaluate the work and take no part in it.
    pub auxiliary_roles: &'static [&'static str],
    /// Roles, as the operator's labels name them, whose ranks are started in sessions of sshd.
    pub ssh_roles: &'static [&'static str],
}

/// What shows the number of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSource {
    /// An environment variable with a number of pods, or `min:max` of them.
    Env(&'static str),
    /// An environment variable that only a pod with peers is given.
    EnvOfPeers(&'static str),
    /// An environment variable with JSON that lists the hosts by their roles, below `cluster`.
    EnvCluster(&'static str),
    /// An annotation or label with a number of pods or Jobs.
    Metadata(&'static str),
}

/// Whether the ranks in `container`, of a pod of `member`'s workload, are started in sessions of sshd, which do not
/// inherit the environment of the container.
#[must_use]
pub fn has_ssh_ranks(container: Container<'_>, member: Option<Member<'_>>) -> bool {
    let by_role = |member: Member<'_>| member.role.is_some_and(|role| member.kind.gang.ssh_roles.contains(&role));
    member.is_some_and(by_role) || runs_sshd(container)
}

/// Whether a command of `container` is sshd. The shell ends a word at blanks and at its operators.
fn runs_sshd(container: Container<'_>) -> bool {
    let ends_word = |letter: char| letter.is_whitespace() || ";&|/".contains(letter);
    container.command_line().any(|words| words.split(ends_word).any(|word| word == "sshd"))
}

impl GangTraits {
    /// Those of pods that work alone.
    pub const NONE: Self = Self { id: |_, _| None, size: &[], auxiliary_roles: &[], ssh_roles: &[] };
    /// Those of pods that one owner controls.
    pub const BY_OWNER: Self = Self { id: |pod, _| owner(pod), ..Self::NONE };
    /// Those of pods that share the name of their workload, though not their owner.
    pub const BY_NAME: Self =
        Self { id: |_, member| Some(Cow::Owned(format!("{}/{}", member.kind.kind, member.job))), ..Self::NONE };
}

impl SizeSource {
    /// Whether this shows that `pod` is one of several.
    pub(super) fn shows_peers(self, pod: Pod<'_>) -> bool {
        let values = |name| {
            let containers = pod.containers().filter(|container| container.kind == ContainerKind::App);
            containers.filter_map(move |container| container.env(name))
        };
        match self {
            Self::Env(name) => values(name).any(|text| largest(text) > 1),
            Self::EnvOfPeers(name) => values(name).next().is_some(),
            Self::EnvCluster(name) => values(name).any(|text| hosts(text) > 1),
            Self::Metadata(key) => pod.annotation(key).or(pod.label(key)).is_some_and(|text| largest(text) > 1),
        }
    }
}

/// The uid of the pod's controlling owner.
pub(super) fn owner(pod: Pod<'_>) -> Option<Cow<'_, str>> {
    pod.controller().and_then(|owner| owner.uid).map(Cow::Borrowed)
}

/// The largest number of a `min:max` range; 0 where there is none.
fn largest(text: &str) -> u64 {
    text.split(':').filter_map(|part| part.trim().parse().ok()).max().unwrap_or_default()
}

fn hosts(text: &str) -> usize {
    if text.len() > CLUSTER_LIMIT {
        return usize::MAX;
    }
    let Ok(config) = serde_json::from_str::<serde_json::Value>(text) else { return 0 };
    let cluster = config.get("cluster").and_then(serde_json::Value::as_object);
    cluster.into_iter().flatten().filter_map(|(_, hosts)| hosts.as_array()).map(Vec::len).sum()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::path(json!(["/usr/sbin/sshd", "-De"]), true)]
    #[case::of_a_list(json!(["sh", "-c", "ssh-keygen -A;sshd -D&wait"]), true)]
    #[case::of_a_pipeline(json!(["sh", "-c", "cat keys|sshd -D"]), true)]
    #[case::alternative(json!(["sh", "-c", "true||sshd"]), true)]
    #[case::another_word(json!(["sh", "-c", "apt-get install openssh-server sshd-tools"]), false)]
    #[case::file(json!(["cat", "/etc/ssh/sshd_config"]), false)]
    #[case::none(json!(null), false)]
    fn commands_that_run_sshd(#[case] command: Value, #[case] expected: bool) {
        for key in ["command", "args"] {
            let pod = json!({"spec": {"containers": [{"name": "a", key: command}]}});
            let container = Pod::new(&pod).containers().next().unwrap();
            assert_eq!(has_ssh_ranks(container, None), expected, "{key}");
        }
    }
}
