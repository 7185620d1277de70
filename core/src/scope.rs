//! Which pods trainmesh serves, and in which mode: labels of the namespace opt in, a label of the pod opts out, and two
//! namespaces are excluded whatever their labels.
//!
//! The apiserver's selectors decide the same, and the path of a review names the mode. Whoever sees pods in another way
//! (preview, controller, doctor) asks here.

use std::collections::BTreeMap;

use crate::keys;
use crate::pod::Pod;

/// The namespace labels that decide about the mode.
pub const LABELS: [&str; 2] = [keys::INJECT, keys::ISTIO_AUX];
/// The value of [`keys::INJECT`] or [`keys::ISTIO_AUX`] by which a namespace opts in.
pub const ENABLED: &str = "enabled";
/// The value of [`keys::INJECT`] by which a namespace opts into [`Mode::Audit`].
const AUDIT: &str = "audit";
/// The value of [`keys::INJECT`] by which a pod opts out.
pub const DISABLED: &str = "disabled";
/// Excluded in every cluster: no training runs there, and the cluster cannot do without its pods.
const SYSTEM_NAMESPACE: &str = "kube-system";

/// An installation of trainmesh, by its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    namespace: String,
}

/// Which rules are applied to a pod, and whether the patch is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All rules, and the patch is sent.
    Enabled,
    /// All rules, and no patch is sent.
    Audit,
    /// The hold alone, for namespaces labelled for datastrophic/istio-aux.
    IstioAux,
}

/// Why the apiserver does not send a pod to the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// The namespace carries no label that opts in.
    NamespaceNotOptedIn,
    /// The pod carries the label that opts out.
    PodOptedOut,
    /// `kube-system` and the namespace of the installation are never served.
    ExcludedNamespace,
}

/// Whether `pod` carries the label that opts out.
#[must_use]
pub fn is_opted_out(pod: Pod<'_>) -> bool {
    pod.label(keys::INJECT) == Some(DISABLED)
}

/// The value of [`keys::INJECT`] among a namespace's `labels` that means nothing. `disabled`, the value for pods, says
/// what it means.
#[must_use]
pub fn unknown_opt_in(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get(keys::INJECT).map(String::as_str).filter(|value| ![ENABLED, AUDIT, DISABLED].contains(value))
}

impl Installation {
    /// The namespace of an installation whose operator chooses no other.
    pub const DEFAULT_NAMESPACE: &str = "trainmesh-system";

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The mode that a namespace opts into. At most one fits: [`keys::INJECT`], whatever its value, takes the namespace
    /// away from istio-aux's label.
    pub fn namespace_mode(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Result<Mode, Exclusion> {
        if namespace == SYSTEM_NAMESPACE || namespace == self.namespace {
            return Err(Exclusion::ExcludedNamespace);
        }
        match labels.get(keys::INJECT).map(String::as_str) {
            Some(ENABLED) => Ok(Mode::Enabled),
            Some(AUDIT) => Ok(Mode::Audit),
            None if labels.get(keys::ISTIO_AUX).is_some_and(|value| value == ENABLED) => Ok(Mode::IstioAux),
            _ => Err(Exclusion::NamespaceNotOptedIn),
        }
    }

    /// The mode of the webhook that the apiserver's selectors choose for `pod` in `namespace`.
    pub fn pod_mode(
        &self,
        pod: Pod<'_>,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<Mode, Exclusion> {
        let mode = self.namespace_mode(namespace, labels)?;
        if is_opted_out(pod) { Err(Exclusion::PodOptedOut) } else { Ok(mode) }
    }
}

impl Default for Installation {
    fn default() -> Self {
        Self::from(Self::DEFAULT_NAMESPACE.to_owned())
    }
}

impl From<String> for Installation {
    fn from(namespace: String) -> Self {
        Self { namespace }
    }
}

impl Mode {
    /// The mode as the audit log and metrics write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enabled => ENABLED,
            Self::Audit => AUDIT,
            Self::IstioAux => "istio-aux",
        }
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
    #[case::ours_beats_theirs_with_any_value("team-a", json!({"io.datastrophic/istio-aux": "enabled", "trainmesh.dev/inject": "disabled"}), json!({}), Err(Exclusion::NamespaceNotOptedIn))]
    #[case::unlabelled("team-a", json!({"istio-injection": "enabled"}), json!({}), Err(Exclusion::NamespaceNotOptedIn))]
    #[case::pod_out("team-a", json!({"trainmesh.dev/inject": "enabled"}), json!({"trainmesh.dev/inject": "disabled"}), Err(Exclusion::PodOptedOut))]
    #[case::pod_cannot_opt_in("team-a", json!({}), json!({"trainmesh.dev/inject": "enabled"}), Err(Exclusion::NamespaceNotOptedIn))]
    #[case::kube_system("kube-system", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(Exclusion::ExcludedNamespace))]
    #[case::our_own("mesh", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(Exclusion::ExcludedNamespace))]
    #[case::where_we_are_not("trainmesh-system", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Ok(Mode::Enabled))]
    fn selectors(
        #[case] namespace: &str,
        #[case] labels: Value,
        #[case] pod_labels: Value,
        #[case] expected: Result<Mode, Exclusion>,
    ) {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        let raw = json!({"metadata": {"labels": pod_labels}});
        let installation = Installation::from("mesh".to_owned());
        assert_eq!(installation.pod_mode(Pod::new(&raw), namespace, &labels), expected);
    }
}
