//! The frame of a chunk: a header of fixed size, checksummed together with the payload behind it.

use std::borrow::Cow;

use super::Kind;
use crate::error::Damage;

/// How every chunk begins.
const MAGIC: [u8; 4] = *b"CRMC";
/// Raise when the meaning of a byte changes; appending a column does not need it.
const VERSION: u8 = 1;
/// The payload is compressed with zstd.
const FLAG_ZSTD: u8 = 1;
/// Compression must not cost the profiled program its processor: the fastest level.
const ZSTD_LEVEL: i32 = 1;

/// Bytes of a chunk before its payload.
pub const HEADER_BYTES: usize = 24;
/// Where the checksum lies: last, over everything before it and the payload.
const CHECKSUM_AT: usize = 20;

/// The most bytes that a payload may have, stored or decompressed. The writer stays far below; the reader
/// refuses more, so that hostile files cannot claim memory.
pub const MAX_PAYLOAD_BYTES: usize = 4 << 20;

/// A header that passed every test that needs no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Rows in the payload.
    pub rows: u32,
    /// Bytes of the payload as stored.
    pub stored: usize,
    /// Bytes of the payload as columns.
    plain: usize,
    zstd: bool,
    checksum: u32,
}

impl Header {
    /// Reads a header of the given kind.
    ///
    /// # Errors
    /// Anything that this version would not have written.
    pub fn parse(bytes: &[u8; HEADER_BYTES], kind: Kind) -> Result<Self, Damage> {
        let [m0, m1, m2, m3, version, found, flags, reserved, rest @ ..] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(Damage::Magic);
        }
        if version != VERSION {
            return Err(Damage::Version(version));
        }
        if found != kind.code() {
            return Err(Damage::Kind(found));
        }
        if flags & !FLAG_ZSTD != 0 || reserved != 0 {
            return Err(Damage::Flags(flags));
        }
        let [rows, stored, plain, checksum] = words(rest);
        let zstd = flags & FLAG_ZSTD != 0;
        // Every row has at least one byte in the first column.
        let plausible = rows <= plain && (zstd || stored == plain);
        let header = Self { rows, stored: bounded(stored)?, plain: bounded(plain)?, zstd, checksum };
        plausible.then_some(header).ok_or(Damage::Length)
    }
}

/// The chunk that holds `columns`, ready to be appended.
///
/// # Errors
/// [`Damage::Length`] where the columns exceed [`MAX_PAYLOAD_BYTES`].
pub fn encode(kind: Kind, rows: usize, columns: &[u8]) -> Result<Vec<u8>, Damage> {
    let field = |length: usize| u32::try_from(length).map_err(|_| Damage::Length);
    if columns.len() > MAX_PAYLOAD_BYTES {
        return Err(Damage::Length);
    }
    // Where compression fails or does not pay, the columns themselves are stored.
    let compressed = zstd::bulk::compress(columns, ZSTD_LEVEL).ok().filter(|c| c.len() < columns.len());
    let flags = if compressed.is_some() { FLAG_ZSTD } else { 0 };
    let stored = compressed.as_deref().unwrap_or(columns);

    let mut chunk = Vec::with_capacity(HEADER_BYTES + stored.len());
    chunk.extend(MAGIC);
    chunk.extend([VERSION, kind.code(), flags, 0]);
    for length in [field(rows)?, field(stored.len())?, field(columns.len())?] {
        chunk.extend(length.to_le_bytes());
    }
    let checksum = checksum(&chunk, stored);
    chunk.extend(checksum.to_le_bytes());
    chunk.extend(stored);
    Ok(chunk)
}

/// The columns of a chunk, after its checksum was found good.
///
/// # Errors
/// [`Damage::Checksum`] and [`Damage::Compression`].
pub fn payload<'a>(
    header: &Header,
    bytes: &[u8; HEADER_BYTES],
    stored: &'a [u8],
) -> Result<Cow<'a, [u8]>, Damage> {
    if checksum(&bytes[..CHECKSUM_AT], stored) != header.checksum {
        return Err(Damage::Checksum);
    }
    if !header.zstd {
        return Ok(Cow::Borrowed(stored));
    }
    let plain = zstd::bulk::decompress(stored, header.plain).map_err(|_| Damage::Compression)?;
    if plain.len() != header.plain {
        return Err(Damage::Compression);
    }
    Ok(Cow::Owned(plain))
}

/// Gives the chunk at the start of `bytes` a good checksum, whatever it holds, and returns what lies behind
/// it: so that a fuzzer reaches what is behind the checksum.
#[doc(hidden)]
pub fn reseal(bytes: &mut [u8]) -> Option<&mut [u8]> {
    let (header, rest) = bytes.split_first_chunk_mut::<HEADER_BYTES>()?;
    let [.., s0, s1, s2, s3, _, _, _, _, _, _, _, _] = *header;
    let stored = usize::try_from(u32::from_le_bytes([s0, s1, s2, s3])).ok()?;
    let (stored, behind) = rest.split_at_mut_checked(stored)?;
    let checksum = checksum(&header[..CHECKSUM_AT], stored);
    header[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    Some(behind)
}

fn checksum(head: &[u8], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(stored);
    hasher.finalize()
}

fn bounded(length: u32) -> Result<usize, Damage> {
    usize::try_from(length).ok().filter(|length| *length <= MAX_PAYLOAD_BYTES).ok_or(Damage::Length)
}

/// The four little-endian words at the end of a header.
fn words(bytes: [u8; 16]) -> [u32; 4] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]].map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: Kind = Kind::new(3, "stacks.chunks");

    fn parse(chunk: &[u8]) -> Result<Vec<u8>, Damage> {
        let (head, stored) = chunk.split_first_chunk::<HEADER_BYTES>().unwrap();
        let header = Header::parse(head, STACK)?;
        payload(&header, head, stored).map(Cow::into_owned)
    }

    fn changed(at: usize, to: u8) -> Result<Vec<u8>, Damage> {
        let mut chunk = encode(STACK, 3, b"abc").unwrap();
        chunk[at] = to;
        parse(&chunk)
    }

    #[test]
    fn a_short_payload_is_stored_as_it_is() {
        // zstd needs nine bytes of its own before it has said anything.
        let chunk = encode(STACK, 3, b"abc").unwrap();
        assert_eq!(chunk[..20], *b"CRMC\x01\x03\x00\x00\x03\0\0\0\x03\0\0\0\x03\0\0\0");
        assert_eq!(chunk[24..], *b"abc");
        assert_eq!(parse(&chunk), Ok(b"abc".to_vec()));
    }

    #[test]
    fn a_repetitive_payload_is_compressed() {
        let columns = [7; 5000];
        let chunk = encode(STACK, 3, &columns).unwrap();
        assert_eq!(chunk[6], FLAG_ZSTD);
        assert!(chunk.len() < 100, "5000 equal bytes take {} bytes", chunk.len());
        assert_eq!(parse(&chunk), Ok(columns.to_vec()));
    }

    #[test]
    fn every_field_is_checked() {
        assert_eq!(changed(0, b'X'), Err(Damage::Magic));
        assert_eq!(changed(4, 2), Err(Damage::Version(2)));
        assert_eq!(changed(5, 1), Err(Damage::Kind(1)));
        assert_eq!(changed(6, 2), Err(Damage::Flags(2)));
        assert_eq!(changed(7, 1), Err(Damage::Flags(0)));
        assert_eq!(changed(8, 4), Err(Damage::Length), "four rows in three bytes");
        assert_eq!(changed(12, 2), Err(Damage::Length), "stored and plain differ without compression");
        assert_eq!(changed(15, 1), Err(Damage::Length), "16 MiB");
        assert_eq!(changed(8, 2), Err(Damage::Checksum), "the header is part of the checksum");
        assert_eq!(changed(24, b'A'), Err(Damage::Checksum));
    }

    #[test]
    fn decompression_stays_within_the_stated_length() {
        // 5000 bytes that claim to be 4999: bytes 16 to 20 are the plain length.
        let mut chunk = encode(STACK, 3, &[7; 5000]).unwrap();
        chunk[16..20].copy_from_slice(&4999_u32.to_le_bytes());
        assert!(reseal(&mut chunk).is_some());
        assert_eq!(parse(&chunk), Err(Damage::Compression));
    }

    #[test]
    fn more_than_the_limit_is_refused() {
        assert_eq!(encode(STACK, 1, &vec![0; MAX_PAYLOAD_BYTES + 1]), Err(Damage::Length));
    }
}
