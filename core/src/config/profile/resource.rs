//! Devices and huge pages that containers request.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{Quantity, Ratio, Ratios, ResourceName};
use crate::config::choice::choices;
use crate::config::fields::{Fields, Section};
use crate::config::section::mappings;
use crate::huge_pages::{indivisible_page, is_huge_pages};

/// A resource with the same request and limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Name of the resource.
    pub name: ResourceName,
    /// Amount to request.
    pub amount: Amount,
    /// Number of accelerators of a whole node: only pods that use whole nodes get the resource. `None`: all pods get
    /// it.
    pub full_node_gpus: Option<u64>,
    /// True if the resource is only a suggestion. To request it, copy the profile and remove this field.
    pub opt_in: bool,
}

/// Amount of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Whole devices.
    Devices {
        /// Unit that the devices are counted for.
        mode: ResourceMode,
        /// Number of devices per pod or container; 1 if the mode is `perGpu`.
        count: u64,
        /// Number of devices per accelerator.
        ratio: Ratios,
        /// Maximum number of devices per container.
        max: Option<u64>,
    },
    /// Memory per container.
    Memory {
        /// Amount of memory.
        quantity: Quantity,
    },
}

/// Unit that devices are counted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ResourceMode {
    /// Per pod: the first container with an accelerator gets the devices.
    #[default]
    PerPod,
    /// Per container with an accelerator.
    PerContainer,
    /// Per accelerator.
    PerGpu,
}

impl Section for Resource {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name: Option<ResourceName> = fields.require("name", "the resource's name");
        let mode = fields.get("mode");
        let count = fields.get("count");
        let ratio = fields.get("ratio");
        let max = fields.get("max");
        let quantity: Option<Quantity> = fields.get("quantity");
        let full_node_gpus = fields.get("fullNodeGpus");
        let opt_in = fields.get_or("optIn", false);
        for (field, number) in [("count", count), ("max", max), ("fullNodeGpus", full_node_gpus)] {
            if number == Some(0) {
                fields.report_problem(field, "expected a number from 1, found 0".to_owned());
            }
        }
        let name = name?;
        let is_memory = is_huge_pages(name.as_str());
        let is_counted = ["mode", "count", "ratio", "max"].iter().any(|field| fields.has(field));
        match mode {
            _ if is_memory && is_counted => {
                fields.report_problem("name", format!("{name} is memory: expected only quantity"));
            }
            Some(ResourceMode::PerGpu) if !is_memory && fields.has("count") => {
                fields.report_problem("count", "expected ratio instead of count with mode: perGpu".to_owned());
            }
            None | Some(ResourceMode::PerPod | ResourceMode::PerContainer)
                if !is_memory && fields.has("ratio") && !fields.has_problem("mode") =>
            {
                fields.report_problem("ratio", "requires mode: perGpu".to_owned());
            }
            _ => {}
        }
        let amount = match quantity {
            Some(quantity) if is_memory => {
                if let Some(page) = indivisible_page(name.as_str(), &Value::from(quantity.as_str())) {
                    let expected = format!("expected a multiple of {page}, because the apiserver rejects others");
                    fields.report_problem("quantity", format!("{expected}, found {quantity}"));
                }
                Amount::Memory { quantity }
            }
            None if !is_memory => Amount::Devices {
                mode: mode.unwrap_or_default(),
                count: count.unwrap_or(1),
                ratio: ratio.unwrap_or(Ratios::Fixed(Ratio::ONE)),
                max,
            },
            None => {
                if !fields.has("quantity") {
                    fields.report_problem("quantity", "missing: expected an amount such as 5120Mi".to_owned());
                }
                return None;
            }
            Some(_) => {
                fields.report_problem("quantity", format!("{name} is a device: expected mode, count or ratio"));
                return None;
            }
        };
        Some(Self { name, amount, full_node_gpus, opt_in })
    }
}

/// Serializes to the form that `Resource::read` parses: only the one of `count` and `ratio` that the mode uses.
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
            "description": "A resource with the same request and limit: devices (mode, count or ratio), or huge pages (quantity).",
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
