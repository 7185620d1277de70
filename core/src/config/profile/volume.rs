//! What is mounted into the containers.

#[cfg(feature = "schema")]
use schemars::Schema;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::allow;
use super::{AbsolutePath, ObjectName, Quantity};
use crate::config::choice::choices;
use crate::config::fields::Fields;
use crate::config::section::{item, section};

section! {
    /// What is mounted into the containers. A mount of the user's at the same path stands.
    pub struct Volumes {
        /// Shared memory; null: the 64 MiB of the container runtime.
        #[cfg_attr(feature = "schema", schemars(with = "SharedMemory"))]
        pub shm: Option<SharedMemory>,
        /// Paths of the node.
        pub host_paths: Vec<HostPath>,
        /// `ConfigMaps` of the pod's namespace.
        pub config_maps: Vec<ConfigMapVolume>,
    }
}

section! {
    /// Shared memory, an `emptyDir` of memory.
    #[cfg_attr(feature = "schema", schemars(transform = allow_if_missing))]
    pub struct SharedMemory {
        /// Where.
        pub mount: AbsolutePath = AbsolutePath::literal("/dev/shm"),
        /// Of what it is made.
        pub medium: Medium,
        /// Its bound; null: that of the containers' memory.
        #[cfg_attr(feature = "schema", schemars(with = "Quantity"))]
        pub size_limit: Option<Quantity>,
    }
    check: Self::check
}

/// Of what an `emptyDir` is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Medium {
    /// Of memory.
    #[default]
    Memory,
}

item! {
    /// A path of the node.
    pub struct HostPath {
        /// On the node.
        pub host_path: AbsolutePath => "a path of the node",
        /// In the container.
        pub mount_path: AbsolutePath => "a path in the container",
        /// What must be there; absent: nothing is checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub kind as "type": Option<HostPathType>,
        /// Whether the container may not write.
        #[serde(default)]
        pub read_only: bool,
    }
}

/// What must be at a path of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

item! {
    /// A `ConfigMap` of the pod's namespace.
    pub struct ConfigMapVolume {
        /// Its name.
        pub name: ObjectName => "the name of a ConfigMap",
        /// Where.
        pub mount_path: AbsolutePath => "a path in the container",
        /// Whether it is left out, with the settings that point below it, where it is known not to exist. Else it is mounted
        /// as one that may be absent: a pod never waits for it.
        #[serde(default)]
        pub must_exist: bool,
    }
}

#[cfg(feature = "schema")]
fn allow_if_missing(schema: &mut Schema) {
    allow(schema, "ifMissing", &json!(true), "A mount of the user's is never replaced.");
}

impl SharedMemory {
    /// A field that may stand there although there is one answer only.
    fn check(_: &Self, fields: &mut Fields<'_>) {
        if !fields.or("ifMissing", true) {
            fields.fault("ifMissing", "expected true: a mount of the user's is never replaced".to_owned());
        }
    }
}

choices!(Medium, HostPathType);
