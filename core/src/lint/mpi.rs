//! Settings that do not reach MPI ranks: FP023, FP042, FP043.

use super::context::{CheckContext, ContainerFacts};
use super::raw::str_at;
use super::setting::{ContainerSetting, Origin};
use super::sink::FindingSink;
use crate::fabric::{conf, nccl};
use crate::names::join_up_to;
use crate::pod::ContainerKind;
use crate::workload::has_ssh_ranks;

/// Maximum number of variables in a message, within its maximum length. The user has to pass all of them.
const MAX_NAMES: usize = 20;
/// Options of other launchers, or of Open MPI, that pass the environment in another way than `-x`.
const OTHER_OPTIONS: [&str; 3] = ["-genv", "-envall", "env_list"];
/// Prefixes of parameters of Open MPI 4's launcher, which PRRTE replaces in Open MPI 5.
const LAUNCHER_PARAMETERS: [&str; 3] = ["OMPI_MCA_orte_", "OMPI_MCA_plm_rsh_", "OMPI_MCA_oob_tcp_"];
/// Parameters that mpi-operator sets by itself (kubeflow/mpi-operator, `pkg/controller/mpi_job_controller.go`).
const OPERATOR_PARAMETERS: [&str; 4] = [
    "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_default_hostfile",
    "OMPI_MCA_orte_set_default_slots",
    "OMPI_MCA_plm_rsh_args",
];

/// Parameter that the operator of version 1 sets, with its value. Users may set another one.
const KUBEXEC: (&str, &str) = ("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");

/// FP023: sshd sessions do not inherit the container's environment.
pub(super) fn env_not_inherited(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.spec.kind == ContainerKind::App) {
        if !has_ssh_ranks(container.spec, context.input.member) || mounts_unknown_conf(context, container) {
            continue;
        }
        let settings = &container.settings;
        let facts = context.input.job.map(|job| &*job.facts);
        let by_job =
            |name: &str| facts.is_some_and(|facts| facts.passes_unknown || facts.passed_variables.contains(name));
        // The container may run both sshd and, in one of the pods, mpirun.
        let is_passed =
            |name: &str| settings.passes_unknown || settings.passed_variables.contains(&name) || by_job(name);
        let in_file = |name: &str| context.conf.provides(name, container.spec);
        let is_lost = |name: &str| name.starts_with(nccl::PREFIX) && !is_passed(name) && !in_file(name);
        let lost: Vec<&str> = settings.iter().map(|setting| setting.name).filter(|name| is_lost(name)).collect();
        let Some(first) = lost.first() else { continue };
        let verb = if lost.len() == 1 { "does" } else { "do" };
        let names = join_up_to(MAX_NAMES, &lost);
        let message = format!("{}: {names} {verb} not reach ranks that sshd starts", container.display_name());
        findings.push(settings.field(first), message);
    }
}

/// FP042: `mpirun` passes only the variables that `-x` names to ranks in other pods.
pub(super) fn not_passed(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.settings.runs_mpirun) {
        let uses_option = |text: &str| OTHER_OPTIONS.iter().any(|option| text.contains(option));
        let is_unknown = container.settings.passes_unknown;
        if is_unknown || !context.is_launcher(container) || container.spec.command_line().any(uses_option) {
            continue;
        }
        let settings = &container.settings;
        let is_lost = |name: &str, origin| {
            let is_local = matches!(origin, Origin::Env(_) | Origin::Export(_));
            is_local && name.starts_with(nccl::PREFIX) && !settings.passed_variables.contains(&name)
        };
        let lost = settings.iter().filter(|setting| is_lost(setting.name, setting.origin));
        let lost: Vec<&str> = lost.map(|setting| setting.name).collect();
        let Some(first) = lost.first() else { continue };
        let names = join_up_to(MAX_NAMES, &lost);
        findings.push(
            settings.field(first),
            format!("{}: mpirun does not pass {names} to the ranks", container.display_name()),
        );
    }
}

/// FP043: Open MPI 5 does not read parameters of the launcher in Open MPI 4.
pub(super) fn old_launcher_parameter(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.settings.runs_mpirun) {
        let settings = &container.settings;
        let is_of_operator = |setting: &ContainerSetting<'_>| {
            OPERATOR_PARAMETERS.contains(&setting.name) || (setting.name, setting.value) == (KUBEXEC.0, Some(KUBEXEC.1))
        };
        let is_old = |setting: &ContainerSetting<'_>| {
            LAUNCHER_PARAMETERS.iter().any(|prefix| setting.name.starts_with(prefix)) && !is_of_operator(setting)
        };
        let has_new = settings.iter().any(|setting| setting.name.starts_with("PRTE_MCA_"));
        if let Some(setting) = settings.iter().find(is_old).filter(|_| !has_new) {
            let message = format!("{}: Open MPI 5 does not read {}", container.display_name(), setting.name);
            findings.push(settings.field(setting.name), message);
        }
    }
}

/// Returns true if the container mounts a configuration file that every rank reads, and whose settings are not known.
fn mounts_unknown_conf(context: &CheckContext<'_>, container: &ContainerFacts<'_>) -> bool {
    container.mounts().any(|(_, mount)| {
        let path = str_at(mount, "mountPath").unwrap_or_default();
        let is_conf = [conf::NCCL_PATH, conf::RCCL_PATH].contains(&path) || path.ends_with("/.nccl.conf");
        is_conf && !context.conf.is_at(mount)
    })
}
