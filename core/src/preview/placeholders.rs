//! Shell placeholders, and expressions of Helm, that are left in fields where the API expects a number or a name.
//!
//! Such a manifest is a template of a script, which passes it through envsubst. Text that a shell or a program of the pod
//! reads may contain placeholders of its own, so it is not considered.

use std::fmt::Write as _;

use memchr::{memchr, memchr2};
use serde_json::{Map, Value};

use crate::fabric::nccl;
use crate::hint::nearest;
use crate::manifest::placeholder::{placeholder_with_default, placeholders};
use crate::workload::RenderError;

/// Fields whose text a shell or a program reads, and fields that do not affect pods.
const FREE_TEXT: [&str; 15] = [
    "annotations",
    "args",
    "binaryData",
    "command",
    "data",
    "entrypoint",
    "managedFields",
    "rayStartParams",
    "runtimeEnvYAML",
    "script",
    "serveConfigV2",
    "source",
    "status",
    "stringData",
    VALUE,
];

/// Fields with the command of a container. A shell reads the text also if the name of the field is misspelled, which FP049 reports.
const COMMAND_LINE: [&str; 2] = ["args", "command"];

/// Field with the value of an environment variable, and that of a toleration.
const VALUE: &str = "value";

/// Variables of libraries other than NCCL whose values are checked: those of libfabric and UCX that select the transport.
const TRANSPORT_VARIABLES: [&str; 2] = ["FI_PROVIDER", "UCX_TLS"];

/// Start of an expression in a template.
const EXPRESSION: &str = "{{";
/// Objects of Helm. Other programs have expressions of their own, such as `{{workflow.name}}` of Argo.
const HELM_OBJECTS: [&str; 3] = [".Values.", ".Release.", ".Chart."];
/// Value that is expected instead of an expression of Helm.
const RENDERED: &str = "the value that Helm renders: run helm template first";

/// Fields that contain a name, in which `$NAME` can also be a part.
const NAMES: [&str; 4] = ["generateName", "image", "name", "namespace"];

/// Placeholders of a manifest.
#[derive(Default)]
struct Found<'manifest> {
    /// Path of the first one, and its text.
    first: Option<(String, &'manifest str)>,
    /// Their names, in order.
    names: Vec<&'manifest str>,
    /// Path of the first one with a default, and its text.
    with_default: Option<(String, &'manifest str)>,
    /// Path of the first expression of Helm, and its value.
    expression: Option<(String, &'manifest Value)>,
}

/// Fails if one of `fields`, each with its path in the manifest, contains placeholders or expressions of Helm where a number or a name is
/// expected.
pub(super) fn reject<'manifest>(
    fields: impl IntoIterator<Item = (String, &'manifest Value)>,
) -> Result<(), RenderError> {
    let mut found = Found::default();
    // Most manifests contain neither; the search for placeholders takes far longer than that for dollars.
    for (mut path, field) in fields.into_iter().filter(|(_, field)| may_contain_placeholder(field)) {
        found.collect(field, "", &mut path);
    }
    if let Some((path, value)) = found.expression {
        return Err(RenderError::invalid(&path, Some(value), RENDERED));
    }
    match (found.first, found.with_default) {
        (None, None) => Ok(()),
        // Flags for the other placeholders would not suffice.
        (_, Some((path, text))) => Err(RenderError::PlaceholderWithDefault { path, placeholder: text.to_owned() }),
        (Some((path, text)), None) => Err(RenderError::Placeholder {
            path,
            placeholder: text.to_owned(),
            names: found.names.into_iter().map(str::to_owned).collect(),
        }),
    }
}

fn may_contain_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => memchr2(b'$', b'{', text.as_bytes()).is_some(),
        Value::Array(items) => items.iter().any(may_contain_placeholder),
        Value::Object(fields) => {
            fields.iter().any(|(key, field)| memchr(b'$', key.as_bytes()).is_some() || may_contain_placeholder(field))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl<'manifest> Found<'manifest> {
    /// Adds the placeholders in `value`, the field or the list `list` at `path`.
    fn collect(&mut self, value: &'manifest Value, list: &str, path: &mut String) {
        let length = path.len();
        match value {
            Value::String(text) => {
                if self.expression.is_none() && is_of_helm(text) {
                    self.expression = Some((path.clone(), value));
                }
                self.add(text, NAMES.contains(&list), path);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    // Writing to a string cannot fail.
                    let _ = write!(path, "[{index}]");
                    self.collect(item, list, path);
                    path.truncate(length);
                }
            }
            Value::Object(fields) => {
                let is_checked = |key: &str| {
                    let is_free_text = FREE_TEXT.contains(&key) || nearest(key, &COMMAND_LINE).is_some();
                    !is_free_text || key == VALUE && has_literal_value(list, fields)
                };
                for (key, field) in fields.iter().filter(|(key, _)| is_checked(key)) {
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(key);
                    self.add(key, false, path);
                    self.collect(field, key, path);
                    path.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds the placeholders in `text`. A dollar without braces is a placeholder at the start, or in a name.
    fn add(&mut self, text: &'manifest str, is_name: bool, path: &str) {
        if self.with_default.is_none() {
            self.with_default = placeholder_with_default(text).map(|found| (path.to_owned(), found));
        }
        for placeholder in placeholders(text) {
            if !placeholder.braced && placeholder.range.start > 0 && !is_name {
                continue;
            }
            if self.first.is_none() {
                self.first = Some((path.to_owned(), &text[placeholder.range]));
            }
            if !self.names.contains(&placeholder.name) {
                self.names.push(placeholder.name);
            }
        }
    }
}

/// Returns true if `text` contains an expression of Helm.
fn is_of_helm(text: &str) -> bool {
    let mut inner = text.split(EXPRESSION).skip(1).filter_map(|rest| rest.split_once("}}"));
    inner.any(|(inner, _)| HELM_OBJECTS.iter().any(|object| inner.contains(object)))
}

/// Returns true if no shell reads the value of `item`, an item of `list`: a toleration, or a variable that NCCL, libfabric or UCX
/// reads. Kubernetes itself expands only `$(NAME)`.
fn has_literal_value(list: &str, item: &Map<String, Value>) -> bool {
    let is_setting = |name: &str| {
        nccl::variable(name).is_some() || nccl::takes_plain_interfaces(name) || TRANSPORT_VARIABLES.contains(&name)
    };
    list == "tolerations" || list == "env" && item.get("name").and_then(Value::as_str).is_some_and(is_setting)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::none(json!({"spec": {"replicas": 2}}), None)]
    #[case::number(
        json!({"spec": {"tasks": [{"replicas": "${NUM_NODES}"}]}}),
        Some("spec.tasks[0].replicas contains the shell placeholder ${NUM_NODES}: render the manifest with envsubst, or use --set NUM_NODES=VALUE")
    )]
    #[case::several(
        json!({"metadata": {"name": "a-$USER"}, "spec": {"replicas": "$N", "containers": [{"image": "$A.dkr.${R}/x:$N"}]}}),
        Some("metadata.name contains the shell placeholder $USER: render the manifest with envsubst, or use --set USER=VALUE --set N=VALUE --set A=VALUE --set R=VALUE")
    )]
    #[case::quantity(
        json!({"limits": {"nvidia.com/gpu": "$GPUS"}}),
        Some("limits.nvidia.com/gpu contains the shell placeholder $GPUS: render the manifest with envsubst, or use --set GPUS=VALUE")
    )]
    #[case::key(
        json!({"limits": {"vpc.amazonaws.com/${ADAPTER}": 1}}),
        Some("limits.vpc.amazonaws.com/${ADAPTER} contains the shell placeholder ${ADAPTER}: render the manifest with envsubst, or use --set ADAPTER=VALUE")
    )]
    #[case::default(
        json!({"metadata": {"name": "${JOB:-a}"}}),
        Some("metadata.name contains ${JOB:-a}: a placeholder with a default is not supported: render the manifest first")
    )]
    #[case::default_beside_another(
        json!({"metadata": {"name": "${JOB:-a}"}, "replicas": "$N"}),
        Some("metadata.name contains ${JOB:-a}: a placeholder with a default is not supported: render the manifest first")
    )]
    #[case::default_in_an_image(
        json!({"containers": [{"image": "r/${IMAGE:-x}:1"}]}),
        Some("containers[0].image contains ${IMAGE:-x}: a placeholder with a default is not supported: render the manifest first")
    )]
    #[case::default_in_a_key(
        json!({"limits": {"nvidia.com/${GPU:-gpu}": 8}}),
        Some("limits.nvidia.com/${GPU:-gpu} contains ${GPU:-gpu}: a placeholder with a default is not supported: render the manifest first")
    )]
    #[case::default_in_shell_text(json!({"args": ["${A:-b}"], "env": [{"name": "A", "value": "${B:-c}"}]}), None)]
    #[case::shell_text(
        json!({"command": ["sh", "-c", "echo ${RANK}"], "args": ["$A"], "env": [{"name": "A", "value": "${B}"}],
            "metadata": {"annotations": {"a": "${A}"}}, "rayStartParams": {"node-ip-address": "$MY_POD_IP"}}),
        None
    )]
    #[case::quoted_expression_of_helm(
        json!({"metadata": {"name": "{{ .Values.name }}"}, "image": "$IMAGE"}),
        Some("metadata.name is \"{{ .Values.name }}\": expected the value that Helm renders: run helm template first")
    )]
    #[case::part_of_an_image(
        json!({"containers": [{"image": "r/{{ .Chart.Name }}:1"}]}),
        Some("containers[0].image is \"r/{{ .Chart.Name }}:1\": expected the value that Helm renders: run helm template first")
    )]
    #[case::second_expression(
        json!({"image": "{{ $image }}:{{ .Values.tag }}"}),
        Some("image is \"{{ $image }}:{{ .Values.tag }}\": expected the value that Helm renders: run helm template first")
    )]
    #[case::expression_in_a_script(json!({"args": ["echo {{ .Values.a }}"], "data": {"a": "{{ .Release.Name }}"}}), None)]
    #[case::expression_of_argo(json!({"metadata": {"name": "{{workflow.name}}"}, "image": "{{inputs.parameters.a}}"}), None)]
    #[case::unfinished_expression(json!({"image": "{{ .Values.a"}), None)]
    #[case::misspelled_command(
        json!({"containers": [{"comand": ["sh", "-c", "torchrun --master-addr=${MASTER_ADDR}"], "ars": ["$A"], "Args": ["${B}"]}]}),
        None
    )]
    #[case::image_beside_a_misspelled_command(
        json!({"containers": [{"comand": ["${A}"], "image": "${IMAGE}"}]}),
        Some("containers[0].image contains the shell placeholder ${IMAGE}: render the manifest with envsubst, or use --set IMAGE=VALUE")
    )]
    #[case::values(
        json!({"matchExpressions": [{"values": ["${ZONE}"]}]}),
        Some("matchExpressions[0].values[0] contains the shell placeholder ${ZONE}: render the manifest with envsubst, or use --set ZONE=VALUE")
    )]
    #[case::toleration(
        json!({"tolerations": [{"key": "a", "value": "${TAINT}"}]}),
        Some("tolerations[0].value contains the shell placeholder ${TAINT}: render the manifest with envsubst, or use --set TAINT=VALUE")
    )]
    #[case::variable_of_nccl(
        json!({"env": [{"name": "MODEL", "value": "${MODEL}"}, {"name": "NCCL_SOCKET_IFNAME", "value": "${IF}"}]}),
        Some("env[1].value contains the shell placeholder ${IF}: render the manifest with envsubst, or use --set IF=VALUE")
    )]
    #[case::provider_of_libfabric(
        json!({"env": [{"name": "FI_PROVIDER", "value": "${FI_PROVIDER}"}]}),
        Some("env[0].value contains the shell placeholder ${FI_PROVIDER}: render the manifest with envsubst, or use --set FI_PROVIDER=VALUE")
    )]
    #[case::reference_in_a_variable_of_nccl(json!({"env": [{"name": "NCCL_SOCKET_IFNAME", "value": "$(IF)"}]}), None)]
    #[case::reference_of_kubernetes(json!({"subPathExpr": "$(POD_NAME)"}), None)]
    #[case::part_of_other_text(json!({"path": "/home/$USER", "pattern": "a$b"}), None)]
    fn placeholders_are_rejected_with_the_command_that_sets_them(
        #[case] manifest: Value,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(reject([(String::new(), &manifest)]).err().map(|error| error.to_string()).as_deref(), expected);
    }
}
