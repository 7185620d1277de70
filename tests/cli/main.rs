//! The binary's command line, output and exit codes. No cluster is needed.
//!
//! ```text
//! cargo test --test cli
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "tests fail by panicking, case tables own their values, and the modules belong to no library"
)]

mod certs;
mod chart_flags;
mod checkpoint_interval;
mod checkpoint_rule;
mod claims;
mod cluster_errors;
mod commands;
mod config_validate;
mod diagnose;
mod doctor;
mod documentation;
mod dump_forms;
mod dump_time;
mod duplicates;
mod fabric;
mod fail_on;
mod gangs;
mod generic;
mod golden;
mod input;
mod installation;
mod inventory;
mod kubeconfigs;
mod kueue_flavors;
mod layout;
mod line_forms;
mod lint;
mod live_jobs;
mod live_pod;
mod locations;
mod manifest_text;
mod many_documents;
mod mesh_checks;
mod misplaced_labels;
mod namespace_labels;
mod nccl_table;
mod no_cluster;
mod own_profiles;
mod partial_fabric;
mod preview;
mod quota;
mod runtime;
mod sweep;
mod terminal;
mod tls_errors;
mod unknown_fields;
mod unused_labels;
