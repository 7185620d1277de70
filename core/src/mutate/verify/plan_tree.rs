//! Index of the writes of a plan by path, which keeps verification linear in the size of the pod and of the plan.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::mutate::Plan;
use crate::mutate::plan::{Write, WriteKind};

/// Writes planned for a path and for the paths below it.
#[derive(Default)]
pub(super) struct PlanTree<'a> {
    /// Writes at this path, in the order of the plan.
    writes: Vec<&'a Write>,
    children: BTreeMap<String, PlanTree<'a>>,
}

impl<'a> PlanTree<'a> {
    /// Returns the tree for the root of the pod.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let mut root = Self::default();
        for write in plan.writes() {
            let keys = write.path.tokens().map(|token| token.decoded().into_owned());
            let node = keys.fold(&mut root, |node, key| node.children.entry(key).or_default());
            node.writes.push(write);
        }
        root
    }

    /// Returns the value that the plan sets at this path: the last one.
    pub(super) fn set_value(&self) -> Option<&'a Value> {
        self.writes.iter().rev().find(|write| write.kind == WriteKind::Set).map(|write| &*write.value)
    }

    /// Returns the items that the plan appends to the list at this path.
    pub(super) fn appended(&self) -> impl Iterator<Item = &'a Value> {
        self.writes.iter().map(|write| &*write.value)
    }

    /// Returns the writes for the field `key` and below.
    pub(super) fn child(&self, key: &str) -> Option<&Self> {
        self.children.get(key)
    }

    /// Returns the writes for an item of a list and below.
    pub(super) fn item(&self, index: usize) -> Option<&Self> {
        if self.children.is_empty() { None } else { self.child(&index.to_string()) }
    }
}
