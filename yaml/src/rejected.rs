//! Text that this scanner accepts and Kubernetes rejects (go-yaml v2), or reads in another way.

mod tabs;

use granit_parser::{Event, ScalarStyle, Span};
use memchr::memmem;

use super::error::Error;
use super::flow::FlowDepth;
use tabs::Tabs;

/// Checks the events of a document.
pub(super) struct Checks<'text> {
    text: &'text str,
    flow: FlowDepth,
    tabs: Tabs<'text>,
}

impl<'text> Checks<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        Self { text, flow: FlowDepth::default(), tabs: Tabs::new(text) }
    }

    /// Passes the next event.
    pub(super) fn pass(&mut self, event: &Event<'_>, span: &Span) -> Result<(), Error> {
        if let Event::Scalar(value, style, ..) = event {
            self.check_scalar(value, *style, span)?;
            self.tabs.pass_scalar(*style, span, self.flow.is_inside());
        } else if let Some((first, last)) = self.flow.pass(event, span) {
            self.tabs.pass_flow_collection(first, last);
        }
        Ok(())
    }

    /// Checks the end of the document.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.tabs.finish()
    }

    fn check_scalar(&self, value: &str, style: ScalarStyle, span: &Span) -> Result<(), Error> {
        let line = span.start.line();
        if style == ScalarStyle::Plain && self.flow.is_inside() && value.contains('?') {
            return Err(Error::new(line, "for kubectl, `?` within `[ ]` or `{ }` starts a key: quote the text"));
        }
        if style == ScalarStyle::DoubleQuoted && value.contains('/') {
            let range = span.start.byte_offset().zip(span.end.byte_offset());
            let source = range.and_then(|(start, end)| self.text.get(start..end)).unwrap_or_default();
            if has_escaped_slash(source) {
                return Err(Error::new(line, "kubectl rejects `\\/` in a text: write `/`"));
            }
        }
        Ok(())
    }
}

/// Returns true if a slash is escaped in the source of a text in double quotes.
fn has_escaped_slash(source: &str) -> bool {
    memmem::find_iter(source.as_bytes(), b"\\/").any(|at| {
        let backslashes = source[..at].len() - source[..at].trim_end_matches('\\').len();
        backslashes.is_multiple_of(2)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::{parse, parse_manifest};

    const TAB: &str = "a tab where kubectl expects spaces";
    const KEY: &str = "starts a key";
    const SLASH: &str = "write `/`";

    #[rstest]
    #[case::blank_line("a: b\n\t\nc: d\n", 2, TAB)]
    #[case::blank_line_below_a_key("a:\n     \t\n  b: c\n", 2, TAB)]
    #[case::at_the_column_of_the_key("a:\n  b: c\n  \t\n  d: e\n", 3, TAB)]
    #[case::below_a_quoted_scalar("a: \"b\"\n     \t\nc: d\n", 2, TAB)]
    #[case::below_a_flow_collection("a: [b]\n     \t\nc: d\n", 2, TAB)]
    #[case::below_a_comment("a: b # c\n     \t\nd: e\n", 2, TAB)]
    #[case::below_the_comment_of_a_tab("a: b\n     \t# c\n     \t\nd: e\n", 3, TAB)]
    #[case::below_an_item("a:\n- b\n\t\n- c\n", 3, TAB)]
    #[case::below_a_key_of_an_item("- a: b\n  \t\n  c: d\n", 2, TAB)]
    #[case::below_a_block_scalar("a: |\n  b\n\t\nc: d\n", 3, TAB)]
    #[case::comment("a: b\n\t# c\nd: e\n", 2, TAB)]
    #[case::behind_a_dash("a:\n-\tb\n", 2, TAB)]
    #[case::behind_a_dash_and_a_space("a:\n- \tb: c\n", 2, TAB)]
    #[case::behind_the_second_dash("- -\ta\n", 1, TAB)]
    #[case::behind_a_dash_alone("-\t\n  a\n", 1, TAB)]
    #[case::behind_an_explicit_key("?\ta\n: b\n", 1, TAB)]
    #[case::start("\t\na: b\n", 1, TAB)]
    #[case::end("a: b\n\t", 2, TAB)]
    #[case::windows("a: b\r\n\t\r\nc: d\r\n", 2, TAB)]
    #[case::blank_lines("a: b\n\n\n\t\nc: d\n", 4, TAB)]
    #[case::question_mark("a: [b?c]\n", 1, KEY)]
    #[case::question_mark_of_an_address("a: {b: [c,\n  http://d/e?f=g]}\n", 2, KEY)]
    #[case::question_mark_at_the_start("a: &b [?c]\n", 1, KEY)]
    #[case::question_mark_in_a_key("a: {b?c: d}\n", 1, KEY)]
    #[case::escaped_slash("a: 1\nb: \"c\\/d\"\n", 2, SLASH)]
    #[case::escaped_slash_behind_a_backslash("a: \"b\\\\\\/c\"\n", 1, SLASH)]
    #[case::escaped_slash_in_a_key("{\"a\\/b\": c}\n", 1, SLASH)]
    fn texts_that_kubectl_rejects_are_errors(#[case] text: &str, #[case] line: u64, #[case] message: &str) {
        let error = parse_manifest(text).unwrap_err();
        assert!(error.line == line && error.message.contains(message), "{error}");
        // A configuration is not read by kubectl.
        assert!(parse(text).is_ok(), "{text}");
    }

    #[rstest]
    #[case::behind_the_column_of_the_key("a:\n  b: c\n   \t\n  d: e\n")]
    #[case::behind_the_column_of_the_dash("a:\n  - b\n   \t\n  - c\n")]
    #[case::several("a: b\n \t\n\n  \t\n \t\nc: d\n")]
    #[case::comment("a: b\n  \t# c\nd: e\n")]
    #[case::behind_values("a:\t\n  b:\tc\t# d\n  e: \tf\t\n  g:\t[h,\ti]\n")]
    #[case::behind_an_item("a:\n- b\t\n-   c\t# d\n")]
    #[case::continued_plain_scalar("a: b\n \tc\nd: e\n")]
    #[case::quoted_scalar("a: \"b\n\n  \tc\n  \t\n  d\"\ne: 'f\n  \tg'\n")]
    #[case::block_scalar("a: |\n  b\n  \tc\n  \t\n  -\td\ne: >-\n  f\n  \tg\n")]
    #[case::script("a:\n- |\n  cat <<-X\n  \t- b\n  \tX\n  - \tc\n- d\n")]
    #[case::indented_block_scalar("a: |2\n    b\n  \t\n   c\n")]
    #[case::end_of_a_block_scalar("a: |\n  b\n  \t\nc: d\n")]
    #[case::flow_collection("a: [\n \tb,\n\t\n -\tc\n ]\n")]
    #[case::end("a: b\n  \t")]
    #[case::question_marks("a: b?c\nd: ['?e', \"f?g\"]\nh: [i] # ?\nj?: k\n")]
    #[case::question_mark_of_a_key("a: {? b : c}\n")]
    #[case::slashes("a: \"b\\\\/c/d\"\ne: '\\/'\nf: \\/\ng: |\n  sed \"s/\\//-/\"\n")]
    #[case::json("{\"a\": \"b?c\", \"d\":\t\"e/f\"}\n")]
    fn other_texts_are_read(#[case] text: &str) {
        assert_eq!(parse_manifest(text).map(|(value, _)| value), parse(text));
    }
}
