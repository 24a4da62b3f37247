//! Prints the accesses that a recording has kept, in the order of time, for simulations that have no part in carom:
//! `cargo run -p carom-store --example accesses -- PROGRAM.N.carom > WORDS`
//!
//! Each is a word of eight bytes, little-endian, with its address in bits 0 to 47, its width in bits 48 to 61 (at most), and in
//! bits 62 and 63 a 0 for a load, 1 for a store, 2 for a read-modify-write. A 3 there says whose those behind it are: bits 0 to
//! 31 are the number of the thread, bits 32 to 47 its shared cache.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_stream::{Sink, Streamed};
use carom_store::Recording;

const WIDTH_SHIFT: u32 = 48;
const KIND_SHIFT: u32 = 62;
const MOST_WIDTH: u32 = (1 << (KIND_SHIFT - WIDTH_SHIFT)) - 1;
const TURN: u64 = 3 << KIND_SHIFT;

struct Words<W> {
    out: W,
    turn: Option<u64>,
    result: io::Result<()>,
}

impl<W: Write> Words<W> {
    fn put(&mut self, word: u64) {
        if self.result.is_ok() {
            self.result = self.out.write_all(&word.to_le_bytes());
        }
    }
}

impl<W: Write> Sink<Streamed> for Words<W> {
    fn accesses(&mut self, thread: ThreadId, domain: Domain, accesses: &[Streamed], _: Nanos) {
        let turn = u64::from(thread.0) | u64::from(domain.0 as u16) << u32::BITS | TURN;
        if self.turn.replace(turn) != Some(turn) {
            self.put(turn);
        }
        for access in accesses.iter().map(|streamed| streamed.access) {
            let width = u64::from(access.width.min(MOST_WIDTH)) << WIDTH_SHIFT;
            let address = access.addr.0 & ((1 << WIDTH_SHIFT) - 1);
            self.put(address | width | (access.kind as u64) << KIND_SHIFT);
        }
    }

    fn ended(&mut self, _: ThreadId) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).ok_or("which recording?")?;
    let recording = Recording::open(Path::new(&dir))?;
    let mut words = Words { out: BufWriter::new(io::stdout().lock()), turn: None, result: Ok(()) };
    recording.stream(&mut words)?;
    words.result?;
    Ok(words.out.flush()?)
}
