//! A pod as it is cached: the fields for decisions, and the metadata that a watch needs.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::core::ObjectMeta;
use serde::{Deserialize, Deserializer};

use super::member::GangPod;
use crate::cluster::partial::served_as;
use trainmesh_core::diagnosis::{AcceleratorUse, Suspicion};
use trainmesh_core::lifecycle::{PodFacts, schema};
use trainmesh_core::mutate::Refusal;
use trainmesh_core::{pod, sparse};

/// API of cached pods.
pub(super) type Pods = Api<WatchedPod>;

/// A watched pod. Its content is untrusted: only the fields of `schema::POD` are decoded, and their size is bounded.
#[derive(Clone, Debug)]
pub struct WatchedPod {
    /// Names, uid and version only.
    metadata: ObjectMeta,
    /// Facts for decisions.
    pub facts: PodFacts,
    /// Its gang and fabric, if it has both.
    pub member: Option<Box<GangPod>>,
    /// Rules that the webhook refused, according to the pod's annotation.
    pub refusals: Box<[Refusal]>,
    /// Set if the pod may have a problem.
    pub suspicion: Option<Box<Suspicion>>,
    /// Set if the pod requests accelerators.
    pub accelerators: Option<AcceleratorUse>,
}

impl<'de> Deserialize<'de> for WatchedPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = sparse::decode(deserializer, &schema::POD)?;
        let text = |field: &str| Some(raw.get("metadata")?.get(field)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        let pod = pod::Pod::new(&raw);
        let facts = PodFacts::read(pod);
        let member = GangPod::read(pod, &facts).map(Box::new);
        let refusals = Refusal::read(pod).into();
        let suspicion = Suspicion::new(pod, &facts).map(Box::new);
        let accelerators = AcceleratorUse::read(pod, &facts);
        Ok(Self { metadata, facts, member, refusals, suspicion, accelerators })
    }
}

served_as!(WatchedPod, Pod);

#[cfg(test)]
mod tests;
