//! Reads manifests from files, directories and standard input.
