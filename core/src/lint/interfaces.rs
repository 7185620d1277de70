//! Network interface names in settings: FP006 to FP008, FP038.

use std::borrow::Cow;

use super::context::{CheckContext, ContainerFacts};
use super::network::{GKE, interfaces};
use super::setting::Origin;
use super::sink::FindingSink;
use crate::fabric::nccl::{DeviceList, PLUGIN_INTERFACES, plain_interfaces, takes_plain_interfaces};
use crate::finding::Severity;

/// Variable with NCCL's syntax for interface lists. `NCCL_OOB_NET_IFNAME` contains names of adapters.
const IFNAME: &str = "NCCL_SOCKET_IFNAME";
/// Variable with the interface of Gloo.
const GLOO: &str = "GLOO_SOCKET_IFNAME";

/// Maximum number of interfaces in a message.
const MAX_LISTED: usize = 16;

/// FP006: NCCL does not read an interface list as intended.
pub(super) fn interface_list_syntax(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let Some(value) = container.settings.value(IFNAME) else { continue };
        let list = DeviceList::parse(value);
        let problem = if value.contains(char::is_whitespace) {
            "contains a space"
        } else if value.len() == 1 {
            "has one character, so NCCL ignores it"
        } else if list.names().any(|name| name.starts_with(['^', '='])) {
            "has ^ or = inside the list"
        } else if list.excludes && list.allows("lo") {
            "does not exclude lo"
        } else {
            continue;
        };
        let message = format!("{}: {IFNAME}={} {problem}", container.display_name(), quoted(value));
        findings.push(container.settings.field(IFNAME), message);
    }
}

/// FP007: no interface of the pod matches the list.
pub(super) fn missing_interface(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    // The interfaces of the node, and those that claims add, are unknown.
    if context.input.pod.host_network() || context.claims_may_add_interfaces() {
        return;
    }
    let Some(interfaces) = interfaces(context) else { return };
    for container in &context.containers {
        if context.input.pod.annotation(GKE).is_some() {
            report_absent(context, container, &interfaces, findings);
        }
        let value = value_in_pod(context, container, IFNAME);
        let Some(value) = value.filter(|value| value.len() > 1) else { continue };
        let list = DeviceList::parse(value);
        if !list.excludes && !interfaces.iter().any(|interface| list.allows(interface)) {
            let known = interfaces.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let value = quoted(value);
            let message = format!("{}: {IFNAME}={value} matches none of {known}", container.display_name());
            findings.push(container.settings.field(IFNAME), message);
        }
    }
}

/// Returns the value of the variable `name` that applies in the pod: the ranks that a launcher starts run in other pods, with other
/// interfaces.
fn value_in_pod<'a>(context: &CheckContext<'a>, container: &ContainerFacts<'a>, name: &str) -> Option<&'a str> {
    let setting = container.settings.get(name)?;
    let is_of_others = matches!(setting.origin, Origin::Mpirun(_)) && context.is_launcher(container);
    setting.value.filter(|_| !is_of_others)
}

/// Part of FP007: a plugin of GKE uses an interface that the pod does not have.
fn report_absent(
    context: &CheckContext<'_>,
    container: &ContainerFacts<'_>,
    interfaces: &[String],
    findings: &mut FindingSink<'_>,
) {
    for variable in PLUGIN_INTERFACES {
        let names = plain_interfaces(value_in_pod(context, container, variable).unwrap_or_default());
        let absent = names.filter(|name| !interfaces.iter().any(|interface| interface.starts_with(name)));
        let absent: Vec<&str> = absent.take(MAX_LISTED).collect();
        if !absent.is_empty() {
            let message =
                format!("{}: {variable} lists {}, which the pod lacks", container.display_name(), absent.join(", "));
            findings.push(container.settings.field(variable), message);
        }
    }
}

/// Returns `value`, in quotes if it contains blanks, which are not visible otherwise.
pub(super) fn quoted(value: &str) -> Cow<'_, str> {
    if value.contains(char::is_whitespace) { format!("{value:?}").into() } else { value.into() }
}

/// FP008: a variable that takes plain names has NCCL's `^` or `=` prefix.
pub(super) fn unsupported_modifier(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for setting in container.settings.iter().filter(|setting| takes_plain_interfaces(setting.name)) {
            if let Some(value) = setting.value.filter(|value| value.starts_with(['^', '='])) {
                let name = setting.name;
                let message = format!("{}: {name}={value}: only NCCL supports ^ and =", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}

/// FP038: Gloo chooses its interface by the name of the node.
pub(super) fn gloo_on_host_network(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    if !context.input.pod.host_network() || !context.has_several_pods() {
        return;
    }
    for container in context.gpu_containers() {
        let settings = &container.settings;
        // `envFrom` may set the variable.
        let has_env_from = container.spec.raw().get("envFrom").is_some();
        if settings.get(GLOO).is_some() || has_env_from || !runs_torch(context, container) {
            continue;
        }
        let message = format!("{}: hostNetwork without {GLOO}", container.display_name());
        // If NCCL needs an explicit interface, Gloo needs one, too.
        let severity = if settings.get(IFNAME).is_some() { Severity::Warning } else { Severity::Info };
        findings.push_as(severity, "/spec/hostNetwork", message);
    }
}

/// Returns true if the container is known to run `PyTorch`, which uses Gloo between its processes.
fn runs_torch(context: &CheckContext<'_>, container: &ContainerFacts<'_>) -> bool {
    let is_torch_kind = context.input.member.is_some_and(|member| member.kind.kind == "PyTorchJob");
    let programs = ["torchrun", "torch.distributed", "accelerate launch", "deepspeed"];
    let is_torch_program = |text: &str| programs.iter().any(|program| text.contains(program));
    is_torch_kind || container.spec.command_line().any(is_torch_program)
}
