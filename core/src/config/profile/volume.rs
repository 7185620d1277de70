//! Volumes to mount into the containers.

#[cfg(feature = "schema")]
use schemars::Schema;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::add_constant;
use super::{AbsolutePath, ObjectName, Quantity};
use crate::config::choice::choices;
use crate::config::fields::Fields;
use crate::config::section::{item, section};

section! {
    /// Volumes to mount into the containers. User mounts at the same path take precedence.
    pub struct Volumes {
        /// Shared memory; null: the container runtime's default of 64 MiB.
        #[cfg_attr(feature = "schema", schemars(with = "SharedMemory"))]
        pub shm: Option<SharedMemory>,
        /// Host paths.
        pub host_paths: Vec<HostPath>,
        /// `ConfigMaps` from the pod's namespace.
        pub config_maps: Vec<ConfigMapVolume>,
    }
}

section! {
    /// Shared memory: an `emptyDir` with medium `Memory`.
    #[cfg_attr(feature = "schema", schemars(transform = add_if_missing))]
    pub struct SharedMemory {
        /// Mount path.
        pub mount: AbsolutePath = AbsolutePath::literal("/dev/shm"),
        /// Size limit; null: the memory limits of the containers apply.
        #[cfg_attr(feature = "schema", schemars(with = "Quantity"))]
        pub size_limit: Option<Quantity>,
    }
    check: Self::check
}

item! {
    /// A host path volume.
    pub struct HostPath {
        /// Path on the node.
        pub host_path: AbsolutePath => "a path of the node",
        /// Path in the container.
        pub mount_path: AbsolutePath => "a path in the container",
        /// Required file type; absent: not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub kind as "type": Option<HostPathType>,
        /// Mounts the path read-only.
        #[serde(default)]
        pub read_only: bool,
    }
}

/// Required file type of a host path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HostPathType {
    /// A directory.
    Directory,
    /// A directory, which is created if it does not exist.
    DirectoryOrCreate,
    /// A file.
    File,
    /// A character device.
    CharDevice,
    /// A socket.
    Socket,
}

item! {
    /// A `ConfigMap` volume.
    pub struct ConfigMapVolume {
        /// Name of the `ConfigMap`.
        pub name: ObjectName => "the name of a ConfigMap",
        /// Mount path.
        pub mount_path: AbsolutePath => "a path in the container",
        /// Omits the volume, and the settings that refer to files in it, if the `ConfigMap` is known not to exist.
        /// Otherwise it is mounted as optional. In either case the pod does not wait for it.
        #[serde(default)]
        pub must_exist: bool,
    }
}

#[cfg(feature = "schema")]
fn add_if_missing(schema: &mut Schema) {
    add_constant(schema, "ifMissing", &json!(true), "User mounts are never replaced.");
}

impl SharedMemory {
    /// Accepts the field `ifMissing`, which has a single valid value.
    fn check(_: &Self, fields: &mut Fields<'_>) {
        if !fields.get_or("ifMissing", true) {
            fields.report_problem("ifMissing", "expected true: user mounts are never replaced".to_owned());
        }
    }
}

choices!(HostPathType);
