//! A manifest source that can be read more than once.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trainmesh_core::manifest::{self, Origin, encoding};

/// Maximum size of a pipe that is held in memory. A larger one is written to a temporary file.
const MAX_SPOOL_IN_MEMORY: u64 = 1 << 20;

/// Maximum size of a pipe: enough for the pods of the largest clusters (150,000 of 6 KB). It prevents an endless pipe
/// from filling the disk.
const MAX_SPOOL: u64 = 1 << 30;

/// Name of standard input.
pub const STDIN_NAME: &str = "stdin";

/// Error for a FIFO, device or socket in a directory, which is not read because it may block or never end.
pub(super) const NOT_A_FILE: &str = "is not a regular file: specify it with -f to read it anyway";

/// A named source.
pub(super) struct Source {
    name: Arc<str>,
    origin: Origin,
    content: Content,
}

enum Content {
    File(PathBuf),
    /// Content of a pipe.
    Memory(Vec<u8>),
    /// Content of a pipe in an unnamed temporary file.
    Disk(File),
    /// Error for a path that is not read.
    Rejected(String),
}

/// Reads a shared file at its own offset, so that several readers on one thread are independent.
struct Cursor<'file> {
    file: &'file File,
    offset: u64,
}

impl Source {
    pub(super) fn file(path: &Path) -> Self {
        Self::listed(path, Origin::Named)
    }

    /// Creates the source for a file of a directory.
    pub(super) fn listed(path: &Path, origin: Origin) -> Self {
        Self { name: path.to_string_lossy().into(), origin, content: Content::File(path.to_owned()) }
    }

    /// Creates a source whose `open` fails with `message`.
    pub(super) fn rejected(path: &Path, message: impl Into<String>) -> Self {
        Self { name: path.to_string_lossy().into(), origin: Origin::Named, content: Content::Rejected(message.into()) }
    }

    /// Returns the path of a file.
    pub(super) fn path(&self) -> Option<&Path> {
        if let Content::File(path) = &self.content { Some(path) } else { None }
    }

    /// Returns true if the source has no content.
    pub(super) fn is_empty(&self) -> bool {
        match &self.content {
            Content::File(path) => fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0),
            Content::Memory(bytes) => bytes.is_empty(),
            Content::Disk(_) | Content::Rejected(_) => false,
        }
    }

    pub(super) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Reads a pipe to its end.
    pub(super) fn spool(name: &str, pipe: impl Read) -> io::Result<Self> {
        Ok(Self { name: name.into(), origin: Origin::Named, content: spool(pipe, MAX_SPOOL)? })
    }
}

impl manifest::Source for Source {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(match &self.content {
            // A file may have been replaced by a pipe, which could block, since its directory was listed.
            Content::File(path) if !fs::metadata(path)?.is_file() => return Err(invalid_data(NOT_A_FILE)),
            Content::File(path) => Box::new(File::open(path)?),
            Content::Memory(bytes) => Box::new(bytes.as_slice()),
            Content::Disk(file) => Box::new(Cursor { file, offset: 0 }),
            Content::Rejected(message) => return Err(invalid_data(message)),
        })
    }
}

/// Reads a pipe of at most `limit` bytes.
fn spool(mut pipe: impl Read, limit: u64) -> io::Result<Content> {
    let mut head = Vec::new();
    pipe.by_ref().take(MAX_SPOOL_IN_MEMORY).read_to_end(&mut head)?;
    // Binary data is not written to disk: it is rejected when the head is read.
    if (head.len() as u64) < MAX_SPOOL_IN_MEMORY || encoding::bom_length(&head[..encoding::HEAD_LENGTH]).is_err() {
        return Ok(Content::Memory(head));
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&head)?;
    let rest = limit - head.len() as u64;
    if io::copy(&mut pipe.take(rest + 1), &mut file)? > rest {
        let message =
            format!("exceeds the limit of {} MiB for a pipe: write it to a file and specify the file", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Content::Disk(file))
}

fn invalid_data(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let length = self.file.read(buffer)?;
        self.offset += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use trainmesh_core::manifest::Source as _;

    use super::*;

    const LIMIT: u64 = 2 * MAX_SPOOL_IN_MEMORY;

    #[rstest]
    #[case::short(10, true)]
    #[case::to_disk(LIMIT - 1, true)]
    #[case::full(LIMIT, true)]
    #[case::beyond(LIMIT + 1, false)]
    #[case::endless(u64::MAX, false)]
    fn the_size_of_a_pipe_is_limited(#[case] length: u64, #[case] accepted: bool) {
        match spool(io::repeat(b'#').take(length), LIMIT).and_then(|content| {
            let source = Source { name: "stdin".into(), origin: Origin::Named, content };
            io::copy(&mut source.open()?, &mut io::sink())
        }) {
            Ok(read) => assert!(accepted && read == length, "{read}"),
            Err(error) => assert!(!accepted && error.to_string().contains("limit of 2 MiB for a pipe"), "{error}"),
        }
    }

    #[test]
    fn an_endless_binary_pipe_stays_in_memory() {
        assert!(matches!(spool(io::repeat(0), LIMIT).unwrap(), Content::Memory(_)));
    }
}
