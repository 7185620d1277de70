//! The process group of a job.

use crate::diagnosis::job::Job;
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::pod::PodRecord;

/// Kinds of which one workload is one process group. A `JobSet` or `LeaderWorkerSet` may contain several.
const KINDS: [&str; 3] = ["PyTorchJob", "TrainJob", "Job"];
/// Settings of torchrun with which it does not use `MASTER_ADDR` and `MASTER_PORT` of its environment.
const FLAGS: [&str; 3] = ["PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_RDZV_ENDPOINT"];

/// Text between the scheme and the host of a URL.
pub(super) const SCHEME_SEPARATOR: &str = "://";

/// How the members of a group find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// All members are known when they start, and connect to a store in rank 0.
    Static,
    /// The agents of torchrun form a group, by a store in one of them.
    C10d,
    /// The agents of torchrun form a group, by etcd with version 2 of its API.
    Etcd,
}

/// A member of a process group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupMember<'a> {
    pub(super) pod: &'a PodRecord,
    /// Main container with the settings of the group.
    pub(super) container: &'a ContainerRecord,
}

/// The process group of a job: its pods that have not finished and are not being deleted.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) backend: Backend,
    pub(super) members: Vec<GroupMember<'a>>,
    /// Pod of rank 0, which contains the store of a static group.
    pub(super) master: Option<GroupMember<'a>>,
}

impl<'a> Group<'a> {
    /// Returns the group of a job; `None` if the job has none with several members.
    pub(super) fn new(job: &Job<'a>) -> Option<Self> {
        let nodes = job.nodes().map(|(_, max)| max);
        if !KINDS.contains(&job.kind) || !job.is_collective() || nodes == Some(1) {
            return None;
        }
        let ranks = job.active().filter(|pod| pod.is_rank() && pod.deleted.is_none());
        let members: Vec<GroupMember<'a>> = ranks.filter_map(GroupMember::new).collect();
        let backend = members.iter().find_map(GroupMember::backend)?;
        let master = members.iter().copied().find(GroupMember::is_master);
        Some(Self { backend, members, master })
    }

    /// Returns host and port at which the members meet, as a member that is not the master uses them, and the variable.
    pub(super) fn endpoint(&self) -> Option<Endpoint<'a>> {
        let is_master = |member: &&GroupMember<'a>| self.is_master(member.pod);
        let peers = self.members.iter().filter(|member| !is_master(member));
        peers.chain(self.members.iter().filter(is_master)).find_map(|member| member.endpoint(self.backend))
    }

    pub(super) fn is_master(&self, pod: &PodRecord) -> bool {
        self.master.is_some_and(|master| std::ptr::eq(master.pod, pod))
    }
}

/// Host and port at which the members of a group meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Endpoint<'a> {
    /// Pod with the setting.
    pub(super) pod: &'a PodRecord,
    /// Container of the pod with the setting.
    container: &'a ContainerRecord,
    /// Name of the setting.
    pub(super) field: &'static str,
    pub(super) host: &'a str,
    pub(super) port: Option<u64>,
}

impl<'a> Endpoint<'a> {
    /// Returns the member with the setting.
    pub(super) fn member(&self) -> GroupMember<'a> {
        GroupMember { pod: self.pod, container: self.container }
    }
}

impl<'a> GroupMember<'a> {
    fn new(pod: &'a PodRecord) -> Option<Self> {
        let container = pod.main().find(|container| !container.rendezvous.is_empty())?;
        Some(Self { pod, container })
    }

    /// Returns a setting of the group; `None` if it is not set, or its value is not in the pod.
    pub(super) fn setting(&self, name: &str) -> Option<&'a str> {
        self.container.rendezvous.setting(name)
    }

    /// Returns true if the command of torchrun sets the address of the group.
    pub(super) fn has_address_flags(&self) -> bool {
        self.container.rendezvous.has_flag(&FLAGS)
    }

    fn backend(&self) -> Option<Backend> {
        match self.setting("PET_RDZV_BACKEND") {
            Some("c10d") => Some(Backend::C10d),
            Some("etcd" | "etcd-v2") => Some(Backend::Etcd),
            None | Some("static") => {
                let is_set = |name: &&str| self.setting(name).is_some();
                let is_alone = self.setting("PET_STANDALONE").is_some();
                (["MASTER_ADDR", "PET_MASTER_ADDR"].iter().any(is_set) && !is_alone).then_some(Backend::Static)
            }
            Some(_) => None,
        }
    }

    /// Returns host and port at which this member meets the others.
    pub(super) fn endpoint(&self, backend: Backend) -> Option<Endpoint<'a>> {
        let Self { pod, container } = *self;
        if backend != Backend::Static {
            let field = "PET_RDZV_ENDPOINT";
            let (host, port) = split_port(self.setting(field)?);
            return Some(Endpoint { pod, container, field, host, port });
        }
        let (address, port) = if self.has_address_flags() || self.setting("MASTER_ADDR").is_none() {
            ("PET_MASTER_ADDR", "PET_MASTER_PORT")
        } else {
            ("MASTER_ADDR", "MASTER_PORT")
        };
        let port = self.setting(port).and_then(|port| port.trim().parse().ok());
        Some(Endpoint { pod, container, field: address, host: self.setting(address)?, port })
    }

    /// Returns true for rank 0.
    fn is_master(&self) -> bool {
        if let Some(rank) = self.setting("PET_NODE_RANK").or_else(|| self.setting("RANK")) {
            return rank.trim() == "0";
        }
        let identity = self.pod.identity.as_ref();
        identity.is_some_and(|identity| identity.index == Some(0) && identity.role.as_deref() != Some("worker"))
            || identity.is_some_and(|identity| identity.index == Some(0) && self.setting("PET_RDZV_BACKEND").is_some())
    }
}

/// Splits `host:port` and `[host]:port`. A URL, which torchrun does not accept, stays complete.
fn split_port(endpoint: &str) -> (&str, Option<u64>) {
    if endpoint.contains(SCHEME_SEPARATOR) {
        return (endpoint, None);
    }
    match endpoint.rsplit_once(':') {
        // More than one colon without brackets is an IPv6 address.
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => {
            (host.trim_matches(['[', ']']), port.trim().parse().ok())
        }
        _ => (endpoint, None),
    }
}
