//! Termination of sidecar containers: the entries of `termination.helpers` and of the built-in catalog.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::collections::BTreeSet;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::fields::{Field, Fields, Section};
use super::section::mappings;
use super::{ContainerName, Scalar};
use crate::yaml::{Node, type_name};

/// A sidecar container and its termination method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SidecarEntry {
    /// Name of the container. The annotation `trainmesh.dev/helper-containers` refers to entries by this name.
    pub name: ContainerName,
    /// Termination method.
    #[serde(flatten)]
    pub method: SidecarMethod,
}

/// Method that terminates a sidecar container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SidecarMethod {
    /// Runs a command in the container.
    Exec(Argv),
    /// Sends a POST request to a port of the pod's loopback interface.
    Http(HttpPost),
}

/// A command and its arguments, executed without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Argv(pub Vec<String>);

/// A POST request without a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpPost {
    /// Port, 1 to 65535.
    pub port: u16,
    /// Path, starting with `/`.
    pub path: String,
}

struct Port(u16);

struct Path(String);

impl Field for SidecarEntry {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        fields.mapping(name, node, Section::read).flatten()
    }

    fn read_items(fields: &mut Fields<'_>, name: &str, list: Node<'_>) -> Option<Vec<Self>> {
        let mut names = BTreeSet::new();
        let items = fields.items(name, list, |fields| {
            let written = fields.text("name").map(str::to_owned);
            if let Some(name) = written.filter(|name| !names.insert(name.clone())) {
                fields.report_problem("name", format!("duplicate entry for {name}: expected unique names"));
            }
            Self::read(fields)
        });
        Some(items)
    }
}

impl Section for SidecarEntry {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.require("name", "the name of a container");
        let exec = fields.get("exec").map(SidecarMethod::Exec);
        let http = fields.get("http").map(SidecarMethod::Http);
        match (fields.has("exec"), fields.has("http")) {
            (true, true) => fields.report_problem("http", "expected either exec or http, found both".to_owned()),
            (false, false) => fields.report_problem("exec", "missing: expected exec or http".to_owned()),
            _ => {}
        }
        Some(Self { name: name?, method: exec.or(http)? })
    }
}

impl Section for HttpPost {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let port = fields.require("port", "a port");
        let path = fields.require("path", "a path such as /quitquitquit");
        let (Port(port), Path(path)) = (port?, path?);
        Some(Self { port, path })
    }
}

mappings!(HttpPost);

impl Scalar for Argv {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a list of arguments such as [kill, \"1\"]";
        let Value::Array(arguments) = value else { return Err(format!("{expected}, found {}", type_name(value))) };
        let arguments: Result<Vec<String>, String> = arguments
            .iter()
            .map(|argument| match argument {
                Value::String(argument) => Ok(argument.clone()),
                other => Err(format!("{expected}, found {} in it: put it in quotes", type_name(other))),
            })
            .collect();
        match arguments? {
            arguments if arguments.first().is_none_or(String::is_empty) => Err(format!("{expected}, found no command")),
            arguments => Ok(Self(arguments)),
        }
    }
}

impl Scalar for Port {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a port from 1 to 65535";
        match value {
            Value::Number(number) => number
                .as_u64()
                .and_then(|number| u16::try_from(number).ok())
                .filter(|port| *port > 0)
                .map(Self)
                .ok_or_else(|| format!("{expected}, found {number}")),
            other => Err(format!("{expected}, found {}", type_name(other))),
        }
    }
}

impl Scalar for Path {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a path such as /quitquitquit";
        match value {
            Value::String(text) if text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(Self(text.clone()))
            }
            Value::String(text) => Err(format!("{expected}, found {text:?}")),
            other => Err(format!("{expected}, found {}", type_name(other))),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for SidecarEntry {
    fn schema_name() -> Cow<'static, str> {
        "Helper".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = ContainerName::json_schema(generator);
        json_schema!({
            "type": "object",
            "description": "A sidecar container and its termination method: exec or http.",
            "additionalProperties": false,
            "required": ["name"],
            "oneOf": [{"required": ["exec"]}, {"required": ["http"]}],
            "properties": {
                "name": name,
                "exec": {
                    "type": "array",
                    "description": "A command in the container, executed without a shell.",
                    "minItems": 1,
                    "items": {"type": "string"}
                },
                "http": {
                    "type": "object",
                    "description": "A POST request without a body to the pod's loopback interface.",
                    "additionalProperties": false,
                    "required": ["port", "path"],
                    "properties": {
                        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                        "path": {"type": "string", "pattern": "^/[!-~]*$"}
                    }
                }
            }
        })
    }
}
