//! Services that the ranks of a job name: TR001 and TR009.

use serde_json::Value;

use super::{Agent, RolePods, WorkloadManifest};
use crate::finding::Severity;
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
const BACKENDS: [&str; 2] = ["etcd", "etcd-v2"];

/// Reports a Service that `role` names as the address of rank 0, and that does not lead to it.
pub(super) fn check_service(workload: &WorkloadManifest<'_>, role: &RolePods<'_>, findings: &mut FindingSink<'_>) {
    if !role.is_rank() {
        return;
    }
    for container in role.main_containers() {
        let Some(address) = container.env(ADDRESS) else { continue };
        let Some((name, service)) = workload.objects.service(address, workload.namespace) else { continue };
        let selection = selection_problem(name, service, workload).map(|problem| (ADDRESS, problem));
        let problem = selection.or_else(|| Some((PORT, port_problem(name, service, container.env(PORT)?, workload)?)));
        if let Some((variable, problem)) = problem {
            let field = container.env_pointer(variable).unwrap_or_else(|| container.pointer());
            findings.push(field, format!("{}: {problem}", display_name(container)));
        }
    }
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
    let backend = agent.setting("PET_RDZV_BACKEND").filter(|backend| BACKENDS.contains(backend))?;
    let (service, manifest) = workload.objects.service(host(agent.setting(ENDPOINT)?), workload.namespace)?;
    let mut stores = workload.objects.stores(manifest);
    let store = stores.find(|store| !store.serves_v2)?;
    Some(format!(
        "{}: the backend {backend} uses version 2 of etcd's API, which Service {service} ({}) does not serve",
        display_name(agent.container),
        store.image
    ))
}

/// Returns the problem of a Service that selects no pod of the job.
fn selection_problem(name: &str, service: &ServiceManifest, workload: &WorkloadManifest<'_>) -> Option<String> {
    let is_known =
        |role: &RolePods<'_>| identify(role.original).is_some_and(|member| member.kind.fidelity == Fidelity::Exact);
    let selects = |pod: Pod<'_>| {
        let mut labels = service.selector.iter().filter(|(key, _)| !NUMBERING.iter().any(|part| key.contains(part)));
        labels.all(|(key, value)| pod.label(key) == Some(value.as_str()))
    };
    let is_wrong =
        !service.selector.is_empty() && workload.roles.iter().all(|role| is_known(role) && !selects(role.original));
    is_wrong.then(|| format!("{ADDRESS} names Service {name}, which selects no pod of the job"))
}

/// Returns the problem of a Service with a cluster IP that does not forward the port of the master.
fn port_problem(name: &str, service: &ServiceManifest, port: &str, workload: &WorkloadManifest<'_>) -> Option<String> {
    let number: u64 = port.parse().ok().filter(|_| !service.is_headless)?;
    let Some(forwarded) = service.ports.iter().find(|forwarded| forwarded.number == number) else {
        return Some(format!("{PORT} is {port}, which Service {name} does not forward"));
    };
    let target = target(forwarded, workload).filter(|target| *target != number)?;
    Some(format!("{PORT} is {port}, which Service {name} forwards to port {target} of the pods"))
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
