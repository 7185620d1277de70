//! Damaged annotations, manifests and configurations: the short, repeatable form of the fuzz targets of these names
//! (`make fuzz`).

use std::path::Path;

use trainmesh_testing::dice::Dice;
use trainmesh_testing::properties::{configuration, manifest, proxy_config};
use trainmesh_testing::seeds;
use trainmesh_testing::texts::Random;

/// Pieces that mean something to a parser of YAML or JSON.
const PIECES: [&[u8]; 24] = [
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

/// Checks `count` texts, each a seed with a few of its bytes replaced; returns how many `check` counts.
fn damaged(seeds: &[Vec<u8>], count: u64, check: impl Fn(&[u8]) -> bool) -> usize {
    let damaged = (0..count).map(|seed| {
        let mut dice = Dice::new(seed);
        let mut text = dice.pick(seeds).clone();
        for _ in 0..=dice.below(3) {
            let start = dice.below(text.len() + 1);
            let end = text.len().min(start + dice.below(4));
            text.splice(start..end, dice.pick(&PIECES).iter().copied());
        }
        check(&text)
    });
    damaged.filter(|counted| *counted).count()
}

fn bytes(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

#[test]
fn manifests() {
    let seeds = bytes(seeds::manifests(Path::new(env!("CARGO_MANIFEST_DIR"))));
    let read = damaged(&seeds, 300, |text| manifest::check(text) > 0);
    assert!(read > 30, "{read}");
}

#[test]
fn configurations() {
    let seeds = bytes(seeds::configurations(Path::new(env!("CARGO_MANIFEST_DIR"))));
    assert!(seeds.iter().all(|seed| configuration::check(seed)));
    let valid = damaged(&seeds, 2_000, configuration::check);
    assert!((300..1_700).contains(&valid), "{valid}");
}

#[test]
fn lone_carriage_returns_are_lines() {
    assert!(!configuration::check(b"kind: a\r\r\r\rmesh: [\n"));
}

#[test]
fn annotations() {
    let mut random = Random(Dice::new(1));
    let seeds: Vec<Vec<u8>> = (0..500).map(|case| random.sample(case).into_bytes()).collect();
    let merged = damaged(&seeds, 20_000, proxy_config::check);
    assert!(merged > 500, "{merged}");
}
