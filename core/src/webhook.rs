//! A review and its answer: bytes into bytes. Pure: no sockets, no clock.
//!
//! A pod is never refused: an answer admits.

mod admitted;
pub mod answer;
pub mod review;
mod warnings;
