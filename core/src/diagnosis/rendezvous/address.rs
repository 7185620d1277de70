//! Resolves the address of a process group, as cluster DNS does.

use std::net::IpAddr;

use super::group::SCHEME_SEPARATOR;
use crate::diagnosis::context::Context;
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::service::ServiceRecord;

/// Meaning of an address.
#[derive(Debug)]
pub(super) enum Resolution<'a> {
    /// The pod itself.
    Loopback,
    /// An IP address.
    Address(IpAddr),
    /// The pods of a Service.
    Pods(ServicePods<'a>),
    /// A Service that does not exist.
    Missing(String),
    /// A name outside of the cluster, or the snapshot lacks the Service.
    Unknown,
}

/// The pods of a Service to which a name leads.
#[derive(Debug)]
pub(super) struct ServicePods<'a> {
    pub(super) service: &'a ServiceRecord,
    /// Host name of the pod, if the name is that of one pod.
    hostname: Option<String>,
}

/// Field of a pod because of which a name does not lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The selector of the Service does not match its labels.
    Labels,
    /// It has another host name.
    Hostname,
    /// Its subdomain is not the Service, so that it has no record of its own.
    Subdomain,
}

impl ServicePods<'_> {
    /// Returns true if the name leads to `pod` when it is ready.
    pub(super) fn contains(&self, pod: &PodRecord) -> bool {
        self.mismatch(pod).is_none()
    }

    /// Returns why the name does not lead to `pod`.
    pub(super) fn mismatch(&self, pod: &PodRecord) -> Option<Mismatch> {
        let Self { service, hostname } = self;
        if pod.namespace != service.namespace || !pod.labels.matches(&service.selector) {
            return Some(Mismatch::Labels);
        }
        let hostname = hostname.as_deref()?;
        // Without a host name, the name of a record is the address of the pod.
        let is_address = pod.ip.as_deref().is_some_and(|address| address.replace(['.', ':'], "-") == hostname);
        match (pod.hostname.as_deref(), pod.subdomain.as_deref()) {
            _ if is_address => None,
            (other, _) if other != Some(hostname) => Some(Mismatch::Hostname),
            (_, other) if other != Some(&*service.name) => Some(Mismatch::Subdomain),
            _ => None,
        }
    }
}

/// Resolves `host` for `pod`.
pub(super) fn resolve<'a>(host: &str, pod: &PodRecord, context: &'a Context<'_>) -> Resolution<'a> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        return if address.is_loopback() { Resolution::Loopback } else { Resolution::Address(address) };
    }
    if host == "localhost" {
        return Resolution::Loopback;
    }
    // Not a host name.
    if host.contains(SCHEME_SEPARATOR) {
        return Resolution::Unknown;
    }
    let namespace = &*pod.namespace;
    let stripped = host.split_once(".svc").filter(|(_, rest)| rest.is_empty() || rest.starts_with('.'));
    let labels: Vec<&str> = stripped.map_or(host.as_str(), |(name, _)| name).split('.').collect();
    match labels[..] {
        [service] => find(service, namespace, None, context),
        // The search path of a pod starts with its own namespace.
        [pod_name, service] if stripped.is_none() && is_subdomain(service, pod, context) => {
            find(service, namespace, Some(pod_name), context)
        }
        [service, other] if stripped.is_some() || context.service(other, service).is_some() => {
            find(service, other, None, context)
        }
        [pod_name, service, other] if stripped.is_some() || context.service(other, service).is_some() => {
            find(service, other, Some(pod_name), context)
        }
        [pod_name, service] if stripped.is_none() && service != namespace && is_peer(pod_name, pod) => {
            find(service, namespace, Some(pod_name), context)
        }
        _ => Resolution::Unknown,
    }
}

/// Returns true if `name` and the host name of `pod` are those of pods of one Indexed Job: its name with an index.
fn is_peer(name: &str, pod: &PodRecord) -> bool {
    let job = pod.workload().name;
    let is_indexed = |name: &str| {
        let index = name.strip_prefix(job).and_then(|rest| rest.strip_prefix('-'));
        index.is_some_and(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
    };
    is_indexed(name) && pod.hostname.as_deref().is_some_and(is_indexed)
}

/// Returns true if `name` is a headless Service in the namespace of `pod`, or the pod expects it to be one.
fn is_subdomain(name: &str, pod: &PodRecord, context: &Context<'_>) -> bool {
    context.service(&pod.namespace, name).is_some() || pod.subdomain.as_deref() == Some(name)
}

fn find<'a>(name: &str, namespace: &str, hostname: Option<&str>, context: &'a Context<'_>) -> Resolution<'a> {
    match context.service(namespace, name) {
        // Somebody else maintains the endpoints, or the name is an alias.
        Some(service) if service.selector.is_empty() || service.is_external => Resolution::Unknown,
        Some(service) => Resolution::Pods(ServicePods { service, hostname: hostname.map(str::to_owned) }),
        None if context.snapshot.is_complete(ObjectKind::Service, namespace) => {
            Resolution::Missing(format!("Service {namespace}/{name}"))
        }
        None => Resolution::Unknown,
    }
}
