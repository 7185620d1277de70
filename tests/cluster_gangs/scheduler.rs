//! The schedulers under test.

use std::sync::OnceLock;

use serde_json::Value;

use trainmesh_core::gang::GangMode;
use trainmesh_core::gang::key::YUNIKORN_QUEUES;
use trainmesh_core::gang::object::{GroupApi, GroupState, read_group};
use trainmesh_core::pod::Pod;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};

/// A scheduler that the test cluster runs.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// Mode that selects it.
    pub mode: GangMode,
    /// Name of its project.
    pub project: &'static str,
    /// Name of `tests/cluster/cluster operator`; `None` if it is part of every test cluster.
    pub operator: Option<&'static str>,
}

impl Scheduler {
    pub const NATIVE: Self = Self { mode: GangMode::Native, project: "Kubernetes", operator: None };
    pub const VOLCANO: Self = Self { mode: GangMode::Volcano, project: "Volcano", operator: Some("volcano") };
    pub const COSCHEDULING: Self =
        Self { mode: GangMode::Coscheduling, project: "scheduler-plugins", operator: Some("coscheduling") };
    pub const YUNIKORN: Self = Self { mode: GangMode::Yunikorn, project: "YuniKorn", operator: Some("yunikorn") };
    pub const KOORDINATOR: Self =
        Self { mode: GangMode::Koordinator, project: "Koordinator", operator: Some("koordinator") };
    pub const KAI: Self = Self { mode: GangMode::Kai, project: "KAI-Scheduler", operator: Some("kai") };
    /// Not a scheduler, but a queue for the default one.
    pub const KUEUE: Self = Self { mode: GangMode::Kueue, project: "Kueue", operator: Some("kueue") };

    /// Starts it, unless it runs.
    pub fn start(self) {
        if let Some(operator) = self.operator {
            if self.mode == GangMode::Kai {
                // Both have the CRD `topologies.kueue.x-k8s.io`.
                Self::KUEUE.stop();
            }
            Cluster::get().start_operator(operator);
        }
    }

    /// Stops it.
    pub fn stop(self) {
        if let Some(operator) = self.operator {
            if self.mode == GangMode::Kueue {
                delete_queued();
            }
            Cluster::get().stop_operator(operator);
        }
    }

    /// Returns the label with which pods select a queue, if the mode requires one.
    pub fn queue(self) -> Option<(&'static str, &'static str)> {
        (self.mode == GangMode::Yunikorn).then_some((YUNIKORN_QUEUES[0], "root.default"))
    }

    /// Returns the API of its `PodGroups`, if the controller creates them. Of several native ones, the newest served.
    pub fn api(self) -> Option<GroupApi> {
        static NATIVE: OnceLock<GroupApi> = OnceLock::new();
        let mut known = GroupApi::ALL.into_iter().filter(|api| api.mode() == self.mode);
        if self.mode == GangMode::Native {
            return Some(*NATIVE.get_or_init(|| {
                let served = Cluster::get().kubectl(&["get", "--raw", "/apis/scheduling.k8s.io"], "").success().stdout;
                known.find(|api| served.contains(&api.api_version())).expect("a native API")
            }));
        }
        known.next()
    }

    /// Returns the resource of its `PodGroups`, as in `podgroups.v1beta1.scheduling.k8s.io`.
    pub fn groups(self) -> String {
        let api = self.api().expect("the mode has objects");
        format!("{}.{}.{}", GroupApi::PLURAL, api.version(), api.group())
    }

    /// Returns the gang that a pod names.
    pub fn gang_named_by(self, pod: &Value) -> Option<&str> {
        self.mode.gang_named_by(Pod::new(pod))
    }

    /// Returns the minimum of a `PodGroup` that the controller created.
    pub fn minimum(self, group: &Value) -> Option<u32> {
        match read_group(self.api()?, group) {
            GroupState::Own { minimum, .. } => minimum,
            GroupState::Missing | GroupState::Foreign => None,
        }
    }
}

/// Deletes what has a finalizer that only Kueue removes: the namespaces of ended tests, and the queues.
fn delete_queued() {
    let cluster = Cluster::get();
    eventually(TIMEOUT, "no namespace is being deleted", || {
        let namespaces = cluster.kubectl(&["get", "namespaces", "-o", "json"], "").success().object();
        let phases =
            namespaces["items"].as_array().into_iter().flatten().map(|namespace| &namespace["status"]["phase"]);
        let terminating = phases.filter(|phase| **phase == "Terminating").count();
        if terminating == 0 { Ok(()) } else { Err(format!("{terminating} namespaces")) }
    });
    // Fails if Kueue does not run.
    let _ = cluster.kubectl(&["delete", "clusterqueues.kueue.x-k8s.io", "--all", "--timeout=60s"], "");
}
