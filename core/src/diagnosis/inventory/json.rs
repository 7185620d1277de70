//! The machine-readable form of an inventory, for JSON and YAML.

use serde_json::{Value, json};

use super::{Inventory, InventoryEntry, Sign};

/// Incremented only when a field is removed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

impl Inventory {
    /// Returns the inventory as JSON. `version` is that of trainmesh.
    #[must_use]
    pub fn to_json(&self, version: &str, errors: &[Value]) -> Value {
        let Self { entries, omitted, hint: _ } = self;
        json!({
            "schemaVersion": SCHEMA_VERSION,
            "version": version,
            "workloads": entries.iter().map(InventoryEntry::to_json).collect::<Vec<_>>(),
            "omittedWorkloads": omitted,
            "errors": errors,
        })
    }
}

impl InventoryEntry {
    fn to_json(&self) -> Value {
        let Self { workload, class, signs, pods, roles, accelerators, pending, devices, gang, fabric, mesh } = self;
        json!({
            "workload": {"kind": workload.kind, "namespace": workload.namespace, "name": workload.name},
            "class": class.name(),
            "signs": signs.iter().map(|sign| Sign::name(*sign)).collect::<Vec<_>>(),
            "pods": pods,
            "roles": roles,
            "accelerators": accelerators,
            "pendingAccelerators": pending,
            "devices": devices.name(),
            "gang": gang,
            "fabric": fabric,
            "mesh": mesh.name(),
        })
    }
}
