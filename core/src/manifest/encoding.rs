//! Tells text in UTF-8 from what else a file may hold.

use std::io;

use memchr::memchr;

/// How many bytes are looked at to tell text from what is none.
pub const HEAD: usize = 64 << 10;

/// The mark that some editors put before UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// First bytes of what is no UTF-8, and what to say; the longer ones first where one starts like another.
const SIGNATURES: [(&[u8], &str); 9] = [
    (b"\xff\xfe\0\0", "is UTF-32: save it as UTF-8"),
    (b"\0\0\xfe\xff", "is UTF-32: save it as UTF-8"),
    (b"\xff\xfe", "is UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16: save it as UTF-8"),
    (b"\x1f\x8b", "is compressed (gzip): unpack it first"),
    (b"PK\x03\x04", "is compressed (zip): unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed (zstd): unpack it first"),
    (b"\xfd7zXZ", "is compressed (xz): unpack it first"),
    (b"BZh", "is compressed (bzip2): unpack it first"),
];

/// The length of the mark before the text that starts with `head`; an error of kind `InvalidData` if it is no text.
pub fn check(head: &[u8]) -> io::Result<usize> {
    if let Some((_, message)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, *message));
    }
    if memchr(0, head).is_some() {
        let message = "holds NUL bytes: it is binary, or UTF-16 without a mark";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(if head.starts_with(UTF8_MARK) { UTF8_MARK.len() } else { 0 })
}
