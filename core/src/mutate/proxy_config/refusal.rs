//! Why a text is left alone.

use std::fmt;

/// Why the hold cannot be asked for in a text. [`Refusal::message`] says it together with the cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No parser accepts the text.
    Syntax,
    /// More than one document.
    SeveralDocuments,
    /// A list or a scalar where the fields of the configuration belong.
    NotAMapping,
    /// A key stands twice in one mapping.
    DuplicateKey,
    /// The camelCase and the `snake_case` name of the field disagree.
    TwoSpellings,
    /// The field is a string; Istio denies such a pod.
    Quoted,
    /// The field is null: not set, yet taken.
    Null,
    /// The field is neither a boolean nor any of the above.
    NotABoolean,
    /// A `%` directive.
    Directive,
    /// A tag such as `!!map`.
    Tag,
    /// A tab in the indentation.
    Tab,
    /// A control character, a byte order mark within the text or a line break that only YAML 1.1 knows.
    Character,
    /// A key that YAML 1.1 does not read as a string, or that is not on one line in front of its colon.
    Key,
    /// A merge key (`<<`), whose precedence differs between parsers.
    MergeKey,
    /// Aliases beyond what Istio's parser is sure to expand.
    Aliases,
    /// An infinite number or none (`.nan`), for which JSON has no word.
    NotFinite,
    /// An escape within double quotes that Istio's parser does not know.
    Escape,
    /// A value that YAML 1.1 and 1.2 may read differently.
    Ambiguous,
    /// The merged text did not read as the old one with the hold.
    Unverified,
}

impl Refusal {
    /// Cause and cure.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::Syntax => "is not valid YAML, or nested too deeply: Istio would deny the pod; correct it",
            Self::SeveralDocuments => "holds several YAML documents, of which Istio reads the first; keep one",
            Self::NotAMapping => "is not a mapping of fields; write `field: value` lines or a JSON object",
            Self::DuplicateKey => "sets a key twice; keep one of the two",
            Self::TwoSpellings => "sets the hold in both spellings, once true and once false; keep one of the two",
            Self::Quoted => "sets the hold to a string, for which Istio denies the pod; remove the quotes",
            Self::Null => "sets the hold to null; write true, or remove the line",
            Self::NotABoolean => "sets the hold to what is no boolean, for which Istio denies the pod; write true",
            Self::Directive => "carries a % directive; remove it, or add the hold by hand",
            Self::Tag => "carries a YAML tag (`!`); remove it, or add the hold by hand",
            Self::Tab => "is indented with tabs, which Istio's parser refuses; use spaces",
            Self::Character => "contains a control or unusual line break character; write it as an escape in quotes",
            Self::Key => "has a key that YAML 1.1 may not read as text; put it in double quotes",
            Self::MergeKey => "uses a merge key (`<<`); write its fields out, or add the hold by hand",
            Self::Aliases => "uses too many or nested aliases; write their values out, or add the hold by hand",
            Self::NotFinite => {
                "contains a number that is not finite, for which Istio denies the pod; quote or remove it"
            }
            Self::Escape => {
                "contains an escape (`\\/` or a surrogate pair) that Istio's parser refuses; write the character"
            }
            Self::Ambiguous => "has a value that YAML 1.1 and 1.2 may read differently; put it in double quotes",
            Self::Unverified => "could not be changed without touching its meaning; add the hold by hand",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}
