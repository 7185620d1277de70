//! Devices and huge pages that containers ask for.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use super::{Quantity, Ratio, Ratios, ResourceName};
use crate::config::choice::choices;
use crate::config::fields::{Fields, Section};
use crate::config::section::mappings;

/// One resource, requested and limited alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: ResourceName,
    /// How much of it.
    pub amount: Amount,
    /// The number of accelerators of a whole node: the resource is for pods that take one. `None`: for all.
    pub full_node_gpus: Option<u64>,
    /// A resource that is shown but not asked for: it is in a copy of the profile without this field.
    pub opt_in: bool,
}

/// How much of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Whole devices.
    Devices {
        /// For what they are counted.
        mode: ResourceMode,
        /// How many, for each pod or container; 1 where the mode is `perGpu`.
        count: u64,
        /// How many for each accelerator.
        ratio: Ratios,
        /// Never more than these in a container.
        max: Option<u64>,
    },
    /// Memory, for each container.
    Memory {
        /// How much.
        quantity: Quantity,
    },
}

/// For what devices are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ResourceMode {
    /// For the pod: its first container with an accelerator gets them.
    #[default]
    PerPod,
    /// For each container with an accelerator.
    PerContainer,
    /// For each accelerator.
    PerGpu,
}

impl Section for Resource {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name: Option<ResourceName> = fields.required("name", "the resource's name");
        let mode = fields.get("mode");
        let count = fields.get("count");
        let ratio = fields.get("ratio");
        let max = fields.get("max");
        let quantity = fields.get("quantity");
        let full_node_gpus = fields.get("fullNodeGpus");
        let opt_in = fields.or("optIn", false);
        let name = name?;
        let memory = name.as_str().starts_with("hugepages-");
        let counted = mode.is_some() || count.is_some() || ratio.is_some() || max.is_some();
        let amount = match quantity {
            Some(quantity) if memory => Amount::Memory { quantity },
            None if !memory => Amount::Devices {
                mode: mode.unwrap_or_default(),
                count: count.unwrap_or(1),
                ratio: ratio.unwrap_or(Ratios::One(Ratio::ONE)),
                max,
            },
            None => {
                fields.fault("quantity", "missing: expected an amount such as 5120Mi".to_owned());
                return None;
            }
            Some(_) => {
                fields.fault("quantity", format!("{name} is counted: expected mode, count or ratio"));
                return None;
            }
        };
        match mode {
            _ if memory && counted => {
                fields.fault("name", format!("{name} is an amount for each container: expected quantity alone"));
            }
            Some(ResourceMode::PerGpu) if count.is_some() => {
                fields.fault("count", "mode is perGpu: expected ratio".to_owned());
            }
            None | Some(ResourceMode::PerPod | ResourceMode::PerContainer) if fields.has("ratio") => {
                fields.fault("ratio", "expected mode: perGpu beside it".to_owned());
            }
            _ => {}
        }
        for (field, number) in [("count", count), ("max", max), ("fullNodeGpus", full_node_gpus)] {
            if number == Some(0) {
                fields.fault(field, "expected a number from 1, found 0".to_owned());
            }
        }
        Some(Self { name, amount, full_node_gpus, opt_in })
    }
}

/// The form that `Resource::read` takes: of `count` and `ratio`, only the one that the mode asks for.
impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, amount, full_node_gpus, opt_in } = self;
        let mut form = serializer.serialize_map(None)?;
        form.serialize_entry("name", name)?;
        match amount {
            Amount::Devices { mode, count, ratio, max } => {
                form.serialize_entry("mode", mode)?;
                match mode {
                    ResourceMode::PerGpu => form.serialize_entry("ratio", ratio)?,
                    ResourceMode::PerPod | ResourceMode::PerContainer => form.serialize_entry("count", count)?,
                }
                form.serialize_entry("max", max)?;
            }
            Amount::Memory { quantity } => form.serialize_entry("quantity", quantity)?,
        }
        form.serialize_entry("fullNodeGpus", full_node_gpus)?;
        form.serialize_entry("optIn", opt_in)?;
        form.end()
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Resource {
    fn schema_name() -> Cow<'static, str> {
        "Resource".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let count = json_schema!({"type": ["integer", "null"], "minimum": 1});
        let optional = |schema: Schema| json_schema!({"anyOf": [schema, {"type": "null"}]});
        json_schema!({
            "type": "object",
            "description": "One resource, requested and limited alike: devices (mode, count or ratio), or huge pages (quantity).",
            "additionalProperties": false,
            "required": ["name"],
            "properties": {
                "name": ResourceName::json_schema(generator),
                "mode": optional(ResourceMode::json_schema(generator)),
                "count": count,
                "ratio": optional(Ratios::json_schema(generator)),
                "max": count,
                "quantity": optional(Quantity::json_schema(generator)),
                "fullNodeGpus": count,
                "optIn": {"type": "boolean", "default": false}
            }
        })
    }
}

mappings!(Resource);
choices!(ResourceMode);
