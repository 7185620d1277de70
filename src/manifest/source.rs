//! One place that documents come from, which can be read more than once.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a pipe may hold before it goes to a temporary file: most pipes never touch the disk.
const MAX_SPOOL_IN_MEMORY: u64 = 1 << 20;

/// A named source.
pub(super) struct Source {
    pub(super) name: Arc<str>,
    content: Content,
}

enum Content {
    File(PathBuf),
    /// What came through a pipe.
    Memory(Vec<u8>),
    /// The same, too long for memory; the file has no name and ends with the process.
    Disk(File),
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

    /// Takes in all that comes through a pipe.
    pub(super) fn spool(name: &str, mut pipe: impl Read) -> io::Result<Self> {
        let mut head = Vec::new();
        pipe.by_ref().take(MAX_SPOOL_IN_MEMORY).read_to_end(&mut head)?;
        let content = if (head.len() as u64) < MAX_SPOOL_IN_MEMORY {
            Content::Memory(head)
        } else {
            let mut file = tempfile::tempfile()?;
            file.write_all(&head)?;
            io::copy(&mut pipe, &mut file)?;
            Content::Disk(file)
        };
        Ok(Self { name: name.into(), content })
    }

    /// The bytes from the first one on.
    pub(super) fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match &self.content {
            Content::File(path) => Box::new(File::open(path)?),
            Content::Memory(bytes) => Box::new(bytes.as_slice()),
            Content::Disk(file) => Box::new(Cursor { file, offset: 0 }),
        })
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let length = self.file.read(buffer)?;
        self.offset += length as u64;
        Ok(length)
    }
}
