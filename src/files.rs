//! Polls mounted files for changes.
//!
//! The content is read periodically and compared. File system notifications would miss the kubelet's updates of a
//! mounted `ConfigMap` or `Secret`, which replace a symlink of a parent directory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

/// Polling interval: all replicas apply a change within a second of each other.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// Size limit of a file in bytes, which is that of a configuration. A mounted `ConfigMap` or `Secret` holds at most 1
/// MiB.
const MAX_FILE: u64 = trainmesh_core::config::MAX_TEXT as u64;

/// Files that belong together.
#[derive(Debug)]
pub struct Files<const N: usize> {
    paths: [PathBuf; N],
    last: Option<Result<[Vec<u8>; N], io::ErrorKind>>,
}

/// A file that could not be read.
#[derive(Debug, Error)]
#[error("could not read {}", path.display())]
pub struct ReadError {
    path: PathBuf,
    source: io::Error,
}

impl<const N: usize> Files<N> {
    /// Creates the set without reading it.
    #[must_use]
    pub fn new(paths: [PathBuf; N]) -> Self {
        Self { paths, last: None }
    }

    /// Returns the paths.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf; N] {
        &self.paths
    }

    /// Reads all files.
    pub async fn read(&mut self) -> Result<[Vec<u8>; N], ReadError> {
        let read = read(&self.paths).await;
        self.last = Some(read.as_ref().map_err(|error| error.source.kind()).cloned());
        read
    }

    /// Returns the content of all files if one has changed since the last call, or an error that did not occur in the
    /// last call.
    pub async fn changed(&mut self) -> Result<Option<[Vec<u8>; N]>, ReadError> {
        let before = self.last.take();
        let read = self.read().await;
        if before == self.last { Ok(None) } else { read.map(Some) }
    }
}

async fn read<const N: usize>(paths: &[PathBuf; N]) -> Result<[Vec<u8>; N], ReadError> {
    let mut all = [const { Vec::new() }; N];
    for (path, bytes) in paths.iter().zip(&mut all) {
        *bytes = read_one(path).await.map_err(|source| ReadError { path: path.clone(), source })?;
    }
    Ok(all)
}

async fn read_one(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).await?.take(MAX_FILE + 1).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("exceeds the limit of {} MiB", MAX_FILE >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[tokio::test]
    async fn a_file_above_the_size_limit_is_an_error() {
        let error = Files::new([PathBuf::from("/dev/zero")]).read().await.unwrap_err();
        assert!(trainmesh_core::error::chain(&error).contains("/dev/zero: exceeds the limit of 2 MiB"), "{error:?}");
    }

    #[tokio::test]
    async fn a_replaced_symlink_is_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (version, text) in [("..1", "one"), ("..2", "two")] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("config.yaml"), text).unwrap();
        }
        symlink("..1", at("..data")).unwrap();
        symlink("..data/config.yaml", at("config.yaml")).unwrap();

        let mut files = Files::new([at("config.yaml")]);
        assert_eq!(files.changed().await.unwrap(), Some([b"one".to_vec()]));
        assert_eq!(files.changed().await.unwrap(), None);
        symlink("..2", at("..next")).unwrap();
        fs::rename(at("..next"), at("..data")).unwrap();
        assert_eq!(files.changed().await.unwrap(), Some([b"two".to_vec()]));
        assert_eq!(files.changed().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_missing_file_and_its_return_are_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tls.crt");
        let mut files = Files::new([path.clone()]);
        let error = files.changed().await.unwrap_err();
        assert!(error.to_string().ends_with("tls.crt"), "{error}");
        assert_eq!(files.changed().await.unwrap(), None);
        fs::write(&path, "pem").unwrap();
        assert_eq!(files.changed().await.unwrap(), Some([b"pem".to_vec()]));
    }
}
