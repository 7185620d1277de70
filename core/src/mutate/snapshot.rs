//! What the engine knows beside the pod: an immutable snapshot of mode, namespace and configuration.

use std::collections::BTreeMap;

use crate::cluster_facts::ClusterView;
use crate::config::Configuration;
use crate::keys;
use crate::pod::Pod;
use crate::scope::Mode;

/// What the engine knows beside the pod.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Which rules are applied, and whether the patch is sent.
    pub mode: Mode,
    /// The namespace that the pod is created in.
    pub namespace: &'a str,
    /// That namespace's labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The configuration in force.
    pub config: &'a Configuration,
    /// Its hash, for the audit log.
    pub config_hash: &'a str,
    /// How many pods of its role the pod is known to be one of; a review does not tell.
    pub replicas: Option<u64>,
    /// What is known of the cluster.
    pub cluster: ClusterView<'a>,
}

/// The fabric profile that a pod names, or its namespace, or the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileChoice<'a> {
    /// None of them names one.
    Unset,
    /// The value `none`.
    None,
    /// This one, which may not exist.
    Profile(&'a str),
}

impl<'a> Snapshot<'a> {
    /// The fabric profile of `pod`: its label's, else that of its namespace's, else the configuration's.
    #[must_use]
    pub fn fabric_of(&self, pod: Pod<'a>) -> ProfileChoice<'a> {
        let namespace = self.labels.get(keys::FABRIC).map(String::as_str);
        match pod.label(keys::FABRIC).or(namespace) {
            Some(keys::NO_FABRIC) => ProfileChoice::None,
            Some(name) => ProfileChoice::Profile(name),
            None => match &self.config.fabric.default.0 {
                Some(name) => ProfileChoice::Profile(name.as_str()),
                None => ProfileChoice::Unset,
            },
        }
    }
}
