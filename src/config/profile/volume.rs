//! What is mounted into the containers.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::schema::allow;
use super::{AbsolutePath, ObjectName, Quantity};
use crate::config::choice;
use crate::config::fields::{Fields, Scalar, Section};
use crate::yaml::Content;

/// What is mounted into the containers. A mount of the user's at the same path stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Volumes {
    /// Shared memory; null: the 64 MiB of the container runtime.
    #[schemars(with = "SharedMemory")]
    pub shm: Option<SharedMemory>,
    /// Paths of the node.
    pub host_paths: Vec<HostPath>,
    /// `ConfigMaps` of the pod's namespace.
    pub config_maps: Vec<ConfigMapVolume>,
}

/// Shared memory, an `emptyDir` of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(transform = allow_if_missing)]
pub struct SharedMemory {
    /// Where.
    pub mount: AbsolutePath,
    /// Of what it is made.
    pub medium: Medium,
    /// Its bound; null: that of the containers' memory.
    #[schemars(with = "Quantity")]
    pub size_limit: Option<Quantity>,
}

/// Of what an `emptyDir` is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Medium {
    /// Of memory.
    #[default]
    Memory,
}

/// A path of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostPath {
    /// On the node.
    pub host_path: AbsolutePath,
    /// In the container.
    pub mount_path: AbsolutePath,
    /// What must be there; absent: nothing is checked.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<HostPathType>,
    /// Whether the container may not write.
    #[serde(default)]
    pub read_only: bool,
}

/// What must be at a path of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HostPathType {
    /// A directory.
    Directory,
    /// A directory, made where there is none.
    DirectoryOrCreate,
    /// A file.
    File,
    /// A character device.
    CharDevice,
    /// A socket.
    Socket,
}

/// A `ConfigMap` of the pod's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigMapVolume {
    /// Its name.
    pub name: ObjectName,
    /// Where.
    pub mount_path: AbsolutePath,
    /// Whether it is left out, with the settings that point below it, where it is known not to exist. Else it is mounted
    /// as one that may be absent: a pod never waits for it.
    #[serde(default)]
    pub must_exist: bool,
}

fn allow_if_missing(schema: &mut Schema) {
    allow(schema, "ifMissing", &json!(true), "A mount of the user's is never replaced.");
}

impl Default for SharedMemory {
    fn default() -> Self {
        Self { mount: AbsolutePath::literal("/dev/shm"), medium: Medium::Memory, size_limit: None }
    }
}

impl Section for Volumes {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            shm: fields.below("shm", |fields| Some(SharedMemory::read(fields))),
            host_paths: fields.list("hostPaths", HostPath::read),
            config_maps: fields.list("configMaps", ConfigMapVolume::read),
        }
    }
}

impl Section for SharedMemory {
    fn read(fields: &mut Fields<'_>) -> Self {
        let mount = fields.scalar("mount", Self::default().mount);
        let medium = fields.scalar("medium", Medium::Memory);
        let size_limit = fields.scalar("sizeLimit", None);
        if !fields.scalar("ifMissing", true) {
            fields.fault("ifMissing", "expected true: a mount of the user's is never replaced".to_owned());
        }
        Self { mount, medium, size_limit }
    }
}

impl HostPath {
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let host_path = fields.required("hostPath", "a path of the node");
        let mount_path = fields.required("mountPath", "a path in the container");
        let kind = fields.scalar("type", None);
        let read_only = fields.scalar("readOnly", false);
        Some(Self { host_path: host_path?, mount_path: mount_path?, kind, read_only })
    }
}

impl ConfigMapVolume {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", "the name of a ConfigMap");
        let mount_path = fields.required("mountPath", "a path in the container");
        let must_exist = fields.scalar("mustExist", false);
        Some(Self { name: name?, mount_path: mount_path?, must_exist })
    }
}

impl Scalar for Medium {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for HostPathType {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}
