//! Reproducible pseudo-random choices: the same seed gives the same sequence on every platform.

use fastrand::Rng;

/// A seeded random number generator.
#[derive(Clone, Debug)]
pub struct SeededRng(Rng);

impl SeededRng {
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    /// Returns a random integer.
    pub fn next_u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Returns a random integer below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit)
    }

    /// Returns a random number of at least 0 and below 1.
    pub fn fraction(&mut self) -> f64 {
        self.0.f64()
    }

    /// Returns true with probability 1/`times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns a random element of `from`, which must not be empty.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
