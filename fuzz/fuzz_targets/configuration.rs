//! Bytes as a configuration: a valid one, written out, reads as itself, and the problems of an invalid one point into the
//! text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::properties::configuration;

fuzz_target!(|text: &[u8]| {
    configuration::check(text);
});
