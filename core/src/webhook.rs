//! Admission reviews: from the bytes of a request to the bytes of a response. Pure: no sockets and no clock.
//!
//! Every response admits the pod.

pub mod handler;
mod response;
pub mod review;
mod warnings;
