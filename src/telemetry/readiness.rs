//! Whether a server may be given work, as a list of named conditions.

/// Conditions that must all hold. Each is asked anew, so that none can be forgotten in an old state.
#[derive(Default)]
pub struct Readiness {
    conditions: Vec<(&'static str, Condition)>,
}

type Condition = Box<dyn Fn() -> bool + Send + Sync>;

impl Readiness {
    /// Adds a condition; `name` is what is said when it does not hold.
    #[must_use]
    pub fn with(mut self, name: &'static str, holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.conditions.push((name, Box::new(holds)));
        self
    }

    /// The names of the conditions that do not hold.
    #[must_use]
    pub fn unmet(&self) -> Vec<&'static str> {
        self.conditions.iter().filter(|(_, holds)| !holds()).map(|(name, _)| *name).collect()
    }
}
