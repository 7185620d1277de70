//! `doctor`: what a live cluster says about an installation, judged.
//!
//! Pure: [`Facts`] in, [`Finding`]s out. Each check is one file here, and each sees only the facts that it judges;
//! `cluster::checkup` asks for them. Every finding has a [`Code`], whose level, words and cure stand in one list. A check
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
#[cfg(test)]
mod testing;

use std::fmt;

pub use certificate::ca_bundle;
pub use code::{Check, Code, Level};
pub use facts::{Admission, Facts, Istiod, PodSecurityProbe, Readable, Servers, ServingCertificate, Version};
pub use registration::ours as webhooks;
pub use rights::{Right, Server, narrowed, needed, unneeded};

/// What one check has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// What was found.
    pub code: Code,
    /// What it is about in this cluster: names, dates; may be empty.
    pub about: String,
}

/// Judges everything, in the order in which a person would repair it. Every check gives one finding at least.
#[must_use]
pub fn examine(facts: &Facts) -> Vec<Finding> {
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
    let finding = |check| move |(code, about)| Finding { check, code, about };
    checks.into_iter().flat_map(|(check, found)| found.into_iter().map(finding(check))).collect()
}

/// A code, and what it is about.
type Found = (Code, String);

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code.text())?;
        if self.about.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.about) }
    }
}

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
