//! Decides the next step of a certificate rotation, and when it is due. Pure: no clock, keys or client.
//!
//! The module `certs` of the binary issues, parses and stores the certificates.

mod schedule;
pub mod step;
mod trust_error;
mod validity;

pub use schedule::{Schedule, ScheduleError};
pub use step::CertificateId;
pub use trust_error::TrustError;
pub use validity::{BACK_DATE, Validity};
