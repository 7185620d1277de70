//! Bytes as a manifest: the reader stays within its limits, a broken document hides no other, and the preview of what was
//! read applies its own patch.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::properties::manifest;

fuzz_target!(|text: &[u8]| {
    manifest::check(text);
});
