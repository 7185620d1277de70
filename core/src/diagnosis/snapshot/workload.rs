//! Jobs and the objects of operators, and Kueue's Workloads.

use jiff::Timestamp;
use serde_json::Value;

use super::condition::{ConditionRecord, conditions};
use super::read::{MAX_NAME, items, name, text, time, truncate};
use super::reference::{ObjectKey, Reference, controller};
use crate::workload::{self, Manifest, RolePod, Runtimes};

/// Fields that suspend a workload.
const SUSPEND: [(&str, &str); 2] =
    [("/spec/suspend", "spec.suspend"), ("/spec/runPolicy/suspend", "spec.runPolicy.suspend")];
/// Field with the phase of a Job of Volcano, and its phases for one that was suspended, by `vcctl job suspend` or a policy, and for one
/// that has failed for good.
pub(in crate::diagnosis) const VOLCANO_PHASE: &str = "status.state.phase";
pub(in crate::diagnosis) const ABORTED: &str = "Aborted";
pub(in crate::diagnosis) const FAILED: &str = "Failed";
/// API group of this Job.
const VOLCANO: &str = "batch.volcano.sh";
/// Fields with the limit of restarts.
const BACKOFF_LIMITS: [&str; 2] = ["/spec/runPolicy/backoffLimit", "/spec/backoffLimit"];
/// Fields with the policy for pods that run when the job has finished, and the values with which the operator deletes them.
const CLEANUP: [(&str, &str); 2] = [
    ("/spec/runPolicy/cleanPodPolicy", "spec.runPolicy.cleanPodPolicy"),
    ("/spec/cleanPodPolicy", "spec.cleanPodPolicy"),
];
const DELETING: [&str; 2] = ["Running", "All"];
/// Label and annotation that disable injection, if they are those of a pod.
const INJECT: [&str; 2] =
    ["/metadata/labels/sidecar.istio.io~1inject", "/metadata/annotations/sidecar.istio.io~1inject"];
/// Field with the time at which the launcher of an MPI job is created.
const LAUNCHER_POLICY: &str = "/spec/launcherCreationPolicy";
/// Conditions of a workload that has finished.
const FINISHED: [&str; 4] = ["Complete", "Completed", "Failed", "Succeeded"];
/// API groups of the kinds that have such conditions. Others have a phase.
const REPORTING: [&str; 4] = ["batch", "jobset.x-k8s.io", "kubeflow.org", "trainer.kubeflow.org"];
/// API groups of jobs that have no pods only until their operator creates them.
const OPERATORS: [&str; 6] =
    ["batch", "batch.volcano.sh", "jobset.x-k8s.io", "kubeflow.org", "ray.io", "trainer.kubeflow.org"];
/// Kinds of these groups that may have no pods for long.
const WITHOUT_PODS: [&str; 2] = ["CronJob", "RayService"];
/// Fields with the phase of a job: of Volcano, of a `RayJob` and of a `RayCluster`.
const PHASES: [&str; 3] = ["/status/state/phase", "/status/jobDeploymentStatus", "/status/state"];
/// Phases in which a job waits for its pods. In others, it has pods, or has none any more.
const WAITING: [&str; 4] = ["Pending", "Inqueue", "Initializing", "Waiting"];
/// Fields with the controller of a job, if it is not the usual one, and the values for the usual ones.
const MANAGERS: [&str; 2] = ["/spec/managedBy", "/spec/runPolicy/managedBy"];
const USUAL_MANAGERS: [&str; 6] = [
    "kubernetes.io/job-controller",
    "jobset.sigs.k8s.io/jobset-controller",
    "kubeflow.org/training-operator",
    "kubeflow.org/mpi-operator",
    "ray.io/kuberay-operator",
    "trainer.kubeflow.org/trainjob-controller",
];
/// Maximum number of admission checks of a Workload: that of Kueue.
const MAX_CHECKS: usize = 10;
/// Maximum number of roles of a job.
const MAX_ROLES: usize = 16;

/// A policy with which the operator deletes the pods that run when the job has finished.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct CleanupPolicy {
    /// Field of the policy.
    pub(in crate::diagnosis) field: &'static str,
    /// Its value.
    pub(in crate::diagnosis) policy: Box<str>,
}

/// A workload.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct WorkloadRecord {
    pub(in crate::diagnosis) kind: Box<str>,
    pub(in crate::diagnosis) namespace: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    pub(in crate::diagnosis) created: Option<Timestamp>,
    pub(in crate::diagnosis) owner: Option<Reference>,
    /// API group of the kind.
    pub(in crate::diagnosis) group: &'static str,
    /// True if it is being deleted.
    pub(in crate::diagnosis) is_deleted: bool,
    /// Number of pods; `None` if unknown.
    pub(in crate::diagnosis) pods: Option<u64>,
    /// Roles, in lower case, with their numbers of pods; empty if one of them is unknown.
    pub(in crate::diagnosis) roles: Vec<(Box<str>, u64)>,
    /// Number of pods that failed, in the status of a Job.
    pub(in crate::diagnosis) failed: Option<u64>,
    /// Limit of restarts after which the job fails.
    pub(in crate::diagnosis) backoff_limit: Option<u64>,
    /// Roles, in lower case, whose pods the operator replaces if their exit code is at least 128.
    pub(in crate::diagnosis) exit_code_roles: Vec<Box<str>>,
    /// The policy with which the operator deletes the pods that run when the job has finished.
    pub(in crate::diagnosis) cleanup: Option<CleanupPolicy>,
    /// True if it has a label or annotation that disables injection, which has an effect only on pods.
    pub(in crate::diagnosis) disables_injection: bool,
    /// Number of ranks of each worker of an MPI job.
    pub(in crate::diagnosis) slots: Option<u64>,
    /// True if the launcher of an MPI job is created when its workers are ready.
    pub(in crate::diagnosis) launcher_waits: bool,
    /// Field that suspends the workload.
    pub(in crate::diagnosis) suspended: Option<&'static str>,
    /// Field with the phase [`FAILED`] of a Volcano Job, which has no conditions for its end.
    pub(in crate::diagnosis) failed_phase: Option<&'static str>,
    /// Queue of Kueue.
    pub(in crate::diagnosis) queue: Option<Box<str>>,
    pub(in crate::diagnosis) conditions: Vec<ConditionRecord>,
    /// Controller that acts instead of the usual one.
    pub(in crate::diagnosis) managed_by: Option<Box<str>>,
    /// Relation between the pods of a Job.
    pub(in crate::diagnosis) indexes: Indexes,
    presence: Presence,
}

/// Relation between the pods of a Job, as far as its object shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) enum Indexes {
    /// They may be one group.
    Related,
    /// Each index has its own limit of failures, so that the Job continues without one.
    Separate,
    /// There are more of them than run at the same time.
    InTurn,
}

/// Pods of a workload, as far as its object shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// It requests none.
    NotRequested,
    /// It requests some.
    Requested,
    /// Its status counts some, or has a phase in which it has some or none any more.
    Reported,
}

/// A Workload of Kueue, which holds the quota of a job.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct QueueRecord {
    pub(in crate::diagnosis) namespace: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    pub(in crate::diagnosis) owner: Option<Reference>,
    /// Name of the `LocalQueue`.
    pub(in crate::diagnosis) queue: Option<Box<str>>,
    /// False if the Workload was deactivated.
    pub(in crate::diagnosis) active: bool,
    pub(in crate::diagnosis) conditions: Vec<ConditionRecord>,
    /// Admission checks that have not succeeded.
    pub(in crate::diagnosis) pending_checks: Vec<AdmissionCheckRecord>,
}

/// An admission check of a Workload, which a controller of its own decides.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct AdmissionCheckRecord {
    pub(in crate::diagnosis) name: Box<str>,
    /// Its state: `Pending`, `Retry` or `Rejected`.
    pub(in crate::diagnosis) state: Box<str>,
    pub(in crate::diagnosis) message: Option<Box<str>>,
    pub(in crate::diagnosis) since: Option<Timestamp>,
}

impl WorkloadRecord {
    /// Reads a workload of `api_version` and `kind`; `None` if the kind is not supported.
    pub(super) fn read(raw: &Value, namespace: &str, api_version: &str, kind: &str) -> Option<Self> {
        let known = workload::find(api_version, kind).or_else(|| workload::find_other_version(api_version, kind))?;
        let namespace = name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into());
        let manifest = Manifest { raw, namespace: &namespace, runtimes: &Runtimes::default() };
        let roles = (known.render)(&manifest).unwrap_or_default();
        let pods = roles.iter().try_fold(0_u64, |sum, role| sum.checked_add(role.replicas?));
        let is_true = |pointer: &str| raw.pointer(pointer).and_then(Value::as_bool) == Some(true);
        let is_volcano = known.group == VOLCANO;
        let phase = raw.pointer("/status/state/phase").and_then(Value::as_str).filter(|_| is_volcano);
        Some(Self {
            kind: truncate(known.kind, MAX_NAME),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            created: time(raw, "/metadata/creationTimestamp"),
            owner: controller(raw),
            group: known.group,
            is_deleted: raw.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string),
            roles: role_sizes(&roles).unwrap_or_default(),
            failed: raw.pointer("/status/failed").and_then(Value::as_u64),
            pods: pods.filter(|pods| *pods > 0),
            backoff_limit: BACKOFF_LIMITS.iter().find_map(|pointer| raw.pointer(pointer)?.as_u64()),
            exit_code_roles: exit_code_roles(raw),
            cleanup: CLEANUP.iter().find_map(|(pointer, field)| {
                let policy = name(raw, pointer).filter(|policy| DELETING.contains(&&**policy))?;
                Some(CleanupPolicy { field, policy })
            }),
            disables_injection: INJECT
                .iter()
                .any(|pointer| raw.pointer(pointer).and_then(Value::as_str) == Some("false")),
            slots: raw.pointer("/spec/slotsPerWorker").and_then(Value::as_u64),
            launcher_waits: raw.pointer(LAUNCHER_POLICY).and_then(Value::as_str) == Some("WaitForWorkersReady"),
            failed_phase: phase.filter(|phase| *phase == FAILED).map(|_| VOLCANO_PHASE),
            suspended: if is_volcano {
                phase.filter(|phase| *phase == ABORTED).map(|_| VOLCANO_PHASE)
            } else {
                SUSPEND.iter().find(|(pointer, _)| is_true(pointer)).map(|(_, field)| *field)
            },
            queue: workload::kueue_queue(raw).map(|queue| truncate(queue, MAX_NAME)),
            conditions: conditions(raw),
            managed_by: MANAGERS
                .iter()
                .find_map(|pointer| name(raw, pointer))
                .filter(|manager| !USUAL_MANAGERS.contains(&&**manager)),
            indexes: Indexes::read(raw),
            presence: match pods {
                _ if has_had_pods(raw) => Presence::Reported,
                Some(0) if !roles.is_empty() => Presence::NotRequested,
                _ => Presence::Requested,
            },
            namespace,
        })
    }
}

impl Indexes {
    fn read(raw: &Value) -> Self {
        let number = |pointer: &str| raw.pointer(pointer).and_then(Value::as_u64);
        let parallelism = number("/spec/parallelism").unwrap_or(1);
        if number("/spec/completions").is_some_and(|completions| completions > parallelism) {
            Self::InTurn
        } else if number("/spec/backoffLimitPerIndex").is_some() {
            Self::Separate
        } else {
            Self::Related
        }
    }
}

/// Returns true if the status of a job counts pods, that of a `JobSet` counts Jobs with pods, or the phase of the job is one after the
/// creation of its pods.
fn has_had_pods(raw: &Value) -> bool {
    let phase = PHASES.iter().find_map(|pointer| raw.pointer(pointer)?.as_str());
    let is_active = raw.pointer("/status/active").and_then(Value::as_u64).is_some_and(|active| active > 0);
    let jobs = items(raw, "/status/replicatedJobsStatus", MAX_ROLES);
    let has_active = jobs.filter_map(|job| job.get("active")?.as_u64()).any(|active| active > 0);
    is_active || has_active || phase.is_some_and(|phase| !phase.is_empty() && !WAITING.contains(&phase))
}

/// Returns the names of roles, in lower case, with their numbers of pods.
fn role_sizes(roles: &[RolePod]) -> Option<Vec<(Box<str>, u64)>> {
    let size = |role: &RolePod| Some((truncate(&role.name.to_lowercase(), MAX_NAME), role.replicas?));
    roles.iter().take(MAX_ROLES).map(size).collect()
}

/// Returns the roles of a job of the training operator with the restart policy `ExitCode`.
fn exit_code_roles(raw: &Value) -> Vec<Box<str>> {
    let spec = raw.get("spec").and_then(Value::as_object).into_iter().flatten();
    let roles = spec.filter(|(key, _)| key.ends_with("ReplicaSpecs")).filter_map(|(_, roles)| roles.as_object());
    let has_policy = |role: &Value| role.get("restartPolicy").and_then(Value::as_str) == Some("ExitCode");
    let roles = roles.flatten().take(MAX_ROLES).filter(|(_, role)| has_policy(role));
    roles.map(|(name, _)| truncate(&name.to_lowercase(), MAX_NAME)).collect()
}

impl WorkloadRecord {
    /// Returns the key of the workload.
    pub(in crate::diagnosis) fn key(&self) -> ObjectKey<'_> {
        let qualifier = workload::kind_qualifier(self.group, &self.kind);
        ObjectKey { qualifier, ..ObjectKey::new(&self.kind, &self.namespace, &self.name) }
    }

    /// Returns a condition that is true.
    pub(in crate::diagnosis) fn true_condition(&self, kind: &str) -> Option<&ConditionRecord> {
        super::condition::find(&self.conditions, kind).filter(|condition| condition.is_true())
    }

    /// Returns true if it should have pods, as far as its object shows.
    pub(in crate::diagnosis) fn awaits_pods(&self) -> bool {
        let is_over = self.is_finished() || self.is_deleted || self.suspended.is_some();
        let is_job = OPERATORS.contains(&self.group) && !WITHOUT_PODS.contains(&&*self.kind);
        is_job && !is_over && self.presence == Presence::Requested && !self.runs()
    }

    /// Returns true if its status shows that it has pods, or has had some.
    pub(in crate::diagnosis) fn runs(&self) -> bool {
        self.presence == Presence::Reported || self.true_condition("Running").is_some()
    }

    /// Returns true if its kind has a condition for the end of a workload.
    pub(in crate::diagnosis) fn reports_end(&self) -> bool {
        REPORTING.contains(&self.group)
    }

    /// Returns true if a condition reports the end of the workload.
    pub(in crate::diagnosis) fn is_finished(&self) -> bool {
        FINISHED.iter().any(|kind| self.true_condition(kind).is_some())
    }
}

impl QueueRecord {
    pub(super) fn read(raw: &Value, namespace: &str) -> Self {
        Self {
            namespace: name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into()),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            owner: controller(raw),
            queue: name(raw, "/spec/queueName"),
            active: raw.pointer("/spec/active").and_then(Value::as_bool) != Some(false),
            conditions: conditions(raw),
            pending_checks: items(raw, "/status/admissionChecks", MAX_CHECKS)
                .filter_map(AdmissionCheckRecord::read)
                .filter(|check| &*check.state != "Ready")
                .collect(),
        }
    }

    /// Returns kind, namespace and name.
    pub(in crate::diagnosis) fn title(&self) -> String {
        format!("Workload {}/{}", self.namespace, self.name)
    }

    /// Returns true if its job is admitted and has not finished.
    pub(in crate::diagnosis) fn holds_quota(&self) -> bool {
        let is_true = |kind: &str| self.condition(kind).is_some_and(ConditionRecord::is_true);
        is_true("Admitted") && !is_true("Finished")
    }

    pub(in crate::diagnosis) fn condition(&self, kind: &str) -> Option<&ConditionRecord> {
        super::condition::find(&self.conditions, kind)
    }
}

impl AdmissionCheckRecord {
    fn read(raw: &Value) -> Option<Self> {
        Some(Self {
            name: name(raw, "/name")?,
            state: name(raw, "/state")?,
            message: text(raw, "/message"),
            since: time(raw, "/lastTransitionTime"),
        })
    }

    /// Returns state and message for people.
    pub(in crate::diagnosis) fn summary(&self) -> String {
        let Self { state, message, .. } = self;
        message.as_ref().map_or_else(|| state.to_string(), |message| format!("{state}: {message}"))
    }
}
