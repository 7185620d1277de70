//! The writes of a plan by their places, so that a look at every place of a pod takes no look at every write.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::mutate::Plan;
use crate::mutate::plan::{Manner, Write};

/// What is planned for a place and below it.
#[derive(Default)]
pub(super) struct Planned<'a> {
    /// In the order of the plan.
    here: Vec<&'a Write>,
    below: BTreeMap<String, Planned<'a>>,
}

impl<'a> Planned<'a> {
    /// What `plan` says of the whole pod.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let mut root = Self::default();
        for write in plan.writes() {
            let keys = write.path.tokens().map(|token| token.decoded().into_owned());
            let place = keys.fold(&mut root, |place, key| place.below.entry(key).or_default());
            place.here.push(write);
        }
        root
    }

    /// Whether it says what stands at this place.
    pub(super) fn sets(&self) -> bool {
        self.here.iter().any(|write| write.manner == Manner::Set)
    }

    /// The items that are to come to the end of the list at this place.
    pub(super) fn appended(&self) -> impl Iterator<Item = &'a Value> {
        self.here.iter().map(|write| &*write.value)
    }

    /// What is planned for the field `key`, and below it.
    pub(super) fn below(&self, key: &str) -> Option<&Self> {
        self.below.get(key)
    }

    /// The same for the item of a list.
    pub(super) fn item(&self, index: usize) -> Option<&Self> {
        if self.below.is_empty() { None } else { self.below(&index.to_string()) }
    }
}
