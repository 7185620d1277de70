//! Reviews with damaged bytes: none brings the webhook down, and whatever is answered admits the pod.
//!
//! The short, repeatable form of the fuzz target `review`, which runs as long as one likes (`make fuzz`).

use std::collections::BTreeMap;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::dice::Dice;
use trainmesh_testing::originals;
use trainmesh_testing::review_law::{Answered, check, review};

/// In each part.
const BODIES: u64 = 5_000;
/// Pieces that mean something to a parser of JSON, of YAML or of reviews.
const PIECES: [&[u8]; 26] = [
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

/// In four parts, for as many threads.
#[rstest]
fn damaged_bodies_never_refuse_a_pod(#[values(0, 1, 2, 3)] part: u64) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pods = originals::originals(&repository.join("examples"));
    let pods = originals::in_fabrics(&pods, repository).into_iter().chain(pods);
    let bodies: Vec<_> = pods.flat_map(|pod| [held(pod.clone()), pod]).map(|pod| review(&pod)).collect();
    let mut answered = BTreeMap::new();
    for seed in part * BODIES..(part + 1) * BODIES {
        let mut dice = Dice::new(seed);
        let mut body = dice.pick(&bodies).clone();
        for _ in 0..dice.below(4) {
            damage(&mut body, &mut dice);
        }
        let verdict = std::panic::catch_unwind(|| check(&body));
        let verdict = verdict.unwrap_or_else(|_| panic!("seed {seed}: {}", String::from_utf8_lossy(&body)));
        *answered.entry(verdict).or_insert(0_u64) += 1;
    }
    // Each way must be gone by a good many, or the damage is too great or too small to tell anything.
    for verdict in [Answered::No, Answered::Unchanged, Answered::Patched] {
        assert!(answered.get(&verdict).is_some_and(|count| *count * 100 >= BODIES), "{answered:?}");
    }
}

/// `pod` with nothing left to do for it.
fn held(mut pod: Value) -> Value {
    pod["metadata"]["annotations"]["proxy.istio.io/config"] = "holdApplicationUntilProxyStarts: true".into();
    pod
}

/// Loses, doubles, flips or puts in a few bytes.
fn damage(body: &mut Vec<u8>, dice: &mut Dice) {
    if body.is_empty() {
        return;
    }
    let at = dice.below(body.len());
    let end = (at + 1 + dice.below(8)).min(body.len());
    match dice.below(6) {
        0 => body[at] ^= 1 << dice.below(8),
        1 => drop(body.drain(at..end)),
        2 => body.extend_from_within(at..end),
        3 => drop(body.splice(at..at, dice.pick(&PIECES).iter().copied())),
        4 => lose_a_field(body, at),
        _ if dice.once_in(8) => body.truncate(at),
        _ => body[at] = b'a',
    }
}

/// Loses what stands between two commas: most often the body stays JSON.
fn lose_a_field(body: &mut Vec<u8>, at: usize) {
    let Some(from) = memchr::memchr(b',', &body[at..]).map(|found| at + found) else { return };
    let Some(to) = memchr::memchr(b',', &body[from + 1..]).map(|found| from + 1 + found) else { return };
    body.drain(from..to);
}
