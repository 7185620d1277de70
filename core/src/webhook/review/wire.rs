//! Deserializes the required fields of an admission review. Implemented manually, because a derived implementation
//! cannot enforce the node limit.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::Review;
use super::nodes::{NodeBudget, NodeSeed};

/// An admission review before validation.
pub(super) struct AdmissionReview {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) request: Option<Review>,
}

/// Parses `body`. The nodes of its object count against `budget`.
pub(super) fn parse(body: &[u8], budget: &NodeBudget) -> Result<AdmissionReview, serde_json::Error> {
    // Checks the encoding of the whole body at once, which is faster than for each string.
    let text = str::from_utf8(body).map_err(serde_json::Error::custom)?;
    let mut json = serde_json::Deserializer::from_str(text);
    let review = json.deserialize_map(AdmissionReviewVisitor(budget))?;
    json.end()?;
    Ok(review)
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ReviewField {
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

struct AdmissionReviewVisitor<'n>(&'n NodeBudget);

struct RequestSeed<'n>(&'n NodeBudget);

/// Deserializes a value that may be null.
struct Nullable<S>(S);

impl<'de> Visitor<'de> for AdmissionReviewVisitor<'_> {
    type Value = AdmissionReview;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an admission review")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AdmissionReview, A::Error> {
        let (mut api_version, mut kind, mut request) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                ReviewField::ApiVersion => set_once(&mut api_version, "apiVersion", map.next_value()?)?,
                ReviewField::Kind => set_once(&mut kind, "kind", map.next_value()?)?,
                ReviewField::Request => {
                    set_once(&mut request, "request", map.next_value_seed(Nullable(RequestSeed(self.0)))?)?;
                }
                ReviewField::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(AdmissionReview {
            api_version: required(api_version, "apiVersion")?,
            kind: required(kind, "kind")?,
            request: request.flatten(),
        })
    }
}

impl<'de> DeserializeSeed<'de> for RequestSeed<'_> {
    type Value = Review;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Review, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RequestSeed<'_> {
    type Value = Review;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the request of an admission review")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Review, A::Error> {
        let (mut uid, mut operation, mut namespace) = (None, None, None);
        let (mut object, mut resource, mut sub_resource) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                RequestField::Uid => set_once(&mut uid, "uid", map.next_value()?)?,
                RequestField::Operation => set_once(&mut operation, "operation", map.next_value()?)?,
                RequestField::Namespace => set_once(&mut namespace, "namespace", map.next_value()?)?,
                RequestField::Object => {
                    let root = NodeSeed::root(self.0);
                    set_once(&mut object, "object", map.next_value_seed(Nullable(root))?)?;
                }
                RequestField::Resource => set_once(&mut resource, "resource", map.next_value()?)?,
                RequestField::SubResource => set_once(&mut sub_resource, "subResource", map.next_value()?)?,
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

/// Stores the value of a field. Fails if the field occurs twice.
fn set_once<T, E: Error>(slot: &mut Option<T>, field: &'static str, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(field)),
    }
}

fn required<T, E: Error>(value: Option<T>, field: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(field))
}
