//! What is linted: a pod as it will be, and what is known around it.

use std::collections::BTreeMap;

use crate::cluster_facts::ClusterView;
use crate::config::Profile;
use crate::pod::{Injection, Pod};
use crate::workload::Member;

/// A pod as it will be, and what is known around it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The pod as it will be created.
    pub pod: Pod<'a>,
    /// The pod as its owner made it; the same where nobody has changed it.
    pub original: Pod<'a>,
    /// The labels of its namespace.
    pub labels: &'a BTreeMap<String, String>,
    /// The profile that was selected for it.
    pub profile: Option<&'a Profile>,
    /// What is known of the cluster.
    pub cluster: ClusterView<'a>,
    /// Its place in its workload.
    pub member: Option<Member<'a>>,
    /// How many pods of its role the pod is known to be one of.
    pub replicas: Option<u64>,
    /// What Istio will do with it.
    pub injection: Injection,
}
