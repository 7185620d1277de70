//! `PodCliqueSet` of Grove: ai-dynamo/grove, `operator/api/core/v1alpha1`.

use super::super::{Fields, Shape};

static CLIQUE_SPEC: Fields = Fields {
    owner: "PodCliqueSpec",
    names: &["roleName", "podSpec", "replicas", "minAvailable", "startsAfter", "autoScalingConfig"],
    nested: &[],
};
static CLIQUE: Fields = Fields {
    owner: "PodCliqueTemplateSpec",
    names: &["name", "labels", "annotations", "topologyConstraint", "resourceSharing", "rollingUpdate", "spec"],
    nested: &[("spec", Shape::Object(&CLIQUE_SPEC))],
};
static GROUP: Fields = Fields {
    owner: "PodCliqueScalingGroupConfig",
    names: &[
        "name",
        "cliqueNames",
        "annotations",
        "replicas",
        "minAvailable",
        "scaleConfig",
        "rollingUpdate",
        "resourceSharing",
        "topologyConstraint",
    ],
    nested: &[],
};
static TEMPLATE: Fields = Fields {
    owner: "PodCliqueSetTemplateSpec",
    names: &[
        "cliques",
        "cliqueStartupType",
        "priorityClassName",
        "headlessServiceConfig",
        "topologyConstraint",
        "terminationDelay",
        "resourceClaimTemplates",
        "resourceSharing",
        "podCliqueScalingGroups",
    ],
    nested: &[("cliques", Shape::List(&CLIQUE)), ("podCliqueScalingGroups", Shape::List(&GROUP))],
};
pub(super) static POD_CLIQUE_SET: Fields = Fields {
    owner: "PodCliqueSetSpec",
    names: &["replicas", "updateStrategy", "template"],
    nested: &[("template", Shape::Object(&TEMPLATE))],
};
