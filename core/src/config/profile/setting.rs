//! Environment variables of NCCL and related libraries, and their delivery to the processes.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::add_constant;
use super::{AbsolutePath, EnvName, EnvValue, MachinePattern, ResourceName};
use crate::config::Scalar;
use crate::config::choice::choices;
use crate::config::fields::{Fields, Section};
use crate::config::section::{mappings, section};
use crate::dra::Count;
use crate::fabric::nccl;
use crate::yaml::type_name;

/// A setting: an environment variable, which NCCL can also read from its configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = add_policy))]
pub struct Setting {
    /// Name of the variable. NCCL variables must exist, and their values must be in range.
    pub name: EnvName,
    /// Value of the variable.
    pub value: EnvValue,
    /// Delivery channel. Variables that only NCCL reads can be in its configuration file; all others must be in the
    /// environment.
    #[serde(default)]
    pub via: DeliveryChannel,
    /// Set if the setting is only a suggestion. To apply it, copy the profile and remove this field.
    #[serde(default)]
    pub opt_in: bool,
    /// Condition for the pod; absent: the setting applies to all pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// Delivery channel of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeliveryChannel {
    /// NCCL's configuration file or the environment.
    #[default]
    Conf,
    /// The environment only.
    Env,
}

section! {
    /// Condition for a setting.
    pub struct Condition {
        /// Number of accelerators that the container requests.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub gpu_count: Option<GpuCount>,
        /// Machines, as in `match.machines`; empty: all.
        pub sku: Vec<MachinePattern>,
        /// Resource that the container must not request; null: no condition.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "ResourceName"))]
        pub without_resource: Option<ResourceName>,
    }
}

/// A bound on the number of accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuCount {
    comparison: Comparison,
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Exactly,
}

section! {
    /// Delivery of the settings to the processes.
    pub struct Delivery {
        /// Location of the NCCL settings.
        pub nccl: NcclDelivery,
        /// Path of the configuration file; null: `/etc/nccl.conf`, or `/etc/rccl.conf` for AMD GPUs.
        #[cfg_attr(feature = "schema", schemars(with = "AbsolutePath"))]
        pub conf_path: Option<AbsolutePath>,
    }
}

/// Location of the NCCL settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NcclDelivery {
    /// The environment if it is safe. The configuration file if the container has `envFrom`, which the environment
    /// would override, or if sshd starts the ranks, because sshd sessions do not inherit the environment.
    #[default]
    Auto,
    /// The configuration file.
    ConfFile,
    /// The environment.
    Env,
    /// Both.
    Both,
}

#[cfg(feature = "schema")]
fn add_policy(schema: &mut Schema) {
    add_constant(schema, "policy", &json!("ifUnset"), "User settings take precedence.");
}

impl Section for Setting {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name: Option<EnvName> = fields.require("name", "the setting's name");
        let value: Option<EnvValue> = fields.require("value", "the setting's value");
        let via = fields.get_or("via", DeliveryChannel::Conf);
        let _: Policy = fields.get_or("policy", Policy::IfUnset);
        let opt_in = fields.get_or("optIn", false);
        let when = fields.get("when");
        let name = name?;
        let text = value.as_ref().map_or("", EnvValue::as_str);
        match nccl::check(name.as_str(), text) {
            Err(nccl::InvalidSetting::Name(message)) => fields.report_problem("name", message),
            Err(nccl::InvalidSetting::Value(message)) if value.is_some() => fields.report_problem("value", message),
            _ if nccl::variable(name.as_str()).is_some_and(nccl::Variable::is_forbidden_in_profiles) => {
                fields.report_problem("name", format!("{name} disables a transport within the node: remove it"));
            }
            _ => {}
        }
        Some(Self { name, value: value?, via, opt_in, when })
    }
}

/// Only policy: user settings take precedence.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Policy {
    IfUnset,
}

impl Condition {
    /// Returns true if the condition matches a container with `gpus` accelerators on `machine`, if that is known. `None`
    /// if the result differs within the range.
    #[must_use]
    pub fn matches(&self, gpus: Count, machine: Option<&str>) -> Option<bool> {
        let sku_matches = || machine.is_some_and(|machine| self.sku.iter().any(|sku| sku.matches(machine)));
        if self.sku.is_empty() || sku_matches() {
            self.gpu_count.map_or(Some(true), |bound| bound.contains(gpus))
        } else {
            Some(false)
        }
    }

    /// Returns true if the condition is for some machines, on which it may match a container with `gpus` accelerators.
    #[must_use]
    pub fn may_match_on_machine(&self, gpus: Count) -> bool {
        !self.sku.is_empty() && self.gpu_count.is_none_or(|bound| bound.contains(gpus) != Some(false))
    }
}

impl GpuCount {
    /// Parses a bound such as `8`, `>=8` or `<=4`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (comparison, digits) = match (text.strip_prefix(">="), text.strip_prefix("<=")) {
            (Some(digits), _) => (Comparison::AtLeast, digits),
            (_, Some(digits)) => (Comparison::AtMost, digits),
            _ => (Comparison::Exactly, text),
        };
        let count = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        Some(Self { comparison, count })
    }

    /// Returns true if the bound includes the number; `None` if it includes only a part of the range.
    fn contains(self, gpus: Count) -> Option<bool> {
        let (least, most) = (gpus.min(), gpus.max().unwrap_or(u64::MAX));
        let (always, ever) = match self.comparison {
            Comparison::AtLeast => (least >= self.count, most >= self.count),
            Comparison::AtMost => (most <= self.count, least <= self.count),
            Comparison::Exactly => (least == self.count && most == self.count, (least..=most).contains(&self.count)),
        };
        (always == ever).then_some(always)
    }
}

impl Scalar for GpuCount {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a number of GPUs such as \">=8\"";
        match value {
            Value::String(text) => Self::parse(text).ok_or_else(|| format!("{expected}, found {text:?}")),
            Value::Number(number) => {
                Self::parse(&number.to_string()).ok_or_else(|| format!("{expected}, found {number}"))
            }
            other => Err(format!("{expected}, found {}", type_name(other))),
        }
    }
}

impl Serialize for GpuCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let comparison = match self.comparison {
            Comparison::AtLeast => ">=",
            Comparison::AtMost => "<=",
            Comparison::Exactly => "",
        };
        serializer.collect_str(&format_args!("{comparison}{}", self.count))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for GpuCount {
    fn schema_name() -> Cow<'static, str> {
        "GpuCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"], "pattern": "^(>=|<=)?[0-9]+$", "minimum": 0})
    }
}

mappings!(Setting);
choices!(DeliveryChannel, NcclDelivery, Policy);
