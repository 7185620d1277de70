//! Parses bytes as a manifest: the parser stays within its limits, an invalid document does not affect the others, and
//! each preview applies its own patch.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::properties::manifest;

fuzz_target!(|text: &[u8]| {
    manifest::check(text);
});
