//! Finds fields and values of an object that its type in the Kubernetes API does not have.
//!
//! The types of k8s-openapi skip unknown fields. Every type passes the names of its fields to the deserializer, so no list of
//! fields is needed here.

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api_type::{Decoder, Observer};
use crate::step::Step;

/// A field or value that the API does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem<'a> {
    /// An unknown field, which the apiserver drops.
    Field {
        /// Type of the object.
        owner: &'static str,
        /// Name of the field, truncated.
        name: &'a str,
        /// Fields of the type.
        known: &'static [&'static str],
    },
    /// An unknown field of an operator's kind that another object of the kind has.
    OtherLevel {
        /// Type of the object.
        owner: &'static str,
        /// Name of the field.
        name: &'a str,
        /// Path of the field where it is known.
        known: String,
    },
    /// An unknown value of a field with few values, which the apiserver or the kubelet rejects.
    Value {
        /// Type of the object.
        owner: &'static str,
        /// Name of the field.
        name: &'static str,
        /// The value, truncated.
        value: &'a str,
        /// Values that the apiserver accepts.
        expected: &'static [&'static str],
    },
    /// A value similar to one of a field of an operator's kind, which the apiserver or the operator rejects or ignores.
    OperatorValue {
        /// The value.
        value: &'a str,
        /// Known values.
        known: &'static [&'static str],
    },
}

impl Problem<'_> {
    /// Returns true for an unknown field.
    pub(crate) fn is_field(&self) -> bool {
        matches!(self, Self::Field { .. } | Self::OtherLevel { .. })
    }
}

/// A problem with the path of its field.
pub(crate) type Found<'a> = (Vec<Step<'a>>, Problem<'a>);

/// A value that the type of its field does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistyped<'a> {
    pub(crate) path: Vec<Step<'a>>,
    pub(crate) value: &'a Value,
    /// Message of the deserializer.
    pub(crate) message: String,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Searched<'a> {
    /// Unknown fields and values, [`MAX_FOUND`] at most.
    pub(crate) found: Vec<Found<'a>>,
    /// Values of wrong types, which are left out, [`MAX_SKIPPED`] at most.
    pub(crate) mistyped: Vec<Mistyped<'a>>,
}

/// Records the fields and values that the types of the decoded objects do not have.
struct Search<'de> {
    /// Type whose objects are not checked.
    excluded: Option<&'static str>,
    state: RefCell<State<'de>>,
}

#[derive(Default)]
struct State<'de> {
    path: Vec<Step<'de>>,
    searched: Searched<'de>,
    /// Value that does not decode, if there is one.
    mistyped: Option<Vec<Step<'de>>>,
}

/// Maximum number of problems. More only repeat the same mistake.
pub(crate) const MAX_FOUND: usize = 20;
/// Maximum number of values of a wrong type that are left out. Each costs another search.
const MAX_SKIPPED: usize = 20;
/// Maximum length of a name or value that a message quotes, in bytes: longer than any of the API.
const MAX_QUOTED: usize = 63;

/// Ends of values of which users choose the rest.
pub(crate) const OPEN_ENDS: [char; 2] = ['-', '['];

/// Fields with few values, by type and field: those of Kubernetes 1.36, which include those of all older versions. A value with
/// one of [`OPEN_ENDS`] is the start of a value.
const VALUES: [(&str, &str, &[&str]); 63] = [
    ("PodSpec", "restartPolicy", &["Always", "OnFailure", "Never"]),
    ("PodSpec", "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    ("PodOS", "name", &["linux", "windows"]),
    ("PodSecurityContext", "fsGroupChangePolicy", &["OnRootMismatch", "Always"]),
    ("PodSecurityContext", "supplementalGroupsPolicy", &["Merge", "Strict"]),
    ("PodSecurityContext", "seLinuxChangePolicy", &["MountOption", "Recursive"]),
    ("SecurityContext", "procMount", &["Default", "Unmasked"]),
    ("SeccompProfile", "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    ("AppArmorProfile", "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    ("NodeSelectorRequirement", "operator", &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    ("LabelSelectorRequirement", "operator", &["In", "NotIn", "Exists", "DoesNotExist"]),
    ("TopologySpreadConstraint", "whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"]),
    ("TopologySpreadConstraint", "nodeAffinityPolicy", &["Honor", "Ignore"]),
    ("TopologySpreadConstraint", "nodeTaintsPolicy", &["Honor", "Ignore"]),
    ("EmptyDirVolumeSource", "medium", &["Memory", "HugePages", "HugePages-"]),
    (
        "HostPathVolumeSource",
        "type",
        &["DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"],
    ),
    ("ImageVolumeSource", "pullPolicy", &["Always", "IfNotPresent", "Never"]),
    ("AzureDiskVolumeSource", "cachingMode", &["None", "ReadOnly", "ReadWrite"]),
    ("AzureDiskVolumeSource", "kind", &["Shared", "Dedicated", "Managed"]),
    ("PodCertificateProjection", "keyType", &["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"]),
    ("PersistentVolumeClaimSpec", "volumeMode", &["Filesystem", "Block"]),
    (
        "PersistentVolumeClaimSpec",
        "accessModes",
        &["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
    ),
    ("VolumeMount", "mountPropagation", &["None", "HostToContainer", "Bidirectional"]),
    ("VolumeMount", "recursiveReadOnly", &["Disabled", "IfPossible", "Enabled"]),
    ("HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    ("ContainerResizePolicy", "resourceName", &["cpu", "memory"]),
    ("ContainerResizePolicy", "restartPolicy", &["NotRequired", "RestartContainer"]),
    ("ContainerRestartRule", "action", &["Restart", "RestartAllContainers"]),
    ("ContainerRestartRuleOnExitCodes", "operator", &["In", "NotIn"]),
    (
        "ObjectFieldSelector",
        "fieldPath",
        &[
            "metadata.name",
            "metadata.namespace",
            "metadata.uid",
            "metadata.labels",
            "metadata.annotations",
            "metadata.labels[",
            "metadata.annotations[",
            "spec.nodeName",
            "spec.serviceAccountName",
            "status.hostIP",
            "status.hostIPs",
            "status.podIP",
            "status.podIPs",
        ],
    ),
    (
        "ResourceFieldSelector",
        "resource",
        &[
            "limits.cpu",
            "limits.memory",
            "limits.ephemeral-storage",
            "limits.hugepages-",
            "requests.cpu",
            "requests.memory",
            "requests.ephemeral-storage",
            "requests.hugepages-",
        ],
    ),
    ("PodSpec", "preemptionPolicy", &["PreemptLowerPriority", "Never"]),
    ("Container", "restartPolicy", &["Always", "OnFailure", "Never"]),
    ("Container", "imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    ("Container", "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    ("ContainerPort", "protocol", &["TCP", "UDP", "SCTP"]),
    ("Toleration", "operator", &["Exists", "Equal", "Lt", "Gt"]),
    ("Toleration", "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ("JobSpec", "completionMode", &["NonIndexed", "Indexed"]),
    ("JobSpec", "podReplacementPolicy", &["TerminatingOrFailed", "Failed"]),
    ("PodFailurePolicyRule", "action", &["FailJob", "FailIndex", "Ignore", "Count"]),
    ("PodFailurePolicyOnExitCodesRequirement", "operator", &["In", "NotIn"]),
    ("PodFailurePolicyOnPodConditionsPattern", "status", &["True", "False", "Unknown"]),
    ("CronJobSpec", "concurrencyPolicy", &["Allow", "Forbid", "Replace"]),
    ("DeploymentStrategy", "type", &["Recreate", "RollingUpdate"]),
    ("StatefulSetSpec", "podManagementPolicy", &["OrderedReady", "Parallel"]),
    ("StatefulSetUpdateStrategy", "type", &["OnDelete", "RollingUpdate"]),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", &["Retain", "Delete"]),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", &["Retain", "Delete"]),
    ("ServiceSpec", "externalTrafficPolicy", &["Cluster", "Local"]),
    ("ServiceSpec", "internalTrafficPolicy", &["Cluster", "Local"]),
    ("ServiceSpec", "sessionAffinity", &["ClientIP", "None"]),
    ("ServiceSpec", "ipFamilyPolicy", &["SingleStack", "PreferDualStack", "RequireDualStack"]),
    ("ServiceSpec", "ipFamilies", &["IPv4", "IPv6"]),
    ("ServiceSpec", "trafficDistribution", &["PreferClose", "PreferSameZone", "PreferSameNode"]),
    ("ServiceSpec", "type", &["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
    ("ServicePort", "protocol", &["TCP", "UDP", "SCTP"]),
    ("DaemonSetUpdateStrategy", "type", &["OnDelete", "RollingUpdate"]),
    ("DeviceRequest", "allocationMode", &["ExactCount", "All"]),
    ("ExactDeviceRequest", "allocationMode", &["ExactCount", "All"]),
    ("DeviceSubRequest", "allocationMode", &["ExactCount", "All"]),
    ("DeviceToleration", "operator", &["Exists", "Equal"]),
    ("DeviceToleration", "effect", &["NoSchedule", "NoExecute", "None"]),
];

/// Decodes `value` as a `T`, and returns the unknown fields and values with their paths. A value of a wrong type ends the decoding, which
/// is repeated without it, because the others may have problems, too.
pub(crate) fn unknown_fields<T: DeserializeOwned>(value: &Value) -> Vec<Found<'_>> {
    search::<T>(value, None).found
}

/// Like [`unknown_fields`], but skips objects of the type `excluded`.
pub(crate) fn unknown_fields_except<'a, T: DeserializeOwned>(
    value: &'a Value,
    excluded: &'static str,
) -> Vec<Found<'a>> {
    search_except::<T>(value, excluded).found
}

/// Like [`unknown_fields_except`], and returns the values of wrong types, too.
pub(crate) fn search_except<'a, T: DeserializeOwned>(value: &'a Value, excluded: &'static str) -> Searched<'a> {
    search::<T>(value, Some(excluded))
}

fn search<'a, T: DeserializeOwned>(value: &'a Value, excluded: Option<&'static str>) -> Searched<'a> {
    let search = Search { excluded, state: RefCell::default() };
    while let Err(error) = T::deserialize(Decoder::observed(value, &search)) {
        if !search.state.borrow_mut().skip_mistyped(value, &error) {
            break;
        }
    }
    search.state.into_inner().searched
}

/// Records the fields of the outermost type.
#[derive(Default)]
struct FieldNames(RefCell<&'static [&'static str]>);

impl<'de> Observer<'de> for FieldNames {
    fn object(&self, _: &'static str, known: &'static [&'static str], _: &'de Map<String, Value>) -> bool {
        self.0.replace(known);
        true
    }

    fn skips(&self, _: Step<'de>) -> bool {
        false
    }

    fn enter(&self, _: Step<'de>) {}

    fn leave(&self, _: bool) {}
}

/// Returns the names of the fields of the type `T`.
pub(crate) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let (names, empty) = (FieldNames::default(), Value::Object(Map::new()));
    // An error only means that a field is required.
    let _ = T::deserialize(Decoder::observed(&empty, &names));
    names.0.into_inner()
}

impl<'de> Observer<'de> for Search<'de> {
    fn object(&self, name: &'static str, known: &'static [&'static str], object: &'de Map<String, Value>) -> bool {
        let is_checked = self.excluded != Some(name);
        if is_checked {
            self.state.borrow_mut().check(name, known, object);
        }
        is_checked
    }

    fn skips(&self, step: Step<'de>) -> bool {
        let State { path, searched, .. } = &*self.state.borrow();
        searched.mistyped.iter().any(|skipped| skipped.path.split_last() == Some((&step, path)))
    }

    fn enter(&self, step: Step<'de>) {
        self.state.borrow_mut().path.push(step);
    }

    fn leave(&self, is_valid: bool) {
        let State { path, mistyped, .. } = &mut *self.state.borrow_mut();
        // The objects around the value do not decode either.
        if !is_valid {
            mistyped.get_or_insert_with(|| path.clone());
        }
        path.pop();
    }
}

impl<'de> State<'de> {
    /// Checks the fields of an object of the type `owner`, and those of its values that [`VALUES`] lists.
    fn check(&mut self, owner: &'static str, known: &'static [&'static str], object: &'de Map<String, Value>) {
        // `{name:A}` has the key `name:A` with the value null: the blank after the colon is missing.
        let is_set = |(key, value): &(&String, &Value)| !value.is_null() || key.contains(':');
        for (key, value) in object.iter().filter(is_set) {
            if !known.contains(&key.as_str()) {
                self.add(key, Problem::Field { owner, name: excerpt(key), known });
                continue;
            }
            let listed = VALUES.iter().find(|(of, name, _)| *of == owner && name == key);
            let Some((_, name, expected)) = listed else { continue };
            let mut texts =
                value.as_str().into_iter().chain(value.as_array().into_iter().flatten().filter_map(Value::as_str));
            if let Some(text) = texts.find(|text| !text.is_empty() && !is_expected(text, expected)) {
                self.add(key, Problem::Value { owner, name, value: excerpt(text), expected });
            }
        }
    }

    fn add(&mut self, key: &'de str, problem: Problem<'de>) {
        let found = ([self.path.as_slice(), &[Step::Key(key)]].concat(), problem);
        // Each search finds those of the previous one.
        let known = &mut self.searched.found;
        if known.len() < MAX_FOUND && !known.contains(&found) {
            known.push(found);
        }
    }

    /// Leaves out the value in `root` that does not decode, for the reason `error`. Returns false if there is none, or too many have been
    /// left out.
    fn skip_mistyped(&mut self, root: &'de Value, error: &serde_json::Error) -> bool {
        let is_full = self.searched.mistyped.len() >= MAX_SKIPPED;
        let Some(path) = self.mistyped.take().filter(|_| !is_full) else { return false };
        let value = path.iter().try_fold(root, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.get(index),
        });
        let Some(value) = value else { return false };
        self.searched.mistyped.push(Mistyped { path, value, message: error.to_string() });
        true
    }
}

/// Returns true if `text` is one of the values, or starts with one of which users choose the end.
fn is_expected(text: &str, values: &[&str]) -> bool {
    values.iter().any(|value| text == *value || value.ends_with(OPEN_ENDS) && text.starts_with(value))
}

fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_QUOTED)]
}
