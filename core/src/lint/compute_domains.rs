//! `NVLink` between nodes by `ComputeDomains`, and transports of other libraries: FP036, FP037, FP039, FP040.

use serde_json::Value;

use super::context::CheckContext;
use super::setting::Origin;
use super::sink::FindingSink;
use crate::dra::ClaimSource;
use crate::fabric::ComputeDomain;
use crate::keys;
use crate::workload::has_ssh_ranks;

/// GPUs of a node with `NVLink` between nodes: GB200 NVL72 and GB300 NVL72.
const NODE_GPUS: u64 = 4;
/// Annotations and labels by which schedulers keep a job within a topology domain.
const TOPOLOGY_KEYS: [&str; 4] = [
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "alpha.jobset.sigs.k8s.io/exclusive-topology",
];
/// Topology key of single nodes.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Node labels that do not narrow a job down to one `NVLink` domain.
const COMMON_LABELS: [&str; 3] = [keys::INSTANCE_TYPE, "kubernetes.io/os", "kubernetes.io/arch"];

/// FP036: NCCL needs cuMem for `NVLink` between nodes.
pub(super) fn cumem_disabled(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let settings = &container.settings;
        if settings.number("NCCL_CUMEM_ENABLE") != Some(0) {
            continue;
        }
        let is_enabled = settings.number("NCCL_MNNVL_ENABLE").map(|number| number != 0);
        let ranks_have_channels = || context.input.job.is_some_and(|job| job.facts.has_channels);
        let in_domain = || container.has_channel() || context.is_launcher(container) && ranks_have_channels();
        if is_enabled.unwrap_or_else(in_domain) {
            let message = format!("{}: NCCL_CUMEM_ENABLE=0 disables NVLink between nodes", container.display_name());
            findings.push(settings.field("NCCL_CUMEM_ENABLE"), message);
        }
    }
}

/// FP037: UCX is restricted to transports that use neither the adapter nor the GPUs.
pub(super) fn ucx_over_tcp(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.adapter_names().next().is_some()) {
        // With `mpirun -x`, UCX carries MPI's own messages; ranks that sshd starts do not see the environment.
        let setting = container.settings.get("UCX_TLS").filter(|setting| !matches!(setting.origin, Origin::Mpirun(_)));
        let Some(value) = setting.and_then(|setting| setting.value).filter(|value| !value.is_empty()) else { continue };
        if !uses_rdma_or_gpu(value) && !has_ssh_ranks(container.spec, context.input.member) {
            let message = format!("{}: UCX_TLS={value}: UCX uses no RDMA adapter", container.display_name());
            findings.push(container.settings.field("UCX_TLS"), message);
        }
    }
}

/// FP039: the domain waits for another number of nodes than the job has pods.
pub(super) fn domain_size(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((domain, pods)) = domain(context).filter(|(domain, _)| domain.nodes > 0) else { return };
    // A single pod may share the domain with pods in other documents.
    let is_job = context.input.member.is_some();
    let Some(pods) = pods else { return };
    if is_job && domain.nodes != pods && is_claimed(context, domain) {
        let message = format!("ComputeDomain {} has numNodes {}, but {pods} pods claim it", domain.name, domain.nodes);
        findings.push_for(domain.field.as_ref(), "/spec/resourceClaims", message);
    }
}

/// FP040: a `ComputeDomain` that has no effect, or whose pods may run in different `NVLink` domains.
pub(super) fn domain_placement(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((domain, pods)) = domain(context).filter(|(domain, _)| is_claimed(context, domain)) else { return };
    let name = &domain.name;
    if context.input.member.is_some() && pods == Some(1) {
        findings.push("/spec/resourceClaims", format!("ComputeDomain {name} has no effect: only one pod claims it"));
        return;
    }
    for container in context.gpu_containers().filter(|container| container.gpus.is_less_than(NODE_GPUS)) {
        let (display_name, gpus) = (container.display_name(), container.gpus);
        let message = format!("{display_name}: ComputeDomain {name} with {gpus} of a node's {NODE_GPUS} GPUs");
        findings.push(container.accelerators_pointer(), message);
    }
    if !has_topology(context) {
        let message = format!("ComputeDomain {name}: nothing keeps the pods in one NVLink domain");
        findings.push("/spec/resourceClaims", message);
    }
}

/// Returns the first known domain that the job claims, with the number of pods that claim it, if that is known.
fn domain<'a>(context: &CheckContext<'a>) -> Option<(&'a ComputeDomain, Option<u64>)> {
    let templates = &context.input.job?.facts.claim_templates;
    context.input.compute_domains.iter().find_map(|domain| Some((domain, *templates.get(&domain.template)?)))
}

/// Returns true if the pod itself claims a channel of `domain`.
fn is_claimed(context: &CheckContext<'_>, domain: &ComputeDomain) -> bool {
    let is_template = |source| matches!(source, ClaimSource::Template(template) if template == domain.template);
    context.claims.claims().iter().any(|claim| is_template(claim.source))
}

/// Returns true if `UCX_TLS` allows RDMA or direct GPU transports. A list with `^` excludes what it names.
fn uses_rdma_or_gpu(value: &str) -> bool {
    let rdma = ["rc", "dc", "ud", "ib", "cuda", "rocm", "gdr", "all", "srd"];
    value.starts_with('^') || value.split(',').any(|transport| rdma.iter().any(|prefix| transport.starts_with(prefix)))
}

/// Returns true if a node selector, an affinity or a scheduler may keep the pods of the job together.
fn has_topology(context: &CheckContext<'_>) -> bool {
    let pod = context.input.pod;
    let selector = context.spec("nodeSelector").and_then(Value::as_object);
    let selects = selector.is_some_and(|labels| labels.keys().any(|key| narrows_nodes(key)));
    let by_scheduler = TOPOLOGY_KEYS.iter().any(|key| pod.annotation(key).or(pod.label(key)).is_some());
    selects || by_scheduler || context.spec("affinity").is_some_and(has_affinity)
}

/// Returns true if the affinity may restrict the pods to some nodes of a machine type, or place them close together.
fn has_affinity(affinity: &Value) -> bool {
    let has_key = |term: &Value| {
        let expressions = term.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        expressions.filter_map(|expression| expression.get("key")?.as_str()).any(narrows_nodes)
    };
    // On one node, pods need no NVLink between nodes.
    let has_domain = |term: &Value| term.get("topologyKey").is_some_and(|key| key != HOSTNAME);
    terms(affinity, "nodeAffinity", "preference").any(has_key)
        || terms(affinity, "podAffinity", "podAffinityTerm").any(has_domain)
}

/// Returns the required and preferred terms of an affinity; `preferred` is the field of a preferred term.
fn terms<'a>(affinity: &'a Value, kind: &str, preferred: &'static str) -> impl Iterator<Item = &'a Value> {
    let rules = |when: &str| affinity.get(kind).and_then(|rules| rules.get(when));
    let required = rules("requiredDuringSchedulingIgnoredDuringExecution");
    // Required node affinity is an object with a list, required pod affinity is a list.
    let required = required.map(|terms| terms.get("nodeSelectorTerms").unwrap_or(terms)).and_then(Value::as_array);
    let weighted = rules("preferredDuringSchedulingIgnoredDuringExecution").and_then(Value::as_array);
    let weighted = weighted.into_iter().flatten().filter_map(move |term| term.get(preferred));
    required.into_iter().flatten().chain(weighted)
}

fn narrows_nodes(label: &str) -> bool {
    !COMMON_LABELS.contains(&label)
}
