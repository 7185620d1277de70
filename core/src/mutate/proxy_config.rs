//! Adds the hold, `holdApplicationUntilProxyStarts: true`, to the YAML in the pod annotation `proxy.istio.io/config`.
//!
//! The user's text is preserved byte for byte (comments, order, quoting, line endings); one entry is added to its root
//! mapping. Istio parses the text with `sigs.k8s.io/yaml`, a YAML 1.1 parser, and rejects the pod on errors, whereas
//! this module uses a YAML 1.2 parser. It therefore changes only texts that both parsers read identically (`dialect`),
//! and parses and compares the merged text before returning it (`merge`). It refuses all other texts.

mod dialect;
mod merge;
mod outline;
mod refusal;

pub use refusal::Refusal;

use outline::{Outline, Root};

/// Field of Istio's `ProxyConfig`, in the spelling that is written.
const FIELD: &str = "holdApplicationUntilProxyStarts";

/// Protobuf name of the field, which Istio also accepts.
const FIELD_SNAKE: &str = "hold_application_until_proxy_starts";

/// Byte order mark, which is allowed only at the beginning of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Value of the hold in a proxy configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The hold is not set.
    Missing {
        /// Text with the hold added.
        merged: String,
    },
    /// The hold is requested.
    True,
    /// The hold is declined.
    False,
    /// The text must not be changed.
    Refused(Refusal),
}

/// Returns the hold in `text`, the value of the annotation if it exists.
#[must_use]
pub fn hold(text: Option<&str>) -> Hold {
    let text = text.unwrap_or_default();
    parse(text).unwrap_or_else(Hold::Refused)
}

fn parse(text: &str) -> Result<Hold, Refusal> {
    dialect::check_characters(text)?;
    let outline = Outline::parse(text)?;
    dialect::check(&outline)?;
    match hold_value(&outline.root()?)? {
        Some(true) => Ok(Hold::True),
        Some(false) => Ok(Hold::False),
        None => merge::insert(&outline).map(|merged| Hold::Missing { merged }),
    }
}

/// Returns the value of the hold, in either spelling of its field.
fn hold_value(root: &Root<'_>) -> Result<Option<bool>, Refusal> {
    match (root.get(FIELD), root.get(FIELD_SNAKE)) {
        (None, None) => Ok(None),
        (Some(value), None) | (None, Some(value)) => dialect::parse_boolean(value).map(Some),
        (Some(camel), Some(snake)) => {
            let (camel, snake) = (dialect::parse_boolean(camel)?, dialect::parse_boolean(snake)?);
            if camel == snake { Ok(Some(camel)) } else { Err(Refusal::TwoSpellings) }
        }
    }
}
