//! Texts of a profile with the grammar that Kubernetes or Linux demands of them.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::config::Scalar;
use crate::yaml::noun;
use crate::{dns, labels};

/// Declares texts that hold for sure: `check` decides; `pattern`, `longest` and `except` tell an editor the same.
macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $type:ident {
        expected: $expected:literal,
        pattern: $pattern:expr,
        $(longest: $longest:literal,)?
        $(except: $except:tt,)?
        check: $check:expr
    })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $type(Box<str>);

        impl $type {
            /// `text`, where it obeys the grammar.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let check: fn(&str) -> bool = $check;
                check(text).then(|| Self(text.into()))
            }

            /// A text of this program's own, which a test has seen to obey the grammar.
            #[allow(dead_code, reason = "not every kind of text has one that this program writes itself")]
            pub(crate) fn literal(text: &'static str) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Scalar for $type {
            fn read(value: &Value) -> Result<Self, String> {
                match value {
                    Value::String(text) => {
                        Self::parse(text).ok_or_else(|| format!(concat!("expected ", $expected, ", found {:?}"), text))
                    }
                    other => Err(format!(concat!("expected ", $expected, ", found {}"), noun(other))),
                }
            }
        }

        #[cfg(feature = "schema")]
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": $pattern
                    $(, "maxLength": $longest)?
                    $(, "not": $except)?
                })
            }
        }
    )+};
}

/// Patterns that others are made of. Only what ECMA 262 and RE2 read alike: Helm checks values by the latter.
#[cfg(feature = "schema")]
macro_rules! pattern {
    (label) => {
        "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    };
    (domain) => {
        concat!(pattern!(label), "(\\.", pattern!(label), ")*")
    };
    (name) => {
        "[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?"
    };
    // A part of a path that is not `..`.
    (part) => {
        "([^./:\\x00-\\x1f\\x7f-\\x9f][^/:\\x00-\\x1f\\x7f-\\x9f]*|\\.[^./:\\x00-\\x1f\\x7f-\\x9f][^/:\\x00-\\x1f\\x7f-\\x9f]*|\\.\\.[^/:\\x00-\\x1f\\x7f-\\x9f]+|\\.)?"
    };
}

texts! {
    /// The name of a profile: a DNS label, because the label `trainmesh.dev/fabric` holds it. `none` is the word for no
    /// profile.
    ProfileName {
        expected: "a name of lower-case letters, digits and - (not none)",
        pattern: dns::LABEL_PATTERN,
        except: {"const": "none"},
        check: |text| dns::is_label(text) && text != "none"
    }
    /// The name of a resource that a device plugin offers, or of huge pages.
    ResourceName {
        expected: "a resource such as rdma/ib or hugepages-2Mi",
        pattern: concat!("^(", pattern!(domain), "/", pattern!(name), "|hugepages-[0-9]+[KMG]i)$"),
        check: |text| is_huge_pages(text) || (text.contains('/') && labels::is_key(text))
    }
    /// A resource name, or the start of one and `*`.
    ResourcePattern {
        expected: "a resource such as nvidia.com/gpu, or a start of one such as nvidia.com/mig-*",
        pattern: concat!("^", pattern!(domain), "/(", pattern!(name), "|([A-Za-z0-9][-_.A-Za-z0-9]{0,61})?[*])$"),
        check: |text| match text.strip_suffix('*') {
            Some(start) => start.contains('/') && labels::is_key(&format!("{start}x")),
            None => text.contains('/') && labels::is_key(text),
        }
    }
    /// The name of an environment variable.
    EnvName {
        expected: "a name such as NCCL_IB_HCA",
        pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
        check: |text| {
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            text.bytes().all(word) && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
        }
    }
    /// The value of an environment variable: one line, at most the 1023 bytes that NCCL keeps of one in a file.
    EnvValue {
        expected: "one line of at most 1023 bytes, in quotes where it is a number",
        pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]*$",
        longest: 1023,
        check: |text| text.len() <= 1023 && !text.chars().any(char::is_control)
    }
    /// An amount of memory.
    Quantity {
        expected: "an amount such as 32Gi",
        pattern: "^[0-9]+(\\.[0-9]+)?([kMGTPE]|[KMGTPE]i)?$",
        check: is_amount
    }
    /// The name of a network interface: what Linux takes, without the signs that lists of them use.
    InterfaceName {
        expected: "an interface such as net1, of at most 15 characters",
        pattern: "^[!-+.0-9;-?A-~-]{1,15}$",
        check: |text| (1..=15).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !b",/:@".contains(&byte))
    }
    /// A `NetworkAttachmentDefinition`, with its namespace where that is not the pod's.
    NetworkName {
        expected: "a network such as rdma-vf or fabric/rdma-vf",
        pattern: concat!("^(", dns::label_pattern!(), "/)?", pattern!(domain), "$"),
        check: |text| match text.split_once('/') {
            Some((namespace, name)) => dns::is_label(namespace) && dns::is_subdomain(name),
            None => dns::is_subdomain(text),
        }
    }
    /// The name of an object of Kubernetes.
    ObjectName {
        expected: "the name of an object such as nvidia-topology",
        pattern: concat!("^", pattern!(domain), "$"),
        longest: 253,
        check: dns::is_subdomain
    }
    /// The name of a namespace: a DNS label.
    NamespaceName {
        expected: "the name of a namespace",
        pattern: dns::LABEL_PATTERN,
        check: dns::is_label
    }
    /// The name of a container, a volume or a claim within a pod: a DNS label.
    PartName {
        expected: "a name of lower-case letters, digits and -",
        pattern: dns::LABEL_PATTERN,
        check: dns::is_label
    }
    /// An absolute path without `..` and without the `:` that the kubelet refuses in mounts.
    AbsolutePath {
        expected: "an absolute path without .. and :",
        pattern: concat!("^(/", pattern!(part), ")+$"),
        check: |text| text.starts_with('/')
            && !text.contains(':')
            && text.split('/').all(|part| part != "..")
            && !text.chars().any(char::is_control)
    }
    /// The key of a label or an annotation.
    MetadataKey {
        expected: "a key such as example.com/name",
        pattern: concat!("^(", pattern!(domain), "/)?", pattern!(name), "$"),
        check: labels::is_key
    }
    /// The value of a label.
    LabelValue {
        expected: "the value of a label, in quotes where it is a number",
        pattern: concat!("^(", pattern!(name), ")?$"),
        check: labels::is_value
    }
    /// A capability of Linux, without `CAP_`, as Kubernetes writes it.
    Capability {
        expected: "a capability such as IPC_LOCK",
        pattern: "^[A-Z][A-Z_]*$",
        except: {"pattern": "^CAP_"},
        check: |text| text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            && !text.starts_with("CAP_")
    }
    /// The reference of an image.
    Image {
        expected: "an image such as registry.example.com/daemon:1.0",
        pattern: "^[!-~]+$",
        check: |text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

fn is_huge_pages(text: &str) -> bool {
    let size = text.strip_prefix("hugepages-").and_then(|size| size.strip_suffix('i'));
    let digits = size.and_then(|size| size.strip_suffix(['K', 'M', 'G']));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A quantity without exponents and without parts of a byte.
fn is_amount(text: &str) -> bool {
    let end = text.find(|sign: char| sign.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_number =
        number.split_once('.').map_or_else(|| digits(number), |(whole, rest)| digits(whole) && digits(rest));
    let is_suffix = matches!(suffix, "" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei");
    is_number && is_suffix
}

#[cfg(test)]
mod tests;
