//! The shell of the controller.
pub mod quit;
