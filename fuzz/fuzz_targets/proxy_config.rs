//! Bytes as the annotation `proxy.istio.io/config`: what is merged keeps the user's text and reads as before, plus the
//! hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::properties::proxy_config;

fuzz_target!(|text: &[u8]| {
    proxy_config::check(text);
});
