//! `doctor`: what a live cluster says about an installation, judged.
//!
//! Pure: [`Facts`] in, [`Finding`]s out. Each check is one file here, and each sees only the facts that it judges;
//! `cluster::checkup` asks for them. Every finding has a [`Code`], whose severity, words and fix stand in one list. A check
//! that finds nothing wrong says so: a person sees what was looked at.
//!
//! Absent on purpose: any repair, and any guess. What the person's rights do not show is a note, never a failure.

mod certificate;
mod code;
mod configuration;
mod endpoints;
mod facts;
mod istio;
mod istio_aux;
mod kubernetes;
mod lease;
mod metrics;
mod namespaces;
mod pod_security;
mod registration;
mod rights;
mod servers;
#[cfg(test)]
mod testing;

use std::fmt;

pub use certificate::ca_bundle;
pub use code::{Check, Code, level};
pub use facts::{Admission, Facts, Istiod, PodSecurityProbe, Readable, ServingCertificate, Version};
pub use registration::ours as webhooks;
pub use rights::{Right, Server, narrowed, needed, unneeded};
pub use servers::Servers;

use crate::finding::Finding;

/// Judges everything, in the order in which a person would repair it. Every check gives one finding at least.
#[must_use]
pub fn examine(facts: &Facts) -> Vec<(Check, Finding)> {
    let Facts {
        installation,
        now,
        version,
        registrations,
        servers,
        certificate,
        endpoints,
        lease,
        metrics,
        configuration,
        denied,
        unneeded,
        istiods,
        namespaces,
        pod_security,
    } = facts;
    let namespace = installation.namespace();
    let more = unneeded.known().map_or(&[][..], Vec::as_slice);
    let visible = registrations.known().map_or(&[][..], Vec::as_slice);
    let checks = [
        (Check::Kubernetes, kubernetes::check(version)),
        (Check::Registration, registrations.evaluate(|all| registration::check(all, namespace))),
        (Check::IstioAux, registrations.evaluate(|all| istio_aux::check(all))),
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
        (Check::Rights, denied.evaluate(|denied| rights::check(denied, more))),
        (Check::Istio, registrations.evaluate(|all| istio::check(all, istiods))),
        (Check::Namespaces, namespaces.evaluate(|all| namespaces::check(all, registrations.known(), installation))),
        (Check::PodSecurity, pod_security.evaluate(pod_security::check)),
    ];
    let findings = |(check, found): (Check, Vec<Found>)| {
        found.into_iter().map(move |(code, evidence)| (check, code.finding(evidence)))
    };
    checks.into_iter().flat_map(findings).collect()
}

/// A code, and what was seen that shows it.
type Found = (Code, String);

/// `names` in one line, the first few where there are many.
fn several(names: impl IntoIterator<Item = impl fmt::Display>) -> String {
    /// A line that a terminal shows; the rest is counted.
    const SHOWN: usize = 8;
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}
