//! Parses bytes as the body of a review: the webhook does not panic, and every response admits the pod, with a patch
//! that applies.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainmesh_testing::review_invariants;

fuzz_target!(|body: &[u8]| {
    review_invariants::check(body);
});
