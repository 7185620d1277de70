//! Section `fabric`: transport of NCCL and RDMA devices.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use super::fields::{Fields, Scalar, Section};
use super::profile::ProfileName;
use super::{LintSettings, Profiles, choice};
use crate::yaml::Content;

/// Transport of NCCL and RDMA devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Fabric {
    /// Switches fabrics off and on.
    pub enabled: bool,
    /// The profile of pods for which neither their own label `trainmesh.dev/fabric` nor their namespace's names one.
    pub default: DefaultProfile,
    /// The Pod Security level that the apiserver enforces in namespaces without a label that says so.
    pub pod_security_default: PodSecurityDefault,
    /// Profiles beside those that are built in. One of the same name replaces the built-in one.
    pub profiles: Profiles,
    /// Which checks of the lint are switched off or weighed otherwise.
    pub lint: LintSettings,
}

/// The profile of pods for which nobody names one; `None` is written `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultProfile(pub Option<ProfileName>);

/// A level of Pod Security, as far as it is known; the stricter is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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

impl Default for Fabric {
    fn default() -> Self {
        Self {
            enabled: true,
            default: DefaultProfile(None),
            pod_security_default: PodSecurityDefault::Unknown,
            profiles: Profiles::default(),
            lint: LintSettings::default(),
        }
    }
}

impl Section for Fabric {
    fn read(fields: &mut Fields<'_>) -> Self {
        let enabled = fields.scalar("enabled", true);
        let default = fields.scalar("default", DefaultProfile(None));
        let pod_security_default = fields.scalar("podSecurityDefault", PodSecurityDefault::Unknown);
        let profiles = Profiles::read(fields, "profiles");
        let lint = fields.section("lint");
        if let DefaultProfile(Some(name)) = &default
            && profiles.find(name.as_str()).is_none()
        {
            let hint = profiles.nearest(name.as_str()).map(|near| format!(": did you mean {near}?"));
            fields.fault("default", format!("no profile is called {name}{}", hint.unwrap_or_default()));
        }
        Self { enabled, default, pod_security_default, profiles, lint }
    }
}

impl Scalar for PodSecurityDefault {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl fmt::Display for PodSecurityDefault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl Scalar for DefaultProfile {
    fn read(content: &Content) -> Result<Self, String> {
        match content {
            Content::String(text) if text == "none" => Ok(Self(None)),
            _ => ProfileName::read(content).map(|name| Self(Some(name))),
        }
    }
}

impl Serialize for DefaultProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_ref().map_or("none", ProfileName::as_str))
    }
}

impl JsonSchema for DefaultProfile {
    fn schema_name() -> Cow<'static, str> {
        "DefaultProfile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schema = ProfileName::json_schema(generator);
        json_schema!({"type": "string", "pattern": schema.get("pattern")})
    }
}
