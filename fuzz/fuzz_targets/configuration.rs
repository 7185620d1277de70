//! Bytes as a configuration: a valid one, written out, reads as itself, and the problems of an invalid one point into the
//! text.

#![no_main]

#[path = "../../tests/common/properties/configuration.rs"]
mod properties;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    properties::check(text);
});
