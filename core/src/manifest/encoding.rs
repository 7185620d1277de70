//! Detects input that is not UTF-8 text.

use std::io;

use memchr::memchr;

/// Number of leading bytes that are inspected.
pub const HEAD_LENGTH: usize = 64 << 10;

/// UTF-8 byte order mark, which some editors write.
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Signatures of other encodings and formats, with the error message. A signature precedes its own prefixes.
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

/// Returns the length of the byte order mark at the start of `head`, or an error of kind `InvalidData` if `head` is not
/// UTF-8 text.
pub fn bom_length(head: &[u8]) -> io::Result<usize> {
    if let Some((_, message)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, *message));
    }
    if memchr(0, head).is_some() {
        let message = "contains NUL bytes: it is binary, or UTF-16 without a byte order mark";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(if head.starts_with(UTF8_BOM) { UTF8_BOM.len() } else { 0 })
}
