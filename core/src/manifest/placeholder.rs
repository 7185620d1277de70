//! Shell placeholders in text: `${NAME}` and `$NAME`, as envsubst reads them.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

/// A placeholder in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder<'text> {
    /// Name of the variable.
    pub(crate) name: &'text str,
    /// Position of the placeholder in the text, in bytes.
    pub(crate) range: Range<usize>,
    /// True for `${NAME}`.
    pub(crate) braced: bool,
}

/// Maximum number of variables. Manifests have a dozen placeholders.
pub(super) const MAX_VARIABLES: usize = 100;
/// Maximum number of names that a message lists: as many as `--set` can replace.
const MAX_NAMES: usize = MAX_VARIABLES;

/// Returns the placeholders in `text`, in order.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    memchr_iter(b'$', text.as_bytes()).filter_map(|start| placeholder_at(text, start))
}

/// Returns the first placeholder in `text` with a default or another operator of the shell, such as `${NAME:-a}`.
pub(crate) fn placeholder_with_default(text: &str) -> Option<&str> {
    let last_end = memrchr(b'}', text.as_bytes())?;
    memchr_iter(b'$', &text.as_bytes()[..last_end]).find_map(|start| {
        let inner = text.get(start + 1..)?.strip_prefix('{')?;
        let rest = &inner[Some(name_length(inner)).filter(|length| *length > 0)?..];
        // The operators of POSIX, and those of Bash for substrings, replacements and case.
        if !rest.starts_with([':', '-', '=', '?', '+', '#', '%', '/', '^', ',']) {
            return None;
        }
        Some(&text[start..=start + 2 + inner.find('}')?])
    })
}

/// Returns true if `name` is the name of a shell variable.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name_length(name) == name.len()
}

/// Returns how to replace the placeholders with these names, of which it lists at most 100.
pub fn advice<'names>(names: impl Iterator<Item = &'names str>) -> String {
    let mut flags = String::new();
    let mut names = names;
    for name in names.by_ref().take(MAX_NAMES) {
        flags += " --set ";
        flags += name;
        flags += "=VALUE";
    }
    let others = if names.next().is_some() { " …" } else { "" };
    format!("render the manifest with envsubst, or use{flags}{others}")
}

/// Returns the placeholder that starts with the dollar at `start`.
fn placeholder_at(text: &str, start: usize) -> Option<Placeholder<'_>> {
    let after = text.get(start + 1..)?;
    let (inner, braced) = after.strip_prefix('{').map_or((after, false), |inner| (inner, true));
    let name = inner.get(..name_length(inner)).filter(|name| !name.is_empty())?;
    if braced && !inner[name.len()..].starts_with('}') {
        return None;
    }
    let length = 1 + name.len() + if braced { 2 } else { 0 };
    Some(Placeholder { name, range: start..start + length, braced })
}

/// Returns the length of the name at the start of `text`: a letter or underscore, then also digits.
fn name_length(text: &str) -> usize {
    let is_part =
        |(index, byte): (usize, u8)| byte == b'_' || byte.is_ascii_alphabetic() || index > 0 && byte.is_ascii_digit();
    text.bytes().enumerate().take_while(|part| is_part(*part)).count()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("a $ b ${ c $1 ${2} $(A) ${A-b} ${A", &[])]
    #[case::braced("x${NUM_NODES}y", &["${NUM_NODES}"])]
    #[case::plain("$A.b/$_c2-$D", &["$A", "$_c2", "$D"])]
    #[case::adjacent("${A}${B}$$C", &["${A}", "${B}", "$C"])]
    #[case::other_characters("é$Aé", &["$A"])]
    fn placeholders_are_found(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = placeholders(text).map(|found| &text[found.range]).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::none("a ${B} $C $(D) ${", None)]
    #[case::default("x-${A:-b}-y", Some("${A:-b}"))]
    #[case::second("${A}${B-c}", Some("${B-c}"))]
    #[case::required("${A:?no name}", Some("${A:?no name}"))]
    #[case::suffix("${A%%.*}", Some("${A%%.*}"))]
    #[case::unclosed("${A:-b", None)]
    #[case::another_language("${{ .Values.a }} ${A.b}", None)]
    fn placeholders_with_a_default_are_found(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(placeholder_with_default(text), expected);
    }

    #[test]
    fn many_unclosed_placeholders_are_read_once() {
        assert_eq!(placeholder_with_default(&"${a:".repeat(1_000_000)), None);
    }

    #[rstest]
    #[case::one(1, "render the manifest with envsubst, or use --set A0=VALUE")]
    #[case::limit(100, "A98=VALUE --set A99=VALUE")]
    #[case::more(101, "A98=VALUE --set A99=VALUE …")]
    fn the_list_of_names_is_limited(#[case] count: usize, #[case] end: &str) {
        let names: Vec<String> = (0..count).map(|number| format!("A{number}")).collect();
        let text = advice(names.iter().map(String::as_str));
        assert!(text.ends_with(end), "{text}");
    }
}
