//! Reviews with corrupted bytes: none crashes the webhook, and every response admits the pod.
//!
//! The short, repeatable form of the fuzz target `review`, which runs for as long as you like (`make fuzz`).

use std::collections::BTreeMap;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::example_pods;
use trainmesh_testing::review_invariants::{ReviewOutcome, check, review};
use trainmesh_testing::rng::SeededRng;

/// Number of bodies in each part.
const BODIES: u64 = 5_000;
/// Fragments with a meaning in JSON, YAML or admission reviews.
const FRAGMENTS: [&[u8]; 26] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"true",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xc3\xa9",
    b"1e999",
    b"-0",
    b"99999999999999999999",
    b"\"\"",
    b"\"proxy.istio.io/config\":\"{a: \"",
    b"\"metadata\":",
    b"\"annotations\":null,",
    b"\"spec\":{\"containers\":[]},",
    b"DELETE",
    b"\"subResource\":\"binding\",",
    b"\"trainmesh.dev/fabric\":\"gke-mrdma-dra\",",
    b"\"limits\":{\"nvidia.com/gpu\":8},",
];

/// Split into parts, so that they run in parallel.
#[rstest]
fn corrupted_bodies_never_reject_a_pod(#[values(0, 1, 2, 3)] part: u64) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pods = example_pods::example_pods(&repository.join("examples"));
    let pods = example_pods::with_fabrics(&pods, repository).into_iter().chain(pods);
    let bodies: Vec<_> = pods.flat_map(|pod| [with_hold(pod.clone()), pod]).map(|pod| review(&pod)).collect();
    let mut outcomes = BTreeMap::new();
    for seed in part * BODIES..(part + 1) * BODIES {
        let mut rng = SeededRng::new(seed);
        let mut body = rng.pick(&bodies).clone();
        for _ in 0..rng.below(4) {
            corrupt(&mut body, &mut rng);
        }
        let verdict = std::panic::catch_unwind(|| check(&body));
        let verdict = verdict.unwrap_or_else(|_| panic!("seed {seed}: {}", String::from_utf8_lossy(&body)));
        *outcomes.entry(verdict).or_insert(0_u64) += 1;
    }
    // Every outcome must be common enough; otherwise the corruption is too mild or too strong to prove anything.
    for verdict in [ReviewOutcome::Invalid, ReviewOutcome::Unchanged, ReviewOutcome::Patched] {
        assert!(outcomes.get(&verdict).is_some_and(|count| *count * 100 >= BODIES), "{outcomes:?}");
    }
}

/// Returns `pod` with a hold, so that no rule applies.
fn with_hold(mut pod: Value) -> Value {
    pod["metadata"]["annotations"]["proxy.istio.io/config"] = "holdApplicationUntilProxyStarts: true".into();
    pod
}

/// Deletes, duplicates, flips or inserts a few bytes.
fn corrupt(body: &mut Vec<u8>, rng: &mut SeededRng) {
    if body.is_empty() {
        return;
    }
    let at = rng.below(body.len());
    let end = (at + 1 + rng.below(8)).min(body.len());
    match rng.below(6) {
        0 => body[at] ^= 1 << rng.below(8),
        1 => drop(body.drain(at..end)),
        2 => body.extend_from_within(at..end),
        3 => drop(body.splice(at..at, rng.pick(&FRAGMENTS).iter().copied())),
        4 => delete_field(body, at),
        _ if rng.one_in(8) => body.truncate(at),
        _ => body[at] = b'a',
    }
}

/// Deletes the text between two commas; the body usually remains valid JSON.
fn delete_field(body: &mut Vec<u8>, at: usize) {
    let Some(from) = memchr::memchr(b',', &body[at..]).map(|found| at + found) else { return };
    let Some(to) = memchr::memchr(b',', &body[from + 1..]).map(|found| from + 1 + found) else { return };
    body.drain(from..to);
}
