//! String types with the syntax that Kubernetes or Linux requires.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::config::Scalar;
use crate::huge_pages::has_valid_size;
use crate::yaml::type_name;
use crate::{dns, labels};

/// Declares string types. `check` validates the text; `pattern`, `max_length` and `except` are the equivalent JSON
/// Schema.
macro_rules! string_types {
    ($($(#[doc = $doc:literal])+ $type:ident {
        expected: $expected:literal,
        pattern: $pattern:expr,
        $(max_length: $max_length:literal,)?
        $(except: $except:tt,)?
        check: $check:expr
    })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $type(Box<str>);

        impl $type {
            /// Parses `text` if it is valid.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let check: fn(&str) -> bool = $check;
                check(text).then(|| Self(text.into()))
            }

            /// Creates a value from a constant. Tests validate the constants.
            #[allow(dead_code, reason = "not every type has constants")]
            pub(crate) fn literal(text: &'static str) -> Self {
                Self(text.into())
            }

            /// Returns the text.
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
                    other => Err(format!(concat!("expected ", $expected, ", found {}"), type_name(other))),
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
                    $(, "maxLength": $max_length)?
                    $(, "not": $except)?
                })
            }
        }
    )+};
}

/// Building blocks of the patterns, in the common subset of ECMA 262 and RE2. Helm validates values with the latter.
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
    // A path segment other than `..`.
    (part) => {
        "([^./:\\x00-\\x1f\\x7f-\\x9f][^/:\\x00-\\x1f\\x7f-\\x9f]*|\\.[^./:\\x00-\\x1f\\x7f-\\x9f][^/:\\x00-\\x1f\\x7f-\\x9f]*|\\.\\.[^/:\\x00-\\x1f\\x7f-\\x9f]+|\\.)?"
    };
}

string_types! {
    /// Name of a profile: a DNS label, because it is a value of the label `trainmesh.dev/fabric`. `none` stands for no
    /// profile.
    ProfileName {
        expected: "a name of lowercase letters, digits and - (not none)",
        pattern: dns::LABEL_PATTERN,
        except: {"const": "none"},
        check: |text| dns::is_label(text) && text != "none"
    }
    /// Name of an extended resource or of huge pages. The apiserver reserves the prefix for quotas.
    ResourceName {
        expected: "a resource such as rdma/ib or hugepages-2Mi",
        pattern: concat!("^(", pattern!(domain), "/", pattern!(name), "|hugepages-[0-9]+[KMG]i)$"),
        except: {"type": "string", "pattern": "^requests\\."},
        check: |text| has_valid_size(text)
            || (text.contains('/') && labels::is_key(text) && !text.starts_with("requests."))
    }
    /// A resource name, or a prefix followed by `*`.
    ResourcePattern {
        expected: "a resource such as nvidia.com/gpu, or a prefix such as nvidia.com/mig-*",
        pattern: concat!("^", pattern!(domain), "/(", pattern!(name), "|([A-Za-z0-9][-_.A-Za-z0-9]{0,61})?[*])$"),
        check: |text| match text.strip_suffix('*') {
            Some(start) => start.contains('/') && labels::is_key(&format!("{start}x")),
            None => text.contains('/') && labels::is_key(text),
        }
    }
    /// A machine such as `p5.48xlarge`, its family `p5`, or a prefix followed by `*`.
    MachinePattern {
        expected: "a machine such as p5.48xlarge, its family p5, or a prefix such as Standard_ND96*",
        pattern: concat!("^(", pattern!(name), "|[A-Za-z0-9][-_.A-Za-z0-9]{0,61}[*])$"),
        check: |text| match text.strip_suffix('*') {
            Some(start) => !start.is_empty() && labels::is_value(&format!("{start}x")),
            None => !text.is_empty() && labels::is_value(text),
        }
    }
    /// Name of an environment variable.
    EnvName {
        expected: "a name such as NCCL_IB_HCA",
        pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
        check: |text| {
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            text.bytes().all(word) && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
        }
    }
    /// Value of an environment variable: one line of at most 1023 bytes, the limit of NCCL's configuration file.
    EnvValue {
        expected: "one line of at most 1023 bytes, in quotes if it is a number",
        pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]*$",
        max_length: 1023,
        check: |text| text.len() <= 1023 && !text.chars().any(char::is_control)
    }
    /// An amount of memory.
    Quantity {
        expected: "an amount such as 32Gi",
        pattern: "^[0-9]+(\\.[0-9]+)?([kMGTPE]|[KMGTPE]i)?$",
        check: is_amount
    }
    /// Name of a network interface in Linux, without the characters that interface lists use.
    InterfaceName {
        expected: "an interface such as net1, of at most 15 characters",
        pattern: "^[!-+.0-9;-?A-~-]{1,15}$",
        check: |text| (1..=15).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !b",/:@".contains(&byte))
    }
    /// Name of a `NetworkAttachmentDefinition`, with the namespace if it is not that of the pod.
    NetworkName {
        expected: "a network such as rdma-vf or fabric/rdma-vf",
        pattern: concat!("^(", dns::label_pattern!(), "/)?", pattern!(domain), "$"),
        check: |text| match text.split_once('/') {
            Some((namespace, name)) => dns::is_label(namespace) && dns::is_subdomain(name),
            None => dns::is_subdomain(text),
        }
    }
    /// Name of a Kubernetes object.
    ObjectName {
        expected: "the name of an object such as nvidia-topology",
        pattern: concat!("^", pattern!(domain), "$"),
        max_length: 253,
        check: dns::is_subdomain
    }
    /// Name of a namespace, a DNS label.
    NamespaceName {
        expected: "the name of a namespace",
        pattern: dns::LABEL_PATTERN,
        check: dns::is_label
    }
    /// Name of a container, a volume or a claim within a pod.
    DnsLabel {
        expected: "a name of lowercase letters, digits and -",
        pattern: dns::LABEL_PATTERN,
        check: dns::is_label
    }
    /// An absolute path without `..`, and without `:`, which the kubelet rejects in mount paths.
    AbsolutePath {
        expected: "an absolute path without .. and :",
        pattern: concat!("^(/", pattern!(part), ")+$"),
        check: |text| text.starts_with('/')
            && !text.contains(':')
            && text.split('/').all(|part| part != "..")
            && !text.chars().any(char::is_control)
    }
    /// Key of a label or annotation.
    MetadataKey {
        expected: "a key such as example.com/name",
        pattern: concat!("^(", pattern!(domain), "/)?", pattern!(name), "$"),
        check: labels::is_key
    }
    /// Value of a label.
    LabelValue {
        expected: "the value of a label, in quotes if it is a number",
        pattern: concat!("^(", pattern!(name), ")?$"),
        check: labels::is_value
    }
    /// A Linux capability without the prefix `CAP_`, as in Kubernetes.
    Capability {
        expected: "a capability such as IPC_LOCK",
        pattern: "^[A-Z][A-Z_]*$",
        except: {"pattern": "^CAP_"},
        check: |text| text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            && !text.starts_with("CAP_")
    }
    /// Reference of a container image.
    Image {
        expected: "an image such as registry.example.com/daemon:1.0",
        pattern: "^[!-~]+$",
        check: |text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

/// Returns true for a quantity without an exponent and without fractions of a byte.
fn is_amount(text: &str) -> bool {
    let end = text.find(|char: char| char.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_number =
        number.split_once('.').map_or_else(|| digits(number), |(whole, rest)| digits(whole) && digits(rest));
    let is_suffix = matches!(suffix, "" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei");
    is_number && is_suffix
}

#[cfg(test)]
mod tests;
