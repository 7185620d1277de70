//! Limits of request bodies.

/// Maximum length of a body. The apiserver accepts 3 MiB from a client; defaulting and escaping make a review longer,
/// and on other operations it also contains the old object.
pub(super) const MAX_BODY: usize = 4 * 1024 * 1024;
/// Length above which a body is large and its review runs separately. Ordinary pods, with a sidecar and hundreds of
/// variables, have less than half of it.
pub(super) const LARGE_BODY: usize = 64 * 1024;
