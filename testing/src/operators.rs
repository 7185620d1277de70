//! Workloads that the real controllers make pods of, and their pods beside those of the preview.

pub mod case;
pub mod compare;

mod chance;
