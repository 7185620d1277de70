//! A claim or template of which only the requested devices are decoded: any user can create large ones.

use std::borrow::Cow;
use std::fmt;

use kube::Resource;
use kube::api::ApiResource;
use kube::core::{DynamicResourceScope, ObjectMeta};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use trainmesh_core::dra::{ClaimContent, is_generated};

/// A `ResourceClaim` or `ResourceClaimTemplate`.
#[derive(Clone, Debug)]
pub(super) struct ClaimObject {
    metadata: ObjectMeta,
    pub(super) content: ClaimContent,
    /// True if Kubernetes created the claim for a pod.
    pub(super) is_generated: bool,
}

#[derive(Deserialize)]
struct Raw {
    metadata: RawMeta,
    spec: Option<ClaimContent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    annotations: Option<Annotations>,
}

/// Annotations, reduced to whether Kubernetes created the object.
struct Annotations {
    is_generated: bool,
}

struct AnnotationsVisitor;

impl<'de> Deserialize<'de> for ClaimObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw { metadata: RawMeta { name, namespace, uid, resource_version, annotations }, spec } =
            Raw::deserialize(deserializer)?;
        let metadata = ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() };
        let is_generated = annotations.is_some_and(|annotations| annotations.is_generated);
        Ok(Self { metadata, content: spec.unwrap_or_default(), is_generated })
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnnotationsVisitor)
    }
}

impl<'de> Visitor<'de> for AnnotationsVisitor {
    type Value = Annotations;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("annotations")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = false;
        while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            found |= is_generated(std::iter::once(&key));
        }
        Ok(Annotations { is_generated: found })
    }
}

/// Served by the apiserver as the kind that [`ApiResource`] names.
impl Resource for ClaimObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
