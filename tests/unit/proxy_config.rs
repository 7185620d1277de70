//! The merge into `proxy.istio.io/config`, compared with the YAML parser that Istio uses for the annotation.

mod agreement;

use std::sync::LazyLock;

use rstest::rstest;
use trainmesh_core::mutate::proxy_config::{Hold, Refusal, hold};
use trainmesh_testing::oracle::Oracle;
use trainmesh_testing::rng::SeededRng;
use trainmesh_testing::texts::TextGenerator;

static ORACLE: LazyLock<Oracle> = LazyLock::new(Oracle::build);

/// Checks [`hold`] of `text` against `expected` and against the oracle.
fn check(text: Option<&str>, expected: &Hold) {
    assert_eq!(hold(text), *expected, "{text:?}");
    agreement::check_all(&ORACLE, &[text.unwrap_or_default()]);
}

#[rstest]
#[case::empty("", "HOLD: true")]
#[case::blanks("  ", "  \nHOLD: true")]
#[case::empty_lines("\n \n", "\n \nHOLD: true")]
#[case::comment("# none yet", "# none yet\nHOLD: true")]
#[case::comments_crlf("# none\r\n# yet\r\n", "# none\r\n# yet\r\nHOLD: true")]
#[case::marker("---", "---\nHOLD: true")]
#[case::marker_and_comment("--- # none\n", "--- # none\nHOLD: true")]
#[case::block("concurrency: 2\n", "HOLD: true\nconcurrency: 2\n")]
#[case::no_line_break_at_the_end("concurrency: 2", "HOLD: true\nconcurrency: 2")]
#[case::comment_stays_with_its_field(
    "# few\n# cores\na: 1 # one\n# end",
    "HOLD: true\n# few\n# cores\na: 1 # one\n# end"
)]
#[case::comment_of_the_whole("# mesh\n\na: 1\n", "# mesh\n\nHOLD: true\na: 1\n")]
#[case::crlf("a: 1\r\nb: x\r\n", "HOLD: true\r\na: 1\r\nb: x\r\n")]
#[case::indented("\n  a: 1\n  b: x\n", "\n  HOLD: true\n  a: 1\n  b: x\n")]
#[case::trailing_blanks("a: 1  \nb: x\t\n  \n", "HOLD: true\na: 1  \nb: x\t\n  \n")]
#[case::tab_after_the_colon("a:\t1\n", "HOLD: true\na:\t1\n")]
#[case::marker_then_block("---\na: 1\n...\n", "---\nHOLD: true\na: 1\n...\n")]
#[case::snake_case("proxy_metadata:\n  A: b\n", "HOLD: true\nproxy_metadata:\n  A: b\n")]
#[case::same_name_nested("a:\n  HOLD: false\n", "HOLD: true\na:\n  HOLD: false\n")]
#[case::same_name_as_a_value("a: HOLD\n", "HOLD: true\na: HOLD\n")]
#[case::literal("a: |+\n  x\n\n", "HOLD: true\na: |+\n  x\n\n")]
#[case::literal_cut_short("a: |\n  x", "HOLD: true\na: |\n  x")]
#[case::folded("a: >-\n  x\n  y\n", "HOLD: true\na: >-\n  x\n  y\n")]
#[case::anchors("a: &x {b: 1}\nc: *x\n", "HOLD: true\na: &x {b: 1}\nc: *x\n")]
#[case::anchor_above("&top\na: 1\n", "&top\nHOLD: true\na: 1\n")]
#[case::byte_order_mark("\u{feff}a: 1\n", "\u{feff}HOLD: true\na: 1\n")]
#[case::byte_order_mark_and_marker("\u{feff}---\na: 1\n", "\u{feff}---\nHOLD: true\na: 1\n")]
#[case::quoted_keys("\"on\": 1\n'y': 2\n", "HOLD: true\n\"on\": 1\n'y': 2\n")]
#[case::odd_values("a: 017\nb: 1:30\nc: yes\nd: 2001-12-14\n", "HOLD: true\na: 017\nb: 1:30\nc: yes\nd: 2001-12-14\n")]
#[case::host_and_port("{tracing: {zipkin: {address: z:9411}}}", "{HOLD: true, tracing: {zipkin: {address: z:9411}}}")]
#[case::flow_empty("{}", "{\"HOLD\": true}")]
#[case::flow_empty_with_comment("{ # none\n}", "{\"HOLD\": true # none\n}")]
#[case::flow("{ a: 1 }", "{ HOLD: true, a: 1 }")]
#[case::flow_with_comment("{ # few\n  a: 1,\n}\n", "{HOLD: true, # few\n  a: 1,\n}\n")]
#[case::flow_marker("--- {a: 1}\n...", "--- {HOLD: true, a: 1}\n...")]
#[case::flow_anchor("&x {a: 1}", "&x {HOLD: true, a: 1}")]
#[case::json("{\"a\":1,\"b\":[]}", "{\"HOLD\": true, \"a\":1,\"b\":[]}")]
#[case::json_pretty("{\n  \"a\": 1\n}\n", "{\n  \"HOLD\": true,\n  \"a\": 1\n}\n")]
#[case::json_tabs("{\n\t\"a\": 1\n}", "{\n\t\"HOLD\": true,\n\t\"a\": 1\n}")]
fn adds_the_hold(#[case] text: &str, #[case] merged: &str) {
    let name = "holdApplicationUntilProxyStarts";
    check(Some(&text.replace("HOLD", name)), &Hold::Missing { merged: merged.replace("HOLD", name) });
}

#[test]
fn an_absent_annotation_is_treated_as_empty() {
    check(None, &Hold::Missing { merged: "holdApplicationUntilProxyStarts: true".to_owned() });
}

#[rstest]
#[case::block("a: 1\nHOLD: true\n", true)]
#[case::no("HOLD: false # on purpose", false)]
#[case::yes("HOLD: yes", true)]
#[case::on("HOLD: On", true)]
#[case::one_letter("HOLD: y", true)]
#[case::off("HOLD: OFF", false)]
#[case::n("HOLD: n", false)]
#[case::json("{\"HOLD\":true}", true)]
#[case::flow("{a: 1, 'HOLD': no}", false)]
#[case::snake_case("SNAKE: true", true)]
#[case::snake_case_false("SNAKE: false", false)]
#[case::both_spellings("SNAKE: true\nHOLD: yes\n", true)]
#[case::escaped_key("\"h\\x6fldApplicationUntilProxyStarts\": true", true)]
fn reads_the_hold(#[case] text: &str, #[case] value: bool) {
    check(Some(&expand_placeholders(text)), if value { &Hold::True } else { &Hold::False });
}

#[rstest]
#[case::syntax("a: [1", Refusal::Syntax)]
#[case::two_colons("a: b: c", Refusal::Syntax)]
#[case::undefined_alias("a: *x", Refusal::Syntax)]
#[case::tab("a:\n\tb: 1", Refusal::Tab)]
#[case::tab_line("a: 1\n\t\n", Refusal::Tab)]
#[case::tab_after_a_dash("a:\n-\tb: 1", Refusal::Tab)]
#[case::control_character("a: \u{7}", Refusal::Character)]
#[case::null_key("~: 1", Refusal::Key)]
#[case::list_key("? [a]\n: 1", Refusal::Key)]
#[case::absent_key(": 1", Refusal::Key)]
#[case::adjacent_colon("a: 1\n\"b\":1", Refusal::Syntax)]
#[case::not_a_number("a: .nan", Refusal::NotFinite)]
#[case::infinite("{a: -.INF}", Refusal::NotFinite)]
#[case::escaped_slash(r#"{"a": "b\/c"}"#, Refusal::Escape)]
#[case::surrogates(r#"{"a": "\ud834\udd1e"}"#, Refusal::Escape)]
#[case::percent("a: %b", Refusal::Syntax)]
#[case::question_mark("{a: b?c}", Refusal::Ambiguous)]
#[case::tab_in_a_flow_value("a: [b\n\t\n]", Refusal::Tab)]
#[case::tab_after_a_literal("a: |+\n    x\n\n  \t", Refusal::Tab)]
#[case::anchor_name("a: &é 1", Refusal::Aliases)]
#[case::tag_that_does_not_fit("a: !!int b", Refusal::Tag)]
#[case::end_of_nothing("...\na: 1", Refusal::Ambiguous)]
#[case::newer_version("%YAML 1.2\n---\na: 1", Refusal::Directive)]
fn text_that_istio_rejects_is_not_changed(#[case] text: &str, #[case] why: Refusal) {
    check(Some(&expand_placeholders(text)), &Hold::Refused(why));
    assert!(ORACLE.read_all(&[&expand_placeholders(text)], false)[0].is_err(), "{text:?}: Istio's parser accepts it");
}

/// The YAML parser accepts these, but Istio rejects them later or reads them differently than intended, or they are too
/// rare to rely on.
#[rstest]
#[case::string("HOLD: \"true\"", Refusal::Quoted)]
#[case::block_string("HOLD: |\n  true", Refusal::Quoted)]
#[case::null("HOLD: null", Refusal::Null)]
#[case::nothing("HOLD:\na: 1", Refusal::Null)]
#[case::number("HOLD: 1", Refusal::NotABoolean)]
#[case::word("HOLD: yEs", Refusal::NotABoolean)]
#[case::list("HOLD: [true]", Refusal::NotABoolean)]
#[case::alias("a: &x true\nHOLD: *x", Refusal::NotABoolean)]
#[case::snake_case_null("SNAKE: ~", Refusal::Null)]
#[case::spellings_disagree("SNAKE: true\nHOLD: false", Refusal::TwoSpellings)]
#[case::hold_twice("HOLD: true\nHOLD: false", Refusal::DuplicateKey)]
#[case::key_twice("a: 1\n\"a\": 2", Refusal::DuplicateKey)]
#[case::nested_key_twice("a: {b: 1, b: 2}", Refusal::DuplicateKey)]
#[case::several_documents("a: 1\n---\nb: 2", Refusal::SeveralDocuments)]
#[case::list_at_the_top("- a: 1", Refusal::NotAMapping)]
#[case::word_at_the_top("true", Refusal::NotAMapping)]
#[case::null_at_the_top("~", Refusal::NotAMapping)]
#[case::boolean_key("a:\n  on: 1", Refusal::Key)]
#[case::one_letter_key("y: 1", Refusal::Key)]
#[case::number_key("1: 1", Refusal::Key)]
#[case::key_without_value("{a, b: 1}", Refusal::Key)]
#[case::explicit_key("? a\n: 1", Refusal::Ambiguous)]
#[case::anchored_key("&k a: 1", Refusal::Key)]
#[case::merge_key("a: &x {b: 1}\n<<: *x", Refusal::MergeKey)]
#[case::tag("!!map\na: 1", Refusal::Tag)]
#[case::directive("%YAML 1.1\n---\na: 1", Refusal::Directive)]
#[case::nested_alias("a: &x 1\nb: &y [*x]\n", Refusal::Aliases)]
#[case::byte_order_mark_within("a: \u{feff}1", Refusal::Character)]
#[case::line_separator("a: 1 # b\u{2028}c: 2", Refusal::Character)]
fn ambiguous_text_is_not_changed(#[case] text: &str, #[case] why: Refusal) {
    check(Some(&expand_placeholders(text)), &Hold::Refused(why));
    let verdict = &ORACLE.read_all(&[&expand_placeholders(text)], false)[0];
    assert!(verdict.is_ok(), "{text:?}: Istio's parser rejects it too: {verdict:?}");
}

#[test]
fn long_texts_are_merged_like_short_ones() {
    let fields: Vec<String> = (0..3_000).map(|field| format!("a{field}: [1, {{b: 'x'}}] # c\n")).collect();
    let texts =
        [fields.concat(), format!("a: \"{}\"", "x\\n ".repeat(16_000)), format!("{{{}a: 1}}", "\n".repeat(64_000))];
    for text in &texts {
        assert!(text.len() > 60_000);
        assert!(matches!(hold(Some(text)), Hold::Missing { .. }));
    }
    agreement::check_all(&ORACLE, &texts.each_ref().map(String::as_str));
    assert_eq!(hold(Some(&"[".repeat(64_000))), Hold::Refused(Refusal::Syntax));
}

#[rstest]
#[case::aliases(64, true)]
#[case::too_many_aliases(65, false)]
fn limits_aliases_as_istio_does(#[case] aliases: usize, #[case] merged: bool) {
    let text = format!("a: &x [{}1]\nb: [{}]\n", "1, ".repeat(2_000), "*x, ".repeat(aliases));
    assert_eq!(matches!(hold(Some(&text)), Hold::Missing { .. }), merged);
    agreement::check_all(&ORACLE, &[&text]);
}

#[rstest]
#[case::long(1_000, 1, true)]
#[case::too_long(1_100, 1, false)]
#[case::deep(1, 60, true)]
#[case::too_deep(1, 70, false)]
fn limits_the_length_and_depth_of_keys(#[case] length: usize, #[case] depth: usize, #[case] merged: bool) {
    let text = format!("{}1{}", format!("{{{}: ", "k".repeat(length)).repeat(depth), "}".repeat(depth));
    assert_eq!(matches!(hold(Some(&text)), Hold::Missing { .. }), merged);
    agreement::check_all(&ORACLE, &[&text]);
}

#[test]
fn random_texts_parse_as_istio_parses_them() {
    // For a longer run: `CASES=200000 cargo test --release --test unit proxy_config::`; for other texts: `SEED=2`.
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let mut random = TextGenerator(SeededRng::new(number("SEED", 1)));
    let texts: Vec<String> = (0..number("CASES", 6_000)).map(|case| random.sample(case)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let merged = agreement::check_all(&ORACLE, &texts);
    assert!(merged * 5 > texts.len(), "only {merged} of {} texts were merged: too few to prove anything", texts.len());
}

fn expand_placeholders(text: &str) -> String {
    text.replace("HOLD", "holdApplicationUntilProxyStarts").replace("SNAKE", "hold_application_until_proxy_starts")
}
