//! When and how to terminate the proxy and the sidecars of a pod.
//!
//! [`PodFacts`] contains the fields of a pod that decisions need, [`History`] the previous attempts on its containers.
//! The module has no client, runtime or clock: the time is an argument. The module `controller` watches pods, carries
//! out the decisions and publishes events.

mod action;
mod catalog;
mod decide;
mod decision;
mod facts;
mod history;
mod overview;
mod proxy_methods;
mod restart_prediction;
mod roles;
mod sidecars;

pub use action::{Action, Attempt, AttemptOutcome, AttemptResult, Method};
pub use catalog::SidecarCatalog;
pub(crate) use catalog::lacks_kill;
pub use decide::{Completion, DecisionInput, decide, is_stabilized};
pub use decision::{
    Decision, PodFinding, PodFindingCode, RestartCounts, Role, SkipReason, TerminationDetails, TerminationTarget,
    WaitReason,
};
pub use facts::schema;
pub use facts::{
    AgentConfig, ContainerFacts, ContainerState, LimitExceeded, PodAnnotations, PodFacts, PodPhase, RestartRule,
    RestartRules, RuleAction,
};
pub use history::History;
pub use overview::{PodOverview, ProxyOverview};
pub use sidecars::{BlockedReason, BlockedSidecar, PodSidecars, main_containers, pod_sidecars};
