//! Section `fabric`: transport of NCCL and RDMA devices.

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
    /// Transport of NCCL and RDMA devices.
    pub struct Fabric {
        /// Switches fabrics off and on.
        pub enabled: bool = true,
        /// The profile of pods for which neither their own label `trainmesh.dev/fabric` nor their namespace's names one.
        pub default: DefaultProfile,
        /// The Pod Security level that the apiserver enforces in namespaces without a label that says so.
        pub pod_security_default: PodSecurityDefault,
        /// Profiles beside those that are built in. One of the same name replaces the built-in one.
        pub profiles: Profiles,
        /// Which checks of the lint are switched off or weighed otherwise.
        pub lint: LintSettings,
    }
    check: Self::check
}

/// The profile of pods for which nobody names one; `None` is written `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultProfile(pub Option<ProfileName>);

/// A level of Pod Security, as far as it is known; the stricter is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PodSecurityDefault {
    /// Nothing is concluded: as if it were `privileged`.
    #[default]
    Unknown,
    /// Everything is admitted.
    Privileged,
    /// Known privilege escalations are forbidden.
    Baseline,
    /// Pods follow current hardening practice.
    Restricted,
}

impl Fabric {
    fn check(&self, fields: &mut Fields<'_>) {
        let DefaultProfile(Some(name)) = &self.default else { return };
        if self.profiles.find(name.as_str()).is_none() {
            let hint = self.profiles.nearest(name.as_str()).map(|near| format!(": did you mean {near}?"));
            fields.fault("default", format!("no profile is called {name}{}", hint.unwrap_or_default()));
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
