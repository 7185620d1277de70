//! Section `gang`: scheduling of all pods of a job together.

mod mode;

pub use mode::GangMode;

use super::section::section;

section! {
    /// Scheduling of all pods of a job together.
    pub struct Gang {
        /// Enables gang scheduling. The webhook then may read the workloads that own pods.
        pub enabled: bool = true,
        /// Mode of pods without a label `trainmesh.dev/gang` on the pod or its namespace.
        pub default: GangMode,
    }
}
