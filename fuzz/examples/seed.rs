//! Writes the fuzzer's seeds to `corpus/TARGET`: the reviews, annotations, manifests and configurations of the
//! repository.

use std::fs;
use std::io;
use std::path::Path;

use trainmesh_testing::rng::SeededRng;
use trainmesh_testing::texts::TextGenerator;
use trainmesh_testing::{example_pods, repository, review_invariants, seeds};

/// Number of generated annotations: enough that each kind of text and of corruption occurs several times.
const ANNOTATIONS: u64 = 500;

fn main() -> io::Result<()> {
    let repository = repository();
    let pods = example_pods::example_pods(&repository.join("examples"));
    let pods = example_pods::with_fabrics(&pods, repository).into_iter().chain(pods);
    let mut random = TextGenerator(SeededRng::new(1));
    write("review", pods.map(|pod| review_invariants::review(&pod)))?;
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
