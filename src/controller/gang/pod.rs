//! A pod of a gang as it is decoded from the watch: the fields for decisions.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::core::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::cluster::partial::served_as;
use trainmesh_core::gang::key::{COSCHEDULING_GROUP, VOLCANO_GROUP};
use trainmesh_core::gang::object::{SchedulingTerms, Stage, VOLCANO_QUEUE, VOLCANO_TOPOLOGY};
use trainmesh_core::gang::{GangMode, MAX_APPLIED, WorkloadKey, applied_gang};
use trainmesh_core::sparse::{Items, Keep, Schema};
use trainmesh_core::{keys, pod, sparse, workload};

/// Maximum length of a name in bytes.
const MAX_NAME: usize = 253;

/// A pod of which only the fields for decisions are decoded. Its content is untrusted.
#[derive(Clone, Debug)]
pub(super) struct KeyedPod {
    metadata: ObjectMeta,
    /// `None` if the pod does not belong to a gang.
    pub(super) membership: Option<Membership>,
}

/// Membership of a pod in a gang.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    /// Mode and name of the object, if the webhook gave the pod a key that names one. It may be that of another gang.
    pub(super) key: Option<(GangMode, String)>,
    pub(super) workload: WorkloadKey,
    pub(super) stage: Stage,
    pub(super) terms: SchedulingTerms,
    pub(super) created: Option<Timestamp>,
    /// Labels and owner of the pod, which identify its role.
    pub(super) identity: Value,
}

static POD: Schema = Schema::Object(&[
    (
        "metadata",
        Schema::Object(&[
            ("namespace", Schema::Text(MAX_NAME)),
            ("name", Schema::Text(MAX_NAME)),
            ("uid", Schema::Text(MAX_NAME)),
            ("resourceVersion", Schema::Text(MAX_NAME)),
            ("creationTimestamp", Schema::Text(MAX_NAME)),
            ("deletionTimestamp", Schema::Text(MAX_NAME)),
            (
                "labels",
                Schema::Map(
                    &[&[keys::MANAGED, COSCHEDULING_GROUP], workload::IDENTITY_LABELS],
                    &Schema::Text(MAX_NAME),
                ),
            ),
            (
                "annotations",
                Schema::Map(
                    &[&[keys::APPLIED, VOLCANO_GROUP, VOLCANO_QUEUE], &VOLCANO_TOPOLOGY],
                    &Schema::Text(MAX_APPLIED),
                ),
            ),
            ("ownerReferences", Schema::List(&OWNER)),
        ]),
    ),
    (
        "spec",
        Schema::Object(&[
            ("nodeName", Schema::Text(MAX_NAME)),
            ("schedulerName", Schema::Text(MAX_NAME)),
            ("priority", Schema::Scalar),
            ("priorityClassName", Schema::Text(MAX_NAME)),
            ("preemptionPolicy", Schema::Text(MAX_NAME)),
            ("schedulingGroup", Schema::Object(&[("podGroupName", Schema::Text(MAX_NAME))])),
        ]),
    ),
    ("status", Schema::Object(&[("phase", Schema::Text(MAX_NAME))])),
]);

static OWNER: Items = Items {
    schema: Schema::Object(&[
        ("apiVersion", Schema::Text(MAX_NAME)),
        ("kind", Schema::Text(MAX_NAME)),
        ("name", Schema::Text(MAX_NAME)),
        ("uid", Schema::Text(MAX_NAME)),
        ("controller", Schema::Scalar),
    ]),
    keep: Keep::FirstThat(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true)),
};

impl<'de> Deserialize<'de> for KeyedPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = sparse::decode(deserializer, &POD)?;
        let text = |field: &str| Some(raw.get("metadata")?.get(field)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        let membership = Membership::read(pod::Pod::new(&raw), metadata.namespace.as_deref().unwrap_or_default());
        Ok(Self { metadata, membership })
    }
}

impl Membership {
    /// Reads the membership of `pod`.
    fn read(pod: pod::Pod<'_>, namespace: &str) -> Option<Self> {
        let metadata = |field: &str| pod.raw().get("metadata").and_then(|metadata| metadata.get(field));
        Some(Self {
            key: key(pod),
            workload: WorkloadKey::of(pod, namespace)?,
            stage: Stage::read(pod),
            terms: SchedulingTerms::read(pod),
            created: metadata("creationTimestamp").and_then(Value::as_str).and_then(|time| time.parse().ok()),
            identity: json!({"metadata": {
                "name": metadata("name"), "labels": metadata("labels"), "ownerReferences": metadata("ownerReferences"),
            }}),
        })
    }
}

/// Returns the key of `pod`, according to the annotation that the webhook wrote. A copied template contains that, too, but
/// then the name of the object and that of the workload's gang differ.
fn key(pod: pod::Pod<'_>) -> Option<(GangMode, String)> {
    let mode = GangMode::parse(applied_gang(pod)?)?;
    let name = mode.gang_named_by(pod).filter(|name| mode.has_objects() && name.len() <= MAX_NAME)?;
    Some((mode, name.to_owned()))
}

served_as!(KeyedPod, Pod);
