//! A list of helpers: containers that serve the payload, and how each is ended.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::fields::{Field, Fields, Section};
use super::section::mappings;
use super::{ContainerName, Scalar};
use crate::yaml::{Node, noun};

/// A container that serves the payload and is ended with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Helper {
    /// The container's name; also the entry's, for the annotation `trainmesh.dev/helper-containers`.
    pub name: ContainerName,
    /// How it is ended.
    #[serde(flatten)]
    pub method: HelperMethod,
}

/// How a helper is ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HelperMethod {
    /// By a command in its container.
    Exec(Argv),
    /// By a POST to a port of the pod's loopback.
    Http(HttpPost),
}

/// A command and its arguments; no shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Argv(pub Vec<String>);

/// A POST without a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpPost {
    /// The port, 1 to 65535.
    pub port: u16,
    /// The path, from its `/`.
    pub path: String,
}

struct Port(u16);

struct Path(String);

impl Field for Helper {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        fields.mapping(name, node, Section::read).flatten()
    }

    fn read_items(fields: &mut Fields<'_>, name: &str, list: Node<'_>) -> Option<Vec<Self>> {
        let mut seen: Vec<ContainerName> = Vec::new();
        let items = fields.items(name, list, |fields| {
            let helper = Self::read(fields)?;
            if seen.contains(&helper.name) {
                fields.fault("name", format!("a second entry for {}: the names differ", helper.name));
            }
            seen.push(helper.name.clone());
            Some(helper)
        });
        Some(items)
    }
}

impl Section for Helper {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", "the name of a container");
        let exec = fields.get("exec").map(HelperMethod::Exec);
        let http = fields.get("http").map(HelperMethod::Http);
        match (fields.has("exec"), fields.has("http")) {
            (true, true) => fields.fault("http", "beside exec: expected one of both".to_owned()),
            (false, false) => fields.fault("exec", "missing: expected exec or http".to_owned()),
            _ => {}
        }
        Some(Self { name: name?, method: exec.or(http)? })
    }
}

impl Section for HttpPost {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let port = fields.required("port", "a port");
        let path = fields.required("path", "a path such as /quitquitquit");
        let (Port(port), Path(path)) = (port?, path?);
        Some(Self { port, path })
    }
}

mappings!(HttpPost);

impl Scalar for Argv {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a list of words such as [kill, \"1\"]";
        let Value::Array(words) = value else { return Err(format!("{expected}, found {}", noun(value))) };
        let words: Result<Vec<String>, String> = words
            .iter()
            .map(|word| match word {
                Value::String(word) => Ok(word.clone()),
                other => Err(format!("{expected}, found {} in it: write it in quotes", noun(other))),
            })
            .collect();
        match words? {
            words if words.first().is_none_or(String::is_empty) => Err(format!("{expected}, found no command")),
            words => Ok(Self(words)),
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
            other => Err(format!("{expected}, found {}", noun(other))),
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
            other => Err(format!("{expected}, found {}", noun(other))),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Helper {
    fn schema_name() -> Cow<'static, str> {
        "Helper".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = ContainerName::json_schema(generator);
        json_schema!({
            "type": "object",
            "description": "A container, and how it is ended: by exec or by http.",
            "additionalProperties": false,
            "required": ["name"],
            "oneOf": [{"required": ["exec"]}, {"required": ["http"]}],
            "properties": {
                "name": name,
                "exec": {
                    "type": "array",
                    "description": "A command in its container; no shell.",
                    "minItems": 1,
                    "items": {"type": "string"}
                },
                "http": {
                    "type": "object",
                    "description": "A POST without a body, to the pod's loopback.",
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
