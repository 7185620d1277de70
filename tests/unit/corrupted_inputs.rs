//! Parses corrupted annotations, manifests and configurations: the short, repeatable form of the fuzz targets with
//! these names (`make fuzz`).

use std::path::Path;

use trainmesh_testing::properties::{configuration, manifest, proxy_config};
use trainmesh_testing::rng::SeededRng;
use trainmesh_testing::seeds;
use trainmesh_testing::texts::TextGenerator;

/// Fragments with a meaning in YAML or JSON.
const FRAGMENTS: [&[u8]; 24] = [
    b"---\n",
    b"\n---",
    b"...\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b": ",
    b"- ",
    b"\"",
    b"'",
    b"|\n",
    b"&a ",
    b"*a ",
    b"<<: *a\n",
    b"!!int ",
    b"\t",
    b"\r",
    b"\n",
    b"#",
    b"\0",
    b"\xff",
    b"\xc2\x85",
    b"1e999",
];

/// Runs `check` on `count` inputs, each a seed with a few bytes replaced, and returns how many it accepted.
fn count_accepted(seeds: &[Vec<u8>], count: u64, check: impl Fn(&[u8]) -> bool) -> usize {
    let accepted = (0..count).map(|seed| {
        let mut rng = SeededRng::new(seed);
        let mut text = rng.pick(seeds).clone();
        for _ in 0..=rng.below(3) {
            let start = rng.below(text.len() + 1);
            let end = text.len().min(start + rng.below(4));
            text.splice(start..end, rng.pick(&FRAGMENTS).iter().copied());
        }
        check(&text)
    });
    accepted.filter(|accepted| *accepted).count()
}

fn to_bytes(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

#[test]
fn manifests() {
    let seeds = to_bytes(seeds::manifests(Path::new(env!("CARGO_MANIFEST_DIR"))));
    let accepted = count_accepted(&seeds, 300, |text| manifest::check(text) > 0);
    assert!(accepted > 30, "{accepted}");
}

#[test]
fn configurations() {
    let seeds = to_bytes(seeds::configurations(Path::new(env!("CARGO_MANIFEST_DIR"))));
    assert!(seeds.iter().all(|seed| configuration::check(seed)));
    let accepted = count_accepted(&seeds, 2_000, configuration::check);
    assert!((300..1_700).contains(&accepted), "{accepted}");
}

#[test]
fn a_lone_carriage_return_ends_a_line() {
    assert!(!configuration::check(b"kind: a\r\r\r\rmesh: [\n"));
}

#[test]
fn annotations() {
    let mut random = TextGenerator(SeededRng::new(1));
    let seeds: Vec<Vec<u8>> = (0..500).map(|case| random.sample(case).into_bytes()).collect();
    let accepted = count_accepted(&seeds, 20_000, proxy_config::check);
    assert!(accepted > 500, "{accepted}");
}
