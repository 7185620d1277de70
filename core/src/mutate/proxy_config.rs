//! Asks for `holdApplicationUntilProxyStarts: true` in the text of the pod annotation `proxy.istio.io/config`.
//!
//! The text belongs to the user: every byte of it is kept (comments, order, quoting, line endings) and one entry is
//! put into its top mapping. Istio reads it with `sigs.k8s.io/yaml`, a YAML 1.1 parser, and denies the pod when that
//! fails; ours speaks YAML 1.2. So only texts that both read alike are touched (`dialect`), and what was merged is
//! parsed again and compared before it is handed out (`merge`). In doubt the text is refused.

mod dialect;
mod merge;
mod outline;
mod refusal;

pub use refusal::Refusal;

use outline::{Outline, Top};

/// The field of Istio's `ProxyConfig`, as written by us.
const FIELD: &str = "holdApplicationUntilProxyStarts";

/// Its name in the protobuf definition, which Istio reads too.
const FIELD_SNAKE: &str = "hold_application_until_proxy_starts";

/// May stand at the head of a text, and nowhere else.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What the text says of the hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nothing.
    Missing {
        /// The text with the hold asked for.
        merged: String,
    },
    /// The hold is asked for already.
    True,
    /// The hold is declined.
    False,
    /// The text has to stay as it is.
    Refused(Refusal),
}

/// Reads what `text`, the annotation's value if it is there, says of the hold.
#[must_use]
pub fn hold(text: Option<&str>) -> Hold {
    let text = text.unwrap_or_default();
    read(text).unwrap_or_else(Hold::Refused)
}

fn read(text: &str) -> Result<Hold, Refusal> {
    dialect::characters(text)?;
    let outline = Outline::read(text)?;
    dialect::check(&outline)?;
    match value(&outline.top()?)? {
        Some(true) => Ok(Hold::True),
        Some(false) => Ok(Hold::False),
        None => merge::insert(&outline).map(|merged| Hold::Missing { merged }),
    }
}

/// The value of the field, under whichever name.
fn value(top: &Top<'_>) -> Result<Option<bool>, Refusal> {
    match (top.get(FIELD), top.get(FIELD_SNAKE)) {
        (None, None) => Ok(None),
        (Some(value), None) | (None, Some(value)) => dialect::boolean(value).map(Some),
        (Some(camel), Some(snake)) => {
            let (camel, snake) = (dialect::boolean(camel)?, dialect::boolean(snake)?);
            if camel == snake { Ok(Some(camel)) } else { Err(Refusal::TwoSpellings) }
        }
    }
}
