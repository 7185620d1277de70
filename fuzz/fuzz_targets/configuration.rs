//! Parses bytes as a configuration: a valid one round-trips, and the errors of an invalid one point into the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::properties::configuration;

fuzz_target!(|text: &[u8]| {
    configuration::check(text);
});
