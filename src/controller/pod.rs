//! A pod as it is cached: what decisions need, and the little that a watch needs.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::Pod;
use kube::core::ObjectMeta;
use kube::{Api, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::gangs::Member;
use crate::lifecycle::PodFacts;
use crate::pod;

/// The pods of one or all namespaces, as they are cached.
pub(super) type Pods = Api<Watched>;

/// A pod whose containers may have to be ended. It is read through the raw view, so that nothing is lost that our types
/// do not know, and then kept without it: a twentieth of a pod, and a hundredth of the typed one.
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
        let raw = Value::deserialize(deserializer)?;
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
