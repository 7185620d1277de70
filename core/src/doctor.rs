//! The checks of `trainmesh doctor` on a cluster and its installation.
//!
//! A pure function from [`InstallationFacts`], collected by `cluster::doctor`, to [`Finding`]s. Each check has its own
//! file and receives only the facts that it needs. Severity, text and fix of every [`Code`] are in one list. A check
//! without problems returns a finding too, so that the output lists all checks.
//!
//! Nothing is repaired and nothing is guessed: data that the user's account may not read is a note, never a failure. A request that fails
//! for another reason is a failure of its check.

mod certificate;
mod code;
mod configuration;
mod endpoints;
mod excluded_ranges;
mod exec_policy;
mod facts;
mod istio;
mod istio_aux;
mod kubernetes;
mod lease;
mod mesh;
mod metrics;
mod namespaces;
mod permissions;
mod pod_network;
mod pod_security;
mod servers;
#[cfg(test)]
mod testing;
mod webhook_configuration;
mod webhooks;

use std::collections::BTreeMap;
use std::fmt;

pub use certificate::ca_bundle;
pub use code::{Check, Code, level_name};
pub use excluded_ranges::injector_config_maps;
pub use facts::{
    CertificateStatus, ExecPolicy, FieldProbe, InjectorRanges, InstallationFacts, Istiod, PodSecurityProbe,
    ProbeResult, ProbedFields, Readable, Version,
};
pub use mesh::MeshState;
pub use permissions::{Permission, Server, narrow_to_namespaces, required_permissions, unused_permissions};
pub use pod_network::{PodNetwork, configured_ranges, selects_direct_traffic};
pub use servers::Servers;
pub use webhook_configuration::own_webhooks;
pub use webhooks::{control_namespaces, namespaces_to_probe, probe_pod, read_probe};

use crate::config::Configuration;
use crate::finding::Finding;
use crate::names::join_up_to;

/// Runs all checks, in the order in which to fix their findings. Every check returns at least one finding.
#[must_use]
pub fn examine(facts: &InstallationFacts) -> Vec<(Check, Finding)> {
    let InstallationFacts {
        installation,
        now,
        version,
        webhook_configurations,
        servers,
        deployments,
        certificate,
        endpoints,
        lease,
        metrics,
        configuration,
        denied,
        unused_permissions,
        exec_policy,
        istiods,
        namespaces,
        pod_security,
        ..
    } = facts;
    let namespace = installation.namespace();
    let unused = unused_permissions.known().map_or(&[][..], Vec::as_slice);
    let configured = configuration.known().and_then(|update| update.parse().ok());
    let may_exec = configured.as_ref().is_none_or(|configured| configured.termination.enabled);
    let account = format!("system:serviceaccount:{namespace}:{}", servers.controller_account);
    let profiles = configured.as_ref().map(|configured| &configured.fabric.profiles);
    let visible = webhook_configurations.known().map_or(&[][..], Vec::as_slice);
    let (mesh_codes, mesh_findings) = check_mesh(facts, configured.as_ref());
    let checks = [
        (Check::Kubernetes, version.evaluate(kubernetes::check)),
        (Check::Registration, webhook_configurations.evaluate(|all| webhook_configuration::check(all, namespace))),
        (Check::IstioAux, webhook_configurations.evaluate(|all| istio_aux::check(all))),
        (Check::Certificate, certificate::check(certificate, visible, servers, namespace, now)),
        (Check::Endpoints, endpoints.evaluate(|ready| endpoints::check(*ready))),
        (
            Check::Controller,
            if servers.controller {
                lease.evaluate(|lease| now.evaluate(|now| lease::check(lease.as_ref(), *now)))
            } else {
                vec![(Code::ControllerAbsent, String::new())]
            },
        ),
        (Check::Metrics, metrics.evaluate(metrics::check)),
        (Check::Configuration, configuration.evaluate(configuration::check)),
        (Check::Rights, {
            let mut found = denied.evaluate(|denied| permissions::check(denied, unused));
            found.extend([unused_permissions.failure(), deployments.failure()].into_iter().flatten());
            found
        }),
        (Check::ExecPolicy, exec_policy.evaluate(|policy| exec_policy::check(policy, &account, may_exec))),
        (Check::Istio, webhook_configurations.evaluate(|all| istio::check(all, istiods))),
        (
            Check::Namespaces,
            namespaces.evaluate(|all| namespaces::check(all, webhook_configurations.known(), profiles, installation)),
        ),
        (Check::PodNetwork, check_pod_network(facts, configured.as_ref())),
        (Check::Mesh, mesh_codes),
        (Check::Webhooks, check_webhooks(facts)),
        (Check::PodSecurity, pod_security.evaluate(pod_security::check)),
    ];
    let findings = |(check, mut found): (Check, Vec<CheckFinding>)| {
        // Several requests of a check may fail alike.
        found.dedup();
        found.into_iter().map(move |(code, evidence)| (check, code.finding(evidence)))
    };
    let mut all = Vec::new();
    for (check, found) in checks {
        all.extend(findings((check, found)));
        if check == Check::Mesh {
            all.extend(mesh_findings.iter().cloned().map(|finding| (Check::Mesh, finding)));
        }
    }
    all
}

/// Checks the ranges that the traffic mode `direct` excludes from capture.
fn check_pod_network(facts: &InstallationFacts, configured: Option<&Configuration>) -> Vec<CheckFinding> {
    let mesh = configured.map(|configured| configured.mesh.clone()).unwrap_or_default();
    let labels = facts.namespaces.known().into_iter().flatten().map(|(_, labels)| labels);
    let is_selected = selects_direct_traffic(&mesh, labels);
    // A namespace that cannot be read may select it.
    if let (false, Some(unread)) = (is_selected, facts.namespaces.unread()) {
        return vec![unread];
    }
    let mut found = facts.pod_network.evaluate(|network| pod_network::check(network, &mesh, is_selected));
    if is_selected {
        found.extend(facts.injector_ranges.evaluate(|injectors| excluded_ranges::check(injectors, &mesh)));
    }
    found
}

/// Checks the pods in the mesh. The second list contains findings of the lint.
fn check_mesh(facts: &InstallationFacts, configured: Option<&Configuration>) -> (Vec<CheckFinding>, Vec<Finding>) {
    let settings = configured.map(|configured| configured.fabric.lint.clone()).unwrap_or_default();
    let labels = facts.namespaces.known();
    match facts.mesh.known() {
        None => (facts.mesh.unread().into_iter().collect(), Vec::new()),
        Some(state) => mesh::check(state, labels.unwrap_or(&BTreeMap::new()), &settings),
    }
}

/// Checks the webhooks of others.
fn check_webhooks(facts: &InstallationFacts) -> Vec<CheckFinding> {
    let InstallationFacts { installation, webhook_configurations, validating_webhooks, .. } = facts;
    webhook_configurations.evaluate(|all| {
        facts.namespaces.evaluate(|namespaces| {
            let validating = validating_webhooks.known().map_or(&[][..], Vec::as_slice);
            let is_opted_in = |(name, labels): &(&String, &_)| installation.namespace_mode(name, labels).is_ok();
            let mut found = webhooks::check_timeouts(all, validating, namespaces.iter().filter(is_opted_in));
            found.extend(validating_webhooks.failure());
            found.extend(facts.version.evaluate(|_| webhooks::check_fields(&facts.field_probe)));
            found
        })
    })
}

/// The code of a finding, and its evidence.
type CheckFinding = (Code, String);

/// Joins names for a line of a terminal.
fn join_names(names: impl IntoIterator<Item = impl fmt::Display>) -> String {
    join_up_to(8, names)
}
