//! Schema of the pod fields that the controller decodes.

use serde_json::Value;

use super::limits::{
    MAX_AGENT_CONFIG_BYTES, MAX_ANNOTATION_BYTES, MAX_CONTAINERS, MAX_EXIT_CODES, MAX_NAME_BYTES, MAX_RULES,
};
use super::read::{AGENT_VARIABLES, RESTARTING};
use crate::gang::key;
use crate::sparse::{Items, Keep, Schema};
use crate::{keys, pod, workload};

/// Maximum length in bytes of an object's name and of a reference to one.
const MAX_OBJECT_NAME_BYTES: usize = 253;
/// Maximum length in bytes of a UID, a time, a resource version or an enum value; valid ones are shorter.
const MAX_TOKEN_BYTES: usize = 128;

/// The fields that [`PodFacts::read`](super::PodFacts::read) and the controller's watch use.
pub static POD: Schema = Schema::Object(&[
    ("metadata", METADATA),
    (
        "spec",
        Schema::Object(&[
            ("nodeName", Schema::Text(MAX_OBJECT_NAME_BYTES)),
            ("restartPolicy", Schema::Text(MAX_TOKEN_BYTES)),
            ("schedulerName", Schema::Text(MAX_OBJECT_NAME_BYTES)),
            ("schedulingGroup", Schema::Object(&[("podGroupName", Schema::Text(MAX_OBJECT_NAME_BYTES))])),
            ("hostNetwork", Schema::Scalar),
            ("hostPID", Schema::Scalar),
            ("shareProcessNamespace", Schema::Scalar),
            ("initContainers", Schema::List(&CONTAINER)),
            ("containers", Schema::List(&CONTAINER)),
        ]),
    ),
    (
        "status",
        Schema::Object(&[
            ("phase", Schema::Text(MAX_TOKEN_BYTES)),
            ("conditions", Schema::List(&CONDITION)),
            ("initContainerStatuses", Schema::List(&STATUS)),
            ("containerStatuses", Schema::List(&STATUS)),
        ]),
    ),
]);

/// The metadata of [`POD`].
pub const METADATA: Schema = Schema::Object(&[
    ("namespace", Schema::Text(MAX_NAME_BYTES)),
    ("name", Schema::Text(MAX_OBJECT_NAME_BYTES)),
    ("uid", Schema::Text(MAX_TOKEN_BYTES)),
    ("resourceVersion", Schema::Text(MAX_TOKEN_BYTES)),
    ("creationTimestamp", Schema::Text(MAX_TOKEN_BYTES)),
    ("deletionTimestamp", Schema::Text(MAX_TOKEN_BYTES)),
    ("labels", Schema::Map(&[&LABELS, workload::IDENTITY_LABELS, &key::GROUP_LABELS], &Schema::Text(MAX_NAME_BYTES))),
    ("annotations", Schema::Map(&[&ANNOTATIONS, &key::GROUP_ANNOTATIONS], &Schema::Text(MAX_ANNOTATION_BYTES))),
    ("ownerReferences", Schema::List(&OWNER)),
]);

const LABELS: [&str; 6] = [keys::INJECT, keys::MANAGED, keys::DATAPLANE_MODE, keys::FABRIC, keys::GANG, keys::NOTEBOOK];

const ANNOTATIONS: [&str; 10] = [
    keys::APPLIED,
    keys::REFUSED,
    keys::FABRIC_REVISION,
    keys::PAYLOAD_CONTAINERS,
    keys::HELPER_CONTAINERS,
    keys::SETTLE,
    keys::SIDECAR_STATUS,
    keys::INJECT_TEMPLATES,
    keys::STATUS_PORT,
    keys::AMBIENT_REDIRECTION,
];

static OWNER: Items = Items {
    schema: Schema::Object(&[
        ("apiVersion", Schema::Text(MAX_OBJECT_NAME_BYTES)),
        ("kind", Schema::Text(MAX_OBJECT_NAME_BYTES)),
        ("name", Schema::Text(MAX_OBJECT_NAME_BYTES)),
        // Longer than any gang ID, so that a truncated UID is never a valid gang ID.
        ("uid", Schema::Text(MAX_OBJECT_NAME_BYTES)),
        ("controller", Schema::Scalar),
    ]),
    keep: Keep::FirstThat(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true)),
};

/// One item more than the limit, so that an excess is detected.
static CONTAINER: Items = Items {
    schema: Schema::Object(&[
        ("name", Schema::Text(MAX_NAME_BYTES)),
        ("restartPolicy", Schema::Text(MAX_TOKEN_BYTES)),
        ("restartPolicyRules", Schema::List(&RULE)),
        ("env", Schema::List(&VARIABLE)),
        (
            "resources",
            Schema::Object(&[("limits", Schema::Map(&[&pod::ACCELERATORS], &Schema::Text(MAX_TOKEN_BYTES)))]),
        ),
    ]),
    keep: Keep::First(MAX_CONTAINERS + 1),
};

static RULE: Items = Items {
    schema: Schema::Object(&[
        ("action", Schema::Text(MAX_TOKEN_BYTES)),
        (
            "exitCodes",
            Schema::Object(&[("operator", Schema::Text(MAX_TOKEN_BYTES)), ("values", Schema::List(&EXIT_CODE))]),
        ),
    ]),
    keep: Keep::First(MAX_RULES + 1),
};

static EXIT_CODE: Items = Items { schema: Schema::Scalar, keep: Keep::First(MAX_EXIT_CODES + 1) };

static VARIABLE: Items = Items {
    schema: Schema::Object(&[("name", Schema::Text(MAX_TOKEN_BYTES)), ("value", Schema::Text(MAX_AGENT_CONFIG_BYTES))]),
    keep: Keep::LastNamed(&AGENT_VARIABLES),
};

static CONDITION: Items = Items {
    schema: Schema::Object(&[("type", Schema::Text(MAX_TOKEN_BYTES)), ("status", Schema::Text(MAX_TOKEN_BYTES))]),
    keep: Keep::FirstThat(|condition| {
        let field = |name: &str| condition.get(name).and_then(Value::as_str);
        field("status") == Some("True") && field("type").is_some_and(|kind| RESTARTING.contains(&kind))
    }),
};

static STATUS: Items = Items {
    schema: Schema::Object(&[
        ("name", Schema::Text(MAX_NAME_BYTES)),
        ("containerID", Schema::Text(MAX_TOKEN_BYTES)),
        ("restartCount", Schema::Scalar),
        (
            "state",
            Schema::Object(&[
                (
                    "terminated",
                    Schema::Object(&[("exitCode", Schema::Scalar), ("finishedAt", Schema::Text(MAX_TOKEN_BYTES))]),
                ),
                ("running", Schema::Object(&[])),
                ("waiting", Schema::Object(&[("reason", Schema::Text(MAX_TOKEN_BYTES))])),
            ]),
        ),
    ]),
    keep: Keep::First(MAX_CONTAINERS),
};
