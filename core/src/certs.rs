//! What is decided about certificates: which step of a rotation is next, and when. Pure: no clock, no keys, no client.
//!
//! How certificates are made and read, and who writes them, is the binary's room of this name.

mod dates;
mod distrust;
mod schedule;
pub mod step;

pub use dates::{BACK_DATE, Dates};
pub use distrust::Distrust;
pub use schedule::{Schedule, ScheduleError};
pub use step::Id;
