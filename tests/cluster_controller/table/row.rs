//! A row: one way in which the containers of a pod may end, and what Kubernetes makes of it.

use std::fmt;

use serde_json::{Value, json};

use trainmesh_testing::controller::{Manifest, container, limited};

/// `spec.restartPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Never,
    OnFailure,
    Always,
}

/// How the first payload container ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    Failure,
    /// Killed by the kernel: code 137.
    OutOfMemory,
}

/// What the first payload container says about its own restarts (KEP-5307).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    Nothing,
    Policy(Policy),
    /// `Never`, but it is restarted after this exit code.
    Restart(u8),
    /// `Never`, but all containers of the pod are restarted after this exit code.
    RestartAll(u8),
}

/// A pod of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub policy: Policy,
    pub exit: Exit,
    pub own: Own,
    /// Three payload containers, of which the other two succeed; else one.
    pub three: bool,
    /// The proxy is a native sidecar; else a container among the others.
    pub native: bool,
}

/// Every combination, but that of two rare things: all kinds of restarts with one container and a classic proxy, the
/// telling ones with three containers or a native proxy, and without any of its own with both.
pub fn rows() -> Vec<Row> {
    use Exit::{Failure, OutOfMemory, Success};
    use Policy::{Always, Never, OnFailure};
    let telling = [Own::Policy(Never), Own::Restart(1), Own::RestartAll(1)];
    let others = [Own::Policy(OnFailure), Own::Policy(Always), Own::Restart(137)];
    let shapes = [
        (Own::Nothing, false, false),
        (Own::Nothing, true, false),
        (Own::Nothing, false, true),
        (Own::Nothing, true, true),
    ]
    .into_iter()
    .chain(telling.into_iter().flat_map(|own| [(own, false, false), (own, true, false), (own, false, true)]))
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
    /// The pod.
    pub fn manifest(self, pod: Manifest) -> Manifest {
        let mut first = match self.exit {
            Exit::Success | Exit::Failure => container("first", &format!("exit {}", self.exit.code())),
            Exit::OutOfMemory => limited("first", "exec tail /dev/zero", "16Mi"),
        };
        match self.own {
            Own::Nothing => {}
            Own::Policy(policy) => first["restartPolicy"] = policy.to_string().into(),
            Own::Restart(code) => add_rule(&mut first, "Restart", code),
            Own::RestartAll(code) => add_rule(&mut first, "RestartAllContainers", code),
        }
        let pod = pod.policy(&self.policy.to_string()).native(self.native).holds(first);
        if self.three { pod.runs("second", "sleep 1").runs("third", "sleep 2") } else { pod }
    }

    /// Whether a restart of the first container restarts the proxy too.
    pub fn restarts_all(self) -> bool {
        self.own == Own::RestartAll(self.exit.code())
    }

    /// Whether no payload container will run again.
    pub fn payload_ends(self) -> bool {
        let code = self.exit.code();
        let restarted = match self.own {
            Own::Nothing => self.policy.restarts(code),
            Own::Policy(own) => own.restarts(code),
            Own::Restart(on) | Own::RestartAll(on) => on == code,
        };
        let others_restarted = self.three && self.policy.restarts(0);
        !restarted && !others_restarted
    }

    /// Whether the proxy must be asked to end. A native one ends with the pod; one that the kubelet restarts would only
    /// lose its connections.
    pub fn proxy_is_ended(self) -> bool {
        self.payload_ends() && !self.native && self.policy != Policy::Always
    }

    /// The pod's phase in the end.
    pub fn phase(self) -> &'static str {
        match self.payload_ends() && (self.native || self.proxy_is_ended()) {
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

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("pod"),
            Self::Policy(policy) => policy.fmt(f),
            Self::Restart(code) => write!(f, "restart-{code}"),
            Self::RestartAll(code) => write!(f, "restart-all-{code}"),
        }
    }
}

/// Also the pod's name.
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
