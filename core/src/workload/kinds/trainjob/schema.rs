//! Fields of a `TrainJob` in each version of Kubeflow Trainer. The apiserver drops all others.
//!
//! Follows `pkg/apis/trainer/v1alpha1/trainjob_types.go` of kubeflow/trainer at v2.0.1, v2.1.0, v2.2.1 and v2.3.0.

use serde_json::{Map, Value};

use crate::workload::TrainerVersion;
use Schema::{Any, List, Object};
use TrainerVersion::{V2_0, V2_1, V2_2, V2_3};

/// Structure of a value: the fields that the apiserver stores.
#[derive(Debug)]
pub(super) enum Schema {
    /// A value whose fields are not checked, such as that of a Kubernetes type.
    Any,
    /// A list whose items have this schema.
    List(&'static Self),
    /// An object with these fields.
    Object(&'static [(&'static str, Self)]),
}

const METADATA: Schema = Object(&[("labels", Any), ("annotations", Any)]);
const TARGETS: Schema = List(&Object(&[("name", Any)]));
const CONTAINERS: Schema = List(&Object(&[("name", Any), ("env", Any), ("volumeMounts", Any)]));
const CONTAINERS_WITH_SECURITY_CONTEXT: Schema =
    List(&Object(&[("name", Any), ("env", Any), ("volumeMounts", Any), ("securityContext", Any)]));
const INITIALIZER_STEP: Schema = Object(&[("storageUri", Any), ("env", Any), ("secretRef", Any)]);

/// `ResourceRequirements` of Kubernetes.
const RESOURCES: Schema = Object(&[("limits", Any), ("requests", Any), ("claims", Any)]);
const RUNTIME_REF: (&str, Schema) = ("runtimeRef", Object(&[("name", Any), ("apiGroup", Any), ("kind", Any)]));
const INITIALIZER: (&str, Schema) =
    ("initializer", Object(&[("dataset", INITIALIZER_STEP), ("model", INITIALIZER_STEP)]));
const TRAINER: (&str, Schema) = (
    "trainer",
    Object(&[
        ("image", Any),
        ("command", Any),
        ("args", Any),
        ("env", Any),
        ("numNodes", Any),
        ("resourcesPerNode", RESOURCES),
        ("numProcPerNode", Any),
    ]),
);

const POD_SPEC_OVERRIDES: Schema = List(&Object(&[
    ("targetJobs", TARGETS),
    ("serviceAccountName", Any),
    ("nodeSelector", Any),
    ("tolerations", Any),
    ("volumes", Any),
    ("initContainers", CONTAINERS),
    ("containers", CONTAINERS),
    ("schedulingGates", Any),
]));

const POD_TEMPLATE_OVERRIDES: Schema = List(&Object(&[
    ("targetJobs", TARGETS),
    ("metadata", METADATA),
    (
        "spec",
        Object(&[
            ("serviceAccountName", Any),
            ("nodeSelector", Any),
            ("affinity", Any),
            ("tolerations", Any),
            ("volumes", Any),
            ("initContainers", CONTAINERS),
            ("containers", CONTAINERS),
            ("schedulingGates", Any),
            ("imagePullSecrets", Any),
        ]),
    ),
]));

/// Returns the schema of `runtimePatches` with these fields of a pod.
macro_rules! runtime_patches {
    ($($field:literal),*) => {
        List(&Object(&[
            ("manager", Any),
            ("time", Any),
            ("trainingRuntimeSpec", Object(&[("template", Object(&[
                ("metadata", METADATA),
                ("spec", Object(&[("replicatedJobs", List(&Object(&[
                    ("name", Any),
                    ("template", Object(&[
                        ("metadata", METADATA),
                        ("spec", Object(&[("template", Object(&[
                            ("metadata", METADATA),
                            ("spec", Object(&[
                                ("serviceAccountName", Any),
                                ("volumes", Any),
                                ("initContainers", CONTAINERS_WITH_SECURITY_CONTEXT),
                                ("containers", CONTAINERS_WITH_SECURITY_CONTEXT),
                                ("imagePullSecrets", Any),
                                ("securityContext", Any),
                                ("nodeSelector", Any),
                                ("affinity", Any),
                                ("tolerations", Any),
                                ("schedulingGates", Any),
                                $(($field, Any),)*
                            ])),
                        ]))])),
                    ])),
                ])))])),
            ]))])),
        ]))
    };
}

static SPEC_2_0: Schema = Object(&[
    RUNTIME_REF,
    INITIALIZER,
    TRAINER,
    ("labels", Any),
    ("annotations", Any),
    ("podSpecOverrides", POD_SPEC_OVERRIDES),
    ("suspend", Any),
    ("managedBy", Any),
]);

static SPEC_2_1: Schema = Object(&[
    RUNTIME_REF,
    INITIALIZER,
    TRAINER,
    ("labels", Any),
    ("annotations", Any),
    ("podTemplateOverrides", POD_TEMPLATE_OVERRIDES),
    ("suspend", Any),
    ("managedBy", Any),
]);

static SPEC_2_2: Schema = Object(&[
    RUNTIME_REF,
    INITIALIZER,
    TRAINER,
    ("runtimePatches", runtime_patches!()),
    ("suspend", Any),
    ("activeDeadlineSeconds", Any),
    ("managedBy", Any),
]);

static SPEC_2_3: Schema = Object(&[
    RUNTIME_REF,
    INITIALIZER,
    TRAINER,
    ("runtimePatches", runtime_patches!("terminationGracePeriodSeconds")),
    ("suspend", Any),
    ("activeDeadlineSeconds", Any),
    ("managedBy", Any),
]);

impl Schema {
    /// Returns the schema of `spec`.
    pub(super) fn of_spec(version: TrainerVersion) -> &'static Self {
        match version {
            V2_0 => &SPEC_2_0,
            V2_1 => &SPEC_2_1,
            V2_2 => &SPEC_2_2,
            V2_3 => &SPEC_2_3,
        }
    }

    /// Returns the names of the fields, if the value is an object.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        match self {
            Object(fields) => fields.iter().map(|(name, _)| *name).collect(),
            Any | List(_) => Vec::new(),
        }
    }

    /// Returns a copy of `value` with the fields that the apiserver stores. `null` counts as absent.
    pub(super) fn pruned(&self, value: &Value) -> Value {
        match (self, value) {
            (Object(_), Value::Object(map)) => {
                let present = map.iter().filter(|(_, value)| !value.is_null());
                let stored = present.filter_map(|(key, value)| Some((key.clone(), self.get(key)?.pruned(value))));
                Value::Object(stored.collect::<Map<_, _>>())
            }
            (List(item), Value::Array(items)) => items.iter().map(|value| item.pruned(value)).collect(),
            _ => value.clone(),
        }
    }

    /// Calls `report` with the path of each field of `value` that the apiserver drops, its name, and the schema of its
    /// object.
    pub(super) fn visit_dropped(&self, value: &Value, path: &str, report: &mut impl FnMut(String, &str, &Self)) {
        match (self, value) {
            (Object(_), Value::Object(map)) => {
                for (key, value) in map {
                    let path = format!("{path}.{key}");
                    match self.get(key) {
                        Some(field) => field.visit_dropped(value, &path, report),
                        None => report(path, key, self),
                    }
                }
            }
            (List(item), Value::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    item.visit_dropped(value, &format!("{path}[{index}]"), report);
                }
            }
            _ => {}
        }
    }

    /// Returns true if the schema of `spec` has a field at `path`, such as `spec.trainer.image`.
    pub(super) fn contains(&self, path: &str) -> bool {
        let mut names = path.split('.').skip(1).map(|step| step.split('[').next().unwrap_or(step));
        let found = names.try_fold(self, |schema, name| {
            let schema = if let List(item) = schema { *item } else { schema };
            schema.get(name)
        });
        found.is_some()
    }

    /// Returns the schema of the field `key`.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Object(fields) => fields.iter().find(|(name, _)| *name == key).map(|(_, schema)| schema),
            Any | List(_) => None,
        }
    }
}
