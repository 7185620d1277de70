//! Reads the facts from the JSON of a pod.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::limits::{
    MAX_AGENT_CONFIG_BYTES, MAX_ANNOTATION_BYTES, MAX_DURATION_BYTES, MAX_EXIT_CODES, MAX_NAMES, MAX_RULES,
    has_too_many_containers, limited, limited_names,
};
use super::{
    AgentConfig, ContainerFacts, ContainerState, PodAnnotations, PodFacts, PodPhase, RestartRule, RestartRules,
    RuleAction,
};
use crate::pod::{Container, ContainerKind, Pod};
use crate::{duration, keys, scope};

/// Conditions of a pod whose containers are all being restarted: the current and the first name in KEP-5532.
pub(super) const RESTARTING: [&str; 2] = ["AllContainersRestarting", "PodRestartInPlace"];
/// Environment variable with the merged configuration of pilot-agent.
const PROXY_CONFIG: &str = "PROXY_CONFIG";
/// Environment variable that makes pilot-agent run without Envoy.
const DISABLE_ENVOY: &str = "DISABLE_ENVOY";
/// Environment variables that are read.
pub(super) const AGENT_VARIABLES: [&str; 2] = [PROXY_CONFIG, DISABLE_ENVOY];

impl PodFacts {
    /// Reads the facts of `pod`. Missing and malformed fields count as absent, values that exceed a limit as malformed.
    #[must_use]
    pub fn read(pod: Pod<'_>) -> Self {
        let metadata = |key: &str| pod.metadata().and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
        let metadata_or_empty = |key: &str| metadata(key).unwrap_or_default().into();
        let too_many_containers = has_too_many_containers(pod);
        let node = pod.spec().and_then(|spec| spec.get("nodeName")).and_then(Value::as_str);
        let long_running_containers = || long_running_containers(pod).filter(|_| !too_many_containers);
        Self {
            namespace: metadata_or_empty("namespace"),
            name: metadata_or_empty("name"),
            uid: metadata_or_empty("uid"),
            created: metadata("creationTimestamp").and_then(time),
            node: node.map(Into::into),
            phase: phase(pod),
            deleting: pod.is_being_deleted(),
            host_network: pod.host_network(),
            shared_processes: shared_processes(pod),
            opted_out: scope::is_opted_out(pod),
            has_webhook_mark: [keys::APPLIED, keys::REFUSED].iter().any(|key| pod.annotation(key).is_some())
                || pod.label(keys::MANAGED).is_some(),
            restarting: RESTARTING.iter().any(|condition| pod.has_condition(condition)),
            ambient: pod.annotation(keys::AMBIENT_REDIRECTION) == Some("enabled")
                || pod.label(keys::DATAPLANE_MODE) == Some("ambient"),
            annotations: PodAnnotations {
                payload_containers: pod.annotation(keys::PAYLOAD_CONTAINERS).map(limited_names),
                helper_containers: pod.annotation(keys::HELPER_CONTAINERS).map(limited_names),
                settle: pod.annotation(keys::SETTLE).map(|text| limited(text, MAX_DURATION_BYTES)),
            },
            injected_containers: injected_containers(pod),
            agent: agent_config(pod, long_running_containers),
            too_many_containers,
            containers: long_running_containers().map(|container| ContainerFacts::read(pod, container)).collect(),
        }
    }
}

impl ContainerFacts {
    fn read(pod: Pod<'_>, container: Container<'_>) -> Self {
        let status = pod.container_status(container);
        let id = status.and_then(|status| status.get("containerID")).and_then(Value::as_str);
        let restarts = status.and_then(|status| status.get("restartCount")).and_then(Value::as_u64);
        let state = status.map_or(ContainerState::Absent, ContainerState::read);
        Self {
            name: container.name().into(),
            kind: container.kind,
            policy: container.restart_policy(),
            rules: RestartRules::new(&restart_rules(container), state),
            state,
            id: id.filter(|id| !id.is_empty()).map(Into::into),
            restarts: restarts.and_then(|restarts| u32::try_from(restarts).ok()).unwrap_or_default(),
        }
    }
}

impl RestartRule {
    /// Reads a rule. A rule of unknown form may match any exit code, so it counts as one that matches every exit code.
    fn read(raw: &Value) -> Self {
        let action = match raw.get("action").and_then(Value::as_str) {
            Some("RestartAllContainers") => RuleAction::RestartAllContainers,
            _ => RuleAction::Restart,
        };
        let always = Self::always(action);
        let Some(exit_codes) = raw.get("exitCodes") else { return always };
        let listed = match exit_codes.get("operator").and_then(Value::as_str) {
            Some("In") => true,
            Some("NotIn") => false,
            _ => return always,
        };
        let values = exit_codes.get("values").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if values.len() > MAX_EXIT_CODES {
            return always;
        }
        let codes =
            values.iter().filter_map(|value| value.as_i64().and_then(|code| i32::try_from(code).ok())).collect();
        Self { action, matches_listed: listed, codes }
    }
}

impl ContainerState {
    fn read(status: &Map<String, Value>) -> Self {
        let Some(state) = status.get("state") else { return Self::Absent };
        if let Some(terminated) = state.get("terminated").filter(|value| value.is_object()) {
            let exit_code =
                terminated.get("exitCode").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
            let Some(exit_code) = exit_code else { return Self::Absent };
            let finished = terminated.get("finishedAt").and_then(Value::as_str).and_then(time);
            return Self::Terminated { exit_code, finished };
        }
        if state.get("running").is_some_and(Value::is_object) {
            return Self::Running;
        }
        match state.get("waiting").filter(|value| value.is_object()) {
            None => Self::Absent,
            Some(waiting) => {
                let reason = waiting.get("reason").and_then(Value::as_str);
                Self::Waiting { crash_loop: reason == Some("CrashLoopBackOff") }
            }
        }
    }
}

fn phase(pod: Pod<'_>) -> PodPhase {
    match pod.phase() {
        Some("Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        _ => PodPhase::Unknown,
    }
}

fn shared_processes(pod: Pod<'_>) -> bool {
    let field = |name: &str| pod.spec().and_then(|spec| spec.get(name)).and_then(Value::as_bool) == Some(true);
    field("shareProcessNamespace") || field("hostPID")
}

/// Parses a time. The zero time, which old kubelets report for an unknown time, counts as absent.
fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|time: &Timestamp| *time > Timestamp::UNIX_EPOCH)
}

/// Returns the containers that run as long as the pod: application containers and native sidecars.
fn long_running_containers(pod: Pod<'_>) -> impl Iterator<Item = Container<'_>> {
    pod.containers().filter(|container| matches!(container.kind, ContainerKind::App | ContainerKind::NativeSidecar))
}

/// Returns the restart rules of `container`. More than [`MAX_RULES`] count as one rule that always restarts the
/// container.
fn restart_rules(container: Container<'_>) -> Vec<RestartRule> {
    let rules = container.raw().get("restartPolicyRules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if rules.len() > MAX_RULES {
        return vec![RestartRule::always(RuleAction::Restart)];
    }
    rules.iter().map(RestartRule::read).collect()
}

/// Returns the application containers that the injector lists as its own. A list that exceeds a limit counts as one
/// without the proxy, so that nothing is terminated.
fn injected_containers(pod: Pod<'_>) -> Option<Box<[Box<str>]>> {
    let text = pod.annotation(keys::SIDECAR_STATUS)?;
    let Ok(text) = limited(text, MAX_ANNOTATION_BYTES) else { return Some(Box::default()) };
    let status: Value = serde_json::from_str(&text).ok()?;
    let listed = status.as_object()?.get("containers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if listed.len() > MAX_NAMES {
        return Some(Box::default());
    }
    Some(listed.iter().filter_map(Value::as_str).map(Into::into).collect())
}

/// Reads the merged configuration that the injector renders into the agent's environment. It includes the status port
/// of the annotation, except with custom templates that do not render the variable.
fn agent_config<'a, Containers>(pod: Pod<'a>, containers: impl Fn() -> Containers) -> AgentConfig
where
    Containers: Iterator<Item = Container<'a>>,
{
    let text = containers().find_map(|container| container.env(PROXY_CONFIG));
    let text = text.filter(|text| text.len() <= MAX_AGENT_CONFIG_BYTES);
    let config: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let field = |name: &str| config.as_ref().and_then(|config| config.get(name));
    let annotated = pod.annotation(keys::STATUS_PORT).and_then(|text| text.parse().ok());
    let configured = || field("statusPort").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let drain = field("terminationDrainDuration").and_then(Value::as_str);
    let templates = pod.annotation(keys::INJECT_TEMPLATES).filter(|templates| templates.len() <= MAX_ANNOTATION_BYTES);
    AgentConfig {
        proxyless: (templates.is_some() && pod.uses_grpc_agent_template())
            || containers().any(|container| container.env(DISABLE_ENVOY) == Some("true")),
        status_port: annotated.or_else(configured),
        drain: drain.and_then(|text| duration::parse(text).ok()),
    }
}
