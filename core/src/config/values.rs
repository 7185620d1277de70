//! Values of the Helm chart: the section `config` of one file, or of several files that Helm merges.

use serde_json::Value;

use super::fields::{Section as _, read_root};
use super::required_values::emptied;
use super::tree::{CHART, bare_profile, is_list_of_profiles, is_profile, list_of_profiles, parse_tree};
use super::webhook_values::{conditions, disables_controller, excluded_namespaces, namespace};
use super::{Configuration, Problem, problem};
use crate::hint::nearest;
use crate::yaml::{Node, Tree};

/// Values of the Helm chart. A file with one of them, and without `apiVersion` and `kind`, is a file of values.
pub const HELM_VALUES: [&str; 20] = [
    "adminPort",
    "certificates",
    "commonAnnotations",
    "commonLabels",
    "config",
    "controller",
    "enabled",
    "execPolicy",
    "extraObjects",
    "global",
    "image",
    "listenAddress",
    "logging",
    "metrics",
    "namespaceOverride",
    "networkPolicy",
    "podSecurityContext",
    "securityContext",
    "webhook",
    "workerThreads",
];
/// Sections of a configuration, which are below `config` in values.
const SECTIONS: [&str; 4] = ["fabric", "gang", "mesh", "termination"];
/// Start of the fields in values of a parent chart.
const OF_PARENT: &str = "trainmesh.";
/// Bits of a line of merged files below the index of the file. A text of 2 MiB has fewer than 2^32 lines.
const LINE_BITS: u32 = 32;

/// Facts about files of values, besides the configuration in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesFacts {
    /// True if a file has the section `config`.
    pub has_section: bool,
    /// Namespace of the installation, if the values override that of the release: `namespaceOverride`.
    pub namespace: Option<String>,
    /// Namespaces that the webhook configuration excludes: `webhook.excludedNamespaces`.
    pub excluded_namespaces: Vec<String>,
    /// Values of the section `webhook` with further conditions, which only the apiserver evaluates.
    pub conditions: Vec<&'static str>,
    /// True if `controller.enabled` is false.
    pub lacks_controller: bool,
    /// Profiles of files that are lost because a later file has its own list, in the order of the files.
    pub lost_profiles: Vec<LostProfiles>,
}

/// Profiles of a file whose list a later file replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostProfiles {
    /// Names of the profiles that the last list does not contain.
    pub names: Vec<String>,
    /// Index of the last file that contains them.
    pub file: usize,
    /// Index of the file with the last list.
    pub by: usize,
}

/// Returns true if `text` consists of values of the chart, or of a chart that contains it. An empty mapping counts.
#[must_use]
pub fn contains_values(text: &str) -> bool {
    parse_tree(text).is_ok_and(|tree| is_values(tree.root()) || is_empty(&tree))
}

/// Parses the section `config` of `texts`, merged as Helm merges files of values: mappings key by key, while a later list
/// replaces the earlier one.
///
/// # Errors
/// Returns all problems, each with the index of its text.
pub fn parse_values(texts: &[String]) -> Result<(Configuration, ValuesFacts), Vec<(usize, Problem)>> {
    let mut problems = Vec::new();
    let mut merged = Tree::empty();
    let (mut lists, mut prefixes) = (Vec::new(), Vec::new());
    for (index, text) in texts.iter().enumerate() {
        match values_of(text) {
            Ok((mut tree, prefix)) => {
                prefixes.push(prefix);
                lists.extend(profile_names(tree.root()).map(|names| (index, names)));
                tree.add_to_lines((index as u64) << LINE_BITS);
                merged.merge(tree);
            }
            Err(found) => problems.extend(found.into_iter().map(|problem| (index, problem))),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let has_section = section(merged.root()).is_some();
    let (excluded_namespaces, conditions) = (excluded_namespaces(merged.root()), conditions(merged.root()));
    let (namespace, lacks_controller) = (namespace(merged.root()), disables_controller(merged.root()));
    let with_prefix = |(index, problem): (usize, Problem)| {
        let prefix = prefixes.get(index).filter(|_| !problem.field.is_empty()).copied().unwrap_or_default();
        (index, Problem { field: format!("{prefix}{}", problem.field), ..problem })
    };
    let configuration = read_values(merged.root())
        .map_err(|found| found.into_iter().map(in_file).map(with_prefix).collect::<Vec<_>>())?;
    let lost_profiles = lost_profiles(lists);
    let facts =
        ValuesFacts { has_section, namespace, excluded_namespaces, conditions, lacks_controller, lost_profiles };
    Ok((configuration, facts))
}

/// Returns true if `root` consists of values of the chart, also if all of them are misspelled, or of a chart that contains it.
pub(super) fn is_values(root: Node<'_>) -> bool {
    let has_type = ["apiVersion", "kind"].iter().any(|field| root.get(field).is_some());
    let is_named = || root.get(CHART).is_some() || HELM_VALUES.iter().any(|value| root.get(value).is_some());
    let is_misspelled =
        || root.entries().next().is_some() && root.entries().all(|(key, _)| nearest(key, &HELM_VALUES).is_some());
    !has_type && !is_profile(root) && (is_named() || is_misspelled())
}

/// Parses the section `config` of values. The chart's schema validates the others, except for their names, and for those that
/// Helm removes.
pub(super) fn read_values(root: Node<'_>) -> Result<Configuration, Vec<Problem>> {
    let (values, prefix) = root.get(CHART).map_or((root, ""), |values| (values, OF_PARENT));
    let unknown = values.entries().filter(|(key, _)| !HELM_VALUES.contains(key)).map(|(key, entry)| Problem {
        line: Some(entry.line),
        field: format!("{prefix}{key}"),
        message: match nearest(key, &HELM_VALUES) {
            _ if SECTIONS.contains(&key) => "unknown value of the Helm chart: move it below config".to_owned(),
            Some(near) => format!("unknown value of the Helm chart: did you mean {near}?"),
            None => "unknown value of the Helm chart; a configuration has apiVersion, kind and the fields below config"
                .to_owned(),
        },
    });
    let is_known = |problem: &Problem| HELM_VALUES.iter().any(|value| problem.field.split('.').next() == Some(value));
    let emptied = emptied(values).into_iter().filter(is_known);
    let emptied = emptied.map(|problem| Problem { field: format!("{prefix}{}", problem.field), ..problem });
    let mut problems: Vec<Problem> = unknown.chain(emptied).collect();
    let configuration = match section(values) {
        None => Ok(Configuration::default()),
        Some(section) => read_root(section, Configuration::read),
    };
    problems.extend(configuration.as_ref().err().into_iter().flatten().map(|problem| Problem {
        line: problem.line,
        field: format!("{prefix}config.{}", problem.field).trim_end_matches('.').to_owned(),
        message: problem.message.clone(),
    }));
    problem::sort(&mut problems);
    match configuration {
        Ok(valid) if problems.is_empty() => Ok(valid),
        _ => Err(problems),
    }
}

/// Returns the names of the profiles in values; `None` if they contain no list of profiles.
fn profile_names(values: Node<'_>) -> Option<Vec<String>> {
    let list = section(values)?.get("fabric")?.get("profiles")?;
    let name = |profile: Node<'_>| profile.value.get("name").and_then(Value::as_str).map(str::to_owned);
    list.value.is_array().then(|| list.items().filter_map(name).collect())
}

/// Returns the profiles of `lists` that the last one does not contain.
fn lost_profiles(mut lists: Vec<(usize, Vec<String>)>) -> Vec<LostProfiles> {
    let Some((by, mut known)) = lists.pop() else { return Vec::new() };
    let mut lost_profiles = Vec::new();
    for (file, names) in lists.into_iter().rev() {
        let lost: Vec<String> = names.into_iter().filter(|name| !known.contains(name)).collect();
        known.extend_from_slice(&lost);
        if !lost.is_empty() {
            lost_profiles.push(LostProfiles { names: lost, file, by });
        }
    }
    lost_profiles.reverse();
    lost_profiles
}

/// Returns the section `config` of values.
fn section(values: Node<'_>) -> Option<Node<'_>> {
    values.get("config").filter(|section| !section.value.is_null())
}

/// Returns the values of the chart in `text`, and the start of their fields in it.
fn values_of(text: &str) -> Result<(Tree, &'static str), Vec<Problem>> {
    let tree = parse_tree(text)?;
    // A filter that finds nothing writes null or nothing. A file whose values are comments is a file that someone wrote.
    let has_comment = || text.lines().any(|line| line.trim_start().starts_with('#'));
    if tree.root().value.is_null() && !has_comment() {
        let message = "no values: write {} for the defaults, or check the command that wrote the file (an Argo CD Application has \
                       values in spec.source.helm or spec.sources[].helm)"
            .to_owned();
        return Err(vec![Problem { line: None, field: String::new(), message }]);
    }
    if tree.root().get(CHART).is_some_and(|values| values.value.is_object()) {
        return Ok((tree.into_entry(CHART), OF_PARENT));
    }
    if is_profile(tree.root()) {
        return Err(bare_profile(tree.root()));
    }
    if is_list_of_profiles(tree.root()) {
        return Err(list_of_profiles());
    }
    if !is_values(tree.root()) && !is_empty(&tree) {
        let message = "expected Helm values, because several files are merged as Helm merges values".to_owned();
        return Err(vec![Problem { line: None, field: String::new(), message }]);
    }
    Ok((tree, ""))
}

/// Returns true for a text without values.
fn is_empty(tree: &Tree) -> bool {
    let value = tree.root().value;
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Splits the line of a problem in merged files.
fn in_file(problem: Problem) -> (usize, Problem) {
    let line = problem.line.unwrap_or_default();
    let index = usize::try_from(line >> LINE_BITS).unwrap_or_default();
    (index, Problem { line: problem.line.map(|line| line & ((1 << LINE_BITS) - 1)), ..problem })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const PROFILE: &str = "config: {fabric: {profiles: [{name: mine, transport: ib}]}}\n";

    #[rstest]
    #[case::later_file_wins(&["config: {mesh: {hold: true}}", "config: {mesh: {hold: false}}"], Ok(false))]
    #[case::key_by_key(&["config: {mesh: {hold: false}}", "config: {fabric: {enabled: false}}"], Ok(false))]
    #[case::null_selects_the_default(&["config: {mesh: {hold: false}}", "config: {mesh: {hold: null}}"], Ok(true))]
    #[case::profile_of_another_file(&[PROFILE, "config: {mesh: {hold: false}, fabric: {default: mine}}"], Ok(false))]
    #[case::a_list_replaces(&[PROFILE, "config: {fabric: {default: mine, profiles: []}}"], Err(&["1:1: config.fabric.default"][..]))]
    #[case::of_a_parent_chart(&["trainmesh: {config: {mesh: {hold: false}}}\nother: 1", "webhook: {replicas: 3}"], Ok(false))]
    #[case::empty_files(&["{}", "# later"], Ok(true))]
    #[case::no_text(&["{}", ""], Err(&["1: "][..]))]
    #[case::null(&["null\n"], Err(&["0: "][..]))]
    #[case::lines_of_each_file(&["config:\n  mesh:\n    hold: 1", "\nconfig:\n  mesh:\n    traffic: 1\nconfg: {}"], Err(&["0:3: config.mesh.hold", "1:4: config.mesh.traffic", "1:5: confg"][..]))]
    #[case::lines_of_a_parent_chart(&["trainmesh: {config: {mesh: {hold: 1}}}", "config: {mesh: {traffic: 1}}"], Err(&["0:1: trainmesh.config.mesh.hold", "1:1: config.mesh.traffic"][..]))]
    #[case::replaced_problem(&["config: {mesh: {hold: 1}}", "config: {mesh: {hold: true}}"], Ok(true))]
    #[case::not_a_mapping(&["config: [a]"], Err(&["0:1: config"][..]))]
    #[case::a_section_replaces_a_value(&["config: 1", "config: {mesh: {hold: 1}}"], Err(&["1:1: config.mesh.hold"][..]))]
    #[case::profile(&["config: {}", "name: mine\nsecurityContext: {}"], Err(&["1: ", "1:1: transport"][..]))]
    #[case::not_values(&["config: {}", "apiVersion: config.trainmesh.dev/v1alpha1"], Err(&["1: "][..]))]
    #[case::syntax(&["config: {}", "\nconfig: ["], Err(&["1:2: "][..]))]
    fn merges_as_helm_does(#[case] texts: &[&str], #[case] expected: Result<bool, &[&str]>) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let found = parse_values(&texts).map(|(configuration, _)| configuration.mesh.hold).map_err(|problems| {
            let text = |(file, problem): &(usize, Problem)| match problem.line {
                Some(line) => format!("{file}:{line}: {}", problem.field),
                None => format!("{file}: {}", problem.field),
            };
            problems.iter().map(text).collect::<Vec<_>>()
        });
        assert_eq!(found, expected.map_err(|all| all.iter().map(|text| (*text).to_owned()).collect()));
    }

    #[rstest]
    #[case::replaced(&["a", "b"], &["a of 0 by 1"])]
    #[case::restored(&["a", "b", "a,b"], &[])]
    #[case::of_two_files(&["a", "b", "c"], &["a of 0 by 2", "b of 1 by 2"])]
    #[case::repeated(&["a", "a,b", "b"], &["a of 1 by 2"])]
    fn finds_profiles_that_the_last_list_lacks(#[case] lists: &[&str], #[case] expected: &[&str]) {
        let text = |names: &&str| {
            let profiles: Vec<String> =
                names.split(',').map(|name| format!("{{name: {name}, transport: ib}}")).collect();
            format!("config: {{fabric: {{profiles: [{}]}}}}", profiles.join(", "))
        };
        let texts: Vec<String> = lists.iter().map(text).collect();
        let lost = parse_values(&texts).unwrap().1.lost_profiles;
        let lost: Vec<String> =
            lost.iter().map(|lost| format!("{} of {} by {}", lost.names.join(","), lost.file, lost.by)).collect();
        assert_eq!(lost, expected);
    }

    #[rstest]
    #[case::section("config: {}", true)]
    #[case::other_value("webhook: {}", true)]
    #[case::parent_chart("trainmesh: {}\nother: {}", true)]
    #[case::empty("{}", true)]
    #[case::configuration("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration", false)]
    #[case::neither("mesh: {}", false)]
    #[case::profile("name: mine\ntransport: ib\nsecurityContext: {memlock: nodeUnlimited}", false)]
    #[case::profile_without_transport("name: mine\nsecurityContext: {}", false)]
    #[case::name_beside_the_section("name: mine\nconfig: {}", true)]
    fn recognizes_values(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(contains_values(text), expected);
    }

    #[test]
    fn a_section_beside_config_belongs_below_it() {
        let problems = parse_values(&["image: {registry: a}\nmesh: {traffic: direct}\n".to_owned()]).unwrap_err();
        let found: Vec<String> = problems.iter().map(|(_, problem)| problem.to_string()).collect();
        assert_eq!(found, ["line 2: mesh: unknown value of the Helm chart: move it below config"]);
    }

    #[test]
    fn fields_of_a_parent_chart_have_its_key() {
        let problems = Configuration::parse("trainmesh:\n  config: {mesh: {hold: 1}}\n  confg: {}\n").unwrap_err();
        let fields: Vec<&str> = problems.iter().map(|problem| &*problem.field).collect();
        assert_eq!(fields, ["trainmesh.config.mesh.hold", "trainmesh.confg"]);
    }
}
