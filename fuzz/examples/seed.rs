//! Writes a review of each pod of the examples into `corpus/review`, for the fuzzer to start from.

#[path = "../../tests/common/originals.rs"]
mod originals;
#[path = "../../tests/common/review_law.rs"]
#[allow(dead_code, reason = "it is shared with the tests")]
mod review_law;

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = here.join("corpus/review");
    fs::create_dir_all(&corpus)?;
    for (number, pod) in originals::originals(&here.join("../examples")).iter().enumerate() {
        fs::write(corpus.join(format!("example-{number}.json")), review_law::review(pod))?;
    }
    Ok(())
}
