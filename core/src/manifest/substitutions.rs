//! Replaces shell placeholders in the text of documents, as envsubst does for the variables that it is given.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::MAX_DOCUMENT;
use super::placeholder::{MAX_VARIABLES, is_name, placeholders};

/// Values for placeholders. Placeholders with other names stay as they are.
#[derive(Debug, Default)]
pub struct Substitutions {
    variables: Vec<(Variable, AtomicBool)>,
}

/// A variable: its name, and the text that replaces its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    value: String,
}

/// Reason why a variable is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariableError {
    /// The text is not of the form `NAME=VALUE`.
    #[error("expected NAME=VALUE, with a name of letters, digits and underscores")]
    Syntax,
    /// The name or the value is too long.
    #[error("longer than the limit of {MAX_NAME} bytes for a name, or {MAX_VALUE} for a value")]
    TooLong,
    /// The value contains a control character.
    #[error("the value contains a line break or another control character")]
    ControlCharacter,
    /// The name occurs twice.
    #[error("{0} is set twice")]
    Duplicate(String),
    /// Too many variables.
    #[error("more than the limit of {MAX_VARIABLES} variables")]
    TooMany,
}

/// The text with all values is larger than a document may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("exceeds the limit of {} MiB after the replacement of placeholders", MAX_DOCUMENT >> 20)]
pub(super) struct TooLarge;

/// Maximum length of a name in bytes; the names of scripts have a few dozen.
const MAX_NAME: usize = 128;
/// Maximum length of a value in bytes: enough for image references and URLs.
const MAX_VALUE: usize = 4096;

impl Variable {
    /// Parses `NAME=VALUE`. The value may be empty and contain `=`.
    pub fn parse(text: &str) -> Result<Self, VariableError> {
        let (name, value) = text.split_once('=').filter(|(name, _)| is_name(name)).ok_or(VariableError::Syntax)?;
        if name.len() > MAX_NAME || value.len() > MAX_VALUE {
            return Err(VariableError::TooLong);
        }
        // A line break would shift the lines of all messages, and could split the document.
        if value.contains(char::is_control) {
            return Err(VariableError::ControlCharacter);
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

impl Substitutions {
    /// Creates substitutions.
    pub fn new(variables: impl IntoIterator<Item = Variable>) -> Result<Self, VariableError> {
        let mut found = Self::default();
        for variable in variables {
            if found.variables.iter().any(|(known, _)| known.name == variable.name) {
                return Err(VariableError::Duplicate(variable.name));
            }
            if found.variables.len() == MAX_VARIABLES {
                return Err(VariableError::TooMany);
            }
            found.variables.push((variable, AtomicBool::new(false)));
        }
        Ok(found)
    }

    /// Returns the names that no text contained so far.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.variables.iter().filter(|(_, used)| !used.load(Ordering::Relaxed));
        unused.map(|(variable, _)| variable.name.as_str())
    }

    /// Replaces the placeholders in `text`. Values are not searched again.
    pub(super) fn apply<'text>(&self, text: &'text str) -> Result<Cow<'text, str>, TooLarge> {
        if self.variables.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        let (mut replaced, mut copied) = (String::new(), 0);
        for placeholder in placeholders(text) {
            let variable = self.variables.iter().find(|(variable, _)| variable.name == placeholder.name);
            let Some((Variable { value, .. }, used)) = variable else { continue };
            used.store(true, Ordering::Relaxed);
            replaced += &text[copied..placeholder.range.start];
            replaced += value;
            copied = placeholder.range.end;
            if replaced.len() > MAX_DOCUMENT {
                return Err(TooLarge);
            }
        }
        if copied == 0 {
            return Ok(Cow::Borrowed(text));
        }
        replaced += &text[copied..];
        if replaced.len() > MAX_DOCUMENT { Err(TooLarge) } else { Ok(Cow::Owned(replaced)) }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn substitutions(variables: &[&str]) -> Substitutions {
        Substitutions::new(variables.iter().map(|text| Variable::parse(text).unwrap())).unwrap()
    }

    #[rstest]
    #[case::none(&[], "${A} $A", "${A} $A", &[])]
    #[case::both_forms(&["A=1"], "${A} $A $AB ${AB} $A.b", "1 1 $AB ${AB} 1.b", &[])]
    #[case::only_those_that_are_set(&["A=1"], "$B ${B} $(A) ${A:-2}", "$B ${B} $(A) ${A:-2}", &["A"])]
    #[case::values_are_not_searched(&["A=$B", "B=2"], "$A", "$B", &["B"])]
    #[case::empty_value(&["A="], "x${A}y", "xy", &[])]
    #[case::value_with_equals_sign(&["A=b=c"], "$A", "b=c", &[])]
    #[case::several(&["A=1", "B=2"], "é${B}é$A", "é2é1", &[])]
    fn set_placeholders_are_replaced(
        #[case] variables: &[&str],
        #[case] text: &str,
        #[case] expected: &str,
        #[case] unused: &[&str],
    ) {
        let substitutions = substitutions(variables);
        assert_eq!(substitutions.apply(text).as_deref(), Ok(expected));
        assert_eq!(substitutions.unused().collect::<Vec<_>>(), unused);
    }

    #[rstest]
    #[case::no_value("A", VariableError::Syntax)]
    #[case::no_name("=1", VariableError::Syntax)]
    #[case::digit("1A=1", VariableError::Syntax)]
    #[case::other_character("A-B=1", VariableError::Syntax)]
    #[case::long_name(&format!("{}=1", "A".repeat(129)), VariableError::TooLong)]
    #[case::long_value(&format!("A={}", "1".repeat(4097)), VariableError::TooLong)]
    #[case::line_break("A=1\n---\n", VariableError::ControlCharacter)]
    fn invalid_variables_are_rejected(#[case] text: &str, #[case] expected: VariableError) {
        assert_eq!(Variable::parse(text), Err(expected));
    }

    #[rstest]
    #[case::longest(&format!("{}={}", "A".repeat(128), "1".repeat(4096)))]
    fn limits_are_inclusive(#[case] text: &str) {
        assert!(Variable::parse(text).is_ok());
    }

    #[test]
    fn names_are_unique_and_few() {
        let variable = |name: String| Variable { name, value: String::new() };
        let twice = Substitutions::new([variable("A".to_owned()), variable("A".to_owned())]);
        assert_eq!(twice.unwrap_err(), VariableError::Duplicate("A".to_owned()));
        let numbered = |count| Substitutions::new((0..count).map(|number| variable(format!("A{number}"))));
        assert!(numbered(100).is_ok());
        assert_eq!(numbered(101).unwrap_err(), VariableError::TooMany);
    }

    #[test]
    fn the_size_of_the_text_is_limited() {
        let substitutions = substitutions(&[&format!("A={}", "x".repeat(4096))]);
        assert!(substitutions.apply(&"$A ".repeat(4094)).is_ok());
        assert_eq!(substitutions.apply(&"$A ".repeat(4096)), Err(TooLarge));
        assert_eq!(substitutions.apply(&format!("$A{}", " ".repeat(MAX_DOCUMENT))), Err(TooLarge));
    }
}
