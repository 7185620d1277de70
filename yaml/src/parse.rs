//! The entry points of the reader.

use granit_parser::{Options, Parser};
use memchr::{memchr, memchr_iter};
use serde_json::Value;

use super::compose::Composer;
use super::duplicates::{DuplicateKey, DuplicateKeys};
use super::error::{Error, MAX_DEPTH};
use super::rejected::Checks;
use super::tree::{Lines, Tree};
use super::{anchors, blanks, repair};

/// Reads one YAML document as Kubernetes would, except that a duplicate key is an error. An empty text is `null`.
pub fn parse(text: &str) -> Result<Value, Error> {
    Ok(Reader { treatment: DuplicateKeys::Reject, is_manifest: false }.read(text, None)?.0)
}

/// Parses one YAML document as kubectl does: if a mapping contains a key more than once, the last value takes effect.
/// Also returns the duplicate keys, up to a limit.
pub fn parse_manifest(text: &str) -> Result<(Value, Vec<DuplicateKey>), Error> {
    parse_manifest_tree(text).map(|tree| (tree.value, tree.duplicates))
}

/// Like [`parse_manifest`], but does not record lines: those of the duplicate keys are unknown.
pub fn parse_without_lines(text: &str) -> Result<(Value, Vec<DuplicateKey>), Error> {
    MANIFEST.read(text, None)
}

/// Like [`parse_manifest`], and records the lines.
pub fn parse_manifest_tree(text: &str) -> Result<Tree, Error> {
    MANIFEST.tree(text)
}

/// Reads one YAML document and records its lines.
pub fn parse_tree(text: &str, treatment: DuplicateKeys) -> Result<Tree, Error> {
    Reader { treatment, is_manifest: false }.tree(text)
}

/// How a document is read.
#[derive(Clone, Copy)]
struct Reader {
    treatment: DuplicateKeys,
    /// True if text that kubectl rejects is an error.
    is_manifest: bool,
}

const MANIFEST: Reader = Reader { treatment: DuplicateKeys::LastWins, is_manifest: true };

impl Reader {
    fn tree(self, text: &str) -> Result<Tree, Error> {
        let mut lines = Lines::default();
        self.read(text, Some(&mut lines)).map(|(value, duplicates)| Tree { value, duplicates, lines })
    }

    fn read(self, text: &str, mut lines: Option<&mut Lines>) -> Result<(Value, Vec<DuplicateKey>), Error> {
        check_start(text)?;
        let result = self.compose(text, lines.as_deref_mut()).or_else(|error| {
            let Some(repaired) = repair::repaired(text) else { return Err(error) };
            if let Some(lines) = &mut lines {
                **lines = Lines::default();
            }
            self.compose(&repaired, lines)
        });
        result.map_err(|error| blanks::explain(text, anchors::explain(text, error)))
    }

    fn compose(self, text: &str, lines: Option<&mut Lines>) -> Result<(Value, Vec<DuplicateKey>), Error> {
        let checks = self.is_manifest.then(|| Checks::new(text));
        let events = Parser::new_from_str_with_options(text, options());
        Composer::new(events, checks, self.treatment).document(lines)
    }
}

/// Fails if `text` is not one of YAML, or starts with the end of a document.
fn check_start(text: &str) -> Result<(), Error> {
    if let Some(offset) = memchr(0, text.as_bytes()) {
        // The scanner treats a NUL byte as the end of the text.
        let line = 1 + memchr_iter(b'\n', &text.as_bytes()[..offset]).count();
        return Err(Error::new(line, "contains a NUL byte: not text"));
    }
    if let Some(line) = leading_end_marker(text) {
        return Err(Error::new(line, "`...` ends a document, but none has begun"));
    }
    Ok(())
}

/// Returns the line of an end marker before any content. Kubernetes rejects it, and the scanner ignores it.
fn leading_end_marker(text: &str) -> Option<usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_content =
        |line: &str| !line.starts_with('%') && !matches!(line.trim_start_matches(' ').as_bytes(), [] | [b'#', ..]);
    let (index, line) = text.lines().enumerate().find(|(_, line)| is_content(line))?;
    let rest = line.strip_prefix("...")?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(index + 1)
}

/// Returns the scanner's options for every document.
pub(super) fn options() -> Options {
    granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::duplicates::MAX_DUPLICATES;
    use super::super::error::MAX_NODES;
    use super::*;

    /// Reads `text` as a manifest, and checks that it is read as a configuration in the same way.
    fn check(text: &str) -> Result<Value, Error> {
        let value = parse(text);
        assert_eq!(parse_tree(text, DuplicateKeys::Reject).map(|tree| tree.value), value);
        if value.is_ok() {
            let read = value.clone().map(|value| (value, Vec::new()));
            assert_eq!(parse_manifest(text), read);
            assert_eq!(parse_without_lines(text), read);
        }
        value
    }

    #[rstest]
    #[case::empty("", json!(null))]
    #[case::comment("# nothing\n", json!(null))]
    #[case::booleans("[y, Yes, ON, n, No, off, true, FALSE, yEs, tRue]",
        json!([true, true, true, false, false, false, true, false, "yEs", "tRue"]))]
    #[case::nulls("[~, null, Null, NULL, nULL]", json!([null, null, null, null, "nULL"]))]
    #[case::octal("[0644, 0o7, 08, 0o8, 00]", json!([420, 7, 8, "0o8", 0]))]
    #[case::radix("[0x1F, -0x10, 0b11, 0b-1, 0x, 0xg]", json!([31, -16, 3, -1, "0x", "0xg"]))]
    #[case::underscores("[1_000, 1__0, _1, .5_0, ._5]", json!([1000, 10, "_1", 0.5, "._5"]))]
    #[case::sexagesimal("[1:20, 190:20:30]", json!(["1:20", "190:20:30"]))]
    #[case::floats("[1.0, 1e3, .5, 5., 1.25, 1e999, 1e21]", json!([1, 1000, 0.5, 5, 1.25, "1e999", 1e21]))]
    #[case::extremes("[9223372036854775807, -9223372036854775808, 18446744073709551615, 18446744073709551616]",
        json!([i64::MAX, i64::MIN, u64::MAX, 18_446_744_073_709_551_616_f64]))]
    #[case::timestamps("[2001-12-14, 2001-12-14T21:59:43Z]", json!(["2001-12-14", "2001-12-14T21:59:43Z"]))]
    #[case::quoted("['1', \"yes\", '']", json!(["1", "yes", ""]))]
    #[case::tags("[!!str 1, !!int '5', !!float 3, !!bool yes, !mine 12, ! 12, !!null '']",
        json!(["1", 5, 3, true, "12", "12", null]))]
    #[case::keys("{1: a, 0x10: b, yes: c, 1.5e10: d, 1e6: e, 'no': g}",
        json!({"1": "a", "16": "b", "true": "c", "1.5e+10": "d", "1e+06": "e", "no": "g"}))]
    #[case::aliases("a: &a {x: 1}\nb: *a\nc: &k name\n*k : 2", json!({"a": {"x": 1}, "b": {"x": 1}, "c": "name", "name": 2}))]
    #[case::merge("b: &b {x: 1, z: 2}\nc: {<<: *b, x: 3}", json!({"b": {"x": 1, "z": 2}, "c": {"x": 3, "z": 2}}))]
    #[case::merge_behind("b: &b {x: 1}\nc: {x: 3, <<: *b}", json!({"b": {"x": 1}, "c": {"x": 1}}))]
    #[case::merge_list("c: {<<: [{x: 1}, {x: 2, z: 2}]}", json!({"c": {"x": 1, "z": 2}}))]
    #[case::merge_twice("c: {<<: {x: 1}, <<: {x: 2}, x: 3}", json!({"c": {"x": 3}}))]
    #[case::merge_quoted("c: {'<<': 1}", json!({"c": {"<<": 1}}))]
    #[case::block("a: |\n  x\n  y\nb: >-\n  x\n  y\n", json!({"a": "x\ny\n", "b": "x y"}))]
    #[case::end_marker("a: 1\n...\n# bye\n", json!({"a": 1}))]
    #[case::end_markers("a: 1\n...\n...\n", json!({"a": 1}))]
    #[case::empty_document("---\n...\n", json!(null))]
    #[case::dots(" ...\n", json!("..."))]
    #[case::dots_in_a_word("...x\n", json!("...x"))]
    fn reads(#[case] text: &str, #[case] expected: Value) {
        assert_eq!(check(text), Ok(expected));
    }

    #[rstest]
    #[case::duplicate("a: 1\nb: 2\na: 3", 3, "duplicate key \"a\"")]
    #[case::duplicate_by_value("1: a\n0x1: b", 2, "duplicate key \"1\"")]
    #[case::duplicate_by_alias("a: &a b\nb: 1\n*a : 2", 3, "duplicate key \"b\"")]
    #[case::duplicate_behind_merge("<<: {a: 1}\na: 2\na: 3", 3, "duplicate key \"a\"")]
    #[case::infinite("a:\n- .inf", 2, "`.inf` cannot be represented in JSON")]
    #[case::nan("a: .NaN", 1, "`.NaN` cannot be represented in JSON")]
    #[case::null_key("a: 1\n~: 1", 2, "null cannot be a key")]
    #[case::big_key("18446744073709551615: x", 1, "quote")]
    #[case::list_key("[a]: x", 1, "must be a scalar")]
    #[case::binary("a: !!binary aGk=", 1, "`!!binary`")]
    #[case::tag("a: !!int x", 1, "`x` is not an integer, which its tag `!!int` requires")]
    #[case::second("a: 1\n...\nb: 2", 3, "second document")]
    #[case::unknown_alias("a: *b", 1, "anchor")]
    #[case::own_alias("a: &a [*a]", 1, "contains an alias of itself")]
    #[case::merge_scalar("{<<: 1}", 1, "`<<` takes")]
    #[case::merge_alias_of_list("a: &a [{x: 1}]\nb: {<<: *a}", 2, "`<<` takes")]
    #[case::unclosed("a: 1\nb: [1,\n  2\nc: 3\n", 4, "")]
    #[case::nul("a: 1\nb: \0\n", 2, "NUL")]
    #[case::tab("a:\n\tb: 1\n", 2, "tab")]
    #[case::end_without_a_document("...\n", 1, "none has begun")]
    #[case::end_behind_comments("# c\n\n... # d\na: 1\n", 3, "none has begun")]
    #[case::end_behind_a_directive("%YAML 1.1\n...\n", 2, "none has begun")]
    fn rejects(#[case] text: &str, #[case] line: u64, #[case] message: &str) {
        let error = check(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(message), "{error}");
    }

    #[rstest]
    #[case::twice("a: 1\nb: 2\na: 3", json!({"a": 3, "b": 2}), &[("a", 1, 3)])]
    #[case::three_times("a: 1\na: 2\na: 3", json!({"a": 3}), &[("a", 1, 2), ("a", 2, 3)])]
    #[case::mappings_are_not_merged("a: {x: 1}\na: {z: 2}", json!({"a": {"z": 2}}), &[("a", 1, 2)])]
    #[case::null("a: 1\na:", json!({"a": null}), &[("a", 1, 2)])]
    #[case::nested("a:\n- {x: 1,\n   x: 2}", json!({"a": [{"x": 2}]}), &[("x", 2, 3)])]
    #[case::inside_a_replaced_value("a: {x: 1, x: 2}\na: 3", json!({"a": 3}), &[("x", 1, 1), ("a", 1, 2)])]
    #[case::by_value("1: a\n0x1: b", json!({"1": "b"}), &[("1", 1, 2)])]
    #[case::by_alias("a: &a b\nb: 1\n*a : 2", json!({"a": "b", "b": 2}), &[("b", 2, 3)])]
    #[case::behind_merge("<<: {a: 1}\na: 2\na: 3", json!({"a": 3}), &[("a", 2, 3)])]
    #[case::json("{\"a\": 1,\n\"a\": 2}", json!({"a": 2}), &[("a", 1, 2)])]
    fn the_last_duplicate_wins_in_manifests(
        #[case] text: &str,
        #[case] expected: Value,
        #[case] duplicates: &[(&str, u64, u64)],
    ) {
        let duplicates = duplicates
            .iter()
            .map(|(key, replaced, line)| DuplicateKey { key: (*key).to_owned(), lines: Some([*replaced, *line]) });
        let duplicates: Vec<DuplicateKey> = duplicates.collect();
        let without_lines = |duplicate: &DuplicateKey| DuplicateKey { lines: None, ..duplicate.clone() };
        let expected_without_lines = (expected.clone(), duplicates.iter().map(without_lines).collect());
        assert_eq!(parse_without_lines(text), Ok(expected_without_lines));
        assert_eq!(parse_manifest(text), Ok((expected, duplicates)));
        assert!(parse(text).is_err());
    }

    #[test]
    fn the_number_of_reported_duplicates_is_limited() {
        let (value, duplicates) = parse_manifest(&"a: 1\n".repeat(1_000)).unwrap();
        assert_eq!((value, duplicates.len()), (json!({"a": 1}), MAX_DUPLICATES));
    }

    #[rstest]
    #[case::flow("[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH), true)]
    #[case::flow_beyond("[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1), false)]
    #[case::flow_far_beyond("[".repeat(100_000), false)]
    #[case::flow_maps("{a: ".repeat(100_000), false)]
    #[case::block("- ".repeat(MAX_DEPTH) + "x", true)]
    #[case::block_beyond("- ".repeat(MAX_DEPTH + 1) + "x", false)]
    #[case::block_far_beyond("- ".repeat(100_000) + "x", false)]
    #[case::block_maps((0..1_000).fold(String::new(), |text, depth| text + &" ".repeat(depth) + "a:\n"), false)]
    #[case::mixed("- ".repeat(40) + &"[".repeat(24) + &"]".repeat(24), true)]
    #[case::mixed_beyond("- ".repeat(40) + &"[".repeat(25) + &"]".repeat(25), false)]
    #[case::by_alias(format!("- &a {}{}\n- {}*a{}", "[".repeat(40), "]".repeat(40), "[".repeat(40), "]".repeat(40)), false)]
    fn depth_is_limited(#[case] text: String, #[case] accepted: bool) {
        match check(&text) {
            Ok(_) => assert!(accepted),
            Err(error) => assert!(!accepted && error.message.contains("64 levels"), "{error}"),
        }
    }

    #[rstest]
    #[case::nodes("- x\n".repeat(MAX_NODES), "250000 values")]
    #[case::laughs((1..12).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        let last = level - 1;
        text + &format!("a{level}: &a{level} [*a{last}, *a{last}, *a{last}, *a{last}, *a{last}, *a{last}, *a{last}, *a{last}]\n")
    }), "250000 values")]
    #[case::long_laughs(format!("a: &a {}\nb: [{}]", "x".repeat(1 << 20), "*a, ".repeat(40)), "16 MiB")]
    #[case::nested_anchors((0..60).fold(String::new(), |text, n| text + &format!("- &a{n}
{}", " ".repeat(n + 1)))
        + &"x".repeat(1 << 20), "16 MiB")]
    fn size_is_limited(#[case] text: String, #[case] limit: &str) {
        let error = check(&text).unwrap_err();
        assert!(error.message.contains(limit), "{error}");
    }
}
