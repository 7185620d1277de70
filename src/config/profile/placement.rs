//! Settings of the pod as a whole, and what is looked at before it is changed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LabelValue, MetadataKey, ObjectName, PartName, ResourceName};
use crate::config::choice;
use crate::config::fields::{Fields, Scalar, Section};
use crate::yaml::Content;

/// Settings of the pod as a whole. What the user set stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PodSettings {
    /// Whether the pod shares the network of its node.
    pub host_network: bool,
    /// Where names are resolved; null: as Kubernetes decides.
    #[schemars(with = "DnsPolicy")]
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
    #[schemars(with = "Spread")]
    pub pod_anti_affinity: Option<Spread>,
}

/// Where names are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DnsPolicy {
    /// In the cluster, for pods in the node's network.
    ClusterFirstWithHostNet,
    /// In the cluster.
    ClusterFirst,
    /// As on the node.
    Default,
}

/// How pods keep away from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Spread {
    /// No two on one node.
    Hostname,
}

/// A taint that is tolerated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// The taint's key.
    pub key: MetadataKey,
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

/// How the value of a taint is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// It is the same.
    #[default]
    Equal,
    /// Any will do.
    Exists,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Effect {
    /// Nothing new is placed there.
    NoSchedule,
    /// Rather not.
    PreferNoSchedule,
    /// What runs there is evicted.
    NoExecute,
}

/// Devices by dynamic resource allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Dra {
    /// Claims that every pod makes from a template of its namespace.
    pub claims: Vec<Claim>,
    /// An extended resource behind which a device class stands, one for each accelerator (KEP-5004); null: none.
    #[schemars(with = "ResourceName")]
    pub extended_resource: Option<ResourceName>,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// Its name within the pod.
    pub name: PartName,
    /// The `ResourceClaimTemplate`, which must exist in the pod's namespace.
    pub resource_claim_template_name: ObjectName,
}

/// Settings that turn a silent fallback to TCP into an error. They fail a job of one pod too, where it has no adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FailClosed {
    /// `NCCL_NET`: the only transport that NCCL may use; null: it may fall back.
    #[schemars(with = "String")]
    pub nccl_net: Option<String>,
    /// Whether NCCL (2.30 and newer) fails where the pods of a job have different numbers of adapters.
    pub net_mismatch_fatal: bool,
}

/// What is looked at before a pod is changed: a pod that is rejected, or never starts, is worse off than one on TCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Guards {
    /// The Pod Security level that the namespace enforces forbids what the profile needs.
    pub psa: Guard,
    /// `IPC_LOCK` has no effect for a container that does not run as root.
    pub non_root: Guard,
    /// What the profile adds does not fit into a `ResourceQuota` of the namespace.
    pub quota: Guard,
    /// No node offers a resource of the profile. Pools that scale from zero have no node to look at.
    pub node_capacity: Guard,
}

/// What a guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Guard {
    /// `onConflict` decides.
    Skip,
    /// The pod is changed, and the user warned.
    Warn,
}

/// What happens where the pod contradicts the profile, or a guard says no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnConflict {
    /// The pod is left as it is, and the user warned.
    #[default]
    Skip,
    /// The pod gets the settings of profile `tcp` alone, and the user is warned.
    Tcp,
}

impl Section for PodSettings {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            host_network: fields.scalar("hostNetwork", false),
            dns_policy: fields.scalar("dnsPolicy", None),
            node_selector: fields.scalar("nodeSelector", BTreeMap::new()),
            tolerations: fields.list("tolerations", Toleration::read),
            annotations: fields.scalar("annotations", BTreeMap::new()),
            labels: fields.scalar("labels", BTreeMap::new()),
            pod_anti_affinity: fields.scalar("podAntiAffinity", None),
        }
    }
}

impl Toleration {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let key = fields.required("key", "the key of a taint");
        let operator = fields.scalar("operator", Operator::Equal);
        let value: Option<LabelValue> = fields.scalar("value", None);
        let effect = fields.scalar("effect", None);
        if operator == Operator::Exists && value.is_some() {
            fields.fault("value", "operator is Exists: expected no value".to_owned());
        }
        Some(Self { key: key?, operator, value, effect })
    }
}

impl Section for Dra {
    fn read(fields: &mut Fields<'_>) -> Self {
        let claims = fields.list("claims", |fields| {
            let name = fields.required("name", "the claim's name within the pod");
            let template = fields.required("resourceClaimTemplateName", "the name of a ResourceClaimTemplate");
            Some(Claim { name: name?, resource_claim_template_name: template? })
        });
        Self { claims, extended_resource: fields.scalar("extendedResource", None) }
    }
}

impl Section for FailClosed {
    fn read(fields: &mut Fields<'_>) -> Self {
        let nccl_net: Option<String> = fields.scalar("ncclNet", None);
        if nccl_net.as_deref().is_some_and(|name| name.trim().is_empty()) {
            fields.fault("ncclNet", "expected a transport such as IB, found an empty text".to_owned());
        }
        Self { nccl_net, net_mismatch_fatal: fields.scalar("netMismatchFatal", false) }
    }
}

impl Default for Guards {
    fn default() -> Self {
        Self { psa: Guard::Skip, non_root: Guard::Warn, quota: Guard::Skip, node_capacity: Guard::Warn }
    }
}

impl Section for Guards {
    fn read(fields: &mut Fields<'_>) -> Self {
        let Self { psa, non_root, quota, node_capacity } = Self::default();
        Self {
            psa: fields.scalar("psa", psa),
            non_root: fields.scalar("nonRoot", non_root),
            quota: fields.scalar("quota", quota),
            node_capacity: fields.scalar("nodeCapacity", node_capacity),
        }
    }
}

impl Scalar for DnsPolicy {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for Spread {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for Operator {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for Effect {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for Guard {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for OnConflict {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}
