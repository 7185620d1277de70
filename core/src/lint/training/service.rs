//! Services that the ranks of a job name: TR001 and TR009.

use std::borrow::Cow;

use serde_json::Value;

use super::process_group::{BACKEND, MASTER_ADDRESS, MASTER_PORT, NODES, STATIC, option};
use super::{Agent, RolePods, WorkloadManifest};
use crate::finding::Severity;
use crate::json;
use crate::lint::context::CheckContext;
use crate::lint::display_name::display_name;
use crate::lint::namespace_objects::{ServiceManifest, ServicePort};
use crate::lint::sink::FindingSink;
use crate::pod::{Container, Pod};
use crate::workload::{Fidelity, identify};

/// Variable with the address of the rendezvous.
pub(super) const ENDPOINT: &str = "PET_RDZV_ENDPOINT";
/// Variable with the name of the host of rank 0.
const ADDRESS: &str = "MASTER_ADDR";
/// Variable with its port.
const PORT: &str = "MASTER_PORT";
/// Field of the operators of Kubeflow with the backend, from which they set the variables.
const ELASTIC_BACKEND: &str = "/spec/elasticPolicy/rdzvBackend";
/// Parts of the keys of labels with which operators number the pods of a role. Only the pod of replica 0 is known.
const NUMBERING: [&str; 3] = ["index", "pod-name", "rank"];
/// Backends that use version 2 of etcd's API.
pub(super) const ETCD: [&str; 2] = ["etcd", "etcd-v2"];
/// Port that torchrun uses with an address of the master by default.
const DEFAULT_PORT: &str = "29500";

/// Address of rank 0 in a container.
struct MasterAddress<'a> {
    /// Setting with the host, as messages name it.
    name: Cow<'static, str>,
    host: &'a str,
    /// Field of the setting.
    field: String,
    /// Setting with the port, the port and the field, if a Service in front of the pods has to forward it.
    port: Option<(Cow<'static, str>, &'a str, String)>,
    /// Number of nodes of the group, if the host must be one of them.
    nodes: Option<u64>,
}

impl<'a> MasterAddress<'a> {
    /// Returns the address that torchrun gets as an option; `None` if it gets none that is known.
    fn of_option(agent: &'a Agent<'_>) -> Option<Self> {
        let backend = agent.setting(BACKEND).unwrap_or(STATIC);
        if agent.settings.is_computed(BACKEND) || ETCD.contains(&backend) {
            return None;
        }
        if agent.settings.has_flag(&[ENDPOINT]) {
            let host = host(agent.settings.flag(ENDPOINT)?);
            let (name, field) = (option(ENDPOINT).into(), agent.field(ENDPOINT));
            return Some(Self { name, host, field, port: None, nodes: None });
        }
        let host = agent.settings.flag(MASTER_ADDRESS).filter(|_| backend == STATIC)?;
        let is_known = !agent.settings.is_computed(MASTER_PORT);
        let port = agent.setting(MASTER_PORT).unwrap_or(DEFAULT_PORT);
        let field = agent.field(MASTER_ADDRESS);
        let of_port = if agent.settings.has_flag(&[MASTER_PORT]) { agent.field(MASTER_PORT) } else { field.clone() };
        let port = is_known.then(|| (option(MASTER_PORT).into(), port, of_port));
        let nodes = agent.setting(NODES).and_then(|nodes| nodes.parse().ok());
        Some(Self { name: option(MASTER_ADDRESS).into(), host, field, port, nodes })
    }

    /// Returns the address in the environment of `container`.
    fn of_environment(container: Container<'a>) -> Option<Self> {
        let variable = |address: &'static str, port: &'static str| {
            let field = |name| container.env_pointer(name).unwrap_or_else(|| container.pointer());
            let of_port = container.env(port).map(|number| (port.into(), number, field(port)));
            let (name, host) = (address.into(), container.env(address)?);
            Some(Self { name, host, field: field(address), port: of_port, nodes: None })
        };
        variable(ADDRESS, PORT).or_else(|| variable(MASTER_ADDRESS, MASTER_PORT))
    }

    /// Returns the field and the problem of an address that does not lead to rank 0.
    fn problem(&self, workload: &WorkloadManifest<'_>) -> Option<(&str, String)> {
        let of_host = |problem| (self.field.as_str(), problem);
        if let Some(problem) = self.absent_pod(workload) {
            return Some(of_host(problem));
        }
        if let Some((pod, service)) = named_pod(self.host, workload) {
            return self.record_problem(pod, service, workload).map(of_host);
        }
        let (name, service) = workload.objects.service(self.host, workload.namespace)?;
        // The agents may be clients of a store in another pod.
        let is_endpoint = self.name == option(ENDPOINT);
        let selection = if is_endpoint { None } else { self.selection_problem(name, service, workload) };
        selection.map(of_host).or_else(|| {
            let (setting, port, field) = self.port.as_ref()?;
            Some((field.as_str(), port_problem(name, service, (&**setting, *port), workload)?))
        })
    }

    /// Returns the problem of a host in the subdomain of the pods of a Job or `JobSet` that none of them is. Its name is like theirs, or
    /// the pods are all nodes of the group, the first of which the address must name.
    fn absent_pod(&self, workload: &WorkloadManifest<'_>) -> Option<String> {
        let Self { name, host, nodes, .. } = self;
        let (hostname, service) = local_name(host, workload)?;
        // Other names contain variables.
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !hostname.bytes().all(is_name) || !workload.roles.iter().all(is_exact) {
            return None;
        }
        let is_absent = if workload.is_kind("Job", "batch/") {
            is_absent_in_job(hostname, service, *nodes, workload)
        } else if workload.is_kind("JobSet", "jobset.x-k8s.io/") {
            is_absent_in_job_set(hostname, service, *nodes, workload)
        } else {
            false
        };
        is_absent.then(|| format!("{name} is {host}, but no pod of the job has this name"))
    }

    /// Returns the problem of the name of `pod` in `service`, if the pod has no record there.
    fn record_problem(&self, pod: Pod<'_>, service: &str, workload: &WorkloadManifest<'_>) -> Option<String> {
        let Self { name, host, .. } = self;
        let known = workload.objects.service(service, workload.namespace);
        if known.is_some_and(|(_, manifest)| manifest.selector.is_empty()) {
            return None;
        }
        let subdomain = spec_text(pod, "subdomain").filter(|subdomain| !subdomain.is_empty());
        let own = match subdomain {
            Some(subdomain) if subdomain == service => {
                let (service, manifest) = known?;
                return self.selection_problem(service, manifest, workload);
            }
            Some(subdomain) => format!("the subdomain {subdomain}"),
            None => "no subdomain".to_owned(),
        };
        Some(format!("{name} is {host}, but the pods have {own}, so that the name does not resolve"))
    }

    /// Returns the problem of the name of a pod in a Service that the input lacks, if it has one with a similar name for the pod. The
    /// cluster may have the other.
    fn misspelled_service(&self, workload: &WorkloadManifest<'_>) -> Option<String> {
        let Self { name, host, .. } = self;
        let (pod, service) = named_pod(host, workload)?;
        let is_subdomain = spec_text(pod, "subdomain") == Some(service);
        if !is_subdomain || workload.objects.service(service, workload.namespace).is_some() {
            return None;
        }
        let selects = |manifest: &ServiceManifest| {
            let mut labels = manifest.selector.iter();
            !manifest.selector.is_empty() && labels.all(|(key, value)| pod.label(key) == Some(value.as_str()))
        };
        let near = workload.objects.similar_service(service, selects)?;
        Some(format!(
            "{name} is {host}, but the input has no Service {service}: did you mean {near}, which selects the pods?"
        ))
    }

    /// Returns the problem of a Service that selects no pod of the job.
    fn selection_problem(
        &self,
        name: &str,
        service: &ServiceManifest,
        workload: &WorkloadManifest<'_>,
    ) -> Option<String> {
        let selects = |pod: Pod<'_>| {
            let is_known = |key: &str| !NUMBERING.iter().any(|part| key.contains(part));
            let mut labels = service.selector.iter().filter(|(key, _)| is_known(key));
            labels.all(|(key, value)| pod.label(key) == Some(value.as_str()))
        };
        let is_wrong =
            !service.selector.is_empty() && workload.roles.iter().all(|role| is_exact(role) && !selects(role.original));
        is_wrong.then(|| format!("{} names Service {name}, which selects no pod of the job", self.name))
    }
}

/// Reports an address of rank 0 that does not lead to it, as the pods and a Service in the input show.
pub(super) fn check_service(workload: &WorkloadManifest<'_>, role: &RolePods<'_>, findings: &mut FindingSink<'_>) {
    if !role.is_rank() {
        return;
    }
    for container in role.main_containers() {
        let agent = role.agent(container);
        let by_option = agent.as_ref().and_then(MasterAddress::of_option);
        let Some(address) = by_option.or_else(|| MasterAddress::of_environment(container)) else { continue };
        if let Some((field, problem)) = address.problem(workload) {
            findings.push(field, format!("{}: {problem}", display_name(container)));
        } else if let Some(problem) = address.misspelled_service(workload) {
            let message = format!("{}: {problem}", display_name(container));
            findings.push_as(Severity::Warning, address.field.as_str(), message);
        }
    }
}

/// Returns the pod of replica 0 of the role of which `host` names a pod, and the Service in the name.
fn named_pod<'a>(host: &'a str, workload: &WorkloadManifest<'a>) -> Option<(Pod<'a>, &'a str)> {
    let (hostname, service) = local_name(host, workload)?;
    let is_numbered_like = |pod: Pod<'_>| {
        let own = spec_text(pod, "hostname").and_then(prefix_of_index);
        own.is_some_and(|prefix| prefix_of_index(hostname) == Some(prefix))
    };
    let role = workload.roles.iter().find(|role| is_exact(role) && is_numbered_like(role.original));
    role.map(|role| (role.original, service))
}

/// Returns the first two parts of `host`, the name of a pod and its Service in the namespace of the job; `None` for another name.
fn local_name<'a>(host: &'a str, workload: &WorkloadManifest<'_>) -> Option<(&'a str, &'a str)> {
    let mut labels = host.trim_end_matches('.').split('.');
    let (hostname, service) = (labels.next()?, labels.next()?);
    let is_local = match labels.next() {
        Some(label) => label == workload.namespace && labels.next().is_none_or(|label| label == "svc"),
        // The name of a Service and its namespace, of which the pods may have a subdomain of the same name.
        None => service != workload.namespace,
    };
    is_local.then_some((hostname, service))
}

/// Returns the field `name` of the spec of `pod`.
fn spec_text<'a>(pod: Pod<'a>, name: &str) -> Option<&'a str> {
    pod.spec()?.get(name).and_then(Value::as_str)
}

/// Returns true if `hostname` in `service` is no pod of a Job, although its name is like theirs, or they are all `nodes` of the group. Of
/// such a group, the host may also be a pod of the name that the Job had before it was renamed.
fn is_absent_in_job(hostname: &str, service: &str, nodes: Option<u64>, workload: &WorkloadManifest<'_>) -> bool {
    let mut ranks = workload.ranks();
    let (Some(role), None) = (ranks.next(), ranks.next()) else { return false };
    let own = spec_text(role.original, "hostname").and_then(prefix_of_index);
    let (Some(pods), Some(own)) = (role.replicas, own) else { return false };
    let index = hostname.strip_prefix(own).and_then(|rest| rest.strip_prefix('-')?.parse::<u64>().ok());
    let is_group = nodes == Some(pods);
    let may_be_theirs = spec_text(role.original, "subdomain") == Some(service) && (index.is_some() || is_group);
    may_be_theirs && index.is_none_or(|index| index >= pods) || is_group && is_former_name(hostname, service, own)
}

/// Returns true if `hostname` in `service`, the subdomain of all pods of a `JobSet`, is none of them, although its name is like theirs, or
/// they are all `nodes` of the group.
fn is_absent_in_job_set(hostname: &str, service: &str, nodes: Option<u64>, workload: &WorkloadManifest<'_>) -> bool {
    let Some(metadata) = workload.value().get("metadata") else { return false };
    let is_group = nodes.is_some() && nodes == WorkloadManifest::pods(workload.ranks());
    let is_of_job_set = hostname.strip_prefix(service).is_some_and(|rest| rest.starts_with('-'));
    let is_own = json::text(metadata, "name") == Some(service) && is_of_job_set;
    let in_subdomain = workload.roles.iter().all(|role| spec_text(role.original, "subdomain") == Some(service));
    in_subdomain && (is_group || is_own) && !workload.roles.iter().any(|role| is_in_job_set(hostname, role))
}

/// Returns true if `hostname` may be that of a pod of `role` in a `JobSet`: `JOBSET-ROLE-JOB-POD`.
fn is_in_job_set(hostname: &str, role: &RolePods<'_>) -> bool {
    // Pods without an index have no record.
    let Some(first) = spec_text(role.original, "hostname") else { return false };
    let known = (first.strip_suffix("-0-0"), role.replicated_jobs(), role.replicas);
    let (Some(own), Some(jobs), Some(pods)) = known else { return true };
    let numbers = hostname.strip_prefix(own).and_then(|rest| rest.strip_prefix('-')?.split_once('-'));
    let numbers = numbers.and_then(|(job, pod)| Some((job.parse::<u64>().ok()?, pod.parse::<u64>().ok()?)));
    numbers.is_some_and(|(job, pod)| job < jobs && Some(pod) < pods.checked_div(jobs))
}

/// Returns the part of `name` before the index at its end; `None` if it has none.
fn prefix_of_index(name: &str) -> Option<&str> {
    let (prefix, index) = name.rsplit_once('-')?;
    (!index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())).then_some(prefix)
}

/// Returns true if `hostname` in `service` is that of a pod of a Job which was renamed to `own` by a prefix or a suffix, as by Kustomize.
fn is_former_name(hostname: &str, service: &str, own: &str) -> bool {
    let Some(former) = prefix_of_index(hostname).filter(|former| !former.is_empty()) else { return false };
    let is_renamed = own.len() > former.len() && (own.starts_with(former) || own.ends_with(former));
    is_renamed && service.starts_with(former)
}

/// Returns true if the labels and the spec of the pods are known.
fn is_exact(role: &RolePods<'_>) -> bool {
    identify(role.original).is_some_and(|member| member.kind.fidelity == Fidelity::Exact)
}

/// TR009: the store of the rendezvous is an etcd without the API of torchrun's backend.
pub(crate) fn store_without_v2(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    for agent in role.agents() {
        let Some(message) = without_v2(workload, &agent) else { continue };
        if workload.value().pointer(ELASTIC_BACKEND).is_some() {
            findings.push_at(Severity::Error, workload.field(ELASTIC_BACKEND), message);
        } else {
            findings.push(agent.field(ENDPOINT), message);
        }
    }
}

fn without_v2(workload: &WorkloadManifest<'_>, agent: &Agent<'_>) -> Option<String> {
    let backend = agent.setting(BACKEND).filter(|backend| ETCD.contains(backend))?;
    let (service, manifest) = workload.objects.service(host(agent.setting(ENDPOINT)?), workload.namespace)?;
    let mut stores = workload.objects.stores(manifest);
    let store = stores.find(|store| !store.serves_v2)?;
    Some(format!(
        "{}: the backend {backend} uses version 2 of etcd's API, which Service {service} ({}) does not serve",
        display_name(agent.container),
        store.image
    ))
}

/// Returns the problem of a Service with a cluster IP that does not forward the port of the master.
fn port_problem(
    name: &str,
    service: &ServiceManifest,
    (setting, port): (&str, &str),
    workload: &WorkloadManifest<'_>,
) -> Option<String> {
    let number: u64 = port.parse().ok().filter(|_| !service.is_headless)?;
    let Some(forwarded) = service.ports.iter().find(|forwarded| forwarded.number == number) else {
        return Some(format!("{setting} is {port}, which Service {name} does not forward"));
    };
    let target = target(forwarded, workload).filter(|target| *target != number)?;
    Some(format!("{setting} is {port}, which Service {name} forwards to port {target} of the pods"))
}

/// Returns the number of the port of the pods, if it is known.
fn target(port: &ServicePort, workload: &WorkloadManifest<'_>) -> Option<u64> {
    match port.target.as_ref()? {
        Value::String(name) => {
            let containers = workload.roles.iter().flat_map(|role| role.original.containers());
            containers
                .flat_map(Container::tcp_ports)
                .find(|port| port.name == Some(name))
                .map(|port| port.number.into())
        }
        number => number.as_u64(),
    }
}

/// Returns the host of an address with a port.
pub(super) fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']'])
}
