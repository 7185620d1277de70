//! An object with a version, and those who see it late.

/// An object of the cluster, and what it was before.
#[derive(Debug)]
pub(super) struct Object<T> {
    pub(super) version: u64,
    pub(super) past: Vec<Moment<T>>,
}

#[derive(Clone, Debug)]
pub(super) struct Moment<T> {
    pub(super) since: i64,
    pub(super) value: Option<T>,
    /// Whether a leader wrote it.
    pub(super) ours: bool,
}

impl<T: Clone + Default> Object<T> {
    pub(super) fn now(&self) -> Option<&T> {
        self.past.last()?.value.as_ref()
    }

    pub(super) fn set(&mut self, since: i64, value: Option<T>, ours: bool) {
        self.version += 1;
        self.past.push(Moment { since, value, ours });
    }

    /// Writes on condition that nobody has written since `version`.
    pub(super) fn write(&mut self, version: u64, since: i64, value: T) {
        if self.version == version && self.now().is_some() {
            self.set(since, Some(value), true);
        }
    }

    /// What somebody who is up to `lag` late may see: from the moment before on.
    pub(super) fn seen(&self, passed: i64, lag: i64) -> &[Moment<T>] {
        let first = self.past.iter().rposition(|moment| moment.since <= passed - lag).unwrap_or(0);
        &self.past[first..]
    }
}

impl<T: Default> Default for Object<T> {
    fn default() -> Self {
        Self { version: 0, past: vec![Moment { since: 0, value: Some(T::default()), ours: false }] }
    }
}
