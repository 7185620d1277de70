//! Checks that links between the pages lead to files and headings that exist.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use trainmesh_core::diagnosis::DiagnosisCode;
use trainmesh_core::lifecycle::{PodFinding, PodFindingCode};
use trainmesh_core::{doctor, lint};

/// Pages and folders of pages.
const PAGES: &[&str] = &[
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "GOVERNANCE.md",
    "SECURITY.md",
    "SUPPORT.md",
    "docs",
    "certs/README.md",
    "charts/trainmesh/README.md",
    "tests/cluster/README.md",
];

#[test]
fn links_lead_to_existing_files_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = Vec::new();
    for path in PAGES {
        collect(&root.join(path), &mut pages);
    }
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in links(&text) {
            if !exists(page, link) {
                broken.push(format!("{}: {link}", page.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert!(pages.len() > 10, "only {pages:?}");
    assert!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn every_alert_leads_to_its_section() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let alerts = fs::read_to_string(root.join("charts/trainmesh/files/alerts.yaml")).unwrap();
    let alerts = trainmesh_core::yaml::parse(&alerts).unwrap();
    let rules = alerts["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
    let broken: Vec<String> = rules
        .filter_map(|rule| {
            let (name, url) = (rule["alert"].as_str().unwrap(), rule["annotations"]["runbook_url"].as_str());
            let leads =
                |url: &str| url.ends_with(&format!("#{}", name.to_lowercase())) && exists(&root.join("README.md"), url);
            (!url.is_some_and(leads)).then(|| format!("{name}: {url:?}"))
        })
        .collect();
    assert!(broken.is_empty(), "alerts without a section: {broken:?}");
}

#[test]
fn every_finding_leads_to_its_section() {
    let checks = lint::checks().into_iter().map(|check| check.id.link());
    let finding =
        PodFinding { code: PodFindingCode::ProxyEnded, container: None, detail: String::new(), termination: None };
    let diagnoses = DiagnosisCode::ALL.iter().map(|code| code.link());
    let others = [doctor::Code::VersionServed.finding(String::new()).link, finding.to_finding().link];
    let links: BTreeSet<&str> = checks.chain(diagnoses).chain(others).collect();
    let sections = lint::checks().len() + DiagnosisCode::ALL.len() + others.len();
    assert_eq!(links.len(), sections, "each check has its own section");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let broken: Vec<&str> = links.into_iter().filter(|link| !link.contains('#') || !exists(&page, link)).collect();
    assert!(broken.is_empty(), "findings without a section: {broken:?}");
}

/// Adds the page at `path`, or the pages below it.
fn collect(path: &Path, pages: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), pages);
        }
    } else if path.extension().is_some_and(|extension| extension == "md") {
        pages.push(path.to_owned());
    }
}

/// Returns true if the file that `page` links to exists, and has the heading if the link names one.
fn exists(page: &Path, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { page.to_owned() } else { page.with_file_name("").join(file) };
    if anchor.is_empty() {
        return target.exists();
    }
    fs::read_to_string(target).is_ok_and(|text| anchors(&text).contains(anchor))
}

/// Returns the relative links of a page.
fn links(text: &str) -> Vec<&str> {
    let prose = prose(text).flat_map(|line| line.split('`').step_by(2));
    let targets = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    targets.map(|(link, _)| link).filter(|link| !link.contains("://")).collect()
}

/// Returns the anchors that GitHub gives the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#')).filter_map(|line| line.split_once(' '));
    let slug = |heading: &str| {
        let kept = heading.chars().filter(|next| next.is_alphanumeric() || matches!(next, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings
        .map(|(_, heading)| {
            let anchor = slug(heading);
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// Returns the lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

#[test]
fn links_and_anchors_are_found_in_prose_only() {
    let text = "# A `b.c`: d\n[x](y.md#z) `[no](code)` [site](https://example.com)\n```console\n# [no](block)\n```\n## A\n## A\n";
    assert_eq!(links(text), ["y.md#z"]);
    assert_eq!(anchors(text), ["a", "a-1", "a-bc-d"].map(str::to_owned).into());
}
