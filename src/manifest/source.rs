//! One place that documents come from, which can be read more than once.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trainmesh_core::manifest::{self, encoding};

/// What a pipe may hold before it goes to a temporary file: most pipes never touch the disk.
const MAX_SPOOL_IN_MEMORY: u64 = 1 << 20;

/// What a pipe may hold at all: the pods of the largest clusters (150,000 of 6 KB). A command that never ends must not
/// fill the disk.
const MAX_SPOOL: u64 = 1 << 30;

/// Why a folder's FIFO, device or socket is not read: a `read` of it may block or never end.
pub(super) const NOT_A_FILE: &str = "is not a regular file: name it with -f to read it all the same";

/// A named source.
pub(super) struct Source {
    name: Arc<str>,
    content: Content,
}

enum Content {
    File(PathBuf),
    /// What came through a pipe.
    Memory(Vec<u8>),
    /// The same, too long for memory; the file has no name and ends with the process.
    Disk(File),
    /// What is not read, and why.
    Rejected(String),
}

/// Reads a shared file from an offset of its own, so that two readers on one thread do not disturb each other.
struct Cursor<'file> {
    file: &'file File,
    offset: u64,
}

impl Source {
    pub(super) fn file(path: &Path) -> Self {
        Self { name: path.to_string_lossy().into(), content: Content::File(path.to_owned()) }
    }

    /// A source of which every reading ends in the error `why`.
    pub(super) fn rejected(path: &Path, why: impl Into<String>) -> Self {
        Self { name: path.to_string_lossy().into(), content: Content::Rejected(why.into()) }
    }

    /// Reads all that comes through a pipe.
    pub(super) fn spool(name: &str, pipe: impl Read) -> io::Result<Self> {
        Ok(Self { name: name.into(), content: spool(pipe, MAX_SPOOL)? })
    }
}

impl manifest::Source for Source {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match &self.content {
            // What was a file when its folder was listed may be a pipe by now, which would block.
            Content::File(path) if !fs::metadata(path)?.is_file() => return Err(invalid(NOT_A_FILE)),
            Content::File(path) => Box::new(File::open(path)?),
            Content::Memory(bytes) => Box::new(bytes.as_slice()),
            Content::Disk(file) => Box::new(Cursor { file, offset: 0 }),
            Content::Rejected(why) => return Err(invalid(why)),
        })
    }
}

/// Reads a pipe of at most `limit` bytes.
fn spool(mut pipe: impl Read, limit: u64) -> io::Result<Content> {
    let mut head = Vec::new();
    pipe.by_ref().take(MAX_SPOOL_IN_MEMORY).read_to_end(&mut head)?;
    // What is not text is not worth the disk: reading the head reports it.
    if (head.len() as u64) < MAX_SPOOL_IN_MEMORY || encoding::check(&head[..encoding::HEAD]).is_err() {
        return Ok(Content::Memory(head));
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&head)?;
    let rest = limit - head.len() as u64;
    if io::copy(&mut pipe.take(rest + 1), &mut file)? > rest {
        let message =
            format!("longer than the limit of {} MiB for a pipe: write it to a file, and name that", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Content::Disk(file))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
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
    fn a_pipe_is_bounded(#[case] length: u64, #[case] accepted: bool) {
        match spool(io::repeat(b'#').take(length), LIMIT).and_then(|content| {
            let source = Source { name: "stdin".into(), content };
            io::copy(&mut source.open()?, &mut io::sink())
        }) {
            Ok(read) => assert!(accepted && read == length, "{read}"),
            Err(error) => assert!(!accepted && error.to_string().contains("limit of 2 MiB for a pipe"), "{error}"),
        }
    }

    #[test]
    fn an_endless_pipe_that_is_no_text_stays_in_memory() {
        assert!(matches!(spool(io::repeat(0), LIMIT).unwrap(), Content::Memory(_)));
    }
}
