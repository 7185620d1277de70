//! Immutable snapshot of the mode, namespace, configuration and cluster: the engine's input apart from the pod.

use std::collections::BTreeMap;

use crate::cluster_facts::ClusterView;
use crate::config::{Configuration, Traffic};
use crate::gang::{GangMode, ModePin, WorkloadKey};
use crate::keys;
use crate::pod::Pod;
use crate::scope::Mode;
use crate::workload;

/// Input of the engine other than the pod.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The set of rules that apply, and whether the patch is sent.
    pub mode: Mode,
    /// Namespace that the pod is created in.
    pub namespace: &'a str,
    /// Labels of the namespace.
    pub namespace_labels: &'a BTreeMap<String, String>,
    /// True if `namespace_labels` are not known: a preview assumes them.
    pub labels_assumed: bool,
    /// Active configuration.
    pub config: &'a Configuration,
    /// Hash of the configuration, for the audit log.
    pub config_hash: &'a str,
    /// Number of pods in the pod's role. `None` if unknown, as in an admission review.
    pub replicas: Option<u64>,
    /// Cached cluster state.
    pub cluster: ClusterView<'a>,
}

/// Fabric profile that the pod, its namespace or the configuration selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileChoice<'a> {
    /// No profile is selected.
    Unset,
    /// The value `none` is selected.
    None,
    /// A profile is selected by name. It may not exist.
    Profile(&'a str),
}

/// Gang mode that the pod, its namespace or the configuration selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GangChoice<'a> {
    /// No label is set, and the configuration has no default.
    Unset,
    /// The label is set to `none`.
    OptedOut,
    /// A mode is selected.
    Mode(GangMode),
    /// The label has an unknown value.
    Unknown(&'a str),
}

impl<'a> GangChoice<'a> {
    /// Returns the mode selected by the label of `pod`, else by that of its namespace, else by `config`.
    #[must_use]
    pub fn new(pod: Pod<'a>, namespace_labels: &'a BTreeMap<String, String>, config: &Configuration) -> Self {
        Self::by_label(pod.label(keys::GANG), namespace_labels, config)
    }

    fn by_label(
        of_pod: Option<&'a str>,
        namespace_labels: &'a BTreeMap<String, String>,
        config: &Configuration,
    ) -> Self {
        let namespace = namespace_labels.get(keys::GANG).map(String::as_str);
        let label = of_pod.or(namespace);
        match label.map(|name| (name, GangMode::parse(name))) {
            Some((_, Some(GangMode::None))) => Self::OptedOut,
            Some((_, Some(mode))) => Self::Mode(mode),
            Some((name, None)) => Self::Unknown(name),
            None if config.gang.default == GangMode::None => Self::Unset,
            None => Self::Mode(config.gang.default),
        }
    }
}

/// Returns the workload to read before the rules run on `pod`; `None` if no rule needs it. `pin` is that of its job.
#[must_use]
pub fn workload_to_read(
    pod: Pod<'_>,
    namespace: &str,
    mode: Mode,
    namespace_labels: &BTreeMap<String, String>,
    config: &Configuration,
    pin: Option<ModePin<'_>>,
) -> Option<WorkloadKey> {
    // The permission to read jobs is part of the gang feature.
    if mode == Mode::IstioAux || !config.gang.enabled {
        return None;
    }
    let needs_gang = match GangChoice::new(pod, namespace_labels, config) {
        GangChoice::Mode(selected) => selected == GangMode::Auto || selected.needs_workload(),
        GangChoice::Unset | GangChoice::OptedOut | GangChoice::Unknown(_) => false,
    };
    let needs_pinned = || pin.is_some_and(|pin| pin.modes().any(GangMode::needs_workload));
    let needs_size = || {
        selects_direct(pod, namespace_labels, config)
            && workload::identify(pod).is_some_and(|member| member.training)
            && !workload::shows_peers(pod)
    };
    let has_annotation = |key: &str| pod.annotation(key).is_some();
    let needs_nodes = || has_annotation(keys::CHECKPOINT_WRITE_TIME) && has_annotation(keys::NODE_MTBF);
    WorkloadKey::of(pod, namespace).filter(|_| needs_gang || needs_pinned() || needs_size() || needs_nodes())
}

/// Returns true if the label of `pod`, else that of its namespace, else `config` selects the traffic mode `direct`.
fn selects_direct(pod: Pod<'_>, namespace_labels: &BTreeMap<String, String>, config: &Configuration) -> bool {
    let namespace = namespace_labels.get(keys::MESH_TRAFFIC).map(String::as_str);
    let mode = pod.label(keys::MESH_TRAFFIC).or(namespace).map_or(Some(config.mesh.traffic), Traffic::parse);
    config.mesh.enabled && mode == Some(Traffic::Direct)
}

impl<'a> Snapshot<'a> {
    /// Returns the gang mode of `pod`.
    #[must_use]
    pub fn gang_mode(&self, pod: Pod<'a>) -> GangChoice<'a> {
        GangChoice::new(pod, self.namespace_labels, self.config)
    }

    /// Returns the gang mode of pods without the label that selects one.
    #[must_use]
    pub fn gang_mode_of_namespace(&self) -> GangChoice<'a> {
        GangChoice::by_label(None, self.namespace_labels, self.config)
    }

    /// Returns the fabric profile selected by the label of `pod`, else by the namespace's, else by the configuration.
    #[must_use]
    pub fn fabric_profile(&self, pod: Pod<'a>) -> ProfileChoice<'a> {
        let namespace = self.namespace_labels.get(keys::FABRIC).map(String::as_str);
        match pod.label(keys::FABRIC).or(namespace) {
            Some(keys::NO_FABRIC) => ProfileChoice::None,
            Some(name) => ProfileChoice::Profile(name),
            None => match &self.config.fabric.default.0 {
                Some(name) => ProfileChoice::Profile(name.as_str()),
                None => ProfileChoice::Unset,
            },
        }
    }
}
