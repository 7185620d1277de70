//! Keeps the docs, the chart's alerts and dashboard, and the RBAC manifests in line with the code.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;
use trainmesh::telemetry::{EvictionReason, HandshakeFailure, Metrics, ReloadResult, ReviewResult, ServerKind};
use trainmesh_core::config::Configuration;
use trainmesh_core::diagnosis::{self, DiagnosisCode, InventoryCounts};
use trainmesh_core::doctor::{Code, Permission, Server, Servers, level_name, required_permissions};
use trainmesh_core::lint::reference_page;
use trainmesh_core::mutate::{Reason, mutate};
use trainmesh_core::workload::KINDS;
use trainmesh_testing::snapshot::snapshot;

/// To update the table, copy it from this test's failure message.
#[test]
fn every_reason_is_documented() {
    let documented = include_str!("../../docs/rules.md");
    let (_, table) = documented.split_once("## Reasons\n").unwrap();
    let rows: Vec<String> =
        Reason::ALL.iter().map(|reason| format!("| `{}` | {} |", reason.code(), reason.text())).collect();
    let expected = format!("\n| code | meaning |\n|---|---|\n{}\n", rows.join("\n"));
    assert_eq!(table, expected, "replace what follows `## Reasons` in docs/rules.md by:\n{expected}");
}

/// To update the page: `UPDATE_DOCS=1 cargo test --test unit docs::`.
#[test]
fn every_lint_check_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lint.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, reference_page()).unwrap();
    }
    let documented = std::fs::read_to_string(path).unwrap_or_default();
    assert!(documented == reference_page(), "update docs/lint.md: UPDATE_DOCS=1 cargo test --test unit docs::");
}

/// To update the page: `UPDATE_DOCS=1 cargo test --test unit docs::`.
#[test]
fn every_diagnosis_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/diagnose.md");
    let documented = std::fs::read_to_string(path).unwrap();
    let written = documented.split("## Findings\n").next().unwrap();
    let expected = format!("{written}{}", diagnosis::reference_page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &expected).unwrap();
    } else {
        assert!(documented == expected, "update docs/diagnose.md: UPDATE_DOCS=1 cargo test --test unit docs::");
    }
    for code in DiagnosisCode::ALL {
        assert_eq!(code.link(), format!("docs/diagnose.md#{}", code.code().to_lowercase()));
    }
}

#[test]
fn every_kind_is_listed_in_the_readme() {
    let readme = include_str!("../../README.md");
    let (before, list) = readme.split_once(" supported kinds: ").unwrap();
    let (_, count) = before.rsplit_once("The ").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    assert_eq!(count, KINDS.len().to_string());
    let missing: Vec<&str> = KINDS.iter().map(|kind| kind.kind).filter(|kind| !list.contains(kind)).collect();
    assert!(missing.is_empty(), "README.md does not list {missing:?}");
}

/// Modules whose versions the tests run: the row of the documentation, the module, and the file that requires it.
const TESTED_VERSIONS: &[(&str, &str, &str)] = &[
    ("Kubernetes", "k8s.io/kubernetes", include_str!("../cluster/tools/kubernetes/go.mod")),
    ("Helm", "helm.sh/helm/v4", include_str!("../cluster/tools/chart/go.mod")),
    ("Helm", "helm.sh/helm/v3", include_str!("../cluster/tools/chart/go.mod")),
    ("cert-manager", "github.com/cert-manager/cert-manager", include_str!("../cluster/tools/cert-manager/go.mod")),
    (
        "Kubeflow training operator",
        "github.com/kubeflow/training-operator",
        include_str!("../cluster/tools/training-operator/go.mod"),
    ),
    ("Kubeflow Trainer", "github.com/kubeflow/trainer/v2", include_str!("../cluster/tools/trainer/go.mod")),
    ("MPI operator", "github.com/kubeflow/mpi-operator", include_str!("../cluster/tools/mpi-operator/go.mod")),
    ("JobSet", "sigs.k8s.io/jobset", include_str!("../cluster/tools/jobset/go.mod")),
];

#[test]
fn supported_versions_are_those_that_the_tests_run() {
    let page = include_str!("../../docs/install.md");
    for (name, module, requirements) in TESTED_VERSIONS {
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} ")));
        let row = row.unwrap_or_else(|| panic!("docs/install.md has no row for {name}"));
        let required = requirements.lines().find_map(|line| line.split_once(&format!("{module} v")));
        let (_, version) = required.unwrap_or_else(|| panic!("{module} is not required"));
        assert!(row.contains(version), "docs/install.md: {name} {version}: {row}");
    }
}

/// To update the table, copy it from this test's failure message.
#[test]
fn every_doctor_finding_is_documented() {
    let documented = include_str!("../../docs/operations.md");
    let (_, rest) = documented.split_once("| code | level | meaning |\n|---|---|---|\n").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let row = |code: &Code| format!("| `{}` | {} | {} |", code.code(), level_name(code.severity()), code.text());
    let expected: Vec<String> = Code::ALL.iter().map(row).collect();
    let expected = expected.join("\n");
    assert_eq!(table, expected, "replace the table of `doctor` in docs/operations.md by:\n{expected}");
}

/// An alert on a series that is not exported never fires.
#[test]
fn alerts_dashboard_and_docs_use_exported_series_and_labels() {
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
        assert!(used.len() > 10, "{file} uses only {used:?}");
        let unknown: Vec<_> = used
            .iter()
            .filter(|(name, label)| {
                // A page may name a histogram without its suffixes.
                let whole = file == "operations.md" && exists(&format!("{name}_count"), label);
                !whole && !exists(name, label)
            })
            .collect();
        assert!(unknown.is_empty(), "{file} uses series that are not exported: {unknown:?}; exported:\n{exported}");
    }
}

#[test]
fn every_series_is_documented() {
    let page = include_str!("../../docs/operations.md");
    let exported = exported();
    let families = exported.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let missing: Vec<&str> = families.filter(|family| !page.contains(&format!("`{family}"))).collect();
    assert!(missing.is_empty(), "docs/operations.md does not contain {missing:?}");
}

/// Returns the text of `/metrics` after every family has recorded a sample: a family without a series is left out.
fn exported() -> String {
    let metrics = Metrics::default();
    metrics.record_config_reload(ReloadResult::Rejected);
    metrics.admission.record_review(ReviewResult("patched"), Duration::ZERO);
    let config = Configuration::embedded();
    metrics.admission.record_rules(&mutate(&json!({}), &snapshot(&BTreeMap::new(), &config)));
    metrics.connections.record_handshake_failure(HandshakeFailure::NotTls);
    metrics.connections.record_eviction(ServerKind::Admin, EvictionReason::Unread);
    metrics.certificates.set_serving_validity(&(0..=1));
    metrics.certificates.set_ca_validity(&(0..=1));
    metrics.lifecycle.record_attempt("exec", "sent");
    metrics.lifecycle.record_termination("exec", Some(Duration::ZERO));
    metrics.lifecycle.record_skip("BeingDeleted");
    metrics.lifecycle.move_pod(None, Some("waiting"));
    metrics.fabric.set_mixed_gangs(1);
    metrics.fabric.set_unpinned(1, 1, 1);
    metrics.gang.record_write("create", "written");
    metrics.diagnosis.set_findings(&[(DiagnosisCode::CrashLoop, 1)].into());
    metrics.diagnosis.set_inventory(&InventoryCounts::default());
    metrics.encode()
}

/// Returns the series that a text uses, each on its own and with each label that its selectors match on.
fn used(text: &str) -> BTreeSet<(String, String)> {
    // Prometheus adds these: the first for all its series, the others from the scrape target.
    const TARGET_LABELS: [&str; 4] = ["cluster", "job", "namespace", "pod"];
    let mut used = BTreeSet::new();
    for (at, _) in text.match_indices("trainmesh_") {
        let rest = &text[at..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        used.insert((name.to_owned(), String::new()));
        let selector = rest[end..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let matchers = selector.into_iter().flat_map(|(selector, _)| selector.split(','));
        let labels = matchers
            .filter_map(|matcher| matcher.split(['=', '!']).next())
            .filter(|label| !TARGET_LABELS.contains(label));
        used.extend(labels.map(|label| (name.to_owned(), label.trim().to_owned())));
    }
    used
}

/// The manifests are rendered from the chart with every feature on; a role's kind gives its scope.
#[test]
fn doctor_requires_the_permissions_that_the_chart_grants() {
    let manifests = [
        (Server::Webhook, include_str!("../../config/kustomize/base/webhook-rbac.yaml")),
        (Server::Controller, include_str!("../../config/kustomize/base/controller-rbac.yaml")),
    ];
    let granted: BTreeSet<String> = manifests.iter().flat_map(|(server, text)| grants(*server, text)).collect();
    let needed = required_permissions(&Configuration::embedded(), &Servers::default(), "home");
    let needed: BTreeSet<String> = needed.iter().map(|permission| format!("{permission:?}")).collect();
    assert_eq!(needed, granted);
}

/// Lists what the roles of a manifest grant, one line for each verb and resource.
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
                for (verb, group) in rule.verbs.iter().flat_map(|verb| groups.iter().map(move |group| (verb, group))) {
                    granted.push(permission(server, verb, group, resource, name, namespace.as_deref()));
                }
            }
        }
    }
    granted
}

fn permission(server: Server, verb: &str, group: &str, resource: &str, name: &str, namespace: Option<&str>) -> String {
    // A permission borrows static strings, so the manifest's strings are leaked.
    let leak = |text: &str| -> &'static str { text.to_owned().leak() };
    let namespace = namespace.map(str::to_owned);
    let (verb, resource, name) = (leak(verb), leak(resource), name.to_owned().into());
    format!("{:?}", Permission { server, verb, group: leak(group), resource, name, namespace })
}
