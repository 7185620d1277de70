//! The process group of torchrun: TR001, TR007 and TR008.

use serde_json::Value;

use super::service::{ENDPOINT, ETCD, check_service, host};
use super::{Agent, RolePods, WorkloadManifest, completion_index, is_launcher, number_of_pods, words};
use crate::finding::Severity;
use crate::json;
use crate::lint::context::CheckContext;
use crate::lint::display_name::display_name;
use crate::lint::sink::FindingSink;
use crate::pod::{Container, Pod, Rendezvous, is_loopback, node_range};

pub(super) const NODES: &str = "PET_NNODES";
pub(super) const BACKEND: &str = "PET_RDZV_BACKEND";
const IDENTIFIER: &str = "PET_RDZV_ID";
pub(super) const MASTER_ADDRESS: &str = "PET_MASTER_ADDR";
pub(super) const MASTER_PORT: &str = "PET_MASTER_PORT";

const NODE_RANK: &str = "PET_NODE_RANK";
const PROCESSES: &str = "PET_NPROC_PER_NODE";

/// Backend without a store of its own: the agents use the address of the master.
pub(super) const STATIC: &str = "static";
/// Backend with a store in one of the agents.
const C10D: &str = "c10d";
/// Annotation with the number of pods in a group of a `LeaderWorkerSet`.
const GROUP_SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
/// Kinds whose pods may run separate programs, each with a group of its own.
const MAY_BE_INDEPENDENT: [&str; 2] = ["Job", "JobSet"];
/// Kinds that are only a part of a job, each with the kind of its controller; `None`: whatever creates it.
const PARTS: [(&str, Option<&str>); 2] = [("Pod", None), ("Job", Some("JobSet"))];
/// Kind whose roles form one process group.
const ONE_GROUP: &str = "PyTorchJob";

/// How to fix the range of nodes of an elastic policy, from which the operator sets the variable.
const FIX_POLICY: &str =
    "set elasticPolicy.minReplicas and maxReplicas to a range that contains the number of replicas";
/// How to fix a number of nodes.
const FIX_NUMBER: &str = "set --nnodes to a number such as 4, or to a range such as 2:4";
/// How to fix an address that only its own pod reaches.
const FIX_ADDRESS: &str = "set --rdzv-endpoint to the name and port of one pod of the job, such as that of rank 0";

/// How to fix the default address, which is that of the pod itself.
const FIX_DEFAULT: &str = "\
    set --master-addr to the name of the pod of rank 0, and --node-rank to a number that differs by pod; or set \
    --rdzv-backend=c10d and --rdzv-endpoint";
/// How to fix one rank of several pods.
const FIX_RANK: &str = "\
    set --node-rank to a number that differs by pod, such as $JOB_COMPLETION_INDEX of an Indexed Job, or use \
    --rdzv-backend=c10d";
/// How to fix a number of processes that differs from that of the GPUs.
const FIX_PROCESSES: &str = "set --nproc-per-node to the number of GPUs of the container, or to gpu";

/// How to fix a number of processes in a field of the job.
const FIX_PROCESS_FIELD: &str = "set the number of processes of the job to the number of GPUs of the container";
/// How to fix it in a field that may also contain a word.
const FIX_PROCESS_TEXT: &str =
    "set the number of processes of the job to the number of GPUs of the container, or to auto";

/// Fields of jobs with the number of processes.
const PROCESS_FIELDS: [ProcessField; 3] = [
    ProcessField { kind: "PyTorchJob", name: "nprocPerNode", pointer: "/spec/nprocPerNode", fix: FIX_PROCESS_TEXT },
    ProcessField {
        kind: "PyTorchJob",
        name: "nProcPerNode",
        pointer: "/spec/elasticPolicy/nProcPerNode",
        fix: FIX_PROCESS_FIELD,
    },
    // Only versions of Trainer before v2.2 accept a word.
    ProcessField {
        kind: TRAIN_JOB,
        name: "numProcPerNode",
        pointer: "/spec/trainer/numProcPerNode",
        fix: FIX_PROCESS_FIELD,
    },
];
/// Kind whose command is often that of the image, which uses the variables of torchrun.
const TRAIN_JOB: &str = "TrainJob";

/// Resources of which one unit is one GPU for one rank. Others may be shares of one.
const WHOLE_GPUS: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];
/// Part of the variables that hide GPUs from processes.
const VISIBLE_DEVICES: &str = "VISIBLE_DEVICES";

/// A field of a job with the number of processes, from which the operator sets the variable.
#[derive(Clone, Copy)]
struct ProcessField {
    kind: &'static str,
    name: &'static str,
    pointer: &'static str,
    fix: &'static str,
}

/// TR001: the roles of a job have different settings, or a Service does not lead to them.
pub(crate) fn different_settings(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    check_service(workload, role, findings);
    if workload.kind() != ONE_GROUP {
        return;
    }
    let agents = workload.agents();
    let Some(first) = agents.first() else { return };
    for agent in agents.iter().filter(|agent| agent.role.name == role.name) {
        if let Some((of_first, own)) = difference(first, agent) {
            // The setting of the operator, or another option, may be the one that differs.
            let (name, other) = (own.name(), of_first.name());
            let other = if name == other { String::new() } else { format!("{other} is ") };
            let message = format!(
                "{}: {name} is {}, but {other}{} for {}: the ranks never meet",
                display_name(agent.container),
                own.value,
                of_first.value,
                first.role.name
            );
            findings.push(agent.field(own.variable), message);
        }
    }
}

/// Returns true if `value` is a word, and no expression of a shell or a template.
fn is_word(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// TR007: `--nnodes`, or the variable that sets it, differs from the number of pods.
pub(crate) fn wrong_number_of_nodes(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let group = role.original.annotation(GROUP_SIZE).and_then(|size| size.parse::<u64>().ok());
    if role.is_rank() {
        role.agents().for_each(|agent| check_processes(workload, &agent, findings));
        check_without_agent(workload, role, findings);
    }
    if (!role.is_rank() && group.is_none()) || workload.is_autoscaled() || is_part_of_job(workload) {
        return;
    }
    for agent in role.agents() {
        let name = agent.container.name();
        let has_option = agent.settings.has_flag(&[NODES]);
        let setting = if has_option { option(NODES) } else { NODES.to_owned() };
        let Some(value) = agent.setting(NODES) else { continue };
        let Some((min, max)) = node_range(value) else {
            if is_word(value) {
                let message = format!("container {name}: {setting}={value} is not a number: torchrun rejects it");
                findings.push_with_fix(Severity::Error, agent.field(NODES), message, FIX_NUMBER);
            }
            continue;
        };
        let text = if min == max { min.to_string() } else { format!("{min}:{max}") };
        if let Some(size) = group {
            // A part of the group may run another program, or a process group of its own; whole groups may form a common one.
            let has_groups = WorkloadManifest::pods(workload.roles.iter()).is_some_and(|pods| pods >= min);
            let spans_groups = has_groups && min.checked_rem(size) == Some(0);
            if min > size && !spans_groups {
                let pods = number_of_pods(size);
                let message =
                    format!("container {name}: {setting}={text}, but each group has {pods}: the ranks never meet");
                findings.push(agent.field(NODES), message);
            }
            continue;
        }
        let Some(sizes) = group_sizes(workload, role) else { continue };
        let is_alone = max == 1 && MAY_BE_INDEPENDENT.contains(&workload.kind());
        let Some(largest) = sizes.iter().max().filter(|largest| **largest > 0) else { continue };
        if is_alone || sizes.iter().any(|size| (min..=max).contains(size)) {
            continue;
        }
        let mut report = |severity, message: String| {
            if has_option || workload.elastic_policy().is_none() {
                findings.push_as(severity, agent.field(NODES), message);
            } else {
                // The operator sets the variable, which the manifest does not contain.
                let bound = if min > *largest { "minReplicas" } else { "maxReplicas" };
                let field = workload.field(&format!("/spec/elasticPolicy/{bound}"));
                findings.push_at_with_fix(severity, field, message, FIX_POLICY);
            }
        };
        let pods = number_of_pods(*largest);
        if min > *largest {
            let count = if workload.ranks().all(RolePods::may_run_torchrun) {
                format!("the job has {pods}")
            } else {
                format!("torchrun runs in at most {pods}")
            };
            report(Severity::Error, format!("container {name}: {setting}={text}, but {count}: the group never forms"));
        } else {
            report(
                Severity::Warning,
                format!("container {name}: {setting}={text}, but the job has {pods}: some take no part"),
            );
        }
    }
}

/// Part of TR007: the number of processes differs from that of the container's GPUs.
fn check_processes(workload: &WorkloadManifest<'_>, agent: &Agent<'_>, findings: &mut FindingSink<'_>) {
    let container = agent.container;
    let Some(processes) = agent.setting(PROCESSES).and_then(|text| text.parse::<u64>().ok()) else { return };
    // Several agents share the GPUs.
    if words(container).filter(|word| is_launcher(word)).count() != 1 {
        return;
    }
    let is_option = agent.settings.has_flag(&[PROCESSES]);
    let of_job = process_field(workload, processes).filter(|_| !is_option);
    let setting = match of_job {
        Some(field) => field.name.to_owned(),
        None if is_option => option(PROCESSES),
        None => PROCESSES.to_owned(),
    };
    let Some((severity, message)) = process_problem(container, &setting, processes) else { return };
    match of_job {
        Some(field) => findings.push_at_with_fix(severity, workload.field(field.pointer), message, field.fix),
        None => findings.push_with_fix(severity, agent.field(PROCESSES), message, FIX_PROCESSES),
    }
}

/// Part of TR007: more processes than GPUs in a field of a `TrainJob` whose image starts torchrun, as far as its command shows.
fn check_without_agent(workload: &WorkloadManifest<'_>, role: &RolePods<'_>, findings: &mut FindingSink<'_>) {
    if workload.kind() != TRAIN_JOB || role.agents().next().is_some() || !role.may_run_torchrun() {
        return;
    }
    for container in role.main_containers() {
        let settings = Rendezvous::read(container);
        let processes = settings.variable(PROCESSES).and_then(|text| text.parse::<u64>().ok());
        let found = processes.and_then(|processes| {
            let field = process_field(workload, processes)?;
            let problem = process_problem(container, field.name, processes)?;
            (problem.0 == Severity::Warning).then_some((field, problem))
        });
        if let Some((field, (severity, message))) = found {
            findings.push_at_with_fix(severity, workload.field(field.pointer), message, field.fix);
        }
    }
}

/// Returns the field of the job that sets this number of processes.
fn process_field(workload: &WorkloadManifest<'_>, processes: u64) -> Option<ProcessField> {
    let is_set = |value: &Value| {
        let number = value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        number == Some(processes)
    };
    let mut fields = PROCESS_FIELDS.into_iter().filter(|field| field.kind == workload.kind());
    fields.find(|field| workload.value().pointer(field.pointer).is_some_and(is_set))
}

/// Returns the problem of this number of processes in `setting`, and its severity, if it differs from the number of GPUs of `container`.
fn process_problem(container: Container<'_>, setting: &str, processes: u64) -> Option<(Severity, String)> {
    let gpus = container.accelerators().filter(|found| WHOLE_GPUS.contains(&found.resource))?.count;
    let has_claims = container.raw().get("resources").is_some_and(|list| json::items(list, "claims").next().is_some());
    let hides_gpus = container.env_names().any(|name| name.contains(VISIBLE_DEVICES))
        || words(container).any(|word| word.contains(VISIBLE_DEVICES));
    if has_claims || hides_gpus {
        return None;
    }
    let name = container.name();
    let noun = if gpus == 1 { "GPU" } else { "GPUs" };
    let state = format!("container {name}: {setting}={processes}, but it has {gpus} {noun}");
    let (severity, consequence) = match processes {
        // One process may use all of them.
        0 | 1 => return None,
        more if more > gpus => (Severity::Warning, "some ranks have none, or share one, which NCCL rejects"),
        fewer if fewer < gpus => (Severity::Info, "the others are idle, unless a rank uses several"),
        _ => return None,
    };
    Some((severity, format!("{state}: {consequence}")))
}

/// TR008: the address of the rendezvous has no host, or is that of each pod itself.
pub(crate) fn unreachable_address(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    if !role.is_rank() {
        // The pods of a Job that is not Indexed, for example.
        role.agents().for_each(|agent| report_index(workload, &agent, findings));
        return;
    }
    let agents = workload.agents();
    for agent in role.agents() {
        let name = agent.container.name();
        let backend = agent.setting(BACKEND);
        let endpoint = agent.setting(ENDPOINT);
        if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.starts_with(':')) {
            let message = format!("container {name}: the endpoint {endpoint} has no host: torchrun rejects it");
            findings.push_with_fix(Severity::Error, agent.field(ENDPOINT), message, FIX_ADDRESS);
            continue;
        }
        let has_peers = agent.setting(NODES).and_then(node_range).is_some_and(|(_, max)| max > 1)
            && WorkloadManifest::pods(workload.ranks()).is_some_and(|pods| pods > 1);
        if !has_peers || is_standalone(&agent) {
            continue;
        }
        // The address is that of each pod, unless one pod has it and the others name that pod.
        let is_shared =
            role.replicas.is_some_and(|pods| pods > 1) || agents.iter().all(|agent| loopback(agent).is_some());
        match loopback(&agent).filter(|_| is_shared) {
            Some((setting, address)) => {
                let option = option(setting);
                let message = format!("container {name}: {option} is {address}, the pod itself: the pods never meet");
                findings.push_with_fix(Severity::Error, agent.field(setting), message, FIX_ADDRESS);
            }
            None if backend == Some(C10D) && endpoint.is_none() && !agent.settings.is_computed(ENDPOINT) => {
                let message = format!(
                    "container {name}: the backend c10d without an endpoint uses localhost: the pods never meet"
                );
                findings.push_with_fix(Severity::Error, agent.field(BACKEND), message, FIX_ADDRESS);
            }
            None => {
                let lack_address = agents.iter().all(lacks_address);
                report_default(&agent, role.replicas.unwrap_or_default(), lack_address, findings);
                report_index(workload, &agent, findings);
            }
        }
    }
}

/// Part of TR008: an agent whose address is its own pod by default or by its command, or that has the same rank as the other `pods` of
/// its role. `lack_address`: no agent of the job has an address.
fn report_default(agent: &Agent<'_>, pods: u64, lack_address: bool, findings: &mut FindingSink<'_>) {
    let name = agent.container.name();
    let has_one_template = pods > 1;
    let is_of_agents = !agent.setting(BACKEND).is_some_and(|backend| ETCD.contains(&backend));
    let own_host = Rendezvous::own_host(agent.container, ENDPOINT).filter(|_| has_one_template && is_of_agents);
    if let Some(endpoint) = own_host {
        let message = format!("container {name}: --rdzv-endpoint is {endpoint}, the pod itself: the pods never meet");
        findings.push_with_fix(Severity::Error, agent.field(ENDPOINT), message, FIX_ADDRESS);
    } else if lacks_address(agent) && (has_one_template || lack_address) {
        let message = format!(
            "container {name}: without --master-addr, torchrun uses 127.0.0.1, the pod itself: the pods never meet"
        );
        findings.push_with_fix(Severity::Error, agent.field(NODES), message, FIX_DEFAULT);
    } else if is_static(agent) && has_one_template {
        let (setting, field) = match agent.settings.flag(NODE_RANK) {
            Some(rank) => (format!("--node-rank={rank} in all {pods} pods"), NODE_RANK),
            None if !may_set(agent, NODE_RANK) => (format!("without --node-rank, all {pods} pods have rank 0"), NODES),
            None => return,
        };
        let message = format!("container {name}: {setting}: the group never forms");
        findings.push_with_fix(Severity::Error, agent.field(field), message, FIX_RANK);
    }
}

/// Part of TR008: a completion index that is no rank in the group.
fn report_index(workload: &WorkloadManifest<'_>, agent: &Agent<'_>, findings: &mut FindingSink<'_>) {
    if !is_static(agent) || is_standalone(agent) {
        return;
    }
    let nodes = agent.setting(NODES).and_then(node_range).filter(|(_, max)| *max > 1);
    let problem = nodes.and_then(|nodes| completion_index::problem(workload, agent, nodes));
    let Some((problem, fix)) = problem else { return };
    let container = agent.container;
    let rank = Rendezvous::argument(container, NODE_RANK);
    let field = rank.map_or_else(|| container.pointer(), |rank| container.argument_pointer(rank));
    findings.push_with_fix(Severity::Error, field, format!("container {}: {problem}", container.name()), fix);
}

/// Returns true if the agent certainly uses the default address of the backend `static`.
fn lacks_address(agent: &Agent<'_>) -> bool {
    is_static(agent) && ![ENDPOINT, MASTER_ADDRESS].iter().any(|name| may_set(agent, name))
}

/// Returns true if the agent certainly uses the backend `static`.
fn is_static(agent: &Agent<'_>) -> bool {
    agent.setting(BACKEND) == Some(STATIC) || !may_set(agent, BACKEND)
}

/// Returns true if the command or the environment of the agent sets `name`, or may do so in a way that the manifest does not show.
fn may_set(agent: &Agent<'_>, name: &str) -> bool {
    let Agent { container, settings, .. } = agent;
    let is_in_command = settings.has_flag(&[name]) || settings.is_computed(name) || expands_options(*container);
    let has_sources = json::items(container.raw(), "envFrom").next().is_some();
    is_in_command || has_sources || container.env_names().any(|known| known == name)
}

/// Returns true if a word of the command that is not the value of an option is an expansion, which may contain options.
fn expands_options(container: Container<'_>) -> bool {
    let mut previous = "";
    words(container).any(|word| {
        let is_value = previous.starts_with("--") && !previous.contains('=');
        previous = word;
        !is_value && word.trim_matches(['"', '\'']).starts_with(['$', '`'])
    })
}

/// A setting of an agent as the manifest, or its operator, contains it.
#[derive(Clone, Copy)]
struct Setting<'a> {
    variable: &'static str,
    value: &'a str,
    /// Part of the value that is compared.
    compared: &'a str,
    /// True if an option of the command sets it.
    is_option: bool,
}

impl<'a> Setting<'a> {
    fn of(agent: &'a Agent<'_>, variable: &'static str, value: &'a str) -> Self {
        Self { variable, value, compared: value, is_option: agent.settings.has_flag(&[variable]) }
    }

    /// Returns the endpoint of `agent`, of which the port is compared: a pod may name itself in another way than the others.
    fn endpoint(agent: &'a Agent<'_>, value: Option<&'a str>) -> Option<Self> {
        let value = value?;
        let (_, compared) = value.rsplit_once(':')?;
        Some(Self { compared, ..Self::of(agent, ENDPOINT, value) })
    }

    /// Returns the backend of `agent`; `None` if its command computes it.
    fn backend(agent: &'a Agent<'_>) -> Option<Self> {
        let value = agent.setting(BACKEND).unwrap_or(STATIC);
        (!agent.settings.is_computed(BACKEND)).then(|| Self { is_option: true, ..Self::of(agent, BACKEND, value) })
    }

    /// Returns the setting with the port of the master that `agent` uses with the backend `static`.
    fn master_port(agent: &'a Agent<'_>) -> Option<Self> {
        let settings = &agent.settings;
        let is_computed = [MASTER_PORT, ENDPOINT].iter().any(|name| settings.is_computed(name));
        let by_endpoint = || Self::endpoint(agent, settings.flag(ENDPOINT));
        let by_port = || Some(Self::of(agent, MASTER_PORT, agent.setting(MASTER_PORT)?));
        if is_computed { None } else { by_endpoint().or_else(by_port) }
    }

    fn named(agent: &'a Agent<'_>, setting: &'static str) -> Option<Self> {
        Some(Self::of(agent, setting, agent.setting(setting)?))
    }

    /// Returns the option, or the variable. The operator always sets that of the port.
    fn name(self) -> String {
        match self.variable {
            variable if self.is_option => option(variable),
            MASTER_PORT => "the port of the operator".to_owned(),
            variable => variable.to_owned(),
        }
    }
}

/// Returns the first setting of which two agents have different known values, of each agent.
fn difference<'a>(first: &'a Agent<'_>, other: &'a Agent<'_>) -> Option<(Setting<'a>, Setting<'a>)> {
    let differ = |values: (Option<Setting<'a>>, Option<Setting<'a>>)| {
        let (first, other) = (values.0?, values.1?);
        (first.compared != other.compared).then_some((first, other))
    };
    let backends = (Setting::backend(first), Setting::backend(other));
    if let Some(found) = differ(backends) {
        return Some(found);
    }
    if backends.0?.value == STATIC {
        return differ((Setting::master_port(first), Setting::master_port(other)));
    }
    differ((Setting::named(first, IDENTIFIER), Setting::named(other, IDENTIFIER))).or_else(|| {
        let endpoint = |agent: &'a Agent<'_>| Setting::endpoint(agent, agent.setting(ENDPOINT));
        differ((endpoint(first), endpoint(other)))
    })
}

/// Returns the setting by which the agent uses an address of its own pod, and the address.
fn loopback<'a>(agent: &'a Agent<'_>) -> Option<(&'static str, &'a str)> {
    let is_static = agent.setting(BACKEND).unwrap_or(STATIC) == STATIC && !agent.settings.is_computed(BACKEND);
    let master = || Some((MASTER_ADDRESS, agent.setting(MASTER_ADDRESS).filter(|_| is_static)?));
    let (setting, value) = match agent.setting(ENDPOINT) {
        Some(endpoint) => (ENDPOINT, endpoint),
        None if agent.settings.is_computed(ENDPOINT) => return None,
        None => master()?,
    };
    is_loopback(host(value)).then_some((setting, value))
}

fn is_standalone(agent: &Agent<'_>) -> bool {
    words(agent.container).any(|word| word == "--standalone") || agent.settings.variable("PET_STANDALONE").is_some()
}

/// Returns true if the workload is a pod or another part of a job, whose size it does not show.
fn is_part_of_job(workload: &WorkloadManifest<'_>) -> bool {
    let owner = Pod::new(workload.value()).controller();
    let is_created_by =
        |kind: Option<&str>| kind.is_none_or(|kind| owner.as_ref().is_some_and(|owner| owner.kind == kind));
    PARTS.iter().any(|(kind, creator)| workload.kind() == *kind && is_created_by(*creator))
}

/// Returns the numbers of pods that may form a group with those of `role`; `None` if one of them is unknown.
fn group_sizes(workload: &WorkloadManifest<'_>, role: &RolePods<'_>) -> Option<Vec<u64>> {
    let of_role = role.replicas?;
    let has_agents = |role: &&RolePods<'_>| role.agents().next().is_some();
    let may_have_agents = |role: &&RolePods<'_>| role.may_run_torchrun();
    let mut sizes = vec![
        of_role,
        WorkloadManifest::pods(workload.ranks().filter(has_agents))?,
        WorkloadManifest::pods(workload.ranks().filter(may_have_agents))?,
    ];
    sizes.extend(role.replicated_jobs().and_then(|jobs| of_role.checked_div(jobs)));
    let gang = workload.gang.filter(|_| workload.ranks().all(RolePods::may_run_torchrun));
    if let Some(gang) = gang {
        sizes.push(gang.shape.roles.iter().fold(0, |sum, role| sum.saturating_add(role.size)));
    }
    Some(sizes)
}

/// Returns the option of torchrun for a variable.
pub(super) fn option(variable: &str) -> String {
    let name = variable.strip_prefix("PET_").unwrap_or(variable).replace('_', "-");
    format!("--{}", name.to_ascii_lowercase())
}
