//! Records in a ring: 8-byte words, of which the first has kind and length.

mod reuse;

use carom_base::{
    Access, AccessKind, Addr, Cpu, EarlierWrite, Ip, Nanos, Population, ReuseCell, ReuseEvent, Sample,
    SampleOutcome, SharingClass, SharingEvent, Skip, StackId, ThreadId, Via,
};
use reuse::{CELL, CELL_LENGTHS, REUSE, REUSE_LENGTHS};

/// Frames kept of one call path.
pub const MAX_STACK_FRAMES: usize = 64;

/// The longest record: a full stack.
pub const MAX_RECORD_WORDS: usize = 2 + MAX_STACK_FRAMES;

/// A call path, sent once per thread before the first record that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its hash.
    pub id: StackId,
    /// Innermost first; the first is an instruction, the others return addresses.
    pub frames: [u64; MAX_STACK_FRAMES],
    /// The number of `frames` in use.
    pub depth: usize,
    /// True where the path goes on but could not be followed.
    pub truncated: bool,
}

/// A record from an agent to the host. Thread numbers are serials within the process.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "lives on handler stacks, where boxing is forbidden")]
pub enum Record {
    /// A sample.
    Sample(Sample),
    /// A sharing event.
    Event(SharingEvent),
    /// A call path.
    Stack(Stack),
    /// A sampled use and its outcome.
    Reuse(ReuseEvent),
    /// The number of accesses with the same distance since the last record of them.
    Cell(ReuseCell),
    /// A heap object that an event touched.
    Object {
        /// First byte.
        base: Addr,
        /// Bytes.
        size: u64,
        /// The allocation's call path.
        site: StackId,
        /// When it was seen.
        seen: Nanos,
    },
}

/// Why words are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The first word states an impossible length; nothing after it can be trusted.
    BadLength,
    /// The length is possible but the content is not; the next record may be good.
    BadContent {
        /// Words to skip.
        words: usize,
    },
    /// The record goes on after the given words.
    Incomplete,
}

const SAMPLE: u64 = 1;
const EVENT: u64 = 2;
const STACK: u64 = 3;
const OBJECT: u64 = 4;

const SAMPLE_WORDS: usize = 6;
const EVENT_WORDS: usize = 13;
const OBJECT_WORDS: usize = 5;

/// Marks a skipped sample, in place of an access's kind.
const SKIPPED: u64 = 0x80;

/// The bits of [`Sample::doublings`] beside the kind and the width of the access.
const DOUBLINGS_SHIFT: u32 = 8;

fn first_word(kind: u64, words: usize, rest: u64) -> u64 {
    kind | (words as u64) << 8 | rest << 16
}

fn pack_access(access: &Access) -> u64 {
    access.kind as u64 | u64::from(access.width) << 32
}

fn unpack_access(ip: u64, addr: u64, packed: u64) -> Option<Access> {
    let width = (packed >> 32) as u32;
    let kind = AccessKind::from_u8(packed as u8)?;
    (width > 0).then_some(Access { ip: Ip(ip), addr: Addr(addr), width, kind })
}

/// Writes `record` to the front of `words` and returns how many it took. Signal-safe, no panic.
pub fn encode(record: &Record, words: &mut [u64; MAX_RECORD_WORDS]) -> usize {
    match record {
        Record::Sample(sample) => {
            let (ip, addr, packed) = match &sample.outcome {
                SampleOutcome::Access(access) => (access.ip.0, access.addr.0, pack_access(access)),
                SampleOutcome::Skipped(ip, skip) => (ip.0, 0, SKIPPED | *skip as u64),
            };
            let rest = sample.population as u64 | u64::from(sample.part) << 8 | u64::from(sample.cpu.0) << 16;
            let packed = packed | u64::from(sample.doublings) << DOUBLINGS_SHIFT;
            let fields =
                [first_word(SAMPLE, SAMPLE_WORDS, rest), sample.time.0, ip, addr, packed, sample.stack.0];
            words[..SAMPLE_WORDS].copy_from_slice(&fields);
            SAMPLE_WORDS
        }
        Record::Event(event) => {
            let rest = event.population as u64
                | (event.via as u64) << 8
                | (event.class as u64) << 16
                | u64::from(event.exact) << 24;
            let fields = [
                first_word(EVENT, EVENT_WORDS, rest),
                event.time.0,
                u64::from(event.cpu.0) | u64::from(event.earlier.cpu.0) << 32,
                u64::from(event.weight.to_bits()) | u64::from(event.earlier.thread.0) << 32,
                event.later.ip.0,
                event.later.addr.0,
                pack_access(&event.later),
                event.stack.0,
                event.earlier.time.0,
                event.earlier.access.ip.0,
                event.earlier.access.addr.0,
                pack_access(&event.earlier.access),
                event.earlier.stack.0,
            ];
            words[..EVENT_WORDS].copy_from_slice(&fields);
            EVENT_WORDS
        }
        Record::Stack(stack) => {
            let depth = stack.depth.min(MAX_STACK_FRAMES);
            words[0] = first_word(STACK, 2 + depth, u64::from(stack.truncated));
            words[1] = stack.id.0;
            words[2..2 + depth].copy_from_slice(&stack.frames[..depth]);
            2 + depth
        }
        Record::Reuse(event) => reuse::encode_event(event, words),
        Record::Cell(cell) => reuse::encode_cell(cell, words),
        Record::Object { base, size, site, seen } => {
            let fields = [first_word(OBJECT, OBJECT_WORDS, 0), base.0, *size, site.0, seen.0];
            words[..OBJECT_WORDS].copy_from_slice(&fields);
            OBJECT_WORDS
        }
    }
}

/// Reads the record at the front of `words`, written by thread `serial`, and returns it with its number of words.
///
/// # Errors
/// See [`DecodeError`]. The words may hold anything.
pub fn decode(words: &[u64], serial: ThreadId) -> Result<(Record, usize), DecodeError> {
    let &first = words.first().ok_or(DecodeError::Incomplete)?;
    let length = (first >> 8 & 0xff) as usize;
    let expected = match first & 0xff {
        SAMPLE => length == SAMPLE_WORDS,
        EVENT => length == EVENT_WORDS,
        OBJECT => length == OBJECT_WORDS,
        REUSE => REUSE_LENGTHS.contains(&length),
        CELL => CELL_LENGTHS.contains(&length),
        STACK => (2..=MAX_RECORD_WORDS).contains(&length),
        _ => false,
    };
    if !expected {
        return Err(DecodeError::BadLength);
    }
    let body = words.get(..length).ok_or(DecodeError::Incomplete)?;
    let record = match first & 0xff {
        SAMPLE => sample(body, serial),
        EVENT => event(body, serial),
        STACK => Some(stack(body)),
        REUSE => reuse::event(body).map(Record::Reuse),
        CELL => reuse::cell(body).map(Record::Cell),
        _ => object(body),
    };
    record.map(|record| (record, length)).ok_or(DecodeError::BadContent { words: length })
}

fn sample(body: &[u64], thread: ThreadId) -> Option<Record> {
    let &[first, time, ip, addr, packed, stack] = body else { return None };
    let rest = first >> 16;
    let outcome = if packed & SKIPPED != 0 {
        SampleOutcome::Skipped(Ip(ip), Skip::from_u8((packed & !SKIPPED) as u8)?)
    } else {
        SampleOutcome::Access(unpack_access(ip, addr, packed)?)
    };
    Some(Record::Sample(Sample {
        thread,
        time: Nanos(time),
        cpu: Cpu((rest >> 16) as u32),
        population: Population::from_u8(rest as u8)?,
        part: (rest >> 8) as u8,
        outcome,
        stack: StackId(stack),
        doublings: Some((packed >> DOUBLINGS_SHIFT) as u8).filter(|n| *n <= Sample::MOST_DOUBLINGS)?,
    }))
}

fn event(body: &[u64], thread: ThreadId) -> Option<Record> {
    let &[first, time, cpus, weight, ip, addr, packed, stack, then, e_ip, e_addr, e_packed, e_stack] = body
    else {
        return None;
    };
    let rest = first >> 16;
    let value = f32::from_bits(weight as u32);
    if !(value.is_finite() && value > 0.0) {
        return None;
    }
    Some(Record::Event(SharingEvent {
        thread,
        time: Nanos(time),
        cpu: Cpu(cpus as u32),
        population: Population::from_u8(rest as u8)?,
        via: Via::from_u8((rest >> 8) as u8)?,
        class: SharingClass::from_u8((rest >> 16) as u8)?,
        weight: value,
        later: unpack_access(ip, addr, packed)?,
        exact: rest >> 24 & 1 == 1,
        stack: StackId(stack),
        earlier: EarlierWrite {
            thread: ThreadId((weight >> 32) as u32),
            time: Nanos(then),
            cpu: Cpu((cpus >> 32) as u32),
            access: unpack_access(e_ip, e_addr, e_packed)?,
            stack: StackId(e_stack),
        },
    }))
}

fn stack(body: &[u64]) -> Record {
    let mut frames = [0; MAX_STACK_FRAMES];
    let depth = body.len().saturating_sub(2).min(MAX_STACK_FRAMES);
    for (place, &frame) in frames.iter_mut().zip(body.iter().skip(2)) {
        *place = frame;
    }
    let id = StackId(body.get(1).copied().unwrap_or(0));
    let truncated = body.first().is_some_and(|first| first >> 16 & 1 == 1);
    Record::Stack(Stack { id, frames, depth, truncated })
}

fn object(body: &[u64]) -> Option<Record> {
    let &[_, base, size, site, seen] = body else { return None };
    Some(Record::Object { base: Addr(base), size, site: StackId(site), seen: Nanos(seen) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: Record) {
        let mut words = [0; MAX_RECORD_WORDS];
        let length = encode(&record, &mut words);
        assert_eq!(decode(&words, ThreadId(7)), Ok((record, length)));
        assert_eq!(decode(&words[..length - 1], ThreadId(7)), Err(DecodeError::Incomplete));
    }

    fn access(ip: u64) -> Access {
        Access { ip: Ip(ip), addr: Addr(u64::MAX - 9), width: 512, kind: AccessKind::ReadModifyWrite }
    }

    #[test]
    fn every_record_survives_a_round_trip() {
        let sample = |outcome| {
            Record::Sample(Sample {
                thread: ThreadId(7),
                time: Nanos(u64::MAX),
                cpu: Cpu(70_000),
                population: Population::Step,
                part: 3,
                outcome,
                stack: StackId(1),
                doublings: Sample::MOST_DOUBLINGS,
            })
        };
        check(sample(SampleOutcome::Access(access(5))));
        for skip in Skip::ALL {
            check(sample(SampleOutcome::Skipped(Ip(9), skip)));
        }
        check(Record::Event(SharingEvent {
            thread: ThreadId(7),
            time: Nanos(1),
            cpu: Cpu(2),
            population: Population::Step,
            via: Via::Watchpoint,
            class: SharingClass::False,
            weight: 8.0,
            later: access(3),
            exact: true,
            stack: StackId(4),
            earlier: EarlierWrite {
                thread: ThreadId(u32::MAX),
                time: Nanos(5),
                cpu: Cpu(6),
                access: access(7),
                stack: StackId(8),
            },
        }));
        let mut frames = [0; MAX_STACK_FRAMES];
        for depth in [0, 1, MAX_STACK_FRAMES] {
            frames[..depth].fill(0xabc);
            check(Record::Stack(Stack { id: StackId(9), frames, depth, truncated: depth == 1 }));
        }
        check(Record::Object { base: Addr(1), size: 2, site: StackId(3), seen: Nanos(4) });
    }

    #[test]
    fn hostile_words_are_refused_without_panic() {
        // Every first byte pair with a body of ones: impossible lengths or contents, never a panic.
        for first in 0..=u16::MAX {
            let words = [u64::from(first) | !0xffff; MAX_RECORD_WORDS];
            let _ = decode(&words, ThreadId(0));
        }
        assert_eq!(decode(&[SAMPLE | 5 << 8; 8], ThreadId(0)), Err(DecodeError::BadLength));
        let zero_width = [first_word(SAMPLE, 6, 0), 1, 2, 3, 0, 0];
        assert_eq!(decode(&zero_width, ThreadId(0)), Err(DecodeError::BadContent { words: 6 }));
    }
}
