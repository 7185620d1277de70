//! Replaces the commands that need a cluster in a build without the feature `cluster`.

use std::collections::BTreeSet;
use std::ffi::OsString;

use anyhow::bail;
use serde_json::Value;

use super::Status;
use super::installation::InstallationArguments;
use trainmesh_core::accounting::JobAccount;
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::config::Configuration;
use trainmesh_core::gang::WorkloadKey;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::preview::{LiveNamespace, PodReport};
use trainmesh_core::scope::Installation;
use trainmesh_core::workload::RuntimeReference;

const MESSAGE: &str = "this command requires the feature `cluster`: build trainmesh without --no-default-features";

/// Not in this build: requires the feature `cluster`
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

/// A live cluster; uninhabited in this build.
#[derive(Debug)]
pub(super) enum LiveCluster {}

pub(super) fn run(_: &Arguments) -> anyhow::Result<Status> {
    bail!(MESSAGE)
}

impl LiveCluster {
    pub(super) fn connect(_context: Option<&str>, _installation: &InstallationArguments) -> anyhow::Result<Self> {
        bail!(MESSAGE)
    }

    pub(super) fn installation(&self) -> &Installation {
        match *self {}
    }

    pub(super) fn webhook_absence(&self) -> Option<&'static str> {
        match *self {}
    }

    pub(super) fn configuration(&self) -> anyhow::Result<Configuration> {
        match *self {}
    }

    pub(super) fn permitted_configuration(&self) -> anyhow::Result<Option<Configuration>> {
        match *self {}
    }

    pub(super) fn default_namespace(&self) -> &str {
        match *self {}
    }

    pub(super) fn namespace(&self, _name: &str) -> anyhow::Result<Option<LiveNamespace>> {
        match *self {}
    }

    pub(super) fn pod(&self, _namespace: &str, _name: &str) -> anyhow::Result<Option<Value>> {
        match *self {}
    }

    pub(super) fn workload(&self, _key: &WorkloadKey) -> anyhow::Result<Option<Value>> {
        match *self {}
    }

    pub(super) fn pod_group(&self, _api: GroupApi, _namespace: &str, _name: &str) -> anyhow::Result<Option<Value>> {
        match *self {}
    }

    pub(super) fn has_default_queue(&self, _namespace: &str) -> anyhow::Result<bool> {
        match *self {}
    }

    pub(super) fn runtime(&self, _reference: &RuntimeReference) -> anyhow::Result<Option<Value>> {
        match *self {}
    }

    pub(super) fn facts(&self, _configuration: &Configuration, _namespaces: &BTreeSet<String>) -> ClusterFacts {
        match *self {}
    }

    pub(super) fn dry_run(&self, _report: &PodReport) -> anyhow::Result<Value> {
        match *self {}
    }

    pub(super) fn account(&self, _reports: &[PodReport], _created: &[anyhow::Result<Value>]) -> Option<JobAccount> {
        match *self {}
    }
}
