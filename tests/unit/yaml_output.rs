//! YAML output and parsing, compared with Kubernetes' own parser.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use trainmesh_core::yaml;

use trainmesh_testing::oracle::{Oracle, Session};

/// Strings that a parser may mistake for another type, alone or within a longer string.
const TRAPS: &[&str] = &[
    "",
    " ",
    "~",
    "null",
    "Null",
    "y",
    "n",
    "Y",
    "N",
    "yes",
    "no",
    "on",
    "off",
    "true",
    "FALSE",
    "=",
    "<<",
    "-",
    "--",
    "---",
    "--- x",
    "...",
    "- ",
    "- x",
    "?",
    "? x",
    ":",
    ": ",
    "a: b",
    "a:",
    ":a",
    "#",
    " #",
    "a #b",
    "a#b",
    "&a",
    "*a",
    "!a",
    "!!str",
    "|",
    ">",
    "|-",
    "'",
    "\"",
    "%",
    "%YAML",
    "@",
    "`",
    "[",
    "]",
    "{",
    "}",
    ",",
    "[a]",
    "{a: b}",
    "a, b",
    "0",
    "1",
    "-1",
    "+1",
    "1_000",
    "_1",
    "0x1F",
    "0X1f",
    "0o7",
    "0O7",
    "07",
    "08",
    "0b1",
    "0B1",
    "0b-1",
    "1:20",
    "1:20:30",
    "190:20:30.15",
    ".5",
    "5.",
    ".",
    "+.5",
    "-.",
    "._5",
    ".5_0",
    "1e3",
    "1E+3",
    "1e",
    "e1",
    "1.5e999",
    ".inf",
    "-.INF",
    "+.inf",
    ".nan",
    ".NaN",
    "nan",
    "inf",
    "Infinity",
    "2001-12-14",
    "2001-12-14T21:59:43.10-05:00",
    "2001-1-1 1:1:1",
    "12e03",
    "0.",
    "18446744073709551616",
    "\t",
    "a\tb",
    "\ta",
    "a\t",
    " a",
    "a ",
    "\n",
    "a\n",
    "\na",
    "a\nb",
    "a\n\nb\n\n",
    " a\nb",
    "\n a\nb",
    "a\n b",
    "a \nb",
    "a\n ",
    "\ta\nb",
    "a\n\tb",
    "a\nb\n\n",
    "\r",
    "a\r\nb",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "a\u{85}b",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "a\u{feff}b",
    "\u{fffe}",
    "\u{ffff}",
    "\u{1f600}",
    "a\n\u{1f600}\n",
    "\\",
    "\\n",
    "a\\b",
    "ä",
    "日本語",
    "a\n---\nb",
    "a\n...\nb\n",
    "# a\nb",
    "a\n# b\n",
    "a: b\nc: d\n",
    "- a\n- b\n",
    "key: |",
    "x\n\n\n",
    "\n\n",
    "\u{200b}",
    "a\u{b}b",
    "\u{1b}[0m",
];

#[test]
fn kubernetes_reads_the_output() {
    let oracle = RefCell::new(Oracle::build().session());
    let traps = TRAPS.iter().map(|trap| Value::from(*trap)).collect::<Vec<_>>();
    let keys = TRAPS.iter().map(|trap| ((*trap).to_owned(), json!(1))).collect::<Map<_, _>>();
    let nested = TRAPS.iter().map(|trap| json!({"a": [{"b": trap, "c": [trap]}]})).collect::<Vec<_>>();
    for value in [json!(traps), json!(keys), json!(nested)].into_iter().chain(traps).chain(nested) {
        round_trip(&oracle, &value).unwrap();
    }
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&any_value(), |value| round_trip(&oracle, &value));
    outcome.unwrap();
}

/// Covers plain scalars of every form, as values and as keys.
#[test]
fn scalars_are_parsed_as_in_kubernetes() {
    let oracle = RefCell::new(Oracle::build().session());
    let scalar = prop_oneof![
        "[0-9_.eE+-]{1,6}",
        "[+-]?0[xXobB]?[0-9a-f_+-]{0,5}",
        "[+-]?[0-9]{1,4}(\\.[0-9]{0,4})?([eE][+-]?[0-9]{1,3})?",
        "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9:.Z+-]{0,12})?",
        "[yYnNtTfFoO~][a-zA-Z]{0,4}",
        "[+-]?\\.[iInN][nNaA][fFnN]",
        "[0-9]{18,21}",
        "[a-z0-9/._][a-z0-9:/.#_-]{0,9}",
    ];
    let tag = prop::sample::select(&["", "!!str ", "!!int ", "!!float ", "!!bool ", "!!null ", "!own ", "! "][..]);
    let form = prop::sample::select(&["a: ", "- ", "", "? "][..]);
    let texts = (form, tag, scalar).prop_map(|(form, tag, scalar)| format!("{form}{tag}{scalar}"));
    let config = Config { cases: 10_000, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&texts, |text| parses_like_kubernetes(&mut oracle.borrow_mut(), &text)).unwrap();
}

/// Texts of documents, of which the parser of Kubernetes rejects some.
const DOCUMENTS: &[&str] = &[
    "a: &x {b: 1}\nc: *x\n",
    "a: &x {b: 1}\nc: {b: 2, <<: *x}\nd: {<<: *x, b: 2}\n",
    "a: &x {b: 1}\nc:\n  <<: [*x, {b: 2, e: 3}]\n",
    "a: &x [1]\nc: {<<: *x}\n",
    "a: {<<: 1}\n",
    "a: {!!merge <<: {b: 1}}\n",
    "a: {\"<<\": 1}\n",
    "a: &x [*x]\n",
    "a: *x\n",
    "&k a: 1\nb: *k\n",
    "~: 1\n",
    "[a]: 1\n",
    "? a\n: b\n",
    "a: >\n  x\n  y\n\n  z\n",
    "a: |+\n  x\n\nb: |-\n  y\n",
    "a: |2\n    x\n   y\n",
    "a: \"x\\ty\\u00e9\\x41\\\n  z\"\n",
    "a: 'it''s\n  two'\n",
    "a: x\n  y\n  z\n",
    "a: b: c\n",
    "a: [1, 2\n",
    "a:\n\tb: 1\n",
    "a:\n- 1\n- - 2\n  - b: 3\n    c: 4\n",
    "%YAML 1.1\n---\na: 1\n",
    "a: @b\n",
    "a: `b\n",
    "a: - b\n",
    "a: 'x\n",
    "a: 1\n b: 2\n",
    "- a\nb: 1\n",
    "\u{feff}a: 1\n",
    "a: 1 # c\nb: x#y\n",
    "{a: 1, b: {c: [d, e,], }, }",
    "{\"a\":1,\"b\":[true,null]}",
    "a:\r\n  b: 1\r\n",
    "",
    "# nothing\n",
    "--- {a: 1}\n",
    "a: 1\nb: 2\na: 3\n",
    "a: {x: 1}\na: {y: 2}\n",
    "a: [1]\na:\n",
    "a: {b: 1, b: {c: 1, c: 2}}\n",
    "a: &x {b: 1}\nc: {b: 2, <<: *x, b: 3}\n",
    "1: a\n0x1: b\n",
    "{\"a\": 1, \"a\": 2}",
    "...\n",
    "...\na: 1\n",
    "# c\n\n... # d\n",
    "%YAML 1.1\n...\n",
    "\u{feff}...\r\n",
    " ...\n",
    "...x\n",
    "a: 1\n...\n...\n",
    "---\n...\n",
    // Quoted scalars, tabs and comments that a scanner of YAML 1.2 rejects.
    "a:\n  b: \"{c:\n  d}\"\n",
    "a:\n  b: 'c\n d\n\n\ne'\nf: \"g\nh\"\n",
    "a:\n  b: \"c\n  ---\n  d\"\n",
    "a: \"b\n---\nc\"\n",
    "a: \"b\n\tc\n\t\n\n\td\"\n",
    "a:\n  b: [\n\t{c: 1,\n\td: 2}\n\t]\n",
    "a: {b: c}# d\ne: [f]# g\nh: 'i'# j\nk: \"l\"#\n",
    "a: {# b\n  c: 'd',# e\n  f: g}\n",
    "a: |# b\n  c\n",
    // Tabs that only YAML 1.2 permits.
    "a: b\n\t\nc: d\n",
    "a:\n     \t\n  b: c\n",
    "a:\n  b: c\n  \t\n  d: e\n",
    "a:\n  b: c\n   \t\n  d: e\n",
    "a: b\n \t\n\n  \t\n \t# c\nd: e\n",
    "a: b\n \t# c\n \t\nd: e\n",
    "a: \"b\"\n     \t\nc: d\n",
    "a: [b]\n     \t\nc: d\n",
    "a: b # c\n     \t\nd: e\n",
    "a:\n- b\n\t\n- c\n",
    "a:\n- b\n  \t\n- c\n",
    "- a: b\n  \t\n  c: d\n",
    "- a: b\n   \t\n  c: d\n",
    "a:\n  b\n  \t\nc: d\n",
    "a: |\n  b\n\t\nc: d\n",
    "a: |\n  b\n  \t\n   \t c\nd: e\n",
    "a: |2\n    b\n  \t\n   c\n",
    "a:\n-\tb\n",
    "a:\n- \tb: c\n",
    "- -\ta\n",
    "-\t\n  a\n",
    "?\ta\n: b\n",
    "\t\na: b\n",
    "a: b\n\t",
    "a: b\n  \t",
    "a: b\r\n\t\r\nc: d\r\n",
    "a:\t\n  b:\tc\t# d\n  e: \tf\t\n  g:\t[h,\ti]\n",
    "a: b\n \tc\nd: e\n",
    "a: [\n \tb,\n\t\n -\tc\n ]\n",
    "a:\n- |\n  cat <<-X\n  \t- b\n  \tX\n  - \tc\n- d\n",
    // Question marks and escapes.
    "a: [b?c]\n",
    "a: {b: [c, http://d/e?f=g]}\n",
    "a: {b?c: d}\n",
    "a: b?c\nd: ['?e', \"f?g\"]\nh: [i] # ?\n",
    "a: {? b : c}\n",
    "a: \"b\\/c\"\n",
    "a: \"b\\\\/c/d\"\ne: '\\/'\nf: \\/\n",
];

#[test]
fn documents_are_parsed_as_in_kubernetes() {
    let mut oracle = Oracle::build().session();
    for text in DOCUMENTS {
        parses_like_kubernetes(&mut oracle, text).unwrap();
    }
}

fn parses_like_kubernetes(oracle: &mut Session, text: &str) -> Result<(), TestCaseError> {
    let parsed = yaml::parse_manifest(text).map(|(value, _)| value);
    let expected = oracle.read(text);
    prop_assert!(
        parsed.as_ref().ok() == expected.as_ref().ok(),
        "parsed as {parsed:?}, in Kubernetes as {expected:?}:\n{text}"
    );
    Ok(())
}

fn round_trip(oracle: &RefCell<Session>, value: &Value) -> Result<(), TestCaseError> {
    let text = yaml::to_string(value);
    let parsed = yaml::parse(&text);
    prop_assert!(parsed.as_ref() == Ok(value), "parsed as {parsed:?}, not {value}:\n{text}");
    let expected = oracle.borrow_mut().read(&text);
    prop_assert!(expected.as_ref() == Ok(value), "Kubernetes parses {expected:?}, not {value}:\n{text}");
    Ok(())
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar_value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX)].prop_map(Value::from),
        // JSON encodes an integral float as an integer.
        any::<f64>().prop_map(|float| yaml::json_number(float).map_or(Value::Null, Value::Number)),
        any_text().prop_map(Value::from),
    ];
    scalar_value.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    let trap = prop::sample::select(TRAPS);
    prop_oneof![
        trap.clone().prop_map(str::to_owned),
        prop::collection::vec(trap, 2..4).prop_map(|traps| traps.concat()),
        "[ -~\\n]{0,20}",
        "[0-9_.:eExobtTzZ+-]{1,8}",
        any::<String>(),
    ]
}
