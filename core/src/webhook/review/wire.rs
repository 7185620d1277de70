//! The fields of an admission review that are read. By hand, because a derived reader cannot be given the limit on nodes.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::Review;
use super::nodes::{Node, Nodes};

/// A review as it comes.
pub(super) struct Incoming {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) request: Option<Review>,
}

/// Reads `body`, whose object is counted in `nodes`.
pub(super) fn read(body: &[u8], nodes: &Nodes) -> Result<Incoming, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let incoming = json.deserialize_map(Whole(nodes))?;
    json.end()?;
    Ok(incoming)
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum WholeField {
    ApiVersion,
    Kind,
    Request,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum RequestField {
    Uid,
    Operation,
    Namespace,
    Object,
    Resource,
    SubResource,
    #[serde(other)]
    Other,
}

struct Whole<'n>(&'n Nodes);

struct Request<'n>(&'n Nodes);

/// What may be null or absent.
struct Nullable<S>(S);

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Incoming;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an admission review")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Incoming, A::Error> {
        let (mut api_version, mut kind, mut request) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                WholeField::ApiVersion => once(&mut api_version, "apiVersion", map.next_value()?)?,
                WholeField::Kind => once(&mut kind, "kind", map.next_value()?)?,
                WholeField::Request => once(&mut request, "request", map.next_value_seed(Nullable(Request(self.0)))?)?,
                WholeField::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Incoming {
            api_version: required(api_version, "apiVersion")?,
            kind: required(kind, "kind")?,
            request: request.flatten(),
        })
    }
}

impl<'de> DeserializeSeed<'de> for Request<'_> {
    type Value = Review;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Review, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Request<'_> {
    type Value = Review;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the request of an admission review")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Review, A::Error> {
        let (mut uid, mut operation, mut namespace) = (None, None, None);
        let (mut object, mut resource, mut sub_resource) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                RequestField::Uid => once(&mut uid, "uid", map.next_value()?)?,
                RequestField::Operation => once(&mut operation, "operation", map.next_value()?)?,
                RequestField::Namespace => once(&mut namespace, "namespace", map.next_value()?)?,
                RequestField::Object => {
                    let node = Node::object(self.0);
                    once(&mut object, "object", map.next_value_seed(Nullable(node))?)?;
                }
                RequestField::Resource => once(&mut resource, "resource", map.next_value()?)?,
                RequestField::SubResource => once(&mut sub_resource, "subResource", map.next_value()?)?,
                RequestField::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Review {
            uid: required(uid, "uid")?,
            operation: required(operation, "operation")?,
            namespace: namespace.flatten(),
            object: object.flatten(),
            resource: required(resource, "resource")?,
            sub_resource: sub_resource.flatten(),
        })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// Keeps the value of a field, which may stand once.
fn once<T, E: Error>(slot: &mut Option<T>, field: &'static str, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(field)),
    }
}

fn required<T, E: Error>(value: Option<T>, field: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(field))
}
