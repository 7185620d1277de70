//! Patterns that match machines.

use super::MachinePattern;

impl MachinePattern {
    /// Returns true if the pattern matches `machine` or its family, the part before the first `.`.
    #[must_use]
    pub fn matches(&self, machine: &str) -> bool {
        match self.as_str().strip_suffix('*') {
            Some(prefix) => machine.starts_with(prefix),
            None => {
                machine == self.as_str() || machine.split_once('.').is_some_and(|(family, _)| family == self.as_str())
            }
        }
    }

    /// Returns true if a machine may match both lists. An empty list matches every machine.
    pub(super) fn overlap(some: &[Self], others: &[Self]) -> bool {
        let overlaps = |one: &Self, other: &Self| one.matches(other.start()) || other.matches(one.start());
        some.is_empty() || others.is_empty() || some.iter().any(|one| others.iter().any(|other| overlaps(one, other)))
    }

    /// Returns the text without the trailing `*`.
    fn start(&self) -> &str {
        self.as_str().trim_end_matches('*')
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn patterns(texts: &[&str]) -> Vec<MachinePattern> {
        texts.iter().map(|text| MachinePattern::parse(text).unwrap()).collect()
    }

    #[rstest]
    #[case::the_same("p5.48xlarge", "p5.48xlarge", true)]
    #[case::family("p5", "p5.48xlarge", true)]
    #[case::another_family("p5", "p5en.48xlarge", false)]
    #[case::another_size("p5.4xlarge", "p5.48xlarge", false)]
    #[case::prefix("Standard_ND96*", "Standard_ND96isr_H100_v5", true)]
    #[case::another_prefix("Standard_ND96*", "Standard_ND128isr_GB300_v6", false)]
    #[case::prefix_alone("gb200-*", "gb200-", true)]
    fn matches_machines(#[case] pattern: &str, #[case] machine: &str, #[case] expected: bool) {
        assert_eq!(MachinePattern::parse(pattern).unwrap().matches(machine), expected);
    }

    #[rstest]
    #[case::any(&[], &["p5"], true)]
    #[case::the_same(&["p4d", "p5"], &["p5"], true)]
    #[case::different(&["p4d"], &["p5"], false)]
    #[case::family_and_size(&["p5"], &["p5.48xlarge"], true)]
    #[case::prefix(&["p*"], &["p5"], true)]
    #[case::two_prefixes(&["p5*"], &["p*"], true)]
    #[case::different_prefixes(&["p5*"], &["g6*"], false)]
    fn lists_overlap(#[case] some: &[&str], #[case] others: &[&str], #[case] expected: bool) {
        assert_eq!(MachinePattern::overlap(&patterns(some), &patterns(others)), expected);
        assert_eq!(MachinePattern::overlap(&patterns(others), &patterns(some)), expected);
    }
}
