//! Writes the inputs that the fuzzer starts from into `corpus/TARGET`: what the repository has of reviews, annotations,
//! manifests and configurations.

#[path = "../../tests/common/dice.rs"]
mod dice;
#[path = "../../tests/common/originals.rs"]
mod originals;
#[path = "../../tests/common/review_law.rs"]
#[allow(dead_code, reason = "it is shared with the tests")]
mod review_law;
#[path = "../../tests/common/seeds.rs"]
mod seeds;
#[path = "../../tests/proxy_config/texts.rs"]
mod texts;

use std::fs;
use std::io;
use std::path::Path;

use dice::Dice;
use texts::Random;

/// Generated annotations: enough that each kind of text and of damage occurs several times.
const ANNOTATIONS: u64 = 500;

fn main() -> io::Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pods = originals::originals(&repository.join("examples"));
    let pods = originals::in_fabrics(&pods, &repository).into_iter().chain(pods);
    let mut random = Random(Dice::new(1));
    write("review", pods.map(|pod| review_law::review(&pod)))?;
    write("proxy_config", (0..ANNOTATIONS).map(|case| random.sample(case).into_bytes()))?;
    write("manifest", seeds::manifests(&repository).into_iter().map(String::into_bytes))?;
    write("configuration", seeds::configurations(&repository).into_iter().map(String::into_bytes))
}

fn write(target: &str, seeds: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&corpus)?;
    for (number, seed) in seeds.enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}
