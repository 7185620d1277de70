//! When a pod's proxy and helpers are to be ended, and how: decisions only.
//!
//! [`PodFacts`] is what a decision needs of a pod, [`History`] what has been tried with it before. Pure: no client, no
//! runtime, no clock; the time is an argument. `controller` watches, acts and tells.

mod action;
mod catalogue;
mod decide;
mod decision;
mod facts;
mod finality;
mod helpers;
mod history;
mod ladder;
mod roles;

pub use action::{Action, Attempt, AttemptResult, Method, Step};
pub use catalogue::Catalogue;
pub use decide::{Situation, decide};
pub use decision::{Decision, Ended, Report, ReportCode, Role, Skip, Target, Why};
pub use facts::schema;
pub use facts::{
    Agent, ContainerFacts, Declared, Excess, Phase, PodFacts, RestartRule, RestartRules, RuleAction, State,
};
pub use helpers::{Helpers, helpers};
pub use history::History;
