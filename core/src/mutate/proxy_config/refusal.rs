//! Reasons why a proxy configuration is not changed.

use std::fmt;

/// Reason why the hold cannot be added to a text. [`Refusal::message`] returns it with a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The text is not valid YAML, or nested too deeply.
    Syntax,
    /// The text has more than one document.
    SeveralDocuments,
    /// The root is a list or a scalar.
    NotAMapping,
    /// A mapping contains a key twice.
    DuplicateKey,
    /// The fields in camelCase and in `snake_case` have different values.
    TwoSpellings,
    /// The value is a quoted string. Istio rejects the pod.
    Quoted,
    /// The field is null, so that adding it would duplicate the key.
    Null,
    /// The value is neither a boolean nor a quoted string nor null.
    NotABoolean,
    /// The text has a `%` directive.
    Directive,
    /// The text has a tag such as `!!map`.
    Tag,
    /// The indentation contains a tab.
    Tab,
    /// The text has a control character, a byte order mark in the middle, or a line break that only YAML 1.1
    /// recognizes.
    Character,
    /// A key is not a string in YAML 1.1, has an anchor, is an alias or a collection, or is not on one line with its
    /// colon.
    Key,
    /// The text has a merge key (`<<`), whose precedence differs between parsers.
    MergeKey,
    /// The text has more aliases than Istio's parser is certain to expand, nested aliases, or an anchor name that it
    /// does not support.
    Aliases,
    /// A number is infinite or `.nan`, which JSON cannot represent.
    NotFinite,
    /// A double-quoted string has an escape that Istio's parser does not support.
    Escape,
    /// YAML 1.1 and 1.2 may read a value differently.
    Ambiguous,
    /// The merged text is not equivalent to the original with the hold added.
    Unverified,
}

impl Refusal {
    /// Returns true if Istio certainly rejects a pod with the text.
    #[must_use]
    pub fn is_rejected_by_istio(self) -> bool {
        matches!(self, Self::Quoted | Self::NotABoolean | Self::NotFinite)
    }

    /// Returns the problem and its fix.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::Syntax => "is not valid YAML (Istio rejects the pod) or is nested too deeply; fix it",
            Self::SeveralDocuments => "has several YAML documents; Istio reads the first; keep one",
            Self::NotAMapping => "is not a mapping; write `field: value` lines or a JSON object",
            Self::DuplicateKey => "sets a key twice; remove one of them",
            Self::TwoSpellings => "sets the hold to true and, in another spelling, to false; remove one",
            Self::Quoted => "sets the hold to a string: Istio rejects the pod; remove the quotes",
            Self::Null => "sets the hold to null; set it to true or remove it",
            Self::NotABoolean => {
                "sets the hold to a value that is not a boolean: Istio rejects the pod; set it to true"
            }
            Self::Directive => "contains a % directive; remove it or add the hold manually",
            Self::Tag => "contains a YAML tag (`!`); remove it or add the hold manually",
            Self::Tab => "is indented with tabs, which Istio's parser rejects; use spaces",
            Self::Character => "has a control character or unusual line break; escape it in quotes",
            Self::Key => "has a key that is not a plain string on one line; quote it or add the hold manually",
            Self::MergeKey => "uses a merge key (`<<`); expand it or add the hold manually",
            Self::Aliases => "uses too many or nested aliases; expand them or add the hold manually",
            Self::NotFinite => "has an infinite number or NaN: Istio rejects the pod; remove it",
            Self::Escape => "has an escape that Istio rejects (`\\/`, surrogates); write the character",
            Self::Ambiguous => "has a value that YAML 1.1 and 1.2 may read differently; quote it",
            Self::Unverified => "could not be changed without changing its meaning; add the hold manually",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}
