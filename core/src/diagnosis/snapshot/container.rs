//! Containers of a pod with their states.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::read::{name, text, time, truncate};
use crate::pod::{Container, ContainerKind, Pod, Rendezvous, RestartPolicy};

/// Reasons of the kubelet for a container that starts without a problem.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// Init containers that wait until the name of the master resolves.
const WAITING_FOR_MASTER: [&str; 2] = ["init-pytorch", "wait-for-master"];
/// Maximum length of the name of an image in bytes.
const MAX_IMAGE: usize = 256;
/// Reason of the kubelet for a container that exceeded its memory limit.
const OUT_OF_MEMORY: &str = "OOMKilled";
/// Maximum number of words of a command that are searched.
const MAX_WORDS: usize = 512;
/// Programs that start the ranks of an MPI job.
const LAUNCHERS: [&str; 6] = ["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "horovodrun"];
/// Flags with which Horovod continues without a worker.
const ELASTIC: [&str; 3] = ["--min-np", "--min-num-proc", "--host-discovery-script"];
/// Characters of a shell beside the name of a program.
const SHELL: [char; 7] = ['"', '\'', '(', ')', ';', '$', '`'];

/// A container of a pod.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, two of which are fields of the status")]
pub(in crate::diagnosis) struct ContainerRecord {
    pub(in crate::diagnosis) name: Box<str>,
    pub(in crate::diagnosis) kind: ContainerKind,
    /// True for containers whose completion is that of the pod.
    pub(in crate::diagnosis) is_main: bool,
    pub(in crate::diagnosis) image: Box<str>,
    pub(in crate::diagnosis) policy: RestartPolicy,
    /// Number of accelerators that it requests.
    pub(in crate::diagnosis) accelerators: u64,
    /// Name of their resource.
    pub(in crate::diagnosis) resource: Option<Box<str>>,
    pub(in crate::diagnosis) state: StateRecord,
    /// Termination before the current state.
    pub(in crate::diagnosis) last: Option<TerminationRecord>,
    pub(in crate::diagnosis) restarts: u64,
    pub(in crate::diagnosis) ready: bool,
    /// True if its startup probe has succeeded.
    pub(in crate::diagnosis) started: bool,
    /// Settings of the process group.
    pub(in crate::diagnosis) rendezvous: Rendezvous,
    /// True if it is a main container whose command starts the ranks of an MPI job, and depends on each of them.
    pub(in crate::diagnosis) starts_ranks: bool,
    /// True if it serves version 2 of etcd's API; `None` if it is not etcd, or its version is unknown.
    pub(in crate::diagnosis) serves_etcd_v2: Option<bool>,
}

/// State of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) enum StateRecord {
    /// The kubelet has not reported it.
    Absent,
    /// The container is about to start.
    Waiting { reason: Box<str>, message: Option<Box<str>> },
    /// The container runs.
    Running { started: Option<Timestamp> },
    /// The container has terminated.
    Terminated(TerminationRecord),
}

/// Termination of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) struct TerminationRecord {
    pub(in crate::diagnosis) exit_code: i64,
    pub(in crate::diagnosis) reason: Box<str>,
    pub(in crate::diagnosis) started: Option<Timestamp>,
    pub(in crate::diagnosis) finished: Option<Timestamp>,
}

impl ContainerRecord {
    /// Reads `container`, which belongs to `pod`.
    pub(super) fn read(pod: Pod<'_>, container: Container<'_>, is_main: bool) -> Self {
        let status = pod.container_status(container);
        let field = |key: &str| status.and_then(|status| status.get(key));
        let image = container.raw().get("image").and_then(Value::as_str).unwrap_or_default();
        Self {
            name: truncate(container.name(), MAX_IMAGE),
            kind: container.kind,
            is_main,
            image: truncate(image, MAX_IMAGE),
            policy: container.restart_policy(),
            accelerators: container.accelerators().map_or(0, |found| found.count),
            resource: container.accelerators().map(|found| truncate(found.resource, MAX_IMAGE)),
            state: status.map_or(StateRecord::Absent, StateRecord::read),
            last: field("lastState").and_then(|last| TerminationRecord::read(last.get("terminated")?)),
            restarts: field("restartCount").and_then(Value::as_u64).unwrap_or_default(),
            ready: field("ready").and_then(Value::as_bool).unwrap_or_default(),
            started: field("started").and_then(Value::as_bool).unwrap_or_default(),
            rendezvous: if is_main { Rendezvous::read_in(pod, container) } else { Rendezvous::default() },
            starts_ranks: is_main && starts_ranks(container),
            serves_etcd_v2: container.serves_etcd_v2(),
        }
    }

    /// Returns the time at which the current instance started.
    pub(in crate::diagnosis) fn running_since(&self) -> Option<Timestamp> {
        if let StateRecord::Running { started } = self.state { started } else { None }
    }

    pub(in crate::diagnosis) fn is_running(&self) -> bool {
        matches!(self.state, StateRecord::Running { .. })
    }

    /// Returns the reason of a container that starts for the first time, without a problem.
    pub(in crate::diagnosis) fn starting_reason(&self) -> Option<&str> {
        let StateRecord::Waiting { reason, .. } = &self.state else { return None };
        Some(&**reason).filter(|reason| self.last.is_none() && STARTING.contains(reason))
    }

    /// Returns true if it has never started, without a problem.
    pub(in crate::diagnosis) fn is_about_to_start(&self) -> bool {
        self.starting_reason().is_some() || self.state == StateRecord::Absent && self.last.is_none()
    }

    /// Returns true for an init container that waits until the name of the master resolves.
    pub(in crate::diagnosis) fn waits_for_master(&self) -> bool {
        self.kind == ContainerKind::Init && WAITING_FOR_MASTER.contains(&&*self.name)
    }

    /// Returns the most recent termination.
    pub(in crate::diagnosis) fn last_termination(&self) -> Option<&TerminationRecord> {
        match &self.state {
            StateRecord::Terminated(termination) => Some(termination),
            _ => self.last.as_ref(),
        }
    }

    /// Returns true if it has terminated with code 0, and does not run again.
    pub(in crate::diagnosis) fn has_completed(&self) -> bool {
        matches!(&self.state, StateRecord::Terminated(ended) if ended.exit_code == 0)
    }

    /// Returns the number of restarts for people.
    pub(in crate::diagnosis) fn restarts_text(&self) -> String {
        let noun = if self.restarts == 1 { "restart" } else { "restarts" };
        format!("{} {noun}", self.restarts)
    }

    /// Returns the path of the most recent termination.
    pub(in crate::diagnosis) fn termination_field(&self) -> String {
        let state = if matches!(self.state, StateRecord::Terminated(_)) { "state" } else { "lastState" };
        self.status_field(&format!("{state}.terminated"))
    }

    /// Returns the path of a field of the container's status, as in `kubectl get -o yaml`.
    pub(in crate::diagnosis) fn status_field(&self, field: &str) -> String {
        let list = match self.kind {
            ContainerKind::Init | ContainerKind::NativeSidecar => "initContainerStatuses",
            ContainerKind::App => "containerStatuses",
            ContainerKind::Ephemeral => "ephemeralContainerStatuses",
        };
        format!("status.{list}[{}].{field}", self.name)
    }

    /// Returns all times of the states.
    pub(super) fn times(&self) -> impl Iterator<Item = Timestamp> {
        let terminations = [self.last_termination(), self.last.as_ref()].into_iter().flatten();
        terminations
            .flat_map(|termination| [termination.started, termination.finished])
            .chain([self.running_since()])
            .flatten()
    }
}

impl StateRecord {
    fn read(status: &Map<String, Value>) -> Self {
        let Some(state) = status.get("state") else { return Self::Absent };
        if let Some(termination) = state.get("terminated").and_then(TerminationRecord::read) {
            Self::Terminated(termination)
        } else if state.get("running").is_some_and(Value::is_object) {
            Self::Running { started: time(state, "/running/startedAt") }
        } else if state.get("waiting").is_some_and(Value::is_object) {
            let reason = name(state, "/waiting/reason").unwrap_or_default();
            Self::Waiting { reason, message: text(state, "/waiting/message") }
        } else {
            Self::Absent
        }
    }
}

impl TerminationRecord {
    fn read(terminated: &Value) -> Option<Self> {
        Some(Self {
            exit_code: terminated.get("exitCode")?.as_i64()?,
            reason: name(terminated, "/reason").unwrap_or_default(),
            started: time(terminated, "/startedAt"),
            finished: time(terminated, "/finishedAt"),
        })
    }

    /// Returns true if the container exceeded its memory limit.
    pub(in crate::diagnosis) fn is_out_of_memory(&self) -> bool {
        *self.reason == *OUT_OF_MEMORY
    }

    /// Returns exit code and reason for people.
    pub(in crate::diagnosis) fn summary(&self) -> String {
        match &*self.reason {
            "" | "Error" => format!("exit code {}", self.exit_code),
            reason => format!("exit code {} ({reason})", self.exit_code),
        }
    }
}

/// Returns true if the command of a container names a program of [`LAUNCHERS`], and no flag of [`ELASTIC`].
fn starts_ranks(container: Container<'_>) -> bool {
    let words = || container.command_line().flat_map(str::split_whitespace).take(MAX_WORDS);
    let mut programs = words().map(|word| word.trim_matches(SHELL).rsplit('/').next().unwrap_or_default());
    let mut flags = words().map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    programs.any(|program| LAUNCHERS.contains(&program)) && !flags.any(|flag| ELASTIC.contains(&flag))
}
