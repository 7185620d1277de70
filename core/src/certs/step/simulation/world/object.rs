//! An object with a version and a history, for delayed readers.

/// An object of the cluster with its previous revisions.
#[derive(Debug)]
pub(super) struct Object<T> {
    pub(super) version: u64,
    pub(super) history: Vec<Revision<T>>,
}

#[derive(Clone, Debug)]
pub(super) struct Revision<T> {
    pub(super) since: i64,
    pub(super) value: Option<T>,
    /// True if a leader wrote it.
    pub(super) by_leader: bool,
}

impl<T: Clone + Default> Object<T> {
    pub(super) fn current(&self) -> Option<&T> {
        self.history.last()?.value.as_ref()
    }

    pub(super) fn set(&mut self, since: i64, value: Option<T>, by_leader: bool) {
        self.version += 1;
        self.history.push(Revision { since, value, by_leader });
    }

    /// Writes if the object still exists and still has this version.
    pub(super) fn write(&mut self, version: u64, since: i64, value: T) {
        if self.version == version && self.current().is_some() {
            self.set(since, Some(value), true);
        }
    }

    /// Returns the revisions that a reader with a delay of up to `lag` may see.
    pub(super) fn visible(&self, passed: i64, lag: i64) -> &[Revision<T>] {
        let first = self.history.iter().rposition(|revision| revision.since <= passed - lag).unwrap_or(0);
        &self.history[first..]
    }
}

impl<T: Default> Default for Object<T> {
    fn default() -> Self {
        Self { version: 0, history: vec![Revision { since: 0, value: Some(T::default()), by_leader: false }] }
    }
}
