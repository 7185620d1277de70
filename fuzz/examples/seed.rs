//! Writes the inputs that the fuzzer starts from into `corpus/TARGET`: what the repository has of reviews, annotations,
//! manifests and configurations.

use std::fs;
use std::io;
use std::path::Path;

use trainmesh_testing::dice::Dice;
use trainmesh_testing::texts::Random;
use trainmesh_testing::{originals, repository, review_law, seeds};

/// Generated annotations: enough that each kind of text and of damage occurs several times.
const ANNOTATIONS: u64 = 500;

fn main() -> io::Result<()> {
    let repository = repository();
    let pods = originals::originals(&repository.join("examples"));
    let pods = originals::in_fabrics(&pods, repository).into_iter().chain(pods);
    let mut random = Random(Dice::new(1));
    write("review", pods.map(|pod| review_law::review(&pod)))?;
    write("proxy_config", (0..ANNOTATIONS).map(|case| random.sample(case).into_bytes()))?;
    write("manifest", seeds::manifests(repository).into_iter().map(String::into_bytes))?;
    write("configuration", seeds::configurations(repository).into_iter().map(String::into_bytes))
}

fn write(target: &str, seeds: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&corpus)?;
    for (number, seed) in seeds.enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}
