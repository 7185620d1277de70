//! Bytes as the annotation `proxy.istio.io/config`: what is merged keeps the user's text and reads as before, plus the
//! hold.

#![no_main]

#[path = "../../tests/common/properties/proxy_config.rs"]
#[allow(dead_code, reason = "it is shared with the tests")]
mod properties;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    properties::check(text);
});
