//! A row: how the containers of a pod exit, and the behavior that Kubernetes prescribes.

use std::fmt;

use serde_json::{Value, json};

use trainmesh_testing::controller::{PodManifest, container, container_with_memory_limit};

/// `spec.restartPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Never,
    OnFailure,
    Always,
}

/// Exit of the first main container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    Failure,
    /// Killed by the kernel: code 137.
    OutOfMemory,
}

/// Restart rules of the first main container (KEP-5307).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnRule {
    Nothing,
    Policy(Policy),
    /// `Never`, except after this exit code.
    Restart(u8),
    /// `Never`, except that all containers of the pod restart after this exit code.
    RestartAll(u8),
}

/// A pod of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub policy: Policy,
    pub exit: Exit,
    pub own: OwnRule,
    /// Set for three main containers, of which the other two succeed; otherwise there is one.
    pub three: bool,
    /// Set if the proxy is a native sidecar; otherwise it is an ordinary container.
    pub native: bool,
}

/// Returns all combinations except those of two rare properties: all restart rules with one container and a classic
/// proxy, the most significant ones with three containers or a native proxy, and no rule with both.
pub fn rows() -> Vec<Row> {
    use Exit::{Failure, OutOfMemory, Success};
    use Policy::{Always, Never, OnFailure};
    let significant = [OwnRule::Policy(Never), OwnRule::Restart(1), OwnRule::RestartAll(1)];
    let others = [OwnRule::Policy(OnFailure), OwnRule::Policy(Always), OwnRule::Restart(137)];
    let shapes = [
        (OwnRule::Nothing, false, false),
        (OwnRule::Nothing, true, false),
        (OwnRule::Nothing, false, true),
        (OwnRule::Nothing, true, true),
    ]
    .into_iter()
    .chain(significant.into_iter().flat_map(|own| [(own, false, false), (own, true, false), (own, false, true)]))
    .chain(others.map(|own| (own, false, false)));
    let shapes: Vec<_> = shapes.collect();
    let mut rows = Vec::new();
    for policy in [Never, OnFailure, Always] {
        for exit in [Success, Failure, OutOfMemory] {
            rows.extend(shapes.iter().map(|&(own, three, native)| Row { policy, exit, own, three, native }));
        }
    }
    rows
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::OutOfMemory => 137,
        }
    }
}

impl Policy {
    fn restarts(self, code: u8) -> bool {
        match self {
            Self::Never => false,
            Self::OnFailure => code != 0,
            Self::Always => true,
        }
    }
}

impl Row {
    /// Returns the manifest.
    pub fn manifest(self, pod: PodManifest) -> PodManifest {
        let mut first = match self.exit {
            Exit::Success | Exit::Failure => container("first", &format!("exit {}", self.exit.code())),
            Exit::OutOfMemory => container_with_memory_limit("first", "exec tail /dev/zero", "16Mi"),
        };
        match self.own {
            OwnRule::Nothing => {}
            OwnRule::Policy(policy) => first["restartPolicy"] = policy.to_string().into(),
            OwnRule::Restart(code) => add_rule(&mut first, "Restart", code),
            OwnRule::RestartAll(code) => add_rule(&mut first, "RestartAllContainers", code),
        }
        let pod = pod.restart_policy(&self.policy.to_string()).native(self.native).container(first);
        if self.three { pod.script("second", "sleep 1").script("third", "sleep 2") } else { pod }
    }

    /// Returns true if a restart of the first container also restarts the proxy.
    pub fn restarts_all(self) -> bool {
        self.own == OwnRule::RestartAll(self.exit.code())
    }

    /// Returns true if no main container will run again.
    pub fn main_containers_terminate(self) -> bool {
        let code = self.exit.code();
        let restarted = match self.own {
            OwnRule::Nothing => self.policy.restarts(code),
            OwnRule::Policy(own) => own.restarts(code),
            OwnRule::Restart(on) | OwnRule::RestartAll(on) => on == code,
        };
        let others_restarted = self.three && self.policy.restarts(0);
        !restarted && !others_restarted
    }

    /// Returns true if the controller must terminate the proxy. A native proxy terminates with the pod; one that the
    /// kubelet restarts would only lose its connections.
    pub fn proxy_is_terminated(self) -> bool {
        self.main_containers_terminate() && !self.native && self.policy != Policy::Always
    }

    /// Returns the final phase of the pod.
    pub fn phase(self) -> &'static str {
        match self.main_containers_terminate() && (self.native || self.proxy_is_terminated()) {
            false => "Running",
            true if self.exit == Exit::Success => "Succeeded",
            true => "Failed",
        }
    }
}

fn add_rule(container: &mut Value, action: &str, code: u8) {
    container["restartPolicy"] = "Never".into();
    container["restartPolicyRules"] = json!([{"action": action, "exitCodes": {"operator": "In", "values": [code]}}]);
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for OwnRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("pod"),
            Self::Policy(policy) => policy.fmt(f),
            Self::Restart(code) => write!(f, "restart-{code}"),
            Self::RestartAll(code) => write!(f, "restart-all-{code}"),
        }
    }
}

/// The text is also the pod's name.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, exit, own, three, native } = self;
        let text = format!(
            "{policy}-{}-own-{own}-{}-{}",
            exit.code(),
            if *three { "three" } else { "one" },
            if *native { "native" } else { "classic" }
        );
        f.write_str(&text.to_ascii_lowercase())
    }
}
