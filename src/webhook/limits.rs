//! Which bodies are read, and which of them are large.

/// The longest body. The apiserver takes 3 MiB from a client; what it adds to an object and escapes makes a review longer,
/// and on other operations it holds the old object, too.
pub(super) const LONGEST: usize = 4 * 1024 * 1024;
/// Bodies above this length are large, and their reviews are worked on apart. Ordinary pods, with a sidecar and hundreds of
/// variables, have less than half of it.
pub(super) const LARGE: usize = 64 * 1024;
