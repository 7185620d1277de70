//! Decisions of the rules that need attention: FP046, FP047, FP050, FP061.

use serde_json::Value;

use super::LintInput;
use super::context::CheckContext;
use super::sink::FindingSink;
use crate::container_lists;
use crate::finding::Severity;
use crate::json;
use crate::keys;
use crate::lifecycle::lacks_kill;
use crate::own_keys::is_rejected;
use crate::pod::{Container, ContainerKind, Injection};
use crate::rule::{Reason, RuleId, RuleOutcome, Verdict};
use crate::scope;

/// Field for refusals that concern the pod as a whole.
const POD: &str = "/spec";
/// Field for sidecars.
const CONTAINERS: &str = "/spec/containers";
/// Field for profiles, which a label selects.
const LABELS: &str = "/metadata/labels";
/// Field of the label that excludes a pod.
const LABEL_INJECT: &str = "/metadata/labels/trainmesh.dev~1inject";
/// Group of the kinds whose operator deletes the pods.
const RAY: &str = "ray.io";
/// How to make the instance type of a job in a queue certain.
const FIX_FOR_QUEUES: &str =
    "nothing, if each flavor of the ClusterQueue has the node label; else select the type in the pod template";
/// How to fix a label or annotation whose value the rule does not accept.
const FIX_VALUE: &str = "correct the value of the label or annotation, or remove it; docs/rules.md lists the reasons";
/// How to fix the name of a fabric profile that does not exist, for example because it is an example.
const FIX_PROFILE: &str = "correct the value of the label or annotation, or remove it, or add the profile to the configuration, which \
                           --config passes to lint; docs/fabric.md shows how";
/// Group and kind of the workloads whose operator deletes the pods of the ranks when their launcher has completed.
const MPI: (&str, &str) = ("kubeflow.org", "MPIJob");
/// Containers of GPUDirect-TCPX and -TCPXO, by name or by a part of the image, which serve the main container until they are terminated
/// (GoogleCloudPlatform/container-engine-accelerators, `gpudirect-tcpx` and `gpudirect-tcpxo`).
const DAEMONS: [&str; 2] = ["tcpx-daemon", "tcpxo-daemon"];
const DAEMON_IMAGE: &str = "tcpgpudmarxd";
/// Word in commands that terminate a daemon.
const KILL: &str = "kill";
/// How to fix a daemon that is a regular container.
const FIX_FOR_DAEMONS: &str = "move it to initContainers, with restartPolicy: Always: Kubernetes then terminates it";
/// How to fix a container with an image without `kill`.
const FIX_FOR_FLUENT_BIT: &str = "use the image with the same tag and -debug, or make the container a native sidecar: in initContainers, \
                                  with restartPolicy: Always";
/// How to fix a container that is neither awaited nor terminated.
const FIX_LEFT_OUT: &str = "list it in trainmesh.dev/payload-containers, so that it is awaited, or name an entry of the catalog by \
                            trainmesh.dev/helper-containers, so that it is terminated; nothing, if it exits by itself";
/// Endpoint of the proxy that terminates it.
const QUIT: &str = "quitquitquit";

/// FP046: a rule was refused, a profile fell back to TCP, or a rule depends on what a queue adds to the pod. FP049 reports invalid fields, FP050 sidecars.
pub(super) fn refused_rules(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { rules, invalid, .. } = context.input;
    let is_reported = |rule: &&RuleOutcome| {
        let has_own_check = match rule.reason {
            Reason::NotAPod => !invalid.is_empty(),
            Reason::SidecarNotTerminated => true,
            _ => false,
        };
        rule.outcome == Verdict::Refused && !has_own_check
    };
    for rule in rules.iter().filter(|rule| rule.reason == Reason::InstanceTypeUnknown) {
        let message = format!("{} depends on the queue: {}", rule.rule.name(), rule.detail().unwrap_or(&rule.message));
        findings.push_with_fix(Severity::Info, rule.field.as_deref().unwrap_or(POD), message, FIX_FOR_QUEUES);
    }
    for rule in rules.iter().filter(|rule| rule.reason == Reason::FabricFellBack) {
        let is_of_user = |field: &&str| context.input.original.raw().pointer(field).is_some();
        let field = rule.field.as_deref().filter(is_of_user).unwrap_or(POD);
        let (name, reason) = (rule.rule.name(), rule.reason.code());
        findings.push(field, format!("{name} is not applied: {reason}: {}", rule.summary()));
    }
    for rule in rules.iter().filter(is_reported) {
        let (name, reason) = (rule.rule.name(), rule.reason.code());
        let mut report = |field: &Option<String>, text: &str| {
            let (field, message) = (field.as_deref().unwrap_or(POD), format!("{name} is refused: {reason}: {text}"));
            let severity = if is_rejected_by_istio(rule, context.input) { Severity::Error } else { Severity::Warning };
            match fix_of_value(rule.reason) {
                Some(fix) => findings.push_with_fix(severity, field, message, fix),
                None => findings.push_as(severity, field, message),
            }
        };
        if rule.notes.is_empty() {
            report(&rule.field, &rule.message);
        }
        for note in &rule.notes {
            report(&note.field, &note.text);
        }
    }
}

/// Returns true if Istio certainly rejects the pod because of the annotation that `rule` reports.
fn is_rejected_by_istio(rule: &RuleOutcome, input: &LintInput<'_>) -> bool {
    let pod = input.original;
    let is_invalid = |key: &str| pod.annotation(key).is_some_and(|value| is_rejected(key, value));
    match rule.reason {
        _ if input.injection != Injection::Expected || input.labels_assumed => false,
        Reason::ProxyConfigRefused => rule.is_rejected_by_istio,
        Reason::CaptureAnnotationInvalid => pod.annotation_keys().any(is_invalid),
        _ => false,
    }
}

/// Returns how to fix the value of a label or annotation, if it is the reason, so that nothing else needs to change.
fn fix_of_value(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::UnknownFabric => Some(FIX_PROFILE),
        Reason::UnknownTrafficMode
        | Reason::UnknownGangMode
        | Reason::MeshPortsInvalid
        | Reason::CaptureAnnotationInvalid
        | Reason::CheckpointInputInvalid => Some(FIX_VALUE),
        _ => None,
    }
}

/// FP050: the controller cannot terminate a sidecar, or takes it for a main container, so that the pod does not complete.
pub(super) fn running_sidecars(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let rules = context.input.rules.iter().filter(|rule| rule.reason == Reason::SidecarNotTerminated);
    for note in rules.flat_map(|rule| &rule.notes) {
        let (field, message) =
            (note.field.as_deref().unwrap_or(CONTAINERS), format!("the pod may never complete: {}", note.text));
        match note.fix {
            None => findings.push(field, message),
            Some(fix) => findings.push_with_fix(Severity::Warning, field, message, fix),
        }
    }
    if awaits_all_containers(context) {
        report_left_out(context, findings);
        report_daemons(context, findings);
        report_images(context, findings);
    }
}

/// Returns true if the pod completes only when all of its containers have exited, and no command in it terminates one of them.
fn awaits_all_containers(context: &CheckContext<'_>) -> bool {
    let LintInput { pod, member, .. } = *context.input;
    let is_deleted =
        member.is_some_and(|member| member.kind.group == RAY || (member.kind.group, member.kind.kind) == MPI);
    let terminates = || pod.containers().any(|container| container.command_line().any(|text| text.contains(KILL)));
    may_complete(context) && !is_deleted && !terminates()
}

/// Reports containers that the user excludes from the main containers, and that the controller does not terminate either.
fn report_left_out(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let is_left_out =
        |rule: &&RuleOutcome| rule.rule == RuleId::TerminationManaged && rule.reason != Reason::SidecarNotTerminated;
    for note in context.input.rules.iter().filter(is_left_out).flat_map(|rule| &rule.notes) {
        let message = format!("the pod completes only if this container exits: {}", note.text);
        findings.push_with_fix(Severity::Info, note.field.as_deref().unwrap_or(CONTAINERS), message, FIX_LEFT_OUT);
    }
}

/// Reports daemons of a plugin that run as regular containers, and that the controller takes for main containers: the pod does not declare
/// them as sidecars, and no sidecar of the catalog is terminated.
fn report_daemons(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, rules, .. } = *context.input;
    if rules.iter().any(|rule| rule.reason == Reason::HelpersManaged) {
        return;
    }
    let is_daemon = |container: &Container<'_>| {
        let has_image = || json::text(container.raw(), "image").is_some_and(|image| image.contains(DAEMON_IMAGE));
        container.kind == ContainerKind::App && (DAEMONS.contains(&container.name()) || has_image())
    };
    let declared = pod.annotation(keys::HELPER_CONTAINERS).unwrap_or_default();
    let is_declared = |name: &str| container_lists::sidecars(declared).any(|(container, _)| container == name);
    for daemon in pod.containers().filter(is_daemon).filter(|daemon| !is_declared(daemon.name())) {
        let message =
            format!("the pod may never complete: {} is a regular container, which keeps running", daemon.name());
        findings.push_with_fix(Severity::Warning, daemon.pointer(), message, FIX_FOR_DAEMONS);
    }
}

/// Reports containers with Fluent Bit whose image lacks the command by which the controller terminates them.
fn report_images(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, rules, .. } = *context.input;
    let is_terminated = |rule: &RuleOutcome| matches!(rule.reason, Reason::HelpersManaged | Reason::ManagedAlready);
    if !rules.iter().any(is_terminated) {
        return;
    }
    let declared = pod.annotation(keys::HELPER_CONTAINERS).unwrap_or_default();
    let lacks_command = |container: &Container<'_>| {
        let name = container.name();
        let entry = container_lists::sidecars(declared).find(|(declared, _)| *declared == name);
        let entry = entry.map_or(name, |(_, entry)| entry);
        let image = || json::text(container.raw(), "image").is_some_and(|image| lacks_kill(entry, image));
        container.kind == ContainerKind::App && image()
    };
    for container in pod.containers().filter(lacks_command) {
        let message = format!(
            "the pod may never complete: the image of {} contains no kill, by which the controller terminates it",
            container.name()
        );
        findings.push_with_fix(Severity::Warning, container.pointer(), message, FIX_FOR_FLUENT_BIT);
    }
}

/// Returns true if Kubernetes does not restart the containers of the pod after they have succeeded.
fn may_complete(context: &CheckContext<'_>) -> bool {
    let restart_policy = context.spec("restartPolicy").and_then(Value::as_str);
    matches!(restart_policy, Some("Never" | "OnFailure"))
}

/// FP061: the pod opts out, so that nothing terminates its proxy.
pub(super) fn opted_out(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, member, injection, rules, .. } = *context.input;
    let opts_out = rules.iter().any(|rule| rule.reason == Reason::PodOptedOut);
    // The operator of Ray deletes the pods of its clusters, whatever they run.
    let may_complete = may_complete(context) && member.is_none_or(|member| member.kind.group != RAY);
    let terminates_proxy =
        || pod.containers().any(|container| container.command_line().any(|text| text.contains(QUIT)));
    if !opts_out
        || injection != Injection::Expected
        || !may_complete
        || pod.requests_native_sidecar()
        || terminates_proxy()
    {
        return;
    }
    let is_certain = pod.annotation(keys::NATIVE_SIDECAR) == Some("false");
    let (severity, sidecar) = if is_certain {
        (Severity::Warning, "its classic sidecar keeps it running")
    } else {
        (Severity::Info, "a classic sidecar keeps it running")
    };
    findings.push_as(
        severity,
        LABEL_INJECT,
        format!("{}={} excludes the pod: {sidecar}", keys::INJECT, scope::DISABLED),
    );
}

/// FP047: the pod requests an adapter for which there is a profile, but selects none.
pub(super) fn profile_not_selected(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let unset = context.input.rules.iter().find(|rule| rule.reason == Reason::FabricNotNamed);
    if let Some(suggestion) = unset.and_then(|rule| rule.detail()) {
        findings.push(LABELS, format!("no fabric profile is selected, but {suggestion}"));
    }
}
