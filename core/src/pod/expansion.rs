//! References to environment variables in a container's fields, which the kubelet replaces.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::Container;

/// Maximum length of an expanded text in bytes: a host name with a port.
const MAX_TEXT: usize = 512;
/// Maximum number of references in a text that are replaced.
const MAX_REFERENCES: usize = 8;

/// Replaces references in the fields of one container.
#[derive(Debug)]
pub(crate) struct Expansion<'a> {
    container: Container<'a>,
    /// Literal values of the variables, indexed at the first reference, because texts with references can be as many as
    /// variables. `None` is a value from another source.
    values: OnceCell<BTreeMap<&'a str, Option<&'a str>>>,
}

impl<'a> Expansion<'a> {
    pub(crate) fn new(container: Container<'a>) -> Self {
        Self { container, values: OnceCell::new() }
    }

    /// Replaces the references `$(NAME)` in `text`, a part of a command or of a variable, by the literal values of the
    /// container's variables. Like the kubelet, it keeps references to unknown variables. The values are not expanded again.
    /// A text that exceeds the limits is returned unchanged.
    pub(crate) fn expand(&self, text: &'a str) -> Cow<'a, str> {
        if text.len() > MAX_TEXT || !text.contains("$(") {
            return Cow::Borrowed(text);
        }
        let (mut expanded, mut rest) = (String::new(), text);
        for _ in 0..MAX_REFERENCES {
            let Some((before, after)) = rest.split_once('$') else { break };
            expanded.push_str(before);
            let reference = after.strip_prefix('(').and_then(|reference| reference.split_once(')'));
            rest = if let Some((value, rest)) = reference.and_then(|(name, rest)| Some((self.value(name)?, rest))) {
                if expanded.len() + value.len() > MAX_TEXT {
                    return Cow::Borrowed(text);
                }
                expanded.push_str(value);
                rest
            } else {
                expanded.push('$');
                // `$$` is an escaped `$`, after which no reference starts.
                after.strip_prefix('$').unwrap_or(after)
            };
        }
        expanded.push_str(rest);
        if expanded.len() > MAX_TEXT { Cow::Borrowed(text) } else { Cow::Owned(expanded) }
    }

    /// Returns the literal value of variable `name`.
    pub(crate) fn value(&self, name: &str) -> Option<&'a str> {
        self.values.get_or_init(|| self.container.env_values()).get(name).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::Expansion;
    use crate::pod::Pod;

    #[rstest]
    #[case::none("29500", "29500")]
    #[case::complete("$(PORT)", "29501")]
    #[case::part("$(HOST):$(PORT)", "a-0.a:29501")]
    #[case::unknown("$(hostname -i):$(PORT)", "$(hostname -i):29501")]
    #[case::from_a_field("$(IP):1", "$(IP):1")]
    #[case::escaped("$$(PORT)", "$(PORT)")]
    #[case::of_a_shell("$PORT ${PORT} $(PORT)", "$PORT ${PORT} 29501")]
    #[case::one_level("$(OTHER)", "$(PORT)")]
    #[case::open("$(PORT", "$(PORT")]
    #[case::last_entry("$(TWICE)", "2")]
    #[case::last_entry_from_a_secret("$(REPLACED)", "$(REPLACED)")]
    fn references_are_replaced(#[case] text: &str, #[case] expected: &str) {
        let pod = json!({"spec": {"containers": [{"name": "a", "env": [
            {"name": "PORT", "value": "29501"}, {"name": "HOST", "value": "a-0.a"}, {"name": "OTHER", "value": "$(PORT)"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "TWICE", "value": "1"}, {"name": "TWICE", "value": "2"},
            {"name": "REPLACED", "value": "1"}, {"name": "REPLACED", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]}]}});
        let container = Pod::new(&pod).containers().next().unwrap();
        assert_eq!(Expansion::new(container).expand(text), expected);
    }

    #[rstest]
    #[case::long_text(format!("{}$(A)", "x".repeat(512)))]
    #[case::long_value("$(LONG)$(LONG)".to_owned())]
    fn long_texts_are_unchanged(#[case] text: String) {
        let pod = json!({"spec": {"containers": [{"name": "a", "env": [
            {"name": "A", "value": "1"}, {"name": "LONG", "value": "x".repeat(300)}]}]}});
        let container = Pod::new(&pod).containers().next().unwrap();
        assert_eq!(Expansion::new(container).expand(&text), text);
    }

    #[test]
    fn the_number_of_references_is_limited() {
        let pod = json!({"spec": {"containers": [{"name": "a", "env": [{"name": "A", "value": "1"}]}]}});
        let container = Pod::new(&pod).containers().next().unwrap();
        assert_eq!(Expansion::new(container).expand(&"$(A)".repeat(9)), "11111111$(A)");
    }
}
