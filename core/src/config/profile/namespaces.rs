//! Which namespaces may use a profile.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::Schema;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;

use super::{LabelValue, MetadataKey, NamespaceName};
use crate::config::choice::choices;
use crate::config::fields::{Field, Fields, Section};
use crate::config::section::{mappings, section};

/// The label that the apiserver gives every namespace, with its name as the value.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The namespaces that may use a profile: those that are named, and those that the selector matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = require_some))]
pub struct Namespaces {
    /// Names of namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NamespaceName>,
    /// Labels of namespaces; null: only names count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "NamespaceSelector"))]
    pub selector: Option<NamespaceSelector>,
}

section! {
    /// A label selector with the semantics of Kubernetes: every requirement holds, and an empty one matches everything.
    pub struct NamespaceSelector {
        /// Labels with exactly these values.
        pub match_labels: BTreeMap<MetadataKey, LabelValue>,
        /// Requirements on labels.
        pub match_expressions: Vec<Requirement>,
    }
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = relate_values))]
pub struct Requirement {
    /// The label's key.
    pub key: MetadataKey,
    /// How its value is compared.
    pub operator: SelectorOperator,
    /// Values, for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<LabelValue>,
}

/// How the value of a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SelectorOperator {
    /// It is one of the values.
    In,
    /// It is none of the values, or the label is absent.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl Namespaces {
    /// Whether pods of `namespace`, which carries `labels`, may use the profile.
    #[must_use]
    pub fn allow(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.names.iter().any(|name| name.as_str() == namespace)
            || self.selector.as_ref().is_some_and(|selector| selector.matches(namespace, labels))
    }

    /// Whether neither a name nor a selector allows any namespace.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.selector.is_none()
    }
}

impl Section for Namespaces {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let names = or_reported(fields, "names");
        let selector = fields.get("selector");
        Some(Self { names: names?, selector })
    }
}

impl NamespaceSelector {
    /// Whether the selector matches `namespace`, which carries `labels`.
    #[must_use]
    pub fn matches(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        // A preview may know the labels that a person gave, and not the one that the apiserver sets.
        let value = |key: &MetadataKey| match key.as_str() {
            NAME_LABEL => Some(namespace),
            key => labels.get(key).map(String::as_str),
        };
        self.match_labels.iter().all(|(key, expected)| value(key) == Some(expected.as_str()))
            && self.match_expressions.iter().all(|requirement| requirement.accepts(value(&requirement.key)))
    }
}

impl Requirement {
    fn accepts(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|expected| expected.as_str() == value));
        match self.operator {
            SelectorOperator::In => listed(),
            SelectorOperator::NotIn => !listed(),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
        }
    }
}

impl Section for Requirement {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let key = fields.required("key", "the key of a label");
        let operator: Option<SelectorOperator> = fields.required("operator", "In, NotIn, Exists or DoesNotExist");
        let values: Option<Vec<LabelValue>> = or_reported(fields, "values");
        let (operator, values) = (operator?, values?);
        match (operator, values.is_empty()) {
            (SelectorOperator::In | SelectorOperator::NotIn, true) => {
                fields.fault("values", format!("operator is {operator:?}: expected at least one value"));
            }
            (SelectorOperator::Exists | SelectorOperator::DoesNotExist, false) => {
                fields.fault("values", format!("operator is {operator:?}: expected no values"));
            }
            _ => {}
        }
        Some(Self { key: key?, operator, values })
    }
}

/// The list of field `name`, empty where it is absent; `None` where it was reported as wrong.
fn or_reported<T: Field>(fields: &mut Fields<'_>, name: &'static str) -> Option<Vec<T>> {
    let list = fields.get(name);
    if fields.has(name) { list } else { Some(Vec::new()) }
}

/// Tells an editor that one of the two fields is there and allows something.
#[cfg(feature = "schema")]
fn require_some(schema: &mut Schema) {
    let names = json!({"required": ["names"], "properties": {"names": {"type": "array", "minItems": 1}}});
    let selector = json!({"required": ["selector"], "properties": {"selector": {"type": "object"}}});
    schema.insert("anyOf".to_owned(), json!([names, selector]));
}

/// Tells an editor which operators take values.
#[cfg(feature = "schema")]
fn relate_values(schema: &mut Schema) {
    let unary = json!({"properties": {"operator": {"enum": ["Exists", "DoesNotExist"]}, "values": {"maxItems": 0}}});
    let set = json!({"required": ["values"], "properties": {"operator": {"enum": ["In", "NotIn"]}, "values": {"minItems": 1}}});
    schema.insert("anyOf".to_owned(), json!([unary, set]));
}

impl fmt::Display for Namespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.selector == Some(NamespaceSelector::default()) {
            return formatter.write_str("all");
        }
        let names = self.names.iter().map(ToString::to_string);
        let parts: Vec<String> = names.chain(self.selector.iter().map(ToString::to_string)).collect();
        formatter.write_str(&parts.join(", "))
    }
}

/// As `kubectl get -l` takes it, in the order of the keys.
impl fmt::Display for NamespaceSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.match_labels.iter().map(|(key, value)| (key, format!("{key}={value}")));
        let mut parts: Vec<_> =
            labels.chain(self.match_expressions.iter().map(|it| (&it.key, it.to_string()))).collect();
        parts.sort();
        let parts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
        formatter.write_str(&parts.join(","))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let values: Vec<&str> = self.values.iter().map(LabelValue::as_str).collect();
        match self.operator {
            SelectorOperator::In => write!(formatter, "{key} in ({})", values.join(",")),
            SelectorOperator::NotIn => write!(formatter, "{key} notin ({})", values.join(",")),
            SelectorOperator::Exists => write!(formatter, "{key}"),
            SelectorOperator::DoesNotExist => write!(formatter, "!{key}"),
        }
    }
}

mappings!(Namespaces, Requirement);
choices!(SelectorOperator);
