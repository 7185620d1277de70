//! Settings of NCCL and its companions, and how they reach the processes.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::allow;
use super::{AbsolutePath, EnvName, EnvValue};
use crate::config::Scalar;
use crate::config::choice::choices;
use crate::config::fields::{Fields, Section};
use crate::config::section::{mappings, section};
use crate::fabric::nccl;
use crate::yaml::noun;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = allow_policy))]
pub struct Setting {
    /// Its name. Those of NCCL must be known, and their values in range.
    pub name: EnvName,
    /// Its value.
    pub value: EnvValue,
    /// Who reads it: NCCL itself (then a file will do), or anything before NCCL (then only the environment will).
    #[serde(default)]
    pub via: Via,
    /// A setting that is shown but not made: it becomes one in a copy of the profile without this field.
    #[serde(default)]
    pub opt_in: bool,
    /// For which pods; absent: for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// Who reads a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Via {
    /// NCCL, which reads its file as well as the environment.
    #[default]
    Conf,
    /// Others, which read the environment alone.
    Env,
}

section! {
    /// For which pods a setting is.
    pub struct Condition {
        /// How many accelerators the container asks for.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub gpu_count: Option<GpuCount>,
        /// On which machines: values of the node label `node.kubernetes.io/instance-type`, or their texts up to the first
        /// `.`; empty: on all.
        pub sku: Vec<String>,
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
    /// How the settings reach the processes.
    pub struct Delivery {
        /// Where what NCCL reads is written.
        pub nccl: NcclDelivery,
        /// The file that NCCL reads; null: `/etc/nccl.conf`, and `/etc/rccl.conf` for AMD.
        #[cfg_attr(feature = "schema", schemars(with = "AbsolutePath"))]
        pub conf_path: Option<AbsolutePath>,
        /// Where the file comes from.
        pub conf_source: ConfSource,
    }
}

/// Where what NCCL reads is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NcclDelivery {
    /// Into the environment where that is safe, else into the file: the container has `envFrom`, which the environment
    /// would override, or its ranks are started by sshd, which hands no environment on.
    #[default]
    Auto,
    /// Into the file.
    ConfFile,
    /// Into the environment.
    Env,
    /// Into both.
    Both,
}

/// Where the file comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ConfSource {
    /// From an annotation of the pod, by the downward API: nothing else must exist.
    #[default]
    DownwardAnnotation,
}

#[cfg(feature = "schema")]
fn allow_policy(schema: &mut Schema) {
    allow(schema, "policy", &json!("ifUnset"), "What the user sets stands.");
}

impl Section for Setting {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name: Option<EnvName> = fields.required("name", "the setting's name");
        let value: Option<EnvValue> = fields.required("value", "the setting's value");
        let via = fields.or("via", Via::Conf);
        let _: IfUnset = fields.or("policy", IfUnset::IfUnset);
        let opt_in = fields.or("optIn", false);
        let when = fields.get("when");
        let setting = Self { name: name?, value: value?, via, opt_in, when };
        match nccl::check(setting.name.as_str(), setting.value.as_str()) {
            Err(nccl::Problem::Name(message)) => fields.fault("name", message),
            Err(nccl::Problem::Value(message)) => fields.fault("value", message),
            Ok(()) if nccl::variable(setting.name.as_str()).is_some_and(nccl::Variable::is_never_set) => {
                fields.fault("name", format!("{} switches off a transport within a node: leave it out", setting.name));
            }
            Ok(()) => {}
        }
        Some(setting)
    }
}

/// What happens where the user has set the same name: theirs stands. There is no other policy.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum IfUnset {
    IfUnset,
}

impl Condition {
    /// Whether a container with `gpus` accelerators, on a machine of type `machine` where that is known, is meant.
    #[must_use]
    pub fn holds(&self, gpus: u64, machine: Option<&str>) -> bool {
        let on_machine = || machine.is_some_and(|machine| self.sku.iter().any(|sku| is_machine(machine, sku)));
        self.gpu_count.is_none_or(|bound| bound.holds(gpus)) && (self.sku.is_empty() || on_machine())
    }
}

/// Whether `machine`, a value of `node.kubernetes.io/instance-type`, is `sku` or one of that family.
pub(crate) fn is_machine(machine: &str, sku: &str) -> bool {
    machine == sku || machine.split_once('.').is_some_and(|(family, _)| family == sku)
}

impl GpuCount {
    /// Reads `8`, `>=8` or `<=4`.
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

    fn holds(self, gpus: u64) -> bool {
        match self.comparison {
            Comparison::AtLeast => gpus >= self.count,
            Comparison::AtMost => gpus <= self.count,
            Comparison::Exactly => gpus == self.count,
        }
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
            other => Err(format!("{expected}, found {}", noun(other))),
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
choices!(Via, NcclDelivery, ConfSource, IfUnset);
