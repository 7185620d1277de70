//! `ElasticJob` of `DLRover`: `go/elasticjob/api/v1alpha1/elasticjob_types.go`.

use super::super::{Fields, Shape};
use super::TEMPLATE;

/// Versions of the operator may limit the number of replicas, as other operators do.
static REPLICA: Fields = Fields {
    owner: "ReplicaSpec",
    names: &[
        "replicas",
        "minReplicas",
        "maxReplicas",
        "template",
        "restartPolicy",
        "restartCount",
        "autoScale",
        "restartTimeout",
        "priority",
        "BatchScheduler",
    ],
    nested: &[TEMPLATE],
};
pub(super) static ELASTIC_JOB: Fields = Fields {
    owner: "ElasticJobSpec",
    names: &[
        "distributionStrategy",
        "resourceLimits",
        "optimizeMode",
        "brainService",
        "replicaSpecs",
        "envs",
        "suspend",
    ],
    nested: &[("replicaSpecs", Shape::Map(&REPLICA))],
};
