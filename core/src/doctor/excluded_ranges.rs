//! Compares `mesh.excludeIPRanges` with the ranges that Istio's injector excludes for the whole mesh, which the mode
//! `direct` replaces.

use std::collections::BTreeSet;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;

use super::{CheckFinding, Code, InjectorRanges, istio, join_names};
use crate::cidr::Cidr;
use crate::config::Mesh;
use crate::keys;
use crate::yaml;

/// Name of the injector's `ConfigMap`, which the revision follows.
const CONFIG_MAP: &str = "istio-sidecar-injector";
/// Revision without a suffix.
const DEFAULT_REVISION: &str = "default";
/// Namespace of the injector if its webhook configuration contains a URL.
const ISTIO_SYSTEM: &str = "istio-system";

/// Returns namespace and name of the `ConfigMaps` with the values of Istio's injectors.
#[must_use]
pub fn injector_config_maps(all: &[MutatingWebhookConfiguration]) -> BTreeSet<(String, String)> {
    let injectors = all.iter().filter(|configuration| istio::injects(configuration));
    let location = |configuration: &MutatingWebhookConfiguration| {
        let revision = configuration.metadata.labels.as_ref().and_then(|labels| labels.get(keys::ISTIO_REVISION));
        let name = match revision.map(String::as_str) {
            None | Some(DEFAULT_REVISION) => CONFIG_MAP.to_owned(),
            Some(revision) => format!("{CONFIG_MAP}-{revision}"),
        };
        let mut webhooks = configuration.webhooks.iter().flatten();
        let service = webhooks.find_map(|webhook| webhook.client_config.service.as_ref());
        (service.map_or(ISTIO_SYSTEM, |service| service.namespace.as_str()).to_owned(), name)
    };
    injectors.map(location).collect()
}

impl InjectorRanges {
    /// Parses the key `values` of the injector's `ConfigMap`.
    #[must_use]
    pub fn parse(namespace: &str, name: &str, values: &str) -> Self {
        let values = yaml::parse(values).unwrap_or_default();
        let ranges = values.pointer("/global/proxy/excludeIPRanges").and_then(|ranges| ranges.as_str());
        let ranges = ranges.unwrap_or_default().split(',').filter_map(|range| Cidr::parse(range.trim()));
        Self { config_map: format!("{namespace}/{name}"), ranges: ranges.collect() }
    }
}

pub(super) fn check(injectors: &[InjectorRanges], mesh: &Mesh) -> Vec<CheckFinding> {
    let configured = || mesh.exclude_ip_ranges.iter().chain(&mesh.pod_cidrs);
    let is_repeated = |range: &Cidr| configured().any(|configured| configured.covers(*range));
    let missing = injectors.iter().flat_map(|injector| {
        let missing = injector.ranges.iter().filter(|range| !is_repeated(range));
        missing.map(|range| format!("{range} ({})", injector.config_map))
    });
    let is_excluded =
        |range: &Cidr| injectors.iter().flat_map(|injector| &injector.ranges).any(|known| known.covers(*range));
    let additional = mesh.exclude_ip_ranges.iter().filter(|range| !is_excluded(range));
    let found = [
        (Code::ExcludedRangesMissing, join_names(missing)),
        // Without an injector, nothing is known about the mesh.
        (Code::ExcludedRangesAdditional, join_names(additional.filter(|_| !injectors.is_empty()))),
    ];
    let found: Vec<CheckFinding> = found.into_iter().filter(|(_, ranges)| !ranges.is_empty()).collect();
    if found.is_empty() { vec![(Code::ExcludedRangesRepeated, String::new())] } else { found }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::testing::{injector, own_configuration, webhook_configurations};
    use super::*;

    fn ranges(ranges: &[&str]) -> Vec<Cidr> {
        ranges.iter().map(|range| Cidr::parse(range).unwrap()).collect()
    }

    #[rstest]
    #[case::none("", &[], &[], &[(Code::ExcludedRangesRepeated, "")])]
    #[case::repeated("169.254.169.254/32", &["169.254.169.254/32"], &[], &[(Code::ExcludedRangesRepeated, "")])]
    #[case::covered("10.0.1.0/24, 169.254.169.254/32", &["169.254.0.0/16"], &["10.0.0.0/16"], &[(Code::ExcludedRangesAdditional, "169.254.0.0/16")])]
    #[case::missing("10.0.1.0/24,10.0.2.0/24", &["10.0.2.0/24"], &[], &[(Code::ExcludedRangesMissing, "10.0.1.0/24 (istio-system/istio-sidecar-injector)")])]
    #[case::additional("", &["10.0.2.0/24"], &["10.244.0.0/16"], &[(Code::ExcludedRangesAdditional, "10.0.2.0/24")])]
    fn compares_the_ranges(
        #[case] injected: &str,
        #[case] excluded: &[&str],
        #[case] pods: &[&str],
        #[case] expected: &[(Code, &str)],
    ) {
        let values = json!({"global": {"proxy": {"excludeIPRanges": injected}}}).to_string();
        let injectors = [InjectorRanges::parse("istio-system", "istio-sidecar-injector", &values)];
        let mesh = Mesh { exclude_ip_ranges: ranges(excluded), pod_cidrs: ranges(pods), ..Mesh::default() };
        let expected: Vec<CheckFinding> = expected.iter().map(|(code, about)| (*code, (*about).to_owned())).collect();
        assert_eq!(check(&injectors, &mesh), expected);
        assert_eq!(check(&[], &mesh), [(Code::ExcludedRangesRepeated, String::new())]);
    }

    #[test]
    fn the_revision_is_part_of_the_name() {
        let mut canary = injector("istio-sidecar-injector-canary");
        canary["metadata"]["labels"]["istio.io/rev"] = "canary".into();
        canary["webhooks"][0]["clientConfig"]["service"]["namespace"] = "mesh".into();
        let all = webhook_configurations(&[own_configuration(), injector("istio-sidecar-injector"), canary]);
        let expected = [("istio-system", "istio-sidecar-injector"), ("mesh", "istio-sidecar-injector-canary")];
        let expected = expected.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        assert_eq!(injector_config_maps(&all), BTreeSet::from(expected));
        assert_eq!(InjectorRanges::parse("a", "b", "global: {").ranges, []);
    }
}
