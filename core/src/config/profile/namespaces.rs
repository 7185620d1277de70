//! Namespaces that may use a profile.

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
use crate::yaml::Node;

/// Label with the name of the namespace, which the apiserver sets.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Namespaces that may use a profile: those listed by name and those that the selector matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = require_names_or_selector))]
pub struct Namespaces {
    /// Names of namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NamespaceName>,
    /// Label selector of namespaces; null: only the names apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "NamespaceSelector"))]
    pub selector: Option<NamespaceSelector>,
}

section! {
    /// A Kubernetes label selector: all requirements must match, and an empty selector matches everything.
    pub struct NamespaceSelector {
        /// Required labels and values.
        pub match_labels: BTreeMap<MetadataKey, LabelValue>,
        /// Requirements on labels.
        pub match_expressions: Vec<Requirement>,
    }
}

/// A requirement for one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = restrict_values))]
pub struct Requirement {
    /// Key of the label.
    pub key: MetadataKey,
    /// Comparison operator.
    pub operator: SelectorOperator,
    /// Values, for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<LabelValue>,
}

/// Comparison operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SelectorOperator {
    /// The value is one of `values`.
    In,
    /// The value is not one of `values`, or the label is absent.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl Namespaces {
    /// Returns true if pods of `namespace` with these `labels` may use the profile.
    #[must_use]
    pub fn allows(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.names.iter().any(|name| name.as_str() == namespace)
            || self.selector.as_ref().is_some_and(|selector| selector.matches(namespace, labels))
    }

    /// Returns the name and labels of a namespace that may use the profile, if there can be one. The name is empty if any is
    /// allowed.
    #[must_use]
    pub fn example(&self) -> Option<(&str, BTreeMap<String, String>)> {
        match (self.names.first(), &self.selector) {
            (Some(name), _) => Some((name.as_str(), BTreeMap::new())),
            (None, Some(selector)) => selector.example(),
            (None, None) => None,
        }
    }

    /// Returns true if there is neither a name nor a selector.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.selector.is_none()
    }
}

impl Section for Namespaces {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let names = list_or_empty(fields, "names");
        let selector = fields.get("selector");
        Some(Self { names: names?, selector })
    }
}

impl NamespaceSelector {
    /// Returns true if the selector matches `namespace` with these `labels`.
    #[must_use]
    pub fn matches(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        // A preview may have only the labels from the command line, without the one that the apiserver sets.
        let value = |key: &MetadataKey| match key.as_str() {
            NAME_LABEL => Some(namespace),
            key => labels.get(key).map(String::as_str),
        };
        self.match_labels.iter().all(|(key, expected)| value(key) == Some(expected.as_str()))
            && self.match_expressions.iter().all(|requirement| requirement.matches(value(&requirement.key)))
    }
}

impl NamespaceSelector {
    /// Returns the name and labels of a namespace that the selector matches, if there can be one.
    fn example(&self) -> Option<(&str, BTreeMap<String, String>)> {
        let required = self.match_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let all = &self.match_expressions;
        let is_valid = |key: &MetadataKey, value: &LabelValue| {
            all.iter().filter(|other| other.key == *key).all(|other| other.matches(Some(value.as_str())))
        };
        let present = all.iter().filter_map(|Requirement { key, operator, values }| match operator {
            SelectorOperator::In => Some((key.as_str(), values.iter().find(|value| is_valid(key, value))?.as_str())),
            SelectorOperator::Exists => Some((key.as_str(), "")),
            SelectorOperator::NotIn | SelectorOperator::DoesNotExist => None,
        });
        let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
        for (key, value) in present.chain(required) {
            // `Exists` accepts any value.
            let known = labels.entry(key).or_default();
            *known = if value.is_empty() { *known } else { value };
        }
        let name = labels.get(NAME_LABEL).copied().unwrap_or_default();
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        self.matches(name, &labels).then_some((name, labels))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let is_listed = || value.is_some_and(|value| self.values.iter().any(|expected| expected.as_str() == value));
        match self.operator {
            SelectorOperator::In => is_listed(),
            SelectorOperator::NotIn => !is_listed(),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
        }
    }
}

impl Section for Requirement {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let key = fields.require("key", "the key of a label");
        let operator: Option<SelectorOperator> = fields.require("operator", "In, NotIn, Exists or DoesNotExist");
        let values: Option<Vec<LabelValue>> = list_or_empty(fields, "values");
        let (operator, values) = (operator?, values?);
        match (operator, values.is_empty()) {
            (SelectorOperator::In | SelectorOperator::NotIn, true) => {
                fields.report_problem("values", format!("operator is {operator:?}: expected at least one value"));
            }
            (SelectorOperator::Exists | SelectorOperator::DoesNotExist, false) => {
                fields.report_problem("values", format!("operator is {operator:?}: expected no values"));
            }
            _ => {}
        }
        Some(Self { key: key?, operator, values })
    }
}

/// Returns the list in field `name`, or an empty one if it is absent. Returns `None` if it is invalid.
fn list_or_empty<T: Field>(fields: &mut Fields<'_>, name: &'static str) -> Option<Vec<T>> {
    let list = fields.get(name);
    if fields.has(name) { list } else { Some(Vec::new()) }
}

/// Adds to the schema that at least one of the two fields is required.
#[cfg(feature = "schema")]
fn require_names_or_selector(schema: &mut Schema) {
    let names = json!({"required": ["names"], "properties": {"names": {"type": "array", "minItems": 1}}});
    let selector = json!({"required": ["selector"], "properties": {"selector": {"type": "object"}}});
    schema.insert("anyOf".to_owned(), json!([names, selector]));
}

/// Adds to the schema which operators take values.
#[cfg(feature = "schema")]
fn restrict_values(schema: &mut Schema) {
    let unary = json!({"properties": {"operator": {"enum": ["Exists", "DoesNotExist"]}, "values": {"maxItems": 0}}});
    let set = json!({"required": ["values"], "properties": {"operator": {"enum": ["In", "NotIn"]}, "values": {"minItems": 1}}});
    schema.insert("anyOf".to_owned(), json!([unary, set]));
}

/// Formats the names and the selector, of which one suffices.
impl fmt::Display for Namespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.selector == Some(NamespaceSelector::default()) {
            return formatter.write_str("all");
        }
        let names: Vec<&str> = self.names.iter().map(NamespaceName::as_str).collect();
        let names = names.join(", ");
        match &self.selector {
            Some(selector) if names.is_empty() => write!(formatter, "{selector}"),
            Some(selector) => write!(formatter, "{names} or {selector}"),
            None => formatter.write_str(&names),
        }
    }
}

/// Formats the selector in the syntax of `kubectl get -l`, sorted by key.
impl fmt::Display for NamespaceSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.match_labels.iter().map(|(key, value)| (key, format!("{key}={value}")));
        let mut parts: Vec<_> = labels
            .chain(self.match_expressions.iter().map(|requirement| (&requirement.key, requirement.to_string())))
            .collect();
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

mappings!(Requirement);

impl Field for Namespaces {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        if node.value.is_array() {
            let message = "expected a mapping, found a list: write it below names, as in {names: [team-a]}".to_owned();
            return fields.record_error(name, node.line, Err(message));
        }
        fields.mapping(name, node, Section::read).flatten()
    }
}

choices!(SelectorOperator);
