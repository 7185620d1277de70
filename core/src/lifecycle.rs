//! When and how to terminate the proxy and the sidecars of a pod.
//!
//! [`PodFacts`] holds what a decision reads from a pod, [`History`] the previous attempts on it. The module has no
//! client, no runtime and no clock: the time is an argument. `controller` watches pods, acts and publishes events.

mod action;
mod catalog;
mod decide;
mod decision;
mod facts;
mod history;
mod proxy_methods;
mod restart_outlook;
mod roles;
mod sidecars;

pub use action::{Action, Attempt, AttemptOutcome, AttemptResult, Method};
pub use catalog::SidecarCatalog;
pub use decide::{DecisionInput, decide};
pub use decision::{Decision, Report, ReportCode, Role, SkipReason, Target, TerminationDetails, WaitReason};
pub use facts::schema;
pub use facts::{
    AgentConfig, ContainerFacts, ContainerState, LimitExceeded, PodAnnotations, PodFacts, PodPhase, RestartRule,
    RestartRules, RuleAction,
};
pub use history::History;
pub use sidecars::{PodSidecars, pod_sidecars};
