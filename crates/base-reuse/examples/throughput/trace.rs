//! Traces: one word for each access.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Take, Write},
    path::Path,
};

use carom_base::{Access, AccessKind, Addr, Ip, LINE_BYTES};

/// Bits of an address in user space, with four levels of page tables.
const ADDRESS_BITS: u32 = 48;

/// The width, minus one, is above the address, the kind above that.
const KIND_SHIFT: u32 = ADDRESS_BITS + 8;

/// The address of generated traces.
const BASE: u64 = 0x7000_0000_0000;

/// The number of words that are read at a time: a batch fits into a core's second-level cache.
pub const BATCH: usize = 8192;

/// An access in one word, without its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed(pub u64);

impl Packed {
    pub fn new(address: u64, width: u32, kind: AccessKind) -> Self {
        let address = address & ((1 << ADDRESS_BITS) - 1);
        let width = u64::from(width.clamp(1, 256) - 1) << ADDRESS_BITS;
        Self(address | width | (kind as u64) << KIND_SHIFT)
    }

    pub fn address(self) -> u64 {
        self.0 & ((1 << ADDRESS_BITS) - 1)
    }

    pub fn width(self) -> u32 {
        u32::from((self.0 >> ADDRESS_BITS) as u8) + 1
    }

    pub fn access(self) -> Access {
        let kind = AccessKind::from_u8((self.0 >> KIND_SHIFT) as u8).unwrap_or(AccessKind::Load);
        Access { ip: Ip(1), addr: Addr(self.address()), width: self.width(), kind }
    }
}

/// Marsaglia's xorshift64.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The kinds of traces that can be generated.
pub const KINDS: [&str; 4] = ["stream", "vectors", "random", "mixed"];

/// Accesses of a kind to `lines` lines; every fourth is a store.
///
/// `stream` passes over all lines again and again, with 8 accesses of 8 bytes to each, `vectors` with one of 64
/// bytes. `random` accesses uniformly random lines. `mixed` has, of 16 accesses, 12 to a stack frame, 3 to a random
/// line near a moving position, and 1 to a random line.
pub fn make(kind: &str, lines: u64) -> impl Iterator<Item = Packed> {
    let words_per_line = LINE_BYTES / 8;
    let vectors = kind == "vectors";
    let kind = KINDS.iter().position(|known| *known == kind);
    let (mut state, mut position) = (0x1234_5678_9ABC_DEF1, 0);
    (0u64..).map(move |nth| {
        let state = &mut state;
        let word = match kind {
            Some(0) => nth % (lines * words_per_line),
            Some(1) => nth % lines * words_per_line,
            Some(2) => random(state) % lines * words_per_line,
            _ => match nth % 16 {
                0..12 => lines * words_per_line + nth * 7 % 24,
                12..15 => {
                    position += random(state) % 3;
                    (position + random(state) % 64) % lines * words_per_line
                }
                _ => random(state) % lines * words_per_line,
            },
        };
        let width = if vectors { LINE_BYTES as u32 } else { 8 };
        let kind = if nth.is_multiple_of(4) { AccessKind::Store } else { AccessKind::Load };
        Packed::new(BASE + word * 8, width, kind)
    })
}

/// The accesses in the output of Valgrind's lackey with `--trace-mem=yes`: lines such as ` S 1ffeffe7e0,8`. Its `M`
/// (modify) is a load and a store by one instruction.
pub fn of_lackey(text: impl Read) -> impl Iterator<Item = Packed> {
    let lines = BufReader::with_capacity(1 << 20, text).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| {
        let line = std::str::from_utf8(&line).ok()?;
        let (kind, place) = line.strip_prefix(' ')?.split_once(' ')?;
        let kind = match kind {
            "L" => AccessKind::Load,
            "S" => AccessKind::Store,
            "M" => AccessKind::ReadModifyWrite,
            _ => return None,
        };
        let (address, width) = place.split_once(',')?;
        Some(Packed::new(u64::from_str_radix(address, 16).ok()?, width.parse().ok()?, kind))
    })
}

/// Writes a trace.
pub fn write(path: &Path, trace: impl Iterator<Item = Packed>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for packed in trace {
        file.write_all(&packed.0.to_le_bytes())?;
    }
    file.flush()
}

/// A trace that is read batch by batch.
pub struct Reader {
    file: Take<File>,
    bytes: Vec<u8>,
    batch: Vec<Packed>,
}

impl Reader {
    /// Reads the first `most` accesses. Its whole buffer is resident from now on.
    pub fn open(path: &Path, most: u64) -> io::Result<Self> {
        let file = File::open(path)?.take(most.saturating_mul(8));
        Ok(Self { file, bytes: vec![1; BATCH * 8], batch: vec![Packed(1); BATCH] })
    }

    /// Calls for each batch.
    pub fn read(&mut self, mut take: impl FnMut(&[Packed]) -> io::Result<()>) -> io::Result<()> {
        loop {
            let mut filled = 0;
            while filled < self.bytes.len() {
                match self.file.read(&mut self.bytes[filled..])? {
                    0 => break,
                    more => filled += more,
                }
            }
            self.batch.clear();
            let words = self.bytes[..filled].chunks_exact(8).filter_map(|word| word.try_into().ok());
            self.batch.extend(words.map(|word| Packed(u64::from_le_bytes(word))));
            if self.batch.is_empty() {
                return Ok(());
            }
            take(&self.batch)?;
        }
    }
}
