//! Bytes as the body of a call: the webhook does not panic, and whatever it answers admits the pod with a patch that
//! applies.

#![no_main]

#[path = "../../tests/common/review_law.rs"]
#[allow(dead_code, reason = "it is shared with the tests")]
mod review_law;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    review_law::check(body);
});
