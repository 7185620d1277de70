//! The parts of a `TrainJob` that set fields of its pods. It has no pod template: `spec.trainer` and `spec.initializer` set fields of
//! the main containers, and patches set fields of the runtime's templates.

use serde_json::Value;

use super::part::Part;
use super::path::tokens;
use crate::yaml::Node;

/// Main container of the training step.
const NODE: &str = "node";
/// Containers that `spec.initializer` completes, each with its field.
const INITIALIZERS: [(&str, &str); 2] = [("dataset-initializer", "dataset"), ("model-initializer", "model")];

/// Fields with changes to the runtime's templates, the newest first. Each version of Kubeflow Trainer has one of them.
pub(super) const CHANGES: [&str; 3] = [PATCHES, TEMPLATE_OVERRIDES, "podSpecOverrides"];
const PATCHES: &str = "runtimePatches";
const TEMPLATE_OVERRIDES: &str = "podTemplateOverrides";

/// Returns the newest of [`CHANGES`] in `object`: a version of Kubeflow Trainer that has it drops the others.
pub(super) fn newest_change(object: Node<'_>) -> Option<&'static str> {
    let spec = object.get("spec")?;
    CHANGES.into_iter().find(|field| spec.get(field).is_some())
}

/// Returns the parts of `object` that may set `pointer`, a field of `pod` of the replicated job `role`, in order of precedence. Of
/// [`CHANGES`], only `changes` count. `None` if `object` is not a `TrainJob`.
pub(super) fn parts<'tree, 'pod>(
    object: Node<'tree>,
    role: &str,
    pod: &'pod Value,
    pointer: &str,
    changes: impl IntoIterator<Item = &'static str>,
) -> Option<Vec<Part<'tree, 'pod>>> {
    if !is_train_job(object) {
        return None;
    }
    let spec = object.get("spec")?;
    let mut parts: Vec<Part<'tree, 'pod>> = step(spec, pod, pointer).into_iter().collect();
    let targets = |item: Node<'tree>| item.get("targetJobs").is_some_and(|jobs| named(jobs, role).is_some());
    for field in changes {
        let items: Vec<Node<'tree>> = spec.get(field).into_iter().flat_map(Node::items).collect();
        parts.extend(items.into_iter().rev().filter_map(|item| match field {
            PATCHES => {
                let jobs = follow(item, &["trainingRuntimeSpec", "template", "spec", "replicatedJobs"])?;
                let template = follow(named(jobs, role)?, &["template", "spec", "template"])?;
                Some(Part::new(template, pod, tokens(pointer)))
            }
            _ if !targets(item) => None,
            TEMPLATE_OVERRIDES => Some(Part::new(item, pod, tokens(pointer))),
            _ => Some(Part::new(item, pod.get("spec")?, tokens(pointer.strip_prefix("/spec")?))),
        }));
    }
    Some(parts)
}

/// Returns true if `object` is a `TrainJob`.
pub(super) fn is_train_job(object: Node<'_>) -> bool {
    let text = |key: &str| object.get(key).and_then(|node| node.value.as_str()).unwrap_or_default();
    text("kind") == "TrainJob" && text("apiVersion").starts_with("trainer.kubeflow.org/")
}

/// Returns the part of `spec.trainer` or `spec.initializer` that may set `pointer`.
fn step<'tree, 'pod>(spec: Node<'tree>, pod: &'pod Value, pointer: &str) -> Option<Part<'tree, 'pod>> {
    let mut path = tokens(pointer.strip_prefix("/spec/containers")?);
    let (index, field) = (path.next()?.parse::<usize>().ok()?, path.next()?);
    let container = pod.pointer("/spec/containers")?.get(index)?;
    let name = container.get("name").and_then(Value::as_str)?;
    if name == NODE && field == "resources" {
        let resources = spec.get("trainer")?.get("resourcesPerNode")?;
        return Some(Part::new(resources, container.get("resources")?, path));
    }
    let step = match INITIALIZERS.iter().find(|(initializer, _)| *initializer == name) {
        // A step sets some of the fields. For the others, it is the closest field of the job.
        Some((_, step)) => spec.get("initializer")?.get(step)?,
        None if name == NODE => spec.get("trainer")?,
        _ => return None,
    };
    Some(Part::new(step, container, [field].into_iter().chain(path)))
}

fn follow<'tree>(node: Node<'tree>, keys: &[&str]) -> Option<Node<'tree>> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

fn named<'tree>(list: Node<'tree>, name: &str) -> Option<Node<'tree>> {
    list.items().find(|item| item.get("name").is_some_and(|node| node.value.as_str() == Some(name)))
}
