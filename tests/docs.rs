//! The documents, and what is shipped beside the code, say what the code does.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a failed test says so by a panic, and tables of cases own their values"
)]

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use trainmesh::config::Configuration;
use trainmesh::doctor::{Code, Right, Server, Servers, needed};
use trainmesh::lint::page;
use trainmesh::mutate::Reason;

/// How to renew the table: it is what this test prints.
#[test]
fn every_reason_is_documented_in_its_own_words() {
    let documented = include_str!("../docs/rules.md");
    let (_, table) = documented.split_once("## Reasons\n").unwrap();
    let rows: Vec<String> =
        Reason::ALL.iter().map(|reason| format!("| `{}` | {} |", reason.code(), reason.text())).collect();
    let expected = format!("\n| code | words |\n|---|---|\n{}\n", rows.join("\n"));
    assert_eq!(table, expected, "replace what follows `## Reasons` in docs/rules.md by:\n{expected}");
}

/// How to renew the page: `UPDATE_DOCS=1 cargo test --test docs`.
#[test]
fn every_check_of_the_lint_is_documented_in_its_own_words() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lint.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let documented = std::fs::read_to_string(path).unwrap_or_default();
    assert!(documented == page(), "renew docs/lint.md: UPDATE_DOCS=1 cargo test --test docs");
}

/// How to renew the table: it is what this test prints.
#[test]
fn every_finding_of_doctor_is_documented_in_its_own_words() {
    let documented = include_str!("../docs/operations.md");
    let (_, rest) = documented.split_once("| code | level | words |\n|---|---|---|\n").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let row = |code: &Code| format!("| `{}` | {} | {} |", code.code(), code.level().name(), code.text());
    let expected: Vec<String> = Code::ALL.iter().map(row).collect();
    let expected = expected.join("\n");
    assert_eq!(table, expected, "replace the table of `doctor` in docs/operations.md by:\n{expected}");
}

/// An alert on a metric that nobody exports never fires.
#[test]
fn alerts_dashboard_and_docs_name_metrics_that_exist() {
    // A family without a series is not encoded, so that the registrations themselves are read.
    let registrations = concat!(
        include_str!("../src/telemetry/metrics.rs"),
        include_str!("../src/telemetry/metrics/admission.rs"),
        include_str!("../src/telemetry/metrics/certificates.rs"),
        include_str!("../src/telemetry/metrics/connections.rs"),
        include_str!("../src/telemetry/metrics/fabric.rs"),
        include_str!("../src/telemetry/metrics/lifecycle.rs"),
    );
    let exported = |name: &str| {
        let mut base = name.trim_start_matches("trainmesh_");
        for suffix in ["_bucket", "_count", "_sum", "_total", "_info", "_seconds"] {
            base = base.strip_suffix(suffix).unwrap_or(base);
        }
        registrations.contains(&format!("\"{base}\""))
    };
    for text in [
        include_str!("../charts/trainmesh/files/alerts.yaml"),
        include_str!("../charts/trainmesh/files/dashboard.json"),
        include_str!("../docs/operations.md"),
    ] {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let used: BTreeSet<&str> = words.filter(|word| word.starts_with("trainmesh_")).collect();
        assert!(!used.is_empty());
        let unknown: Vec<&&str> = used.iter().filter(|name| !exported(name)).collect();
        assert!(unknown.is_empty(), "nobody exports {unknown:?}");
    }
}

/// The manifests are made of the chart, with every feature on; each role's kind tells where it holds.
#[test]
fn doctor_asks_for_the_rights_that_the_chart_grants() {
    let manifests = [
        (Server::Webhook, include_str!("../config/kustomize/base/webhook-rbac.yaml")),
        (Server::Controller, include_str!("../config/kustomize/base/controller-rbac.yaml")),
    ];
    let granted: BTreeSet<String> = manifests.iter().flat_map(|(server, text)| grants(*server, text)).collect();
    let needed = needed(&Configuration::embedded(), &Servers::default(), "home");
    let needed: BTreeSet<String> = needed.iter().map(|right| format!("{right} ({})", right.group)).collect();
    assert_eq!(needed, granted);
}

/// What the roles of a manifest grant, in the words of [`Right`].
fn grants(server: Server, manifest: &str) -> Vec<String> {
    let documents = manifest.split("\n---\n").map(|document| trainmesh::yaml::parse(document).unwrap());
    let mut granted = Vec::new();
    for mut role in documents.filter(|role| role["rules"].is_array()) {
        let namespace = (role["kind"] == "Role").then(|| "home".to_owned());
        let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].take()).unwrap();
        for rule in rules {
            let (groups, resources) = (rule.api_groups.unwrap(), rule.resources.unwrap());
            let names = rule.resource_names.unwrap_or_else(|| vec![String::new()]);
            for (resource, name) in resources.iter().flat_map(|resource| names.iter().map(move |name| (resource, name)))
            {
                for verb in &rule.verbs {
                    granted.push(right(server, verb, &groups[0], resource, name, namespace.as_deref()));
                }
            }
        }
    }
    granted
}

fn right(server: Server, verb: &str, group: &str, resource: &str, name: &str, namespace: Option<&str>) -> String {
    // A right's words live as long as the program: those of a manifest are given as long a life.
    let keep = |text: &str| -> &'static str { text.to_owned().leak() };
    let namespace = namespace.map(str::to_owned);
    let (verb, resource, name) = (keep(verb), keep(resource), name.to_owned().into());
    format!("{} ({group})", Right { server, verb, group: keep(group), resource, name, namespace })
}
