//! Assigns logs to the pods of a snapshot, and finds those that belong to none.

use std::collections::HashMap;

use crate::diagnosis::snapshot::ClusterSnapshot;
use crate::diagnosis::snapshot::log::{ContainerLog, LogName};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::hint::nearest;
use crate::names::join_names;

/// Maximum number of logs for which a similar name is searched, each among all pods.
const MAX_HINTS: usize = 64;

/// A log that belongs to no container of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnassignedLog {
    /// Position among the logs that were added to the snapshot.
    pub index: usize,
    /// Name of the log.
    pub name: LogName,
    /// Reason, with a similar name if there is one; a lowercase clause.
    pub reason: String,
}

type PodsByName<'a> = HashMap<&'a str, Vec<&'a PodRecord>>;

impl ClusterSnapshot {
    /// Assigns all logs to pods, and removes and returns those that belong to no container. Of a name of two parts, which may be namespace
    /// and pod or pod and container, the one that exists applies.
    pub fn assign_logs(&mut self) -> Vec<UnassignedLog> {
        let Self { pods, logs, .. } = self;
        let mut by_name: PodsByName<'_> = HashMap::new();
        for pod in &*pods {
            by_name.entry(&pod.name).or_default().push(pod);
        }
        let names: Vec<&str> = by_name.keys().copied().collect();
        let mut unassigned = Vec::new();
        for (index, ContainerLog { name, .. }) in logs.iter_mut().enumerate() {
            if let Some(swapped) = pod_and_container(name, &by_name) {
                *name = swapped;
            }
            let Err(reason) = find(name, &by_name) else { continue };
            let near = if unassigned.len() < MAX_HINTS { nearest(&name.pod, &names) } else { None };
            let reason = match near.filter(|near| **near != *name.pod) {
                Some(near) => format!("{reason}: did you mean {near}?"),
                None => reason,
            };
            unassigned.push(UnassignedLog { index, name: name.clone(), reason });
        }
        let mut lost = unassigned.iter().map(|log| log.index).peekable();
        let mut indexes = 0..;
        logs.retain(|_| lost.next_if_eq(&indexes.next().unwrap_or_default()).is_none());
        unassigned
    }
}

/// Returns the name `POD_CONTAINER` of a log that was read as `NAMESPACE_POD`, if only that pod exists.
fn pod_and_container(name: &LogName, pods: &PodsByName<'_>) -> Option<LogName> {
    let pod = name.namespace.as_ref().filter(|_| name.container.is_none())?;
    let swapped = LogName { namespace: None, pod: pod.clone(), container: Some(name.pod.clone()) };
    (find(name, pods).is_err() && pods.contains_key(&*swapped.pod)).then_some(swapped)
}

/// Returns the reason why a log belongs to no container.
fn find(name: &LogName, pods: &PodsByName<'_>) -> Result<(), String> {
    let LogName { namespace, pod, container } = name;
    let Some(found) = pods.get(&**pod) else { return Err(format!("the input contains no pod {pod}")) };
    let is_in_namespace = |found: &&&PodRecord| namespace.as_ref().is_none_or(|wanted| *wanted == found.namespace);
    let Some(first) = found.iter().find(is_in_namespace) else {
        let wanted = namespace.as_deref().unwrap_or_default();
        return Err(format!("pod {pod} is in namespace {}, not in {wanted}", found[0].namespace));
    };
    let Some(container) = container else { return Ok(()) };
    let has = |found: &PodRecord| found.containers.iter().any(|known| known.name == *container);
    if found.iter().filter(is_in_namespace).any(|found| has(found)) {
        return Ok(());
    }
    let names = join_names(first.containers.iter().map(|known| &known.name));
    Err(format!("pod {pod} has no container {container}, only {names}"))
}
