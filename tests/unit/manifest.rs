//! Manifests as users write them, well-formed and malformed.

mod duplicates;
mod lists;

use std::io::{self, Read, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, iter, slice};

use rstest::rstest;
use trainmesh::manifest::Inputs;
use trainmesh_core::manifest::{Document, DocumentError, MAX_DOCUMENT, SkippedFile};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
const JSON_POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}"#;

/// Reader that returns a few bytes at a time.
struct Trickle<'text>(&'text [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(buffer.len());
        self.0.read(&mut buffer[..length])
    }
}

fn open(text: &[u8]) -> Inputs {
    Inputs::open(&[PathBuf::from("-")], false, text).unwrap()
}

/// Returns one line for each result: `document[.item]@line kind`, or the error.
fn summary<'a>(documents: impl Iterator<Item = Result<Document, DocumentError>> + 'a) -> Vec<String> {
    documents
        .map(|result| match result {
            Ok(found) => {
                let line = found.object_line();
                let item = found.item.map(|item| format!(".{item}")).unwrap_or_default();
                let namespace = found.namespace.map(|name| format!(" in {name}")).unwrap_or_default();
                let kind = found.value["kind"].as_str().unwrap();
                format!("{}{item}@{line} {kind}{namespace}", found.document)
            }
            Err(error) => error.to_string(),
        })
        .collect()
}

/// Compares results; each expected line is a prefix of the actual one.
fn check(text: impl AsRef<[u8]>, expected: &[&str]) {
    let inputs = open(text.as_ref());
    for _ in 0..2 {
        let found = summary(inputs.documents());
        let matches =
            found.len() == expected.len() && iter::zip(&found, expected).all(|(line, start)| line.starts_with(start));
        assert!(matches, "found {found:#?}, expected {expected:#?}");
    }
}

#[rstest]
#[case::one(POD, &["0@1 Pod"])]
#[case::two(format!("{POD}---\n{POD}"), &["0@1 Pod", "1@5 Pod"])]
#[case::leading_separator(format!("---\n{POD}---\n{POD}---\n"), &["0@2 Pod", "1@6 Pod"])]
#[case::leading_comment(format!("# c\n\n---\n{POD}"), &["0@4 Pod"])]
#[case::directive(format!("# c\n%YAML 1.1\n---\n{POD}---\n%TAG ! a\n---\n{POD}"),
    &["stdin: document 1, line 2: kubectl rejects directives", "1@4 Pod", "stdin: document 3, line 8: kubectl rejects", "3@10 Pod"])]
#[case::empty_between(format!("{POD}---\n# nothing\n\n---\n---\n{POD}"), &["0@1 Pod", "3@9 Pod"])]
#[case::comment_after_separator(format!("--- # one\n{POD}---\t \n{POD}---# x\n{POD}"), &["0@2 Pod", "1@6 Pod", "2@10 Pod"])]
#[case::content_after_separator(format!("--- {JSON_POD}\n--- !!map\n{POD}---\n{POD}"),
    &["stdin: document 1, line 1: text follows `---`", "stdin: document 2, line 2: text follows `---`", "2@7 Pod"])]
#[case::blanks_after_separator(format!("---{}\n{POD}---\t\r\n{POD}", " ".repeat(100_000)), &["0@2 Pod", "1@6 Pod"])]
#[case::text_attached_to_separator(format!("{POD}---x\n{POD}---\n{POD}"),
    &["0@1 Pod", "stdin: document 2, line 4: text follows `---`", "2@9 Pod"])]
#[case::crlf(format!("---\n{POD}---\n{POD}").replace('\n', "\r\n"), &["0@2 Pod", "1@6 Pod"])]
#[case::byte_order_mark(format!("\u{feff}{POD}---\n{POD}"), &["0@1 Pod", "1@5 Pod"])]
#[case::byte_order_mark_and_separator(format!("\u{feff}---\n{POD}"), &["0@2 Pod"])]
#[case::indented("  apiVersion: v1\n  kind: Pod\n", &["0@1 Pod"])]
#[case::end_marker(format!("{POD}...\n---\n{POD}...\n"), &["0@1 Pod", "1@6 Pod"])]
#[case::no_final_break("apiVersion: v1\nkind: Pod\n---", &["0@1 Pod"])]
#[case::dashes_in_text("apiVersion: v1\nkind: Pod\nx: |\n  ---\n  -----BEGIN\n", &["0@1 Pod"])]
#[case::json(JSON_POD, &["0@1 Pod"])]
#[case::json_stream(format!("{JSON_POD}{JSON_POD}\n{JSON_POD}\n\n {JSON_POD}"), &["0@1 Pod", "1@1 Pod", "2@2 Pod", "3@4 Pod"])]
#[case::json_and_yaml(format!("{JSON_POD}\n---\n{POD}---\n{JSON_POD}"), &["0@1 Pod", "1@3 Pod", "2@7 Pod"])]
#[case::json_braces(r#"{"apiVersion": "v1", "kind": "Pod", "x": "}\"{\\"}"#, &["0@1 Pod"])]
#[case::flow("{apiVersion: v1, kind: Pod, x: '}{'}\n", &["0@1 Pod"])]
#[case::flow_and_comment("{apiVersion: v1, kind: Pod} # {\n---\n{kind: Job, apiVersion: v1}", &["0@1 Pod", "1@3 Job"])]
#[case::error_between_documents(format!("{POD}---\n{POD}---\na: 1\nb: [1\nc: d\n---\n{POD}---\n{POD}"),
    &["0@1 Pod", "1@5 Pod", "stdin: document 3, line 11: ", "3@13 Pod", "4@17 Pod"])]
#[case::bad_json(format!("{JSON_POD}\n{{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\" 1}}\n{JSON_POD}"),
    &["0@1 Pod", "stdin: document 2, line 3: expected", "2@4 Pod"])]
#[case::unterminated_json(format!("{{\"apiVersion\": \"v1\",\n---\n{POD}"), &["stdin: document 1, line 2: EOF", "1@3 Pod"])]
#[case::text_after_json(format!("{JSON_POD} x\n---\n{POD}"), &["stdin: document 1, line 1: trailing", "1@3 Pod"])]
#[case::duplicate_key_in_json(r#"{"apiVersion": "v1", "kind": "Pod", "kind": "Job"}"#, &["0@1 Job"])]
#[case::duplicate_key_in_yaml(format!("{POD}kind: Job\n"), &["0@1 Job"])]
#[case::list("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n- 1\n- {apiVersion: v1, kind: Job}\n- {kind: Job}\n",
    &["0.0@4 Pod", "stdin: document 1, line 5: items[1]: expected a Kubernetes object, found a number", "0.2@6 Job",
      "stdin: document 1, line 7: items[3]: not a Kubernetes object: it has no `apiVersion`"])]
#[case::typed_list("apiVersion: v1\nkind: PodList\nitems: [{}, {metadata: {}}]\n", &["0.0@3 Pod", "0.1@3 Pod"])]
#[case::nested_list("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: PodList, items: [{}, {}]}, {apiVersion: v1, kind: Job}]",
    &["0.0@3 Pod", "0.1@3 Pod", "0.2@3 Job"])]
#[case::empty_list("apiVersion: v1\nkind: List\nitems: []\n", &[])]
#[case::null_list("apiVersion: v1\nkind: PodList\nitems:\n", &[])]
#[case::bad_list("apiVersion: v1\nkind: List\nitems: {}\n", &["stdin: document 1, line 3: `items` of the List is a mapping"])]
#[case::misspelled_items("apiVersion: v1\nkind: List\nitms: []\n", &["stdin: document 1, line 3: `items` of the List is missing, but it has `itms`: did you mean items?"])]
#[case::missing_items("apiVersion: v1\nkind: List\nmetadata: {}\n", &["stdin: document 1, line 1: `items` of the List is missing"])]
#[case::list_by_name_only("apiVersion: x/v1\nkind: AllowList\nspec: {}\n", &["0@1 AllowList"])]
#[case::review("apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {namespace: team, object: {apiVersion: v1, kind: Pod}}",
    &["0@3 Pod in team"])]
#[case::review_named("apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest:\n  namespace: n\n  object: {apiVersion: v1, kind: Pod, metadata: {namespace: m}}",
    &["0@5 Pod"])]
#[case::review_of_delete("apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {object: null}",
    &["stdin: document 1, line 1: the AdmissionReview has no `request.object`"])]
#[case::review_of_nothing("apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {object: {kind: Pod}}",
    &["stdin: document 1, line 1: `request.object` of the AdmissionReview: not a Kubernetes object: it has no `apiVersion`"])]
#[case::review_response("apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {}",
    &["stdin: document 1, line 1: the AdmissionReview has no `request`"])]
#[case::top_list(format!("\n- a\n---\n{POD}"), &["stdin: document 1, line 2: expected a Kubernetes object, found a list", "1@4 Pod"])]
#[case::top_text("hello\n", &["stdin: document 1, line 1: expected a Kubernetes object, found a string"])]
#[case::no_kind("apiVersion: v1\n", &["stdin: document 1, line 1: not a Kubernetes object: it has no `kind`"])]
#[case::misspelled_kind("apiVersion: v1\nKind: Pod\n", &["stdin: document 1, line 2: not a Kubernetes object: it has no `kind`, but `Kind`: did you mean kind?"])]
#[case::kind_of_another_type("apiVersion: v1\nkind: 5\n", &["stdin: document 1, line 2: not a Kubernetes object: its `kind` is a number, not a string"])]
#[case::misspelled_kind_in_a_list(
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kid: Pod\n",
    &["stdin: document 1, line 5: items[0]: not a Kubernetes object: it has no `kind`, but `kid`: did you mean kind?"]
)]
#[case::misspelled_version("apiversion: v1\nkind: Pod\n", &["stdin: document 1, line 1: not a Kubernetes object: it has no `apiVersion`, but `apiversion`: did you mean apiVersion?"])]
#[case::version_of_another_type("apiVersion: 1\nkind: Pod\n", &["stdin: document 1, line 1: not a Kubernetes object: its `apiVersion` is a number, not a string"])]
#[case::no_both("a: 1\n", &["stdin: document 1, line 1: not a Kubernetes object: it has no `apiVersion` and no `kind`"])]
#[case::empty("", &["stdin: empty: no Kubernetes object found"])]
#[case::comments("# a\n---\n\n# b\n", &["stdin: empty: no Kubernetes object found"])]
#[case::utf8(b"apiVersion: v1\nkind: \xff\n---\napiVersion: v1\nkind: Pod\n", &["stdin: document 1, line 2: not valid UTF-8", "1@4 Pod"])]
#[case::conflict(
    b"kind: Pod\n<<<<<<< HEAD\nspec: {}\n=======\nspec: {a: b}\n>>>>>>> other\n",
    &["stdin: document 1, line 2: a conflict marker of Git: resolve the conflict, and remove the markers"]
)]
#[case::utf16(b"\xff\xfea\0:\0", &["stdin: is UTF-16"])]
#[case::utf16_big(b"\xfe\xff\0a\0:", &["stdin: is UTF-16"])]
#[case::binary(b"\x7fELF\0\0", &["stdin: contains NUL bytes"])]
#[case::gzip(b"\x1f\x8b\x08\0", &["stdin: is compressed"])]
#[case::late_nul([b"#".repeat(70_000), b"\napiVersion: v1\nkind: \0\n".to_vec()].concat(), &["stdin: document 1, line 3: contains a NUL byte"])]
#[case::deep_json(format!("{{\"a\":{}", "[".repeat(100_000)), &["stdin: document 1, line 1: nested deeper than the limit of 128"])]
#[case::deep_json_map("{\"a\":".repeat(100_000), &["stdin: document 1, line 1: nested deeper than the limit of 128"])]
#[case::deep_yaml(format!("a: {}", "[".repeat(100_000)), &["stdin: document 1, line 1: nested deeper than the limit of 64"])]
#[case::deep_block((0..1_000).fold(String::new(), |text, depth| text + &" ".repeat(depth) + "a:\n"),
    &["stdin: document 1, line 65: nested deeper than the limit of 64"])]
#[case::many_nodes(format!("{{\"a\": [1{}]}}", ",1".repeat(250_000)), &["stdin: document 1, line 1: more than the limit of 250000 values: split it, or move objects out of their list"])]
fn documents(#[case] text: impl AsRef<[u8]>, #[case] expected: &[&str]) {
    check(text, expected);
}

/// A read may return any number of bytes: the result must not depend on it.
#[test]
fn read_sizes_do_not_change_the_result() {
    let text = format!(
        "# c\n---\n  # d\n{POD}---\r\n\n--- # e\n{JSON_POD}\n  {JSON_POD}---\n---x\n---\n  kind: Job\n  apiVersion: v1\n--\n---\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let whole = summary(open(text.as_bytes()).documents());
    assert!(whole.len() > 4, "{whole:#?}");
    for piece in 1..40 {
        let inputs = Inputs::open(&[PathBuf::from("-")], false, Trickle(text.as_bytes(), piece)).unwrap();
        assert_eq!(summary(inputs.documents()), whole);
    }
    // The same text after a comment that moves it across the end of the first buffer.
    let path = directory.path().join("a");
    for shift in 0..text.len() {
        let padding = "#".repeat((64 << 10) - shift - 1);
        fs::write(&path, format!("{padding}\n{text}")).unwrap();
        let inputs = Inputs::open(slice::from_ref(&path), false, io::empty()).unwrap();
        assert_eq!(inputs.documents().count(), whole.len(), "shifted by {shift}");
    }
}

#[rstest]
#[case::yaml(|size: usize| format!("x: {}", "y".repeat(size)))]
#[case::json(|size: usize| format!("{{\"x\": \"{}\"}}", "y".repeat(size)))]
#[case::unterminated_json(|size: usize| format!("{{\"x\": {}", "1,".repeat(size / 2)))]
#[case::blank(|size: usize| format!("{}x: y", " ".repeat(size)))]
fn large_documents_are_skipped_with_an_error(#[case] large: fn(usize) -> String) {
    let error = "stdin: document 2, line 5: exceeds the limit of 16 MiB";
    check(format!("{POD}---\n{}\n---\n{POD}", large(MAX_DOCUMENT)), &["0@1 Pod", error, "2@"]);
}

#[test]
fn a_long_comment_is_not_a_document() {
    check(format!("#{}\n{POD}", "y".repeat(MAX_DOCUMENT + (2 << 20))), &["0@2 Pod"]);
}

#[test]
fn a_large_json_value_does_not_hide_the_next() {
    let large = format!("{{\"x\": \"{}\"}}", "y\\n".repeat(MAX_DOCUMENT / 2));
    check(format!("{JSON_POD}\n{large}\n{JSON_POD}"), &["0@1 Pod", "stdin: document 2, line 2: exceeds", "2@3 Pod"]);
}

/// Returns an object with a list of `nodes` nodes; the rest of the object adds six.
fn list_of(nodes: usize) -> String {
    format!("{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"x\": [{}]}}", vec!["1"; nodes].join(","))
}

#[rstest]
#[case::json(list_of(249_993), &["0@1 Pod"])]
#[case::json_beyond(list_of(249_994), &["stdin: document 1, line 1: more than the limit of 250000 values: split it, or move objects out of their list"])]
#[case::yaml(list_of(249_993).replace('"', ""), &["0@1 Pod"])]
#[case::yaml_beyond(list_of(249_994).replace('"', ""), &["stdin: document 1, line 1: more than the limit of 250000 values, with aliases expanded: split it, or move objects out of their list"])]
#[case::aliases(format!("{POD}a: &a [{}]\nb: &b [{}]\nc: [{}]\n", "x, ".repeat(100), "*a, ".repeat(100), "*b, ".repeat(100)),
    &["stdin: document 1, line 6: more than the limit of 250000 values, with aliases expanded: split it, or move objects out of their list"])]
#[case::anchors(format!("{POD}a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(40)),
    &["stdin: document 1, line 5: aliases repeat more than the limit of 16 MiB"])]
#[case::merges(format!("{POD}a: &a {{{}}}\nb: [{}]\n", (0..1000).fold(String::new(), |text, key| text + &format!("k{key}: 1, ")),
    "{<<: *a}, ".repeat(300)), &["stdin: document 1, line 5: more than the limit of 250000 values, with aliases expanded: split it, or move objects out of their list"])]
#[case::json_depth(format!("{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"x\": {}1{}}}", "[".repeat(126), "]".repeat(126)), &["0@1 Pod"])]
#[case::json_too_deep(format!("{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"x\": {}1{}}}", "[".repeat(128), "]".repeat(128)),
    &["stdin: document 1, line 1: nested deeper than the limit of 128 levels"])]
#[case::json_far_too_deep(format!("{{\"a\": {}", "[".repeat(1 << 20)), &["stdin: document 1, line 1: nested deeper than the limit of 128 levels"])]
#[case::yaml_depth(format!("{POD}x: {}1{}\n", "[".repeat(63), "]".repeat(63)), &["0@1 Pod"])]
#[case::yaml_too_deep(format!("{POD}x: {}1{}\n", "[".repeat(64), "]".repeat(64)),
    &["stdin: document 1, line 4: nested deeper than the limit of 64 levels"])]
fn errors_name_the_limit(#[case] text: String, #[case] expected: &[&str]) {
    check(text, expected);
}

#[test]
fn errors_are_bounded() {
    let inputs = open("a\n---\n".repeat(20_000).as_bytes());
    let found = summary(inputs.documents());
    assert_eq!(found.len(), 10_000);
    assert!(found.last().unwrap().contains("the limit of 10000 errors is reached"), "{:?}", found.last());
}

#[test]
fn documents_are_filtered_by_text() {
    let inputs = open(format!("{POD}---\nkind: Namespace\napiVersion: v1\n---\na: [\n---\n{JSON_POD}").as_bytes());
    assert_eq!(summary(inputs.documents_containing(&[b"Namespace", b"Training"])), ["1@5 Namespace"]);
    assert_eq!(inputs.documents().count(), 4);
}

#[test]
fn stdin_can_be_read_by_two_iterators_at_once() {
    let text = format!("{POD}---\n").repeat(40_000);
    let inputs = open(text.as_bytes());
    let pairs = iter::zip(inputs.documents(), inputs.documents());
    assert!(pairs.take(3_000).all(|(first, second)| first == second && first.is_ok()));
    assert_eq!(inputs.documents_containing(&[b"nowhere"]).count(), 0);
}

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

#[rstest]
#[case::flat(false, &[".h.yaml", "a.yml", "c.json"])]
#[case::recursive(true, &[".h.yaml", "a.yml", "b/d.yaml", "b/e/f.yaml", "c.json"])]
fn directories(#[case] recursive: bool, #[case] expected: &[&str]) {
    let names = ["c.json", "a.yml", ".h.yaml", "b/d.yaml", "b/e/f.yaml", "b/readme.md", "notes.txt"];
    let directory = tree(&names.map(|name| (name, POD)));
    symlink(directory.path(), directory.path().join("loop.yaml")).unwrap();
    let inputs = Inputs::open(&[directory.path().to_owned()], recursive, io::empty()).unwrap();
    let documents = inputs.documents().filter_map(|found| match found {
        Err(error) if error.skipped == Some(SkippedFile::LinkedDirectory) => None,
        found => Some(found.unwrap()),
    });
    let found = documents.map(|found| found.source.to_string()).collect::<Vec<_>>();
    let expected = expected.iter().map(|name| directory.path().join(name).display().to_string());
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn a_directory_yields_only_regular_files() {
    let directory = tree(&[("e.yaml", POD), ("outside/d.yaml", POD), ("f.yaml/g.yaml", POD), ("h.txt", POD)]);
    let at = |name: &str| directory.path().join(name);
    symlink("/dev/zero", at("a.yaml")).unwrap();
    assert!(Command::new("mkfifo").arg(at("b.yaml")).status().unwrap().success());
    symlink(at("nowhere"), at("c.yaml")).unwrap();
    symlink(at("outside/d.yaml"), at("d.yaml")).unwrap();
    symlink(at("i.yaml"), at("i.yaml")).unwrap();
    let inputs = Inputs::open(&[directory.path().to_owned()], false, io::empty()).unwrap();
    let found = summary(inputs.documents());
    let prefix = format!("{}/", directory.path().display());
    let found: Vec<&str> = found.iter().map(|line| line.strip_prefix(&prefix).unwrap_or(line)).collect();
    let not_a_file = "is not a regular file: specify it with -f to read it anyway";
    let expected = [
        format!("a.yaml: {not_a_file}"),
        format!("b.yaml: {not_a_file}"),
        "c.yaml: is a symbolic link to a file that does not exist".to_owned(),
        "0@1 Pod".to_owned(),
        "0@1 Pod".to_owned(),
    ];
    assert_eq!(found[..5], expected);
    assert!(found[5].starts_with("i.yaml: cannot be read: ") && found.len() == 6, "{found:#?}");
}

#[test]
fn a_file_replaced_by_a_pipe_is_an_error() {
    let directory = tree(&[("a.yaml", POD), ("b.yaml", POD)]);
    let path = directory.path().join("a.yaml");
    let inputs = Inputs::open(&[directory.path().to_owned()], false, io::empty()).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let found = summary(inputs.documents());
    assert!(found[0].contains("is not a regular file") && found[1] == "0@1 Pod", "{found:?}");
}

#[test]
fn an_endless_device_is_read_until_it_is_not_text() {
    let inputs = Inputs::open(&[PathBuf::from("/dev/zero")], false, io::empty()).unwrap();
    let found = summary(inputs.documents());
    assert!(found.len() == 1 && found[0].contains("contains NUL bytes"), "{found:?}");
}

#[test]
fn directory_depth_is_limited() {
    let deep = "d/".repeat(66);
    let directory = tree(&[("a.yaml", POD), (&format!("{deep}b.yaml"), POD)]);
    let inputs = Inputs::open(&[directory.path().to_owned()], true, io::empty()).unwrap();
    let found = summary(inputs.documents());
    assert!(found[0] == "0@1 Pod" && found[1].contains("nested deeper than the limit of 64 directories"), "{found:?}");
    assert_eq!(found.len(), 2);
}

#[test]
fn the_number_of_files_is_limited() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..=100_000 {
        fs::File::create(directory.path().join(format!("{number}.yaml"))).unwrap();
    }
    let error = Inputs::open(&[directory.path().to_owned()], false, io::empty()).err().unwrap().to_string();
    assert!(error.contains("more than the limit of 100000 files"), "{error}");
}

#[rstest]
#[case::missing(&["nowhere.yaml"], "`nowhere.yaml` does not exist")]
#[case::none(&[], "no input")]
#[case::stdin_twice(&["-", "-"], "`-` is specified twice")]
#[case::url(&["https://example.com/a.yaml"], "is a URL")]
fn invalid_inputs_are_rejected(#[case] paths: &[&str], #[case] message: &str) {
    let paths = paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let error = Inputs::open(&paths, false, io::empty()).err().unwrap().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn a_directory_without_manifests_is_rejected() {
    let directory = tree(&[("a.txt", POD), ("b/c.yaml", POD)]);
    let path = directory.path().to_owned();
    let error = Inputs::open(slice::from_ref(&path), false, io::empty()).err().unwrap().to_string();
    assert!(error.contains("-R") && error.contains(&path.display().to_string()), "{error}");
    assert!(Inputs::open(&[path], true, io::empty()).is_ok());
}

#[test]
fn a_deleted_file_is_an_error_and_the_others_are_read() {
    let directory = tree(&[("a.yaml", POD), ("b.yaml", POD)]);
    let inputs = Inputs::open(&[directory.path().to_owned()], false, io::empty()).unwrap();
    fs::remove_file(directory.path().join("a.yaml")).unwrap();
    let found = summary(inputs.documents());
    assert!(found[0].contains("a.yaml: cannot be read: ") && found[1] == "0@1 Pod", "{found:?}");
}

/// Environment variable with the input of the child process below.
const LARGE_FILE: &str = "TRAINMESH_TEST_LARGE_FILE";

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_file_size() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.yaml");
    let mut file = io::BufWriter::new(fs::File::create(&path).unwrap());
    let block = format!("{POD}data: |\n{}---\n", "  0123456789abcdef\n".repeat(50)).repeat(1_000);
    for _ in 0..(100 << 20) / block.len() {
        file.write_all(block.as_bytes()).unwrap();
    }
    // A document far over the limit, and the largest that is within it.
    file.write_all(b"x: |\n").unwrap();
    for _ in 0..100 {
        file.write_all("  01234567890123\n".repeat(1 << 16).as_bytes()).unwrap();
    }
    writeln!(file, "---\napiVersion: v1\nkind: Namespace\nx: {}", "y".repeat(MAX_DOCUMENT - 100)).unwrap();
    file.into_inner().unwrap();
    let mut child = Command::new(env::current_exe().unwrap());
    let output =
        child.args(["--exact", "manifest::read_large_file", "--nocapture"]).env(LARGE_FILE, &path).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let peak = output.lines().find_map(|line| line.strip_prefix("peak KiB: ")).expect(&output);
    let peak = peak.parse::<usize>().unwrap();
    // Three times 16 MiB (the document, its value and the growth of the buffer) plus the test program itself.
    assert!(peak < 100 << 10, "{peak} KiB");
}

/// Runs in a child process of the test above; without its variable it does nothing.
#[test]
fn read_large_file() {
    let Some(path) = env::var_os(LARGE_FILE) else { return };
    let inputs = Inputs::open(&[Path::new(&path).to_owned()], false, io::empty()).unwrap();
    let found = inputs.documents_containing(&[b"kind: Namespace"]).filter_map(Result::ok).count();
    assert_eq!(found, 1);
    assert!(inputs.documents().take(2_000).all(|document| document.is_ok()));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("\npeak KiB: {}", peak.trim().trim_end_matches(" kB"));
}
