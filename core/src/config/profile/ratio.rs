//! Number of devices per accelerator, as an exact ratio of integers.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::config::Scalar;
use crate::yaml::type_name;

/// Devices per accelerator, such as `4` or `1/2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    devices: u32,
    accelerators: u32,
}

/// A ratio that is fixed or depends on the instance type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Ratios {
    /// The same for all instance types.
    Fixed(Ratio),
    /// By instance type or family: the value of the node label `node.kubernetes.io/instance-type`, or its part before
    /// the first `.`.
    ByInstanceType(BTreeMap<String, Ratio>),
}

const EXPECTED: &str = "expected devices per accelerator such as \"4\" or \"1/2\"";

impl Ratio {
    /// One device per accelerator.
    pub const ONE: Self = Self { devices: 1, accelerators: 1 };

    /// Parses a ratio such as `4` or `1/2`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (devices, accelerators) = text.split_once('/').unwrap_or((text, "1"));
        let number = |digits: &str| {
            let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            digits?.parse::<u32>().ok().filter(|number| *number > 0)
        };
        Some(Self { devices: number(devices)?, accelerators: number(accelerators)? })
    }

    /// Returns the number of devices for `accelerators`, or `None` if it is not an integer.
    #[must_use]
    pub fn devices_for(self, accelerators: u64) -> Option<u64> {
        let devices = accelerators.checked_mul(u64::from(self.devices))?;
        let parts = u64::from(self.accelerators);
        devices.is_multiple_of(parts).then(|| devices / parts)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.accelerators {
            1 => write!(formatter, "{}", self.devices),
            accelerators => write!(formatter, "{}/{accelerators}", self.devices),
        }
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Scalar for Ratio {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::parse(text).ok_or_else(|| format!("{EXPECTED}, found {text:?}")),
            Value::Number(number) => {
                Self::parse(&number.to_string()).ok_or_else(|| format!("{EXPECTED}, found {number}"))
            }
            other => Err(format!("{EXPECTED}, found {}", type_name(other))),
        }
    }
}

impl Scalar for Ratios {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Object(_) => {
                let ratios: BTreeMap<String, Ratio> = BTreeMap::read(value)?;
                // Two patterns could match one type.
                match ratios.keys().find(|name| name.contains('*')) {
                    Some(pattern) => {
                        Err(format!("{pattern}: expected an instance type or its family, such as p5.48xlarge or p5"))
                    }
                    None => Ok(Self::ByInstanceType(ratios)),
                }
            }
            _ => Ratio::read(value)
                .map(Self::Fixed)
                .map_err(|problem| format!("{problem}; or a mapping by instance type")),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Ratios {
    fn schema_name() -> Cow<'static, str> {
        "Ratios".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ratio =
            json_schema!({"type": ["string", "integer"], "pattern": "^[1-9][0-9]*(/[1-9][0-9]*)?$", "minimum": 1});
        json_schema!({"anyOf": [ratio, {"type": "object", "additionalProperties": ratio}]})
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::whole("4", 8, Some(32))]
    #[case::half("1/2", 8, Some(4))]
    #[case::half_of_an_odd_number("1/2", 3, None)]
    #[case::two_thirds("2/3", 3, Some(2))]
    #[case::more_than_fits("4", u64::MAX, None)]
    fn returns_integers_only(#[case] ratio: &str, #[case] accelerators: u64, #[case] expected: Option<u64>) {
        assert_eq!(Ratio::parse(ratio).unwrap().devices_for(accelerators), expected);
    }

    #[rstest]
    #[case("0")]
    #[case("1/0")]
    #[case("-1")]
    #[case("+1")]
    #[case("1.5")]
    #[case("")]
    #[case("1/2/3")]
    fn rejects_invalid_ratios(#[case] text: &str) {
        assert_eq!(Ratio::parse(text), None);
    }
}
