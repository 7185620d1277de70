//! Selection of the pods that trainmesh serves, and their mode. Namespace labels opt in, a pod label opts out, and two
//! namespaces are always excluded.
//!
//! For the webhook, the apiserver applies the same rules by its selectors, and the request path carries the mode. This
//! module implements them for the preview, the controller and doctor.

use std::collections::BTreeMap;

use crate::keys;
use crate::pod::Pod;

/// Namespace labels that determine the mode.
pub const LABELS: [&str; 2] = [keys::INJECT, keys::ISTIO_AUX];
/// Value of [`keys::INJECT`] or [`keys::ISTIO_AUX`] with which a namespace opts in.
pub const ENABLED: &str = "enabled";
/// Value of [`keys::INJECT`] with which a namespace opts in to [`Mode::Audit`].
pub const AUDIT: &str = "audit";
/// Value of [`keys::INJECT`] with which a pod opts out.
pub const DISABLED: &str = "disabled";
/// Always excluded: no training runs there, and the cluster depends on its pods.
const SYSTEM_NAMESPACE: &str = "kube-system";

/// An installation of trainmesh, identified by its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    namespace: String,
    /// Other namespaces that the webhook configuration excludes.
    excluded: Vec<String>,
    /// True if its values disable the controller.
    lacks_controller: bool,
}

/// The set of rules that apply to a pod, and whether its patch is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All rules apply and the patch is sent.
    Enabled,
    /// All rules are evaluated, but no patch is sent.
    Audit,
    /// Only the hold and termination, for namespaces labeled for datastrophic/istio-aux.
    IstioAux,
}

/// Reason why the apiserver does not send a pod to the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// The namespace has no label that opts in.
    NamespaceNotOptedIn,
    /// The pod has the label that opts out.
    PodOptedOut,
    /// The namespace is `kube-system`, the namespace of the installation, or one that it excludes.
    ExcludedNamespace,
}

/// Returns true if `pod` has the label that opts out.
#[must_use]
pub fn is_opted_out(pod: Pod<'_>) -> bool {
    pod.label(keys::INJECT) == Some(DISABLED)
}

/// Returns the value of [`keys::INJECT`] in a namespace's `labels` if it is unknown. `disabled`, the value for pods, is
/// accepted because its intent is clear.
#[must_use]
pub fn unknown_inject_value(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get(keys::INJECT).map(String::as_str).filter(|value| ![ENABLED, AUDIT, DISABLED].contains(value))
}

impl Installation {
    /// Default namespace of an installation.
    pub const DEFAULT_NAMESPACE: &str = "trainmesh-system";

    /// Returns the namespace of the installation.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Also excludes these namespaces: those of the webhook configuration, as far as they are known.
    #[must_use]
    pub fn with_excluded(self, excluded: Vec<String>) -> Self {
        Self { excluded, ..self }
    }

    /// Sets whether the installation has no controller, as far as its values are known.
    #[must_use]
    pub fn with_controller_disabled(self, lacks_controller: bool) -> Self {
        Self { lacks_controller, ..self }
    }

    /// Returns true if the values of the installation disable the controller, which creates `PodGroups`.
    #[must_use]
    pub fn lacks_controller(&self) -> bool {
        self.lacks_controller
    }

    /// Returns true if pods of the namespace are never changed, whatever its labels.
    #[must_use]
    pub fn excludes(&self, namespace: &str) -> bool {
        let is_listed = || self.excluded.iter().any(|excluded| excluded == namespace);
        namespace == SYSTEM_NAMESPACE || namespace == self.namespace || is_listed()
    }

    /// Returns the mode that a namespace opts in to. [`keys::INJECT`], with any value, takes precedence over
    /// [`keys::ISTIO_AUX`].
    pub fn namespace_mode(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Result<Mode, Exclusion> {
        if self.excludes(namespace) {
            return Err(Exclusion::ExcludedNamespace);
        }
        match labels.get(keys::INJECT).map(String::as_str) {
            Some(ENABLED) => Ok(Mode::Enabled),
            Some(AUDIT) => Ok(Mode::Audit),
            None if labels.get(keys::ISTIO_AUX).is_some_and(|value| value == ENABLED) => Ok(Mode::IstioAux),
            _ => Err(Exclusion::NamespaceNotOptedIn),
        }
    }

    /// Returns the mode of the webhook that the apiserver's selectors choose for `pod` in `namespace`.
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
        Self { namespace, excluded: Vec::new(), lacks_controller: false }
    }
}

impl Mode {
    /// Returns the name of the mode in the audit log and in metrics.
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
    #[case::inject_takes_precedence_with_any_value("team-a", json!({"io.datastrophic/istio-aux": "enabled", "trainmesh.dev/inject": "disabled"}), json!({}), Err(Exclusion::NamespaceNotOptedIn))]
    #[case::unlabeled("team-a", json!({"istio-injection": "enabled"}), json!({}), Err(Exclusion::NamespaceNotOptedIn))]
    #[case::pod_opted_out("team-a", json!({"trainmesh.dev/inject": "enabled"}), json!({"trainmesh.dev/inject": "disabled"}), Err(Exclusion::PodOptedOut))]
    #[case::pod_cannot_opt_in("team-a", json!({}), json!({"trainmesh.dev/inject": "enabled"}), Err(Exclusion::NamespaceNotOptedIn))]
    #[case::kube_system("kube-system", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(Exclusion::ExcludedNamespace))]
    #[case::namespace_of_the_installation("mesh", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(Exclusion::ExcludedNamespace))]
    #[case::listed("batch", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Err(Exclusion::ExcludedNamespace))]
    #[case::default_namespace_of_another_installation("trainmesh-system", json!({"trainmesh.dev/inject": "enabled"}), json!({}), Ok(Mode::Enabled))]
    fn labels_select_the_mode(
        #[case] namespace: &str,
        #[case] labels: Value,
        #[case] pod_labels: Value,
        #[case] expected: Result<Mode, Exclusion>,
    ) {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        let raw = json!({"metadata": {"labels": pod_labels}});
        let installation = Installation::from("mesh".to_owned()).with_excluded(vec!["batch".to_owned()]);
        assert_eq!(installation.pod_mode(Pod::new(&raw), namespace, &labels), expected);
    }
}
