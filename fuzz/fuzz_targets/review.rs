//! Bytes as the body of a call: the webhook does not panic, and whatever it answers admits the pod with a patch that
//! applies.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::review_law;

fuzz_target!(|body: &[u8]| {
    review_law::check(body);
});
