//! Merges into bytes as the annotation `proxy.istio.io/config`: the result preserves the user's text and has the same
//! meaning, plus the hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::properties::proxy_config;

fuzz_target!(|text: &[u8]| {
    proxy_config::check(text);
});
