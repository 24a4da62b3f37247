//! The same accesses in other tools' formats.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use carom_base::{AccessKind, LINE_BYTES};

use crate::trace::{Packed, Reader};

/// Writes the first `most` accesses of a trace in another format.
pub fn convert(format: &str, from: &Path, most: u64, to: &Path) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(to)?);
    match format {
        "drmemtrace" => drmemtrace(from, most, &mut file)?,
        "oracle-general" => oracle_general(from, most, &mut file)?,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "drmemtrace or oracle-general")),
    }
    file.flush()
}

/// libCacheSim's: time, object, size, time of the object's next access (unknown); an object is a line. An access to
/// two lines is two.
fn oracle_general(from: &Path, most: u64, file: &mut impl Write) -> io::Result<()> {
    const NEVER: i64 = -1;
    let mut time = 0u32;
    Reader::open(from, most)?.read(|batch| {
        for packed in batch {
            for line in lines(*packed) {
                file.write_all(&time.to_le_bytes())?;
                // Objects have numbers from 1.
                file.write_all(&(line + 1).to_le_bytes())?;
                file.write_all(&1u32.to_le_bytes())?;
                file.write_all(&NEVER.to_le_bytes())?;
                time = time.wrapping_add(1);
            }
        }
        Ok(())
    })
}

/// DynamoRIO's drmemtrace, uncompressed: type, size and address, in 12 bytes (`trace_entry_t` in its
/// `common/trace_entry.h`). One thread, one instruction, then only data. An access to two lines is two, because its
/// tools use only the first byte.
fn drmemtrace(from: &Path, most: u64, file: &mut impl Write) -> io::Result<()> {
    const READ: u16 = 0;
    const WRITE: u16 = 1;
    const INSTRUCTION: u16 = 10;
    const THREAD: u16 = 22;
    const THREAD_EXIT: u16 = 23;
    const PROCESS: u16 = 24;
    const HEADER: u16 = 25;
    const FOOTER: u16 = 26;
    const MARKER: u16 = 28;
    const MARKER_FILE_TYPE: u16 = 9;
    const MARKER_LINE_BYTES: u16 = 10;
    const MARKER_VERSION: u16 = 12;
    /// Without encodings of instructions, and with the address of the last one in markers of the kernel.
    const VERSION: u64 = 3;
    const ID: u64 = 1;
    let mut put = |kind: u16, size: u16, value: u64| -> io::Result<()> {
        file.write_all(&kind.to_le_bytes())?;
        file.write_all(&size.to_le_bytes())?;
        file.write_all(&value.to_le_bytes())
    };
    put(HEADER, 0, VERSION)?;
    put(MARKER, MARKER_VERSION, VERSION)?;
    put(MARKER, MARKER_FILE_TYPE, 0)?;
    put(THREAD, 0, ID)?;
    put(PROCESS, 0, ID)?;
    put(MARKER, MARKER_LINE_BYTES, LINE_BYTES)?;
    put(INSTRUCTION, 0, 0x40_0000)?;
    Reader::open(from, most)?.read(|batch| {
        for packed in batch {
            let kind = if packed.access().kind == AccessKind::Load { READ } else { WRITE };
            for line in lines(*packed) {
                put(kind, 1, line * LINE_BYTES)?;
            }
        }
        Ok(())
    })?;
    put(THREAD_EXIT, 0, ID)?;
    put(FOOTER, 0, 0)
}

fn lines(packed: Packed) -> impl Iterator<Item = u64> {
    let last = packed.address() + u64::from(packed.width()) - 1;
    packed.address() / LINE_BYTES..=last / LINE_BYTES
}
