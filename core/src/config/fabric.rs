//! Section `fabric`: NCCL transport and RDMA devices.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::choice::choices;
use super::fields::Fields;
use super::profile::ProfileName;
use super::section::section;
use super::{LintSettings, Profiles, Scalar};

section! {
    /// NCCL transport and RDMA devices.
    pub struct Fabric {
        /// Enables fabric profiles.
        pub enabled: bool = true,
        /// Profile of pods without a label `trainmesh.dev/fabric` on the pod or its namespace.
        pub default: DefaultProfile,
        /// Pod Security level that the apiserver enforces in namespaces without the enforce label.
        pub pod_security_default: PodSecurityDefault,
        /// Counts the devices that the claims of a pod provide. The webhook watches device classes, resource claims and
        /// their templates.
        pub resource_claims: bool = true,
        /// Additional profiles. A profile with the name of a built-in one replaces it.
        pub profiles: Profiles,
        /// Disabled lint checks and changed severities.
        pub lint: LintSettings,
    }
    check: Self::check
}

/// Default profile; `None` is written as `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultProfile(pub Option<ProfileName>);

/// Pod Security level. Stricter levels compare greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PodSecurityDefault {
    /// Treated like `privileged`.
    #[default]
    Unknown,
    /// Unrestricted.
    Privileged,
    /// Prevents known privilege escalations.
    Baseline,
    /// Requires current pod hardening practices.
    Restricted,
}

impl Fabric {
    fn check(&self, fields: &mut Fields<'_>) {
        let DefaultProfile(Some(name)) = &self.default else { return };
        // The profile may be one that has a problem of its own.
        let is_written = || {
            let names = fields.texts("profiles", "name");
            let is_list = !names.is_empty() || !fields.has_problem("profiles");
            !is_list
                || fields.is_misspelled("profiles")
                || names.contains(&None)
                || names.contains(&Some(name.as_str()))
        };
        if self.profiles.find(name.as_str()).is_none() && !is_written() {
            let hint = self.profiles.suggestion(name.as_str()).map(|near| format!(": did you mean {near}?"));
            fields.report_problem("default", format!("unknown fabric profile {name}{}", hint.unwrap_or_default()));
        }
    }
}

impl fmt::Display for PodSecurityDefault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl Scalar for DefaultProfile {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) if text == "none" => Ok(Self(None)),
            _ => ProfileName::read(value).map(|name| Self(Some(name))),
        }
    }
}

impl Serialize for DefaultProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_ref().map_or("none", ProfileName::as_str))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for DefaultProfile {
    fn schema_name() -> Cow<'static, str> {
        "DefaultProfile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schema = ProfileName::json_schema(generator);
        json_schema!({"type": "string", "pattern": schema.get("pattern")})
    }
}

choices!(PodSecurityDefault);
