//! One entry for everything that decodes chunks, shared by the fuzz target and by a test on stable Rust.

use crate::chunk::reseal;
use crate::read::Rows;
use crate::rows::Row;
use crate::tables::all;

/// What [`decode_chunks`] found, so that a test can tell that it got somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Rows of any kind.
    pub rows: u64,
    /// Errors of any kind.
    pub errors: u64,
}

/// Reads `bytes` as a stream of chunks of every kind: first as they are, then with good checksums, without
/// which random bytes would never reach the decompressor and the columns. Must return, whatever the bytes.
pub fn decode_chunks(bytes: &[u8]) -> Decoded {
    let mut found = Decoded::default();
    decode_every_kind(bytes, &mut found);
    let mut sealed = bytes.to_vec();
    let mut rest = Some(&mut sealed[..]);
    while let Some(bytes) = rest {
        rest = reseal(bytes);
    }
    decode_every_kind(&sealed, &mut found);
    found
}

fn decode_every_kind(bytes: &[u8], found: &mut Decoded) {
    for table in all() {
        (table.decode)(bytes, found);
    }
}

/// Reads `bytes` as chunks of one kind.
pub(crate) fn decode_rows<R: Row>(bytes: &[u8], found: &mut Decoded) {
    for row in Rows::<R>::from_memory(bytes) {
        match row {
            Ok(_) => found.rows += 1,
            Err(_) => found.errors += 1,
        }
    }
}
