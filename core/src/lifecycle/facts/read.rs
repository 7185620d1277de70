//! From the JSON of a pod to its facts.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::bounds::{
    AGENT_CONFIG, ANNOTATION, DURATION, EXIT_CODES, NAMES, RULES, bounded, bounded_names, has_too_many_containers,
};
use super::{Agent, ContainerFacts, Declared, Phase, PodFacts, RestartRule, RestartRules, RuleAction, State};
use crate::pod::{Container, ContainerKind, Pod};
use crate::{duration, keys, scope};

/// Conditions of a pod whose containers are all being restarted: that of KEP-5532, and the one of its first form.
pub(super) const RESTARTING: [&str; 2] = ["AllContainersRestarting", "PodRestartInPlace"];
/// The variable with the merged configuration of the mesh agent.
const PROXY_CONFIG: &str = "PROXY_CONFIG";
/// The variable that makes the mesh agent run no Envoy.
const DISABLE_ENVOY: &str = "DISABLE_ENVOY";
/// The variables of containers that are read.
pub(super) const AGENT_VARIABLES: [&str; 2] = [PROXY_CONFIG, DISABLE_ENVOY];

impl PodFacts {
    /// Reads the facts of `pod`. What is missing or malformed reads as absent, and what decides about an end then reads
    /// as not ended. What exceeds its bound reads as malformed.
    #[must_use]
    pub fn read(pod: Pod<'_>) -> Self {
        let metadata = |key: &str| pod.metadata().and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
        let required = |key: &str| metadata(key).unwrap_or_default().into();
        let too_many_containers = has_too_many_containers(pod);
        let node = pod.spec().and_then(|spec| spec.get("nodeName")).and_then(Value::as_str);
        let lasting = || lasting(pod).filter(|_| !too_many_containers);
        Self {
            namespace: required("namespace"),
            name: required("name"),
            uid: required("uid"),
            created: metadata("creationTimestamp").and_then(time),
            node: node.map(Into::into),
            phase: phase(pod),
            deleting: pod.being_deleted(),
            host_network: pod.host_network(),
            shared_processes: shared_processes(pod),
            opted_out: scope::is_opted_out(pod),
            traced: pod.annotation(keys::APPLIED).is_some() || pod.label(keys::MANAGED).is_some(),
            restarting: RESTARTING.iter().any(|condition| pod.has_condition(condition)),
            ambient: pod.annotation(keys::AMBIENT_REDIRECTION) == Some("enabled")
                || pod.label(keys::DATAPLANE_MODE) == Some("ambient"),
            declared: Declared {
                payload: pod.annotation(keys::PAYLOAD_CONTAINERS).map(bounded_names),
                helpers: pod.annotation(keys::HELPER_CONTAINERS).map(bounded_names),
                settle: pod.annotation(keys::SETTLE).map(|text| bounded(text, DURATION)),
            },
            injected: injected(pod),
            agent: agent(pod, lasting),
            too_many_containers,
            containers: lasting().map(|container| ContainerFacts::read(pod, container)).collect(),
        }
    }
}

impl ContainerFacts {
    fn read(pod: Pod<'_>, container: Container<'_>) -> Self {
        let status = pod.container_status(container);
        let id = status.and_then(|status| status.get("containerID")).and_then(Value::as_str);
        let restarts = status.and_then(|status| status.get("restartCount")).and_then(Value::as_u64);
        let state = status.map_or(State::Absent, State::read);
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
    /// A rule in a form that we do not know reads as one that always starts the container again: it may.
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
        if values.len() > EXIT_CODES {
            return always;
        }
        let codes =
            values.iter().filter_map(|value| value.as_i64().and_then(|code| i32::try_from(code).ok())).collect();
        Self { action, listed, codes }
    }
}

impl State {
    fn read(status: &Map<String, Value>) -> Self {
        let Some(state) = status.get("state") else { return Self::Absent };
        if let Some(terminated) = state.get("terminated").filter(|it| it.is_object()) {
            let exit_code =
                terminated.get("exitCode").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
            let Some(exit_code) = exit_code else { return Self::Absent };
            let finished = terminated.get("finishedAt").and_then(Value::as_str).and_then(time);
            return Self::Terminated { exit_code, finished };
        }
        if state.get("running").is_some_and(Value::is_object) {
            return Self::Running;
        }
        match state.get("waiting").filter(|it| it.is_object()) {
            None => Self::Absent,
            Some(waiting) => {
                let reason = waiting.get("reason").and_then(Value::as_str);
                Self::Waiting { crash_loop: reason == Some("CrashLoopBackOff") }
            }
        }
    }
}

fn phase(pod: Pod<'_>) -> Phase {
    match pod.phase() {
        Some("Pending") => Phase::Pending,
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => Phase::Failed,
        _ => Phase::Unknown,
    }
}

fn shared_processes(pod: Pod<'_>) -> bool {
    let field = |name: &str| pod.spec().and_then(|spec| spec.get(name)).and_then(Value::as_bool) == Some(true);
    field("shareProcessNamespace") || field("hostPID")
}

/// The zero time, which old kubelets write where they know none, reads as absent.
fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|time: &Timestamp| *time > Timestamp::UNIX_EPOCH)
}

/// The containers that last as long as the pod: its application's, and native sidecars.
fn lasting(pod: Pod<'_>) -> impl Iterator<Item = Container<'_>> {
    pod.containers().filter(|it| matches!(it.kind, ContainerKind::App | ContainerKind::NativeSidecar))
}

/// The rules of `container`. Too many read as one that always starts the container again.
fn restart_rules(container: Container<'_>) -> Vec<RestartRule> {
    let rules = container.raw().get("restartPolicyRules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if rules.len() > RULES {
        return vec![RestartRule::always(RuleAction::Restart)];
    }
    rules.iter().map(RestartRule::read).collect()
}

/// The application containers that the injector says it has added. A list that is too long reads as one without the
/// proxy: then nothing is terminated.
fn injected(pod: Pod<'_>) -> Option<Box<[Box<str>]>> {
    let text = pod.annotation(keys::SIDECAR_STATUS)?;
    let Ok(text) = bounded(text, ANNOTATION) else { return Some(Box::default()) };
    let status: Value = serde_json::from_str(&text).ok()?;
    let listed = status.as_object()?.get("containers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if listed.len() > NAMES {
        return Some(Box::default());
    }
    Some(listed.iter().filter_map(Value::as_str).map(Into::into).collect())
}

/// The injector writes the merged configuration of the agent into its environment; the annotation of the status port
/// is part of it, but for custom templates that render no such variable.
fn agent<'a, Containers>(pod: Pod<'a>, containers: impl Fn() -> Containers) -> Agent
where
    Containers: Iterator<Item = Container<'a>>,
{
    let text = containers().find_map(|container| container.env(PROXY_CONFIG));
    let text = text.filter(|text| text.len() <= AGENT_CONFIG);
    let config: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let field = |name: &str| config.as_ref().and_then(|config| config.get(name));
    let annotated = pod.annotation(keys::STATUS_PORT).and_then(|text| text.parse().ok());
    let configured = || field("statusPort").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let drain = field("terminationDrainDuration").and_then(Value::as_str);
    let templates = pod.annotation(keys::INJECT_TEMPLATES).filter(|templates| templates.len() <= ANNOTATION);
    Agent {
        proxyless: (templates.is_some() && pod.asks_for_grpc_agent())
            || containers().any(|container| container.env(DISABLE_ENVOY) == Some("true")),
        status_port: annotated.or_else(configured),
        drain: drain.and_then(|text| duration::parse(text).ok()),
    }
}
