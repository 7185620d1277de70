//! The documents, and what is shipped beside the code, say what the code does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;
use trainmesh::telemetry::{EvictionReason, HandshakeFailure, Metrics, ReloadResult, ReviewResult, ServerKind};
use trainmesh_core::config::Configuration;
use trainmesh_core::doctor::{Code, Right, Server, Servers, level, needed};
use trainmesh_core::lint::page;
use trainmesh_core::mutate::{Reason, mutate};
use trainmesh_testing::snapshot::snapshot;

/// How to renew the table: it is what this test prints.
#[test]
fn every_reason_is_documented_in_its_own_words() {
    let documented = include_str!("../../docs/rules.md");
    let (_, table) = documented.split_once("## Reasons\n").unwrap();
    let rows: Vec<String> =
        Reason::ALL.iter().map(|reason| format!("| `{}` | {} |", reason.code(), reason.text())).collect();
    let expected = format!("\n| code | words |\n|---|---|\n{}\n", rows.join("\n"));
    assert_eq!(table, expected, "replace what follows `## Reasons` in docs/rules.md by:\n{expected}");
}

/// How to renew the page: `UPDATE_DOCS=1 cargo test --test unit docs::`.
#[test]
fn every_check_of_the_lint_is_documented_in_its_own_words() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lint.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let documented = std::fs::read_to_string(path).unwrap_or_default();
    assert!(documented == page(), "renew docs/lint.md: UPDATE_DOCS=1 cargo test --test unit docs::");
}

/// How to renew the table: it is what this test prints.
#[test]
fn every_finding_of_doctor_is_documented_in_its_own_words() {
    let documented = include_str!("../../docs/operations.md");
    let (_, rest) = documented.split_once("| code | level | words |\n|---|---|---|\n").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let row = |code: &Code| format!("| `{}` | {} | {} |", code.code(), level(code.severity()), code.text());
    let expected: Vec<String> = Code::ALL.iter().map(row).collect();
    let expected = expected.join("\n");
    assert_eq!(table, expected, "replace the table of `doctor` in docs/operations.md by:\n{expected}");
}

/// An alert on a series that nobody exports never fires.
#[test]
fn alerts_dashboard_and_docs_name_series_and_labels_that_exist() {
    let exported = exported();
    let exists = |name: &str, label: &str| {
        let series =
            exported.lines().filter_map(|line| line.strip_prefix(name)).filter(|rest| rest.starts_with([' ', '{']));
        series.into_iter().any(|rest| label.is_empty() || rest.contains(&format!("{label}=\"")))
    };
    for (file, text) in [
        ("alerts.yaml", include_str!("../../charts/trainmesh/files/alerts.yaml")),
        ("dashboard.json", include_str!("../../charts/trainmesh/files/dashboard.json")),
        ("operations.md", include_str!("../../docs/operations.md")),
    ] {
        let used = used(text);
        assert!(used.len() > 10, "{file} names {used:?}");
        let unknown: Vec<_> = used
            .iter()
            .filter(|(name, label)| {
                // A page names a histogram as a whole.
                let whole = file == "operations.md" && exists(&format!("{name}_count"), label);
                !whole && !exists(name, label)
            })
            .collect();
        assert!(unknown.is_empty(), "{file}: nobody exports {unknown:?} in\n{exported}");
    }
}

/// The text of `/metrics` after each family has counted something: one without a series is left out.
fn exported() -> String {
    let metrics = Metrics::default();
    metrics.config_reload(ReloadResult::Refused);
    metrics.admission.review(ReviewResult("patched"), Duration::ZERO);
    let config = Configuration::embedded();
    metrics.admission.outcome(&mutate(&json!({}), &snapshot(&BTreeMap::new(), &config)));
    metrics.connections.handshake_failure(HandshakeFailure::NotTls);
    metrics.connections.evicted(ServerKind::Admin, EvictionReason::Unread);
    metrics.certificates.leaf_expires(1);
    metrics.certificates.authority_expires(1);
    metrics.lifecycle.attempt("exec", "sent");
    metrics.lifecycle.proxy_ended("exec", Some(Duration::ZERO));
    metrics.lifecycle.skipped("BeingDeleted");
    metrics.lifecycle.state_changed(None, Some("waiting"));
    metrics.fabric.mixed(1);
    metrics.fabric.dropped(1, 1);
    metrics.encode()
}

/// The series that a text names, each alone and with the labels of its own that it is selected by.
fn used(text: &str) -> BTreeSet<(String, String)> {
    // Prometheus knows them by where it has read them.
    const OF_THE_TARGET: [&str; 2] = ["pod", "namespace"];
    let mut used = BTreeSet::new();
    for (at, _) in text.match_indices("trainmesh_") {
        let rest = &text[at..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        used.insert((name.to_owned(), String::new()));
        let selector = rest[end..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let matchers = selector.into_iter().flat_map(|(selector, _)| selector.split(','));
        let labels =
            matchers.filter_map(|matcher| matcher.split(['=', '!']).next()).filter(|it| !OF_THE_TARGET.contains(it));
        used.extend(labels.map(|label| (name.to_owned(), label.trim().to_owned())));
    }
    used
}

/// The manifests are made of the chart, with every feature on; each role's kind tells where it holds.
#[test]
fn doctor_asks_for_the_rights_that_the_chart_grants() {
    let manifests = [
        (Server::Webhook, include_str!("../../config/kustomize/base/webhook-rbac.yaml")),
        (Server::Controller, include_str!("../../config/kustomize/base/controller-rbac.yaml")),
    ];
    let granted: BTreeSet<String> = manifests.iter().flat_map(|(server, text)| grants(*server, text)).collect();
    let needed = needed(&Configuration::embedded(), &Servers::default(), "home");
    let needed: BTreeSet<String> = needed.iter().map(|right| format!("{right} ({})", right.group)).collect();
    assert_eq!(needed, granted);
}

/// What the roles of a manifest grant, in the words of [`Right`].
fn grants(server: Server, manifest: &str) -> Vec<String> {
    let documents = manifest.split("\n---\n").map(|document| trainmesh_core::yaml::parse(document).unwrap());
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
