//! The namespace labels on which a preview depends.

/// Where the labels of namespaces are from, for people.
#[derive(Clone, Debug, Default)]
pub struct Premise {
    /// Text for namespaces whose labels are known; empty if there are none.
    pub known: String,
    /// Text for all namespaces, if those with unknown labels are assumed to have some.
    pub assumed: Option<String>,
}

impl Premise {
    /// Takes the text to print before pods; `None` if it has been printed. `is_assumed` is true if the labels of their namespace are
    /// assumed.
    pub(super) fn take(&mut self, is_assumed: bool) -> Option<String> {
        let assumed = self.assumed.take_if(|_| is_assumed);
        if assumed.is_some() {
            self.known.clear();
            return assumed;
        }
        Some(std::mem::take(&mut self.known)).filter(|known| !known.is_empty())
    }

    /// Returns the text for an input that contains pods in a namespace with assumed labels, or none.
    #[must_use]
    pub fn text(&self, is_assumed: bool) -> &str {
        self.assumed.as_deref().filter(|_| is_assumed).unwrap_or(&self.known)
    }
}
