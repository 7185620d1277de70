//! Readiness of a server: a list of named conditions.

/// Conditions that must all be met. They are evaluated on every request, so that none is outdated.
#[derive(Default)]
pub struct Readiness {
    conditions: Vec<(&'static str, Condition)>,
}

type Condition = Box<dyn Fn() -> bool + Send + Sync>;

impl Readiness {
    /// Adds a condition; `name` is reported while it is not met.
    #[must_use]
    pub fn with(mut self, name: &'static str, is_met: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.conditions.push((name, Box::new(is_met)));
        self
    }

    /// Returns the names of the conditions that are not met.
    #[must_use]
    pub fn unmet(&self) -> Vec<&'static str> {
        self.conditions.iter().filter(|(_, is_met)| !is_met()).map(|(name, _)| *name).collect()
    }
}
