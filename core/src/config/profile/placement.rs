//! Settings of the pod as a whole, and what is looked at before it is changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LabelValue, MetadataKey, ObjectName, PartName, ResourceName};
use crate::config::choice::choices;
use crate::config::fields::Fields;
use crate::config::section::{item, section};

section! {
    /// Settings of the pod as a whole. What the user set stands.
    pub struct PodSettings {
        /// Whether the pod shares the network of its node.
        pub host_network: bool,
        /// Where names are resolved; null: as Kubernetes decides.
        #[cfg_attr(feature = "schema", schemars(with = "DnsPolicy"))]
        pub dns_policy: Option<DnsPolicy>,
        /// Labels that the node must carry.
        pub node_selector: BTreeMap<MetadataKey, LabelValue>,
        /// Taints that are tolerated.
        pub tolerations: Vec<Toleration>,
        /// Annotations.
        pub annotations: BTreeMap<MetadataKey, String>,
        /// Labels.
        pub labels: BTreeMap<MetadataKey, LabelValue>,
        /// How pods of one profile keep away from each other; null: they do not.
        #[cfg_attr(feature = "schema", schemars(with = "Spread"))]
        pub pod_anti_affinity: Option<Spread>,
    }
}

/// Where names are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DnsPolicy {
    /// In the cluster, for pods in the node's network.
    ClusterFirstWithHostNet,
    /// In the cluster.
    ClusterFirst,
    /// As on the node.
    Default,
}

/// How pods keep away from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Spread {
    /// No two on one node.
    Hostname,
}

item! {
    /// A taint that is tolerated.
    pub struct Toleration {
        /// The taint's key.
        pub key: MetadataKey => "the key of a taint",
        /// How its value is compared.
        #[serde(default)]
        pub operator: Operator,
        /// The value, for `Equal`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub value: Option<LabelValue>,
        /// The effect; absent: every one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub effect: Option<Effect>,
    }
    partial: |fields: &mut Fields<'_>| {
        if operator == Operator::Exists && value.is_some() {
            fields.fault("value", "operator is Exists: expected no value".to_owned());
        }
    },
}

/// How the value of a taint is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Operator {
    /// It is the same.
    #[default]
    Equal,
    /// Any will do.
    Exists,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Effect {
    /// Nothing new is placed there.
    NoSchedule,
    /// Rather not.
    PreferNoSchedule,
    /// What runs there is evicted.
    NoExecute,
}

section! {
    /// Devices by dynamic resource allocation.
    pub struct Dra {
        /// Claims that every pod makes from a template of its namespace.
        pub claims: Vec<Claim>,
        /// An extended resource behind which a device class stands, one for each accelerator (KEP-5004); null: none.
        #[cfg_attr(feature = "schema", schemars(with = "ResourceName"))]
        pub extended_resource: Option<ResourceName>,
    }
}

item! {
    /// A claim.
    pub struct Claim {
        /// Its name within the pod.
        pub name: PartName => "the claim's name within the pod",
        /// The `ResourceClaimTemplate`, which must exist in the pod's namespace.
        pub resource_claim_template_name: ObjectName => "the name of a ResourceClaimTemplate",
    }
}

section! {
    /// Settings that turn a silent fallback to TCP into an error. They fail a job of one pod too, where it has no adapter.
    pub struct FailClosed {
        /// `NCCL_NET`: the only transport that NCCL may use; null: it may fall back.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        pub nccl_net: Option<String> => not_blank,
        /// Whether NCCL (2.30 and newer) fails where the pods of a job have different numbers of adapters.
        pub net_mismatch_fatal: bool,
    }
}

section! {
    /// What is looked at before a pod is changed: a pod that is rejected, or never starts, is worse off than one on TCP.
    pub struct Guards {
        /// The Pod Security level that the namespace enforces forbids what the profile needs.
        pub psa: Guard = Guard::Skip,
        /// `IPC_LOCK` has no effect for a container that does not run as root.
        pub non_root: Guard = Guard::Warn,
        /// What the profile adds does not fit into a `ResourceQuota` of the namespace.
        pub quota: Guard = Guard::Skip,
        /// No node offers a resource of the profile. Pools that scale from zero have no node to look at.
        pub node_capacity: Guard = Guard::Warn,
    }
}

/// What a guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Guard {
    /// `onConflict` decides.
    Skip,
    /// The pod is changed, and the user warned.
    Warn,
}

/// What happens where the pod contradicts the profile, or a guard says no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OnConflict {
    /// The pod is left as it is, and the user warned.
    #[default]
    Skip,
    /// The pod gets the settings of profile `tcp` alone, and the user is warned.
    Tcp,
}

#[expect(clippy::ref_option, reason = "the check of a field takes a reference to it")]
fn not_blank(name: &Option<String>) -> Result<(), String> {
    match name {
        Some(name) if name.trim().is_empty() => Err("expected a transport such as IB, found an empty text".to_owned()),
        _ => Ok(()),
    }
}

choices!(DnsPolicy, Spread, Operator, Effect, Guard, OnConflict);
