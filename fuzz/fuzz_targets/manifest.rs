//! Bytes as a manifest: the reader stays within its limits, a broken document hides no other, and the preview of what was
//! read applies its own patch.

#![no_main]

#[path = "../../tests/common/properties/manifest.rs"]
mod properties;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    properties::check(text);
});
