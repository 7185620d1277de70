//! The mutation rules as the engine, the lint and reports name them: ID, reasons, and the decision about a pod.

mod id;
mod outcome;
mod reason;
mod record;

pub use id::RuleId;
pub(crate) use outcome::Note;
pub use outcome::{RuleOutcome, Verdict};
pub use reason::Reason;
pub(crate) use record::applied_text;
pub use record::{MAX_APPLIED, Refusal, applied_rules};
