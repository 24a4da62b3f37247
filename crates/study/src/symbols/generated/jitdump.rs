//! `jit-PID.dump`: a header, then records of code that was loaded, described and moved (Linux,
//! `tools/perf/Documentation/jitdump-specification.txt`). The copies of the code itself are skipped.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::rc::Rc;

use super::{LineAt, MOST_LINES, MOST_NAME_BYTES, Malformed, described};

/// `JiTD` as a number, in this byte order.
const MAGIC: u32 = 0x4A69_5444;
/// `EM_X86_64`.
const MACHINE: u32 = 62;
/// Bytes of the first version's header and of every record's.
const HEADER_BYTES: u32 = 40;
const RECORD_BYTES: u32 = 16;

/// Kinds of records.
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;

/// Instead of a file's name: the same as that of the entry before.
const SAME_FILE: &[u8] = b"\xff";

/// V8 states where lines begin as if the code lay behind the header of an ELF file, into which perf copies it.
const ELF_HEADER_BYTES: u64 = 64;

/// What a record says.
pub(super) enum Change<'a> {
    /// Code with a name. `lines` are in order.
    Load { code: Range<u64>, name: &'a str, lines: Vec<LineAt> },
    /// Code was moved, so that it begins elsewhere.
    Move { from: u64, to: u64 },
}

/// Hands every change to `apply`, in order. A dump that is cut short ends with its last whole record.
pub(super) fn read(
    input: &mut impl BufRead,
    apply: impl FnMut(Change<'_>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    match records(input, apply) {
        Err(Malformed::Unreadable(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        read => read,
    }
}

fn records(
    input: &mut impl BufRead,
    mut apply: impl FnMut(Change<'_>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    header(input)?;
    // By the address of the code that they are about, which is loaded next.
    let mut lines: HashMap<u64, Vec<LineAt>> = HashMap::new();
    let mut lines_left = MOST_LINES;
    loop {
        let (kind, bytes) = (u32(input)?, u32(input)?);
        let _timestamp = u64(input)?;
        let malformed = Malformed::Record { kind, bytes };
        let Some(payload) = bytes.checked_sub(RECORD_BYTES) else { return Err(malformed) };
        let mut record = input.by_ref().take(payload.into());
        let read = match kind {
            LOAD => load(&mut record, &mut lines)
                .and_then(|(code, name, lines)| apply(Change::Load { code, name: &name, lines })),
            MOVE => moved(&mut record).and_then(|(from, to)| apply(Change::Move { from, to })),
            DEBUG_INFO => debug_info(&mut record, &mut lines_left).map(|(code, found)| {
                lines.insert(code, found);
            }),
            _ => Ok(()),
        };
        match read {
            // The record ends, but the dump does not.
            Err(Malformed::Unreadable(error))
                if error.kind() == io::ErrorKind::UnexpectedEof && record.limit() == 0 =>
            {
                return Err(malformed);
            }
            read => read?,
        }
        skip(&mut record)?;
    }
}

fn header(input: &mut impl BufRead) -> Result<(), Malformed> {
    let (magic, _version, bytes, machine) = (u32(input)?, u32(input)?, u32(input)?, u32(input)?);
    if magic != MAGIC {
        return Err(Malformed::NoJitdump);
    }
    if machine != MACHINE {
        return Err(Malformed::Machine(machine));
    }
    let Some(rest) = bytes.checked_sub(16).filter(|_| bytes >= HEADER_BYTES) else {
        return Err(Malformed::NoJitdump);
    };
    skip(&mut input.by_ref().take(rest.into()))
}

/// Process, thread, virtual address, address, size, index, name, the code.
fn load(
    record: &mut impl BufRead,
    lines: &mut HashMap<u64, Vec<LineAt>>,
) -> Result<(Range<u64>, String, Vec<LineAt>), Malformed> {
    let (_process, _thread) = (u32(record)?, u32(record)?);
    let (_virtual, address, size, _index) = (u64(record)?, u64(record)?, u64(record)?, u64(record)?);
    let name = String::from_utf8_lossy(&text(record)?).into_owned();
    let mut lines = lines.remove(&address).unwrap_or_default();
    if described::is_javascript(&name) {
        lines.iter_mut().for_each(|line| line.offset = line.offset.saturating_sub(ELF_HEADER_BYTES));
    }
    Ok((address..address.saturating_add(size), name, lines))
}

/// Process, thread, virtual address, old address, new address, size, index.
fn moved(record: &mut impl BufRead) -> Result<(u64, u64), Malformed> {
    let (_process, _thread, _virtual) = (u32(record)?, u32(record)?, u64(record)?);
    Ok((u64(record)?, u64(record)?))
}

/// Address, count, and for each entry address, line, discriminator and file.
fn debug_info(record: &mut impl BufRead, lines_left: &mut usize) -> Result<(u64, Vec<LineAt>), Malformed> {
    let (code, count) = (u64(record)?, u64(record)?);
    let mut lines: Vec<LineAt> = Vec::new();
    let mut file: Option<Rc<str>> = None;
    for _ in 0..count {
        let (address, line, _discriminator) = (u64(record)?, u32(record)?, u32(record)?);
        let name = text(record)?;
        if name != SAME_FILE {
            file = file_name(&name);
        }
        *lines_left = lines_left.checked_sub(1).ok_or(Malformed::TooLarge)?;
        let offset = address.wrapping_sub(code);
        lines.extend(file.clone().map(|file| LineAt { offset, line, file }));
    }
    lines.sort_by_key(|line| line.offset);
    Ok((code, lines))
}

/// V8 sometimes writes other bytes in the place of a name.
fn file_name(bytes: &[u8]) -> Option<Rc<str>> {
    let name = std::str::from_utf8(bytes).ok()?;
    (!name.is_empty() && !name.contains(char::is_control)).then(|| name.into())
}

/// The bytes before the next zero, as many of them as are kept.
fn text(input: &mut impl BufRead) -> Result<Vec<u8>, Malformed> {
    let mut bytes = Vec::new();
    input.by_ref().take(MOST_NAME_BYTES as u64).read_until(0, &mut bytes)?;
    match bytes.pop() {
        Some(0) => {}
        None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        Some(last) => {
            bytes.push(last);
            input.skip_until(0)?;
        }
    }
    Ok(bytes)
}

fn skip(input: &mut io::Take<impl BufRead>) -> Result<(), Malformed> {
    let skipped = io::copy(input, &mut io::sink())?;
    match input.limit() {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("after {skipped} bytes")).into()),
    }
}

fn u32(input: &mut impl Read) -> Result<u32, Malformed> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn u64(input: &mut impl Read) -> Result<u64, Malformed> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
