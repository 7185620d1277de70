//! Values of the chart, besides the section `config`, on which the changes of a pod depend.

use serde_json::Value;

use crate::yaml::Node;

/// Values with conditions for namespaces and pods, which only the apiserver evaluates.
const CONDITIONS: [&str; 3] = ["namespaceSelector", "objectSelector", "matchConditions"];

/// Returns the excluded namespaces in `values`.
pub(super) fn excluded_namespaces(values: Node<'_>) -> Vec<String> {
    let names = values.get("webhook").and_then(|webhook| webhook.get("excludedNamespaces")?.value.as_array());
    names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Returns the namespace of the installation, if `values` override that of the release.
pub(super) fn namespace(values: Node<'_>) -> Option<String> {
    let name = values.get("namespaceOverride")?.value.as_str();
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns true if `values` disable the controller.
pub(super) fn disables_controller(values: Node<'_>) -> bool {
    let enabled = values.get("controller").and_then(|controller| controller.get("enabled"));
    enabled.is_some_and(|enabled| enabled.value.as_bool() == Some(false))
}

/// Returns the names of the conditions in `values`.
pub(super) fn conditions(values: Node<'_>) -> Vec<&'static str> {
    let webhook = values.get("webhook");
    let is_set = |value: &Value| {
        value.as_array().is_some_and(|list| !list.is_empty()) || value.as_object().is_some_and(|map| !map.is_empty())
    };
    let has = |name: &&str| webhook.and_then(|webhook| webhook.get(name)).is_some_and(|node| is_set(node.value));
    CONDITIONS.into_iter().filter(has).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::config::parse_values;

    #[rstest]
    #[case::none(&["config: {}"], &[], &[])]
    #[case::listed(&["webhook: {excludedNamespaces: [kube-system, team-a]}"], &["kube-system", "team-a"], &[])]
    #[case::a_list_replaces(&["webhook: {excludedNamespaces: [a]}", "webhook: {excludedNamespaces: [b], replicas: 2}"], &["b"], &[])]
    #[case::of_a_parent_chart(&["trainmesh: {webhook: {excludedNamespaces: [a]}}"], &["a"], &[])]
    #[case::conditions(&["webhook: {namespaceSelector: {matchLabels: {a: b}}, objectSelector: {}, matchConditions: [{name: a}]}"], &[], &["namespaceSelector", "matchConditions"])]
    #[case::of_other_types(&["webhook: {excludedNamespaces: a, objectSelector: a}"], &[], &[])]
    fn conditions_of_the_webhook_are_read(
        #[case] texts: &[&str],
        #[case] excluded: &[&str],
        #[case] conditions: &[&str],
    ) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let (_, facts) = parse_values(&texts).unwrap();
        assert_eq!(
            (facts.excluded_namespaces, &*facts.conditions),
            (excluded.iter().map(ToString::to_string).collect(), conditions)
        );
    }

    #[rstest]
    #[case::none(&["config: {}"], None)]
    #[case::set(&["namespaceOverride: ml-system"], Some("ml-system"))]
    #[case::of_a_parent_chart(&["trainmesh: {namespaceOverride: ml-system}"], Some("ml-system"))]
    #[case::reset(&["namespaceOverride: ml-system", "namespaceOverride: \"\""], None)]
    #[case::of_another_type(&["namespaceOverride: 1"], None)]
    fn values_can_override_the_namespace(#[case] texts: &[&str], #[case] expected: Option<&str>) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(parse_values(&texts).unwrap().1.namespace.as_deref(), expected);
    }

    #[rstest]
    #[case::none(&["config: {}"], false)]
    #[case::other_value(&["controller: {replicas: 3}"], false)]
    #[case::enabled(&["controller: {enabled: false}", "controller: {enabled: true}"], false)]
    #[case::disabled(&["controller: {enabled: true}", "controller: {enabled: false}"], true)]
    #[case::of_a_parent_chart(&["trainmesh: {controller: {enabled: false}}"], true)]
    fn values_can_disable_the_controller(#[case] texts: &[&str], #[case] expected: bool) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(parse_values(&texts).unwrap().1.lacks_controller, expected);
    }
}
