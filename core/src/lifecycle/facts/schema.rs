//! Schema of the pod fields that the controller decodes.

use serde_json::Value;

use super::limits::{AGENT_CONFIG, ANNOTATION, CONTAINERS, EXIT_CODES, NAME, RULES};
use super::read::{AGENT_VARIABLES, RESTARTING};
use crate::sparse::{Items, Keep, Schema};
use crate::{keys, workload};

/// Maximum length in bytes of an object's name and of a reference to one.
const OBJECT_NAME: usize = 253;
/// Maximum length in bytes of a UID, a time, a resource version or an enum value; valid ones are shorter.
const WORD: usize = 128;

/// The fields that [`PodFacts::read`](super::PodFacts::read) and the controller's watch use.
pub static POD: Schema = Schema::Object(&[
    ("metadata", METADATA),
    (
        "spec",
        Schema::Object(&[
            ("nodeName", Schema::Text(OBJECT_NAME)),
            ("restartPolicy", Schema::Text(WORD)),
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
            ("phase", Schema::Text(WORD)),
            ("conditions", Schema::List(&CONDITION)),
            ("initContainerStatuses", Schema::List(&STATUS)),
            ("containerStatuses", Schema::List(&STATUS)),
        ]),
    ),
]);

/// The metadata of [`POD`].
pub const METADATA: Schema = Schema::Object(&[
    ("namespace", Schema::Text(NAME)),
    ("name", Schema::Text(OBJECT_NAME)),
    ("uid", Schema::Text(WORD)),
    ("resourceVersion", Schema::Text(WORD)),
    ("creationTimestamp", Schema::Text(WORD)),
    ("deletionTimestamp", Schema::Text(WORD)),
    ("labels", Schema::Map(&[&LABELS, &workload::IDENTITY_LABELS], &Schema::Text(NAME))),
    ("annotations", Schema::Map(&[&ANNOTATIONS], &Schema::Text(ANNOTATION))),
    ("ownerReferences", Schema::List(&OWNER)),
]);

const LABELS: [&str; 4] = [keys::INJECT, keys::MANAGED, keys::DATAPLANE_MODE, keys::FABRIC];

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
        ("apiVersion", Schema::Text(OBJECT_NAME)),
        ("kind", Schema::Text(OBJECT_NAME)),
        ("name", Schema::Text(OBJECT_NAME)),
        // Longer than any gang ID, so that a truncated UID is never a valid gang ID.
        ("uid", Schema::Text(OBJECT_NAME)),
        ("controller", Schema::Scalar),
    ]),
    keep: Keep::FirstThat(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true)),
};

/// One item more than the limit, so that an excess is detected.
static CONTAINER: Items = Items {
    schema: Schema::Object(&[
        ("name", Schema::Text(NAME)),
        ("restartPolicy", Schema::Text(WORD)),
        ("restartPolicyRules", Schema::List(&RULE)),
        ("env", Schema::List(&VARIABLE)),
    ]),
    keep: Keep::First(CONTAINERS + 1),
};

static RULE: Items = Items {
    schema: Schema::Object(&[
        ("action", Schema::Text(WORD)),
        ("exitCodes", Schema::Object(&[("operator", Schema::Text(WORD)), ("values", Schema::List(&EXIT_CODE))])),
    ]),
    keep: Keep::First(RULES + 1),
};

static EXIT_CODE: Items = Items { schema: Schema::Scalar, keep: Keep::First(EXIT_CODES + 1) };

static VARIABLE: Items = Items {
    schema: Schema::Object(&[("name", Schema::Text(WORD)), ("value", Schema::Text(AGENT_CONFIG))]),
    keep: Keep::LastNamed(&AGENT_VARIABLES),
};

static CONDITION: Items = Items {
    schema: Schema::Object(&[("type", Schema::Text(WORD)), ("status", Schema::Text(WORD))]),
    keep: Keep::FirstThat(|condition| {
        let field = |name: &str| condition.get(name).and_then(Value::as_str);
        field("status") == Some("True") && field("type").is_some_and(|kind| RESTARTING.contains(&kind))
    }),
};

static STATUS: Items = Items {
    schema: Schema::Object(&[
        ("name", Schema::Text(NAME)),
        ("containerID", Schema::Text(WORD)),
        ("restartCount", Schema::Scalar),
        (
            "state",
            Schema::Object(&[
                ("terminated", Schema::Object(&[("exitCode", Schema::Scalar), ("finishedAt", Schema::Text(WORD))])),
                ("running", Schema::Object(&[])),
                ("waiting", Schema::Object(&[("reason", Schema::Text(WORD))])),
            ]),
        ),
    ]),
    keep: Keep::First(CONTAINERS),
};
