//! Checks that sources, documentation and the chart use the vocabulary of Kubernetes, Prometheus, NCCL and Rust.
//!
//! Words match in any case, in prose and as parts of identifiers. Names that must not change are in [`CONTRACT`], other
//! exceptions in [`EXCEPTIONS`].

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// Names of files and folders to skip: build outputs, generated files, texts of others, and this list.
const SKIPPED: &[&str] = &[
    "target",
    "corpus",
    "artifacts",
    ".cache",
    "golden",
    "go.mod",
    "go.sum",
    "Cargo.lock",
    "LICENSE",
    "DCO",
    "musl-license.txt",
    "schema.json",
    "values.schema.json",
    "language.rs",
];

/// Extensions of text files. Files without an extension are scripts.
const EXTENSIONS: &[&str] =
    &["rs", "go", "md", "yaml", "yml", "json", "toml", "tpl", "txt", "gotmpl", "sh", "list", "conflist", ""];

/// Words to avoid, and their replacements.
const WORDS: &[(&str, &str)] = &[
    ("told", "published, logged, reported"),
    ("tell", "publish, log, report"),
    ("tells", "publishes, logs, reports"),
    ("telling", "publishing, logging, reporting"),
    ("said", "logged, reported"),
    ("say", "log, report, state, show"),
    ("says", "logs, reports, states, shows"),
    ("asked", "requested"),
    ("asks", "requests"),
    ("knows", "contains, supports"),
    ("handed", "passed"),
    ("hands", "passes"),
    ("liar", "faulty webhook"),
    ("stranger", "unknown container"),
    ("strangers", "unknown containers"),
    ("judge", "oracle, check"),
    ("judges", "checks"),
    ("judged", "checked"),
    ("judgement", "decision"),
    ("payload", "main container"),
    ("payloads", "main containers"),
    ("helper", "sidecar"),
    ("helpers", "sidecars"),
    ("leaf", "serving certificate"),
    ("mint", "issue"),
    ("minted", "issued"),
    ("mints", "issues"),
    ("minting", "issuing"),
    ("registration", "webhook configuration"),
    ("registrations", "webhook configurations"),
    ("ladder", "termination methods"),
    ("ladders", "termination methods"),
    ("rung", "termination method"),
    ("rungs", "termination methods"),
    ("rights", "permissions, RBAC rules"),
    ("rehearsal", "audit mode"),
    ("rehearse", "dry run, audit"),
    ("rehearsed", "audited"),
    ("rehearses", "audits"),
    ("cure", "fix"),
    ("cures", "fixes"),
    ("cured", "fixed"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("anew", "again; retry"),
    ("shall", "must"),
    ("beats", "overrides"),
    ("whoever", "the component that"),
    ("room", "module, package"),
    ("rooms", "modules, packages"),
    ("house", "module, package"),
    ("houses", "modules, packages"),
    ("hopeless", "exceeded, impossible"),
    ("impatient", "timeout"),
    ("quits", "terminates"),
];

/// Identifiers of Rust code to avoid, and their replacements.
const IDENTIFIERS: &[(&str, &str)] = &[
    ("Ruling", "RuleDecision"),
    ("NotCalled", "Exclusion"),
    ("linted", "lint_patched_pod"),
    ("Stamped", "AssignedPod"),
    ("gang_uid", "gang_id"),
    ("Lanes", "ActionLimiter"),
    ("Answered", "ReviewOutcome"),
    ("Pile", "CertificateSet"),
    ("Surroundings", "ManifestContext"),
    ("Hopeless", "Exceeded"),
    ("Impatient", "HeaderTimeout"),
    ("no_way", "Unreachable"),
    ("stands_apart", "is_auxiliary_role"),
    ("saying", "with_detail"),
];

/// Names that no item or field may have, though variants of enums may, and their replacements.
const DECLARATIONS: &[(&str, &str)] = &[
    ("Site", "ClusterView"),
    ("Carried", "Assignment"),
    ("Place", "Permit, Location"),
    ("Admitted", "AdmissionResponse"),
    ("Offer", "ConfigUpdate"),
    ("Seen", "Readable, ObservedPod"),
    ("Standing", "Deadline"),
    ("Facts", "PodFacts, ClusterFacts"),
    ("junk", "foreign"),
];

/// Keywords before the name of an item.
const KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "fn", "mod", "const", "static", "let", "pub"];

/// Names that at most one type may have.
const UNIQUE_TYPES: &[&str] = &["Finding", "Member", "Outcome"];

/// Phrases to avoid, in lower case, and their replacements.
const PHRASES: &[(&str, &str)] = &[
    ("untouched::reason", "exemption"),
    ("work::of(", "container_suffix"),
    ("named::nothing", "ProfileChoice::Unset"),
    ("settle window", "stabilization window"),
    ("answer is success", "Only an observed termination counts as success."),
    ("by hand", "manually"),
    ("way of certificates", "Switching certificate modes"),
    ("a bad one is refused", "Invalid configuration is rejected"),
    ("said in the log", "logged"),
    ("says so", "reports, logs"),
    ("say so", "report, log"),
    ("is no pod that", "is not a valid Pod"),
    ("cannot be had", "no node offers it"),
    ("can be had", "a node offers it"),
    ("not one network for each", "the number of networks differs from the number of virtual functions"),
    ("leaves the choice to", "not configured: X decides"),
    ("a pod worse", "break the pod"),
    ("of a profile or nothing", "a profile is applied completely or not at all"),
    ("is it well", "Check the installation"),
    ("hang on their proxy", "pods whose proxy keeps running after the main containers have finished"),
    ("looks wrong", "problems"),
    ("goes on", "continues"),
    ("go on", "continue"),
    ("went on", "continued"),
    ("let go", "evict, release"),
    ("lets go", "evicts, releases"),
    ("take no more", "reject"),
    ("takes no more", "rejects"),
    ("what is to be", "a verb: fields to write"),
    ("a right to", "a permission"),
    ("the right to", "the permission"),
    ("no right", "no permission"),
    ("does not know", "does not contain, does not support"),
    ("cannot know", "has no record of"),
];

/// Openings of doc comments to avoid, and their replacements.
const OPENINGS: &[(&str, &str)] = &[
    ("/// What ", "a noun, or a verb in the third person"),
    ("/// Whether ", "Returns true if, True if"),
    ("//! What ", "a noun"),
    ("//! Whether ", "a noun"),
];

/// Names that users and other tools rely on, which this check ignores, and the reason of each.
const CONTRACT: &[(&str, &str)] = &[
    ("payload-containers", "annotation"),
    ("helper-containers", "annotation"),
    ("payload_containers", "identifier of the annotation"),
    ("helper_containers", "identifier of the annotation"),
    ("PAYLOAD_CONTAINERS", "identifier of the annotation"),
    ("HELPER_CONTAINERS", "identifier of the annotation"),
    ("\"helpers\"", "configuration field"),
    ("`helpers`", "configuration field"),
    (".helpers", "configuration field"),
    ("helpers: ", "configuration field"),
    ("helpers:\n", "configuration field"),
    ("helpers:\\n", "configuration field"),
    ("helpers[", "configuration field"),
    ("helpers=", "configuration field"),
    ("\"leaf", "metric label"),
    ("`leaf`", "metric label"),
    ("HelperEnded", "event reason"),
    ("HelperHasNoMethod", "event reason"),
    ("HelpersManaged", "reason code"),
    ("NoHelpers", "reason code"),
    ("PayloadNeverEnds", "reason code"),
    ("NoPayload", "reason code"),
    ("PayloadRunning", "reason code"),
    ("PayloadRestarting", "reason code"),
    ("PayloadUnknown", "reason code"),
    ("HelperStarting", "reason code"),
    ("HelperUnknown", "reason code"),
    ("HelperEndFailed", "reason code"),
    ("RegistrationMissing", "finding code"),
    ("RightsGranted", "finding code"),
    ("RightsMissing", "finding code"),
    ("RightsUnneeded", "finding code"),
    ("Code::Rehearsed", "finding code"),
    ("Rehearsed =>", "finding code"),
    ("Check::Registration", "check in the JSON of doctor"),
    ("Registration =>", "check in the JSON of doctor"),
    ("Check::Rights", "check in the JSON of doctor"),
    ("Rights =>", "check in the JSON of doctor"),
    ("\"cure\"", "field of findings in JSON"),
    ("`cure`", "field of findings in JSON"),
    ("rehearsed|", "metric label"),
    ("helper-exec", "metric label"),
    ("helper-post", "metric label"),
    ("\"rehearsed", "metric label"),
    ("`rehearsed`", "metric label"),
    ("NCCL_GRAPH_HELPER_DISABLE", "variable of NCCL"),
    ("dmabuf_import_helper", "device path of GKE"),
    ("\"helper\"", "container name in fixtures"),
    ("name: helper", "container name in fixtures"),
    ("PAYLOAD_TOO_LARGE", "HTTP status"),
    ("NewRegistrationClient", "API of device plugins"),
];

/// Words that a file may use, or `*` for any, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("docs/comparison.md", "*", "quotes the documentation of other projects"),
    ("core/src/config.rs", "helper", "type of the configuration field"),
    ("core/src/config.rs", "helpers", "module of the configuration field"),
    ("core/src/config/sidecars.rs", "helper", "type of the configuration field"),
    ("core/src/config/termination.rs", "helper", "type of the configuration field"),
    ("core/src/config/termination.rs", "helpers", "the configuration field"),
    ("tests/unit/config/termination.rs", "helper", "type of the configuration field"),
    ("core/src/lifecycle/catalog.rs", "helper", "type of the configuration field"),
    ("tests/unit/config/termination.rs", "helpers", "the configuration field"),
    ("tests/unit/lifecycle/roles.rs", "helper", "type of the configuration field"),
    ("docs/operations.md", "rehearsed", "code of a finding"),
    ("tests/cluster/tools/device-plugin/main.go", "registrations", "term of the device plugin API"),
];

#[test]
fn sources_and_documentation_use_the_vocabulary_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = tracked_files(root);
    assert!(files.len() > 100, "no files found below {}", root.display());
    let candidates = candidates();
    let mut hits = Vec::new();
    let mut types: Vec<(&str, String)> = Vec::new();
    for file in &files {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        let is_exempt =
            |word: &str| EXCEPTIONS.iter().any(|(path, exempt, _)| *path == name && [word, "*"].contains(exempt));
        let Ok(text) = fs::read_to_string(file) else { continue };
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        // The check of one line is slow, and few lines contain any of the words.
        for (index, line) in text.lines().enumerate().filter(|(_, line)| candidates.is_match(line)) {
            let found = check(line, is_rust).into_iter().filter(|(word, _)| !is_exempt(word));
            hits.extend(found.map(|(word, instead)| format!("{name}:{}: \"{word}\": use {instead}", index + 1)));
            let declared = UNIQUE_TYPES.iter().filter(|_| is_rust).filter(|unique| declares_type(line, unique));
            types.extend(declared.map(|unique| (*unique, format!("{name}:{}", index + 1))));
        }
    }
    for unique in UNIQUE_TYPES {
        let places: Vec<&str> = types.iter().filter(|(name, _)| name == unique).map(|(_, place)| &**place).collect();
        if places.len() > 1 {
            hits.push(format!("{}: {} types are named {unique}", places.join(", "), places.len()));
        }
    }
    assert!(hits.is_empty(), "{} hits:\n{}", hits.len(), hits.join("\n"));
}

/// Returns a pattern that every line with a hit matches.
fn candidates() -> Regex {
    let pairs = [WORDS, PHRASES, IDENTIFIERS, DECLARATIONS, OPENINGS].into_iter().flatten().map(|(text, _)| *text);
    let texts: Vec<String> = pairs.chain(UNIQUE_TYPES.iter().copied()).map(|text| regex::escape(text.trim())).collect();
    Regex::new(&format!("(?i){}", texts.join("|"))).unwrap()
}

/// Returns the text files in git. A running test cluster has other files below `tests`.
fn tracked_files(root: &Path) -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).unwrap();
    let is_checked = |path: &&Path| {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_skipped = path.iter().any(|part| SKIPPED.iter().any(|skipped| part == *skipped));
        EXTENSIONS.contains(&extension) && !is_skipped
    };
    names.split_terminator('\0').map(Path::new).filter(is_checked).map(|path| root.join(path)).collect()
}

/// Returns each word or phrase to avoid in `line`, with its replacement.
fn check(line: &str, is_rust: bool) -> Vec<(&'static str, &'static str)> {
    let mut line = format!("{}\n", line.trim());
    for (name, _) in CONTRACT {
        line = line.replace(name, " ");
    }
    let words = words(&line);
    let lower = line.to_lowercase();
    let mut hits: Vec<_> = WORDS.iter().filter(|(word, _)| words.iter().any(|found| found == word)).collect();
    hits.extend(PHRASES.iter().filter(|(phrase, _)| contains_phrase(&lower, phrase)));
    if is_rust {
        let code = line.split("//").next().unwrap_or_default();
        let identifiers = identifiers(code);
        hits.extend(IDENTIFIERS.iter().filter(|(name, _)| identifiers.contains(name)));
        hits.extend(DECLARATIONS.iter().filter(|(name, _)| declares(&identifiers, name)));
        hits.extend(OPENINGS.iter().filter(|(opening, _)| line.starts_with(opening)));
    }
    hits.into_iter().copied().collect()
}

/// Returns the identifiers, keywords and numbers of a line of code.
fn identifiers(code: &str) -> Vec<&str> {
    let parts = code.split(|next: char| !next.is_ascii_alphanumeric() && next != '_');
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns true if a line with these identifiers declares `name`.
fn declares(identifiers: &[&str], name: &str) -> bool {
    identifiers.windows(2).any(|pair| KEYWORDS.contains(&pair[0]) && pair[1] == name)
}

/// Returns true if `line` declares a struct or an enum of this name.
fn declares_type(line: &str, name: &str) -> bool {
    let identifiers = identifiers(line.split("//").next().unwrap_or_default());
    identifiers.windows(2).any(|pair| ["struct", "enum"].contains(&pair[0]) && pair[1] == name)
}

/// Returns true if `text` contains `phrase` and the phrase does not start or end inside a word.
fn contains_phrase(text: &str, phrase: &str) -> bool {
    let is_letter = |next: Option<char>| next.is_some_and(|next| next.is_ascii_alphabetic());
    text.match_indices(phrase).any(|(start, _)| {
        let end = start + phrase.len();
        let starts_inside = is_letter(phrase.chars().next()) && is_letter(text[..start].chars().next_back());
        let ends_inside = is_letter(phrase.chars().next_back()) && is_letter(text[end..].chars().next());
        !starts_inside && !ends_inside
    })
}

/// Returns the words of a line in lower case; splits identifiers at underscores and at capital letters.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower_case = false;
    for next in line.chars() {
        if !next.is_ascii_alphabetic() || (next.is_ascii_uppercase() && after_lower_case) {
            words.push(String::new());
        }
        if next.is_ascii_alphabetic() {
            words.last_mut().unwrap().push(next.to_ascii_lowercase());
        }
        after_lower_case = next.is_ascii_lowercase();
    }
    words
}

#[test]
fn the_check_finds_words_in_prose_and_in_identifiers() {
    for (line, expected) in [
        ("/// The proxy is told to quit.", 1),
        ("let who_tells = ToldOf::new();", 2),
        ("/// Whether it runs.", 1),
        ("let ruling: Ruling = decide();", 1),
        ("pub struct Place;", 1),
        ("State::Admitted => {}", 0),
        ("helpers: []", 0),
        ("container: trainmesh.dev/payload-containers", 0),
        ("the Restoration of an intelligent mintage", 0),
        ("a cargo only loads", 0),
    ] {
        let hits = check(line, true);
        assert_eq!(hits.len(), expected, "{line}: {hits:?}");
    }
}
