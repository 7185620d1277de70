//! Kinds of which only a part is decoded.

use kube::core::ObjectMeta;
use serde::Deserialize;

/// The metadata that identify an object and its version. Other fields, such as managed fields, are larger than the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl From<PartialMeta> for ObjectMeta {
    fn from(PartialMeta { name, namespace, uid, resource_version }: PartialMeta) -> Self {
        Self { name, namespace, uid, resource_version, ..Self::default() }
    }
}

/// Declares that the apiserver serves `$partial`, which has a field `metadata`, as a `$kind`. kube's derive would
/// be a dependency more.
macro_rules! served_as {
    ($partial:ty, $kind:ty $(, [$($generics:tt)*])?) => {
        impl $(<$($generics)*>)? kube::Resource for $partial {
            type DynamicType = ();
            type Scope = <$kind as kube::Resource>::Scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::kind(&())
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::group(&())
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::version(&())
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                <$kind as kube::Resource>::plural(&())
            }

            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use served_as;
