//! What the engine knows beside the pod: an immutable snapshot of mode, namespace and configuration.

use std::collections::BTreeMap;

use super::Reason;
use crate::config::Configuration;
use crate::fabric::Site;
use crate::keys;
use crate::pod::Pod;

/// The namespace that trainmesh is installed in unless its operator says otherwise.
pub const DEFAULT_INSTALLATION: &str = "trainmesh-system";

/// What the engine knows beside the pod.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// What we are asked to do.
    pub mode: Mode,
    /// The namespace that the pod is created in.
    pub namespace: &'a str,
    /// That namespace's labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The configuration in force.
    pub config: &'a Configuration,
    /// Its hash, for the audit log.
    pub config_hash: &'a str,
    /// How many pods of its role the pod is known to be one of; a review does not tell.
    pub replicas: Option<u64>,
    /// What is known of the cluster.
    pub site: Site<'a>,
}

/// Which fabric profile a pod is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// Nobody names one.
    Nothing,
    /// By the word `none`.
    None,
    /// This one, which may not exist.
    Profile(&'a str),
}

/// What we are asked to do. In a cluster the path of the request tells; the apiserver's selectors decide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All rules, and the patch is sent.
    Enabled,
    /// All rules, and no patch is sent: a rehearsal.
    Audit,
    /// The hold alone, for namespaces labelled for datastrophic/istio-aux.
    IstioAux,
}

/// Why the apiserver does not send a pod to the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCalled {
    /// The namespace carries no label that opts in.
    NamespaceNotOptedIn,
    /// The pod carries the label that opts out.
    PodOptedOut,
    /// `kube-system`, and the namespace of trainmesh itself, are never served.
    ExcludedNamespace,
}

impl<'a> Snapshot<'a> {
    /// The name of the fabric profile of `pod`: its label's, else that of its namespace's, else the configuration's.
    #[must_use]
    pub fn fabric_of(&self, pod: Pod<'a>) -> Named<'a> {
        let namespace = self.labels.get(keys::FABRIC).map(String::as_str);
        match pod.label(keys::FABRIC).or(namespace) {
            Some(keys::NO_FABRIC) => Named::None,
            Some(name) => Named::Profile(name),
            None => match &self.config.fabric.default.0 {
                Some(name) => Named::Profile(name.as_str()),
                None => Named::Nothing,
            },
        }
    }
}

impl NotCalled {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::NamespaceNotOptedIn => Reason::NamespaceNotOptedIn,
            Self::PodOptedOut => Reason::PodOptedOut,
            Self::ExcludedNamespace => Reason::ExcludedNamespace,
        }
    }
}

impl Mode {
    /// The mode in the words of the audit log and of metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Audit => "audit",
            Self::IstioAux => "istio-aux",
        }
    }
}

/// Which of the three webhooks the apiserver's selectors choose for `pod`. `installation` is the namespace of trainmesh.
pub fn selected_mode(
    pod: Pod<'_>,
    namespace: &str,
    labels: &BTreeMap<String, String>,
    installation: &str,
) -> Result<Mode, NotCalled> {
    let mode = namespace_mode(namespace, labels, installation)?;
    if pod.label(keys::INJECT) == Some("disabled") { Err(NotCalled::PodOptedOut) } else { Ok(mode) }
}

/// What a namespace has opted into. At most one mode fits: `trainmesh.dev/inject`, whatever its value, takes the
/// namespace away from istio-aux's label. `installation` is the namespace of trainmesh.
pub fn namespace_mode(
    namespace: &str,
    labels: &BTreeMap<String, String>,
    installation: &str,
) -> Result<Mode, NotCalled> {
    if namespace == "kube-system" || namespace == installation {
        return Err(NotCalled::ExcludedNamespace);
    }
    match labels.get(keys::INJECT).map(String::as_str) {
        Some("enabled") => Ok(Mode::Enabled),
        Some("audit") => Ok(Mode::Audit),
        None if labels.get(keys::ISTIO_AUX).is_some_and(|value| value == "enabled") => Ok(Mode::IstioAux),
        _ => Err(NotCalled::NamespaceNotOptedIn),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::enabled("team-a", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Ok(Mode::Enabled))]
    #[case::audit("team-a", json!({"trainmesh.dev/inject": "audit"}), json!({}), Ok(Mode::Audit))]
    #[case::istio_aux("team-a", json!({"io.datastrophic/istio-aux": "enabled"}), json!({}), Ok(Mode::IstioAux))]
    #[case::both("team-a", json!({"io.datastrophic/istio-aux": "enabled", "trainmesh.dev/inject": "audit"}), json!({}), Ok(Mode::Audit))]
    #[case::ours_beats_theirs_with_any_value("team-a", json!({"io.datastrophic/istio-aux": "enabled", "trainmesh.dev/inject": "disabled"}), json!({}), Err(NotCalled::NamespaceNotOptedIn))]
    #[case::unlabelled("team-a", json!({"istio-injection": "enabled"}), json!({}), Err(NotCalled::NamespaceNotOptedIn))]
    #[case::pod_out("team-a", json!({"trainmesh.dev/inject": "enabled"}), json!({"trainmesh.dev/inject": "disabled"}), Err(NotCalled::PodOptedOut))]
    #[case::pod_cannot_opt_in("team-a", json!({}), json!({"trainmesh.dev/inject": "enabled"}), Err(NotCalled::NamespaceNotOptedIn))]
    #[case::kube_system("kube-system", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(NotCalled::ExcludedNamespace))]
    #[case::our_own("mesh", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(NotCalled::ExcludedNamespace))]
    #[case::where_we_are_not("trainmesh-system", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Ok(Mode::Enabled))]
    fn selectors(
        #[case] namespace: &str,
        #[case] labels: Value,
        #[case] pod_labels: Value,
        #[case] expected: Result<Mode, NotCalled>,
    ) {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        let raw = json!({"metadata": {"labels": pod_labels}});
        assert_eq!(selected_mode(Pod::new(&raw), namespace, &labels, "mesh"), expected);
    }
}
