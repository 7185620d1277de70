//! Rule `checkpoint`: gives the main containers of a training job the interval between checkpoints that loses the least time.
//!
//! The rule runs only for pods with one of its annotations. It never overrides a variable: a container that has it keeps its
//! value, and one whose `envFrom` may set it is left unchanged.

use std::time::Duration;

use json_patch::jsonptr::PointerBuf;
use serde_json::json;

use super::{RuleContext, RuleDecision, annotation_pointer};
use crate::checkpoint::{InvalidModel, Model};
use crate::gang::{WorkloadLookup, gang_member};
use crate::lifecycle::main_containers;
use crate::mutate::{Plan, Reason};
use crate::own_keys::{excerpt, shown};
use crate::pod::{Container, ContainerKind, Pod, is_accelerator};
use crate::workload::{self, GangRole};
use crate::{duration, json, keys};

/// Variable with the interval: whole seconds of computing between two checkpoints.
const VARIABLE: &str = "TRAINMESH_CHECKPOINT_INTERVAL_SECONDS";

/// Range of the time to write a checkpoint. Longer than a day is a mistake.
const WRITE_TIME: (Duration, Duration) = (Duration::from_millis(1), Duration::from_hours(24));
/// Range of the mean time between failures of a node. Published values are from days to years.
const NODE_MTBF: (Duration, Duration) = (Duration::from_mins(1), Duration::from_hours(100 * 365 * 24));
/// Maximum length of a duration in bytes.
const MAX_DURATION: usize = 32;
/// Prefix of warnings, and entry in the annotation of applied rules.
const PREFIX: &str = "checkpoint";

/// Returns true if the rule runs for `pod`.
pub(super) fn is_selected(pod: Pod<'_>) -> bool {
    selected_by(pod).is_some()
}

/// Returns the annotation of `pod` for which the rule runs.
pub(super) fn selected_by(pod: Pod<'_>) -> Option<&'static str> {
    [keys::CHECKPOINT_WRITE_TIME, keys::NODE_MTBF].into_iter().find(|key| pod.annotation(key).is_some())
}

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if context.is_istio_aux() {
        return RuleDecision::skipped(Reason::IstioAuxNamespace);
    }
    match interval(context) {
        Ok((seconds, nodes)) => set_interval(context, seconds, nodes, plan),
        Err(refusal) => *refusal,
    }
}

/// Returns the interval in seconds, and the number of nodes for which it is computed.
fn interval(context: &RuleContext<'_>) -> Result<(u64, u32), Box<RuleDecision>> {
    let write_time = read(context.pod, keys::CHECKPOINT_WRITE_TIME, WRITE_TIME)?;
    let node_mtbf = read(context.pod, keys::NODE_MTBF, NODE_MTBF)?;
    let nodes = nodes(context)?;
    let model = Model::of_nodes(write_time, node_mtbf, nodes, Duration::ZERO)
        .map_err(|error: InvalidModel| Box::new(refused(Reason::CheckpointInputInvalid, error.to_string())))?;
    if model.write_time() >= model.mtbf() {
        let problem = format!(
            "a failure every {} on {}, and {} to write a checkpoint",
            rounded(model.mtbf()),
            number_of(nodes),
            rounded(model.write_time())
        );
        return Err(Box::new(refused(Reason::CheckpointTooSlow, problem)));
    }
    // The ranges of the inputs keep the interval far below the maximum.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and at most 100 years")]
    let seconds = model.optimal_interval().round().max(1.0) as u64;
    Ok((seconds, nodes))
}

fn number_of(nodes: u32) -> String {
    format!("{nodes} {}", if nodes == 1 { "node" } else { "nodes" })
}

/// Reads a duration within `range` from annotation `key`.
fn read(pod: Pod<'_>, key: &str, range: (Duration, Duration)) -> Result<Duration, Box<RuleDecision>> {
    let Some(text) = pod.annotation(key) else {
        return Err(Box::new(refused(Reason::CheckpointInputMissing, format!("{key} is not set"))));
    };
    let invalid = |problem: String| {
        let decision = refused(Reason::CheckpointInputInvalid, format!("{key}={}: {problem}", shown(excerpt(text))));
        Box::new(decision.with_field(annotation_pointer(key)))
    };
    let parsed =
        Some(text).filter(|text| text.len() <= MAX_DURATION).and_then(|text| duration::parse_with_days(text).ok());
    let parsed = parsed.ok_or_else(|| invalid("expected a duration such as 264d, 36h or 90s".to_owned()))?;
    if (range.0..=range.1).contains(&parsed) {
        return Ok(parsed);
    }
    let [from, to] = [range.0, range.1].map(duration::format_with_days);
    Err(invalid(format!("expected a duration from {from} to {to}")))
}

/// Returns the number of pods that compute together, which is the largest possible number of their nodes.
fn nodes(context: &RuleContext<'_>) -> Result<u32, Box<RuleDecision>> {
    let Some(member) = gang_member(context.pod) else { return Ok(1) };
    let unknown = |problem: String| Box::new(refused(Reason::CheckpointNodesUnknown, problem));
    if member.kind.gang.shape.is_none() {
        return Err(unknown(format!("the size of a {} is not known", member.kind.kind)));
    }
    // Without the feature, the webhook has no permission to read jobs.
    if !context.snapshot.config.gang.enabled {
        return Err(unknown("gang.enabled is false, so that the job is not read".to_owned()));
    }
    let workload = match context.snapshot.cluster.gang.workload {
        WorkloadLookup::NotRead => return Err(unknown("the job that owns the pod was not read".to_owned())),
        WorkloadLookup::Failed(problem) => return Err(unknown(problem.to_string())),
        WorkloadLookup::Read(workload) => workload,
    };
    let gang = workload.gang_of(context.pod).map_err(|problem| unknown(problem.to_string()))?;
    let with_accelerators = |roles: &mut dyn Iterator<Item = &GangRole>| {
        let has_any = |role: &&GangRole| role.requests.devices().any(|(name, _)| is_accelerator(name));
        roles.filter(has_any).fold(0_u64, |sum, role| sum.saturating_add(role.size))
    };
    // A launcher may start later than the ranks that it starts.
    let ranks = match with_accelerators(&mut gang.roles.iter().copied()) {
        0 => with_accelerators(&mut workload.shape.roles.iter()),
        ranks => ranks,
    };
    let ranks = if ranks > 0 { ranks } else { gang.size };
    u32::try_from(ranks).map_err(|_| unknown(format!("{ranks} pods")))
}

/// Adds the variable to the containers without it.
fn set_interval(context: &RuleContext<'_>, seconds: u64, nodes: u32, plan: &mut Plan) -> RuleDecision {
    let value = seconds.to_string();
    let targets = targets(context);
    let member = workload::identify(context.pod);
    if let Some(container) = targets.iter().find(|container| workload::has_ssh_ranks(**container, member)) {
        return refused(Reason::CheckpointNotInherited, format!("container {}", container.name()))
            .with_field(container.pointer());
    }
    let has_variable = |container: &Container<'_>| container.env_names().any(|name| name == VARIABLE);
    let may_have_variable = |container: &Container<'_>| json::items(container.raw(), "envFrom").next().is_some();
    let missing: Vec<Container<'_>> =
        targets.iter().copied().filter(|container| !has_variable(container) && !may_have_variable(container)).collect();
    let detail = format!("{seconds} s for {}", number_of(nodes));
    if !missing.is_empty() {
        let path = |container: &Container<'_>| {
            PointerBuf::from_tokens(["spec", "containers", &container.index.to_string(), "env"])
        };
        plan.append_to_each(missing.iter().map(path), json!({"name": VARIABLE, "value": value}));
        let field = missing.first().map(|container| format!("{}/env", container.pointer())).unwrap_or_default();
        return RuleDecision::applied(Reason::CheckpointIntervalSet, field).with_detail(detail);
    }
    // A value that equals the interval is that of the first round, which must not be followed by a refusal.
    if targets.iter().any(|container| container.env(VARIABLE) == Some(value.as_str())) {
        return RuleDecision::skipped(Reason::CheckpointIntervalPresent).with_marker(PREFIX.to_owned());
    }
    match targets.iter().find(|container| !has_variable(container)) {
        Some(container) => {
            refused(Reason::CheckpointVariableUnknown, format!("envFrom of container {}", container.name()))
                .with_field(format!("{}/envFrom", container.pointer()))
        }
        None if targets.is_empty() => RuleDecision::skipped(Reason::CheckpointNoContainer),
        None => RuleDecision::skipped(Reason::CheckpointIntervalPresent),
    }
}

/// Returns the main containers that train: those with accelerators, or all if none requests any.
fn targets<'a>(context: &RuleContext<'a>) -> Vec<Container<'a>> {
    let names = main_containers(context.pod, &context.snapshot.config.termination);
    let is_main = |container: &Container<'_>| {
        container.kind == ContainerKind::App && names.iter().any(|name| **name == *container.name())
    };
    let main: Vec<Container<'a>> = context.pod.containers().filter(is_main).collect();
    let with_accelerators: Vec<Container<'a>> =
        main.iter().copied().filter(|container| container.accelerators().is_some()).collect();
    if with_accelerators.is_empty() { main } else { with_accelerators }
}

/// Refuses to set the interval.
fn refused(reason: Reason, problem: String) -> RuleDecision {
    let warning = format!("{PREFIX} interval not set: {}: {problem}", reason.text());
    RuleDecision::refused(reason, problem, warning)
}

/// Formats seconds for a message.
fn rounded(seconds: f64) -> String {
    if seconds < 1.0 { "<1s".to_owned() } else { format!("{seconds:.0}s") }
}
