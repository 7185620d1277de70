//! Pod-level settings, and checks before a pod is changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DnsLabel, LabelValue, MetadataKey, ObjectName, ResourceName};
use crate::config::choice::choices;
use crate::config::fields::Fields;
use crate::config::section::{item, section};
use crate::keys;

section! {
    /// Pod-level settings. User settings take precedence.
    pub struct PodSettings {
        /// Runs the pod in the node's network namespace.
        pub host_network: bool,
        /// DNS policy; null: the default of Kubernetes.
        #[cfg_attr(feature = "schema", schemars(with = "DnsPolicy"))]
        pub dns_policy: Option<DnsPolicy>,
        /// Labels that the node must have.
        pub node_selector: BTreeMap<MetadataKey, LabelValue>,
        /// Tolerations to add.
        pub tolerations: Vec<Toleration>,
        /// Annotations to add.
        pub annotations: BTreeMap<MetadataKey, String> => no_reserved_keys,
        /// Labels to add.
        pub labels: BTreeMap<MetadataKey, LabelValue> => no_reserved_keys,
        /// Anti-affinity between pods with this profile; null: none.
        #[cfg_attr(feature = "schema", schemars(with = "AntiAffinity"))]
        pub pod_anti_affinity: Option<AntiAffinity>,
    }
}

/// DNS policy of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DnsPolicy {
    /// Cluster DNS, for pods with hostNetwork.
    ClusterFirstWithHostNet,
    /// Cluster DNS.
    ClusterFirst,
    /// The node's DNS configuration.
    Default,
}

/// Topology of the anti-affinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum AntiAffinity {
    /// At most one pod per node.
    Hostname,
}

item! {
    /// A toleration.
    pub struct Toleration {
        /// Key of the taint.
        pub key: MetadataKey => "the key of a taint",
        /// Comparison operator.
        #[serde(default)]
        pub operator: TolerationOperator,
        /// Value of the taint, for `Equal`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub value: Option<LabelValue>,
        /// Effect of the taint; absent: all effects.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub effect: Option<TaintEffect>,
    }
    partial: |fields: &mut Fields<'_>| {
        if operator == TolerationOperator::Exists && value.is_some() {
            fields.report_problem("value", "operator is Exists: expected no value".to_owned());
        }
    },
}

/// Comparison operator of a toleration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TolerationOperator {
    /// The values are equal.
    #[default]
    Equal,
    /// Any value matches.
    Exists,
}

/// Effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TaintEffect {
    /// New pods are not scheduled.
    NoSchedule,
    /// The scheduler avoids the node.
    PreferNoSchedule,
    /// Running pods are evicted.
    NoExecute,
}

section! {
    /// Devices from dynamic resource allocation (DRA).
    pub struct Dra {
        /// Claims that each pod creates from templates in its namespace.
        pub claims: Vec<Claim>,
        /// Extended resource that is mapped to a device class, one per accelerator (KEP-5004); null: none.
        #[cfg_attr(feature = "schema", schemars(with = "ResourceName"))]
        pub extended_resource: Option<ResourceName>,
    }
}

item! {
    /// A resource claim.
    pub struct Claim {
        /// Name within the pod.
        pub name: DnsLabel => "the claim's name within the pod",
        /// Name of the `ResourceClaimTemplate`, which must exist in the pod's namespace.
        pub resource_claim_template_name: ObjectName => "the name of a ResourceClaimTemplate",
    }
}

section! {
    /// Settings that turn a silent fallback to TCP into an error. They also fail single-pod jobs without an adapter.
    pub struct FailClosed {
        /// Value of `NCCL_NET`, the only transport that NCCL may use; null: NCCL may fall back.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        pub nccl_net: Option<String> => not_blank,
        /// Makes NCCL (2.30 and newer) fail if the pods of a job have different numbers of adapters.
        pub net_mismatch_fatal: bool,
    }
}

section! {
    /// Checks before a pod is changed. A pod that is rejected or never starts is worse than one that uses TCP.
    pub struct Guards {
        /// The namespace's Pod Security level forbids what the profile needs.
        pub psa: Guard = Guard::Skip,
        /// The container does not run as root, so `IPC_LOCK` has no effect.
        pub non_root: Guard = Guard::Warn,
        /// The resources that the profile adds exceed a `ResourceQuota` of the namespace.
        pub quota: Guard = Guard::Skip,
        /// No node offers a resource of the profile. Node pools that scale from zero may still add such a node.
        pub node_capacity: Guard = Guard::Warn,
    }
}

/// Action of a failed guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Guard {
    /// Applies `onConflict`.
    Skip,
    /// Changes the pod and warns the user.
    Warn,
}

/// Action if the pod conflicts with the profile, or a guard fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OnConflict {
    /// Leaves the pod unchanged and warns the user.
    #[default]
    Skip,
    /// Applies only the settings of the profile `tcp` and warns the user.
    Tcp,
}

/// Rejects labels and annotations that exclude the pod from trainmesh or from Istio's injection, or that trainmesh writes itself:
/// users set the former, and the controller relies on the latter.
fn no_reserved_keys<V>(entries: &BTreeMap<MetadataKey, V>) -> Result<(), String> {
    let is_reserved = |key: &&str| key.starts_with(keys::OWN_PREFIX) || *key == keys::SIDECAR_INJECT;
    match entries.keys().map(MetadataKey::as_str).find(is_reserved) {
        Some(key) => Err(format!("{key} is reserved: a profile must not set it")),
        None => Ok(()),
    }
}

#[expect(clippy::ref_option, reason = "field validation functions take a reference to the field")]
fn not_blank(name: &Option<String>) -> Result<(), String> {
    match name {
        Some(name) if name.trim().is_empty() => {
            Err("expected a transport such as IB, found an empty string".to_owned())
        }
        _ => Ok(()),
    }
}

choices!(DnsPolicy, AntiAffinity, TolerationOperator, TaintEffect, Guard, OnConflict);
