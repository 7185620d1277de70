//! A pod as it is cached: what decisions need, and the little that a watch needs.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::Pod;
use kube::core::ObjectMeta;
use kube::{Api, Resource};
use serde::{Deserialize, Deserializer};

use super::member::Member;
use trainmesh_core::lifecycle::{PodFacts, schema};
use trainmesh_core::{pod, sparse};

/// The pods of one or all namespaces, as they are cached.
pub(super) type Pods = Api<Watched>;

/// A pod whose containers may have to be ended. Its author is not trusted with our memory: only the fields of
/// `schema::POD` are decoded, and what is kept of them is bounded.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Names and version only.
    metadata: ObjectMeta,
    /// What decisions need.
    pub facts: PodFacts,
    /// Its gang and its fabric, where it has both.
    pub member: Option<Box<Member>>,
}

impl<'de> Deserialize<'de> for Watched {
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
        let member = Member::read(pod, &facts).map(Box::new);
        Ok(Self { metadata, facts, member })
    }
}

/// As the apiserver serves pods.
impl Resource for Watched {
    type DynamicType = ();
    type Scope = <Pod as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Pod::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Pod::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Pod::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Pod::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests;
