//! The completion index of a Job as the rank of torchrun's nodes: a part of TR008.

use serde_json::Value;

use super::{Agent, WorkloadManifest, words};
use crate::json;
use crate::pod::Container;

/// Variable with the completion index, which the pods of Indexed Jobs have.
const INDEX: &str = "JOB_COMPLETION_INDEX";
/// Start of an assignment to it.
const ASSIGNMENT: &str = "JOB_COMPLETION_INDEX=";
/// Commands that may set any variable.
const SETTERS: [&str; 4] = ["source", ".", "read", "eval"];
/// Characters around a command or a name in a script.
const SEPARATORS: [char; 10] = ['"', '\'', '`', '$', '(', ')', '{', '}', ';', '&'];
/// Expansions of the variable by the kubelet or a shell.
const EXPANSIONS: [&str; 3] = ["$(JOB_COMPLETION_INDEX)", "$JOB_COMPLETION_INDEX", "${JOB_COMPLETION_INDEX}"];
/// Spellings of the option.
const OPTIONS: [&str; 2] = ["--node-rank", "--node_rank"];
/// Part of the field from which the Job controller sets the variable.
const FIELD: &str = "job-completion-index";
/// Kinds that create Jobs of Kubernetes, each with the start of its API version.
const KINDS: [(&str, &str); 2] = [("Job", "batch/"), ("JobSet", "jobset.x-k8s.io/")];

/// How to fix an index that does not exist.
const FIX_MODE: &str = "set completionMode: Indexed, or --node-rank to another number that differs by pod";
/// How to fix an index that several pods have.
const FIX_JOBS: &str =
    "use one Job with all pods, a rank from the label jobset.sigs.k8s.io/job-index, or --rdzv-backend=c10d";
/// How to fix an index above the ranks.
const FIX_COMPLETIONS: &str = "set completions and parallelism to --nnodes";

/// Returns the problem of the completion index as the rank of `agent` in a group of `min` to `max` nodes, and how to fix it.
pub(super) fn problem(
    workload: &WorkloadManifest<'_>,
    agent: &Agent<'_>,
    (min, max): (u64, u64),
) -> Option<(String, &'static str)> {
    let Agent { role, container, .. } = agent;
    if !creates_jobs(workload) || !is_rank(*container) {
        return None;
    }
    let entry = json::items(container.raw(), "env").find(|entry| json::text(entry, "name") == Some(INDEX));
    let Some(entry) = entry else {
        let has_sources = json::items(container.raw(), "envFrom").next().is_some();
        let problem = "--node-rank is the completion index, which only Indexed Jobs have: torchrun rejects it, unless the image sets it";
        return (!has_sources && !words(*container).any(may_assign)).then(|| (problem.to_owned(), FIX_MODE));
    };
    let field = entry.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str);
    if !field.is_some_and(|field| field.contains(FIELD)) {
        return None;
    }
    if let Some(jobs) = role.replicated_jobs().filter(|jobs| *jobs > 1) {
        if min <= role.replicas?.checked_div(jobs)? {
            return None;
        }
        let problem = format!(
            "--node-rank is the completion index, which each of the {jobs} Jobs counts from 0: the group never forms"
        );
        return Some((problem, FIX_JOBS));
    }
    let completions = workload.value().pointer("/spec/completions").and_then(Value::as_u64)?;
    let last = completions.checked_sub(1).filter(|last| *last >= max)?;
    let problem =
        format!("--node-rank is the completion index, up to {last}, but --nnodes is {max}: the later pods fail");
    Some((problem, FIX_COMPLETIONS))
}

/// Returns true if the pods of the workload are those of Jobs of Kubernetes.
fn creates_jobs(workload: &WorkloadManifest<'_>) -> bool {
    KINDS.iter().any(|(kind, version)| workload.is_kind(kind, version))
}

/// Returns true if `word` of a script assigns the completion index, or may: it is a command such as `source`, or the name alone, as in
/// `for JOB_COMPLETION_INDEX in 0 1`.
fn may_assign(word: &str) -> bool {
    let name = word.trim_matches(SEPARATORS);
    word.contains(ASSIGNMENT) || SETTERS.contains(&name) || word.trim_end_matches(';') == INDEX
}

/// Returns true if the command passes the completion index as the rank of the node.
fn is_rank(container: Container<'_>) -> bool {
    let mut previous = "";
    words(container).any(|word| {
        let (name, value) = word.split_once('=').unwrap_or((previous, word));
        previous = word;
        OPTIONS.contains(&name) && EXPANSIONS.contains(&value.trim_matches(['"', '\'']))
    })
}
