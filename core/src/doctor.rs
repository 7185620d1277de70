//! The checks of `trainmesh doctor` on a cluster and its installation.
//!
//! A pure function from [`InstallationFacts`], collected by `cluster::doctor`, to [`Finding`]s. Each check has its own
//! file and receives only the facts that it needs. Severity, text and fix of every [`Code`] are in one list. A check
//! without problems returns a finding too, so that the output lists all checks.
//!
//! Nothing is repaired and nothing is guessed: data that the user's account may not read is a note, never a failure.

mod certificate;
mod code;
mod configuration;
mod endpoints;
mod exec_policy;
mod facts;
mod istio;
mod istio_aux;
mod kubernetes;
mod lease;
mod metrics;
mod namespaces;
mod permissions;
mod pod_network;
mod pod_security;
mod servers;
#[cfg(test)]
mod testing;
mod webhook_configuration;

use std::fmt;

pub use certificate::ca_bundle;
pub use code::{Check, Code, level_name};
pub use facts::{
    CertificateStatus, ExecPolicy, InstallationFacts, Istiod, PodSecurityProbe, ProbeResult, Readable, Version,
};
pub use permissions::{Permission, Server, narrow_to_namespaces, required_permissions, unused_permissions};
pub use pod_network::{PodNetwork, configured_ranges, selects_direct_traffic};
pub use servers::Servers;
pub use webhook_configuration::own_webhooks;

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
        pod_network,
        pod_security,
    } = facts;
    let namespace = installation.namespace();
    let unused = unused_permissions.known().map_or(&[][..], Vec::as_slice);
    let configured = configuration.known().and_then(|update| update.parse().ok());
    let may_exec = configured.as_ref().is_none_or(|configured| configured.termination.enabled);
    let account = format!("system:serviceaccount:{namespace}:{}", servers.controller_account);
    let profiles = configured.as_ref().map(|configured| &configured.fabric.profiles);
    let visible = webhook_configurations.known().map_or(&[][..], Vec::as_slice);
    let checks = [
        (Check::Kubernetes, kubernetes::check(version)),
        (Check::Registration, webhook_configurations.evaluate(|all| webhook_configuration::check(all, namespace))),
        (Check::IstioAux, webhook_configurations.evaluate(|all| istio_aux::check(all))),
        (Check::Certificate, certificate::check(certificate, visible, servers, namespace, *now)),
        (Check::Endpoints, endpoints.evaluate(|ready| endpoints::check(*ready))),
        (
            Check::Controller,
            if servers.controller {
                lease.evaluate(|lease| lease::check(lease.as_ref(), *now))
            } else {
                vec![(Code::ControllerAbsent, String::new())]
            },
        ),
        (Check::Metrics, metrics.evaluate(metrics::check)),
        (Check::Configuration, configuration.evaluate(configuration::check)),
        (Check::Rights, denied.evaluate(|denied| permissions::check(denied, unused))),
        (Check::ExecPolicy, exec_policy.evaluate(|policy| exec_policy::check(policy, &account, may_exec))),
        (Check::Istio, webhook_configurations.evaluate(|all| istio::check(all, istiods))),
        (
            Check::Namespaces,
            namespaces.evaluate(|all| namespaces::check(all, webhook_configurations.known(), profiles, installation)),
        ),
        (
            Check::PodNetwork,
            pod_network.evaluate(|network| {
                let mesh = configured.as_ref().map(|configured| configured.mesh.clone()).unwrap_or_default();
                let labels = namespaces.known().into_iter().flatten().map(|(_, labels)| labels);
                pod_network::check(network, &mesh, selects_direct_traffic(&mesh, labels))
            }),
        ),
        (Check::PodSecurity, pod_security.evaluate(pod_security::check)),
    ];
    let findings = |(check, found): (Check, Vec<CheckFinding>)| {
        found.into_iter().map(move |(code, evidence)| (check, code.finding(evidence)))
    };
    checks.into_iter().flat_map(findings).collect()
}

/// The code of a finding, and its evidence.
type CheckFinding = (Code, String);

/// Joins names for a line of a terminal.
fn join_names(names: impl IntoIterator<Item = impl fmt::Display>) -> String {
    join_up_to(8, names)
}
