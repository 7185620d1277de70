//! What looks wrong in a pod that uses a fabric.

mod settings;

pub use settings::{CheckId, LintSettings, Severity};
