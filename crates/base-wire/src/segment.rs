use std::{
    mem::offset_of,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use carom_base::{Counter, Leave};

use crate::counts::{COUNT_WORDS, Count};

/// `"carom-s\0"`.
pub const SEGMENT_MAGIC: u64 = u64::from_le_bytes(*b"carom-s\0");

/// Words of 8 bytes in one thread's ring; a power of two. 256 KiB hold about 4,800 samples, half a second at the
/// default period, while the host comes by every few tens of milliseconds, and more often where rings fill.
pub const RING_WORDS: usize = 1 << 15;

/// The head of a segment file.
#[repr(C)]
#[derive(Debug, Default)]
pub struct SegmentHeader {
    /// [`SEGMENT_MAGIC`].
    pub magic: AtomicU64,
    /// [`crate::VERSION`].
    pub version: AtomicU32,
    /// The number of slots that follow.
    pub slots: AtomicU32,
    /// 1 once the process ended in an orderly way (exit handlers ran).
    pub ended: AtomicU32,
    /// Why the program that has taken this one's place cannot be profiled, as an error number.
    pub left_errno: AtomicU32,
    /// When that was, in CLOCK_MONOTONIC nanoseconds; 0 where it was not.
    pub left_at: AtomicU64,
    /// The process's CPU time until then, in nanoseconds.
    pub left_ns: AtomicU64,
    /// The process's PID namespace, as /proc names it; 0 where that is not known.
    pub namespace: AtomicU64,
    padding: [u32; 4],
}

/// The end of a process as the head of its first segment states it: the process may not be able to open its journal any
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// As [`SegmentHeader::ended`].
    pub ended: bool,
    /// As [`SegmentHeader::namespace`].
    pub namespace: u64,
    /// Another program has taken its place and runs unprofiled.
    pub left: Option<Left>,
}

/// As in [`SegmentHeader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// `left_at`.
    pub at: u64,
    /// `left_ns`.
    pub cpu_ns: u64,
    /// `left_errno`.
    pub errno: u32,
}

impl Fate {
    /// Reads the first bytes of a segment.
    pub fn parse(bytes: &[u8; size_of::<SegmentHeader>()]) -> Self {
        let half = |at: usize| {
            bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u32::from_le_bytes)
        };
        let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
        let left = Left {
            at: word(offset_of!(SegmentHeader, left_at)),
            cpu_ns: word(offset_of!(SegmentHeader, left_ns)),
            errno: half(offset_of!(SegmentHeader, left_errno)),
        };
        Self {
            ended: half(offset_of!(SegmentHeader, ended)) == 1,
            namespace: word(offset_of!(SegmentHeader, namespace)),
            left: (left.at != 0).then_some(left),
        }
    }
}

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SlotState {
    /// Free. An agent may take it.
    Free = 0,
    /// A thread is writing.
    Live = 1,
    /// The thread is done. The host reads what is left and frees the slot.
    Ended = 2,
    /// An agent is filling in the header; nothing in it means anything yet.
    Taken = 3,
}

impl SlotState {
    /// The inverse of `self as u32`.
    pub const fn from_u32(code: u32) -> Option<Self> {
        match code {
            0 => Some(Self::Free),
            1 => Some(Self::Live),
            2 => Some(Self::Ended),
            3 => Some(Self::Taken),
            _ => None,
        }
    }
}

/// Room for future counters.
const COUNTER_WORDS: usize = 32;

/// The head of a slot: one thread's life.
#[repr(C)]
#[derive(Debug, Default)]
pub struct SlotHeader {
    /// A [`SlotState`].
    pub state: AtomicU32,
    /// The thread's number in its process, from 0; never used again in the process.
    pub serial: AtomicU32,
    /// The kernel's thread id.
    pub tid: AtomicU32,
    /// 1 for the thread that runs `main`.
    pub main: AtomicU32,
    /// When sampling of the thread began (CLOCK_MONOTONIC nanoseconds).
    pub started: AtomicU64,
    /// When it ended; 0 while it runs.
    pub ended: AtomicU64,
    /// CPU time of the thread in nanoseconds, when last read.
    pub cpu_ns: AtomicU64,
    /// The thread's stack: first byte.
    pub stack_low: AtomicU64,
    /// The thread's stack: one past the last byte.
    pub stack_high: AtomicU64,
    /// The thread's name, zero-padded.
    pub name: [AtomicU64; 2],
    /// Words ever written to the ring. The agent's.
    pub head: AtomicU64,
    /// Words ever read from the ring. The host's.
    pub tail: AtomicU64,
    /// By [`Counter`].
    pub counters: [AtomicU64; COUNTER_WORDS],
    /// By [`Count`]: exact counts since the thread was met. The agent stores whole values now and then, and the last
    /// ones before [`SlotState::Ended`]. [`crate::NOT_COUNTED`] for events that it does not count, and in threads that
    /// it does not count.
    pub counts: [AtomicU64; COUNT_WORDS],
    /// CPU time of the thread in the code cache, in nanoseconds. Stored together with `counts`.
    pub translated_ns: AtomicU64,
    /// CPU time of the thread in native code since it was met, where nothing was counted, in nanoseconds.
    pub native_ns: AtomicU64,
    /// By [`Leave`]: how often the thread left the cache for native code, and why.
    pub leaves: [AtomicU64; Leave::COUNT],
    /// One more than the domain of shared caches that the thread is in; 0 where it is not needed.
    pub domain: AtomicU64,
    /// One more than the thread's number among all processes; 0 where it was not seen in memory that processes share.
    pub among_processes: AtomicU64,
    /// Timer signals that found the thread in the cache or outside. Stored together with `counts`.
    pub ticks: AtomicU64,
    /// CPU time of `translated_ns` for which timer signals found the thread outside the cache, in nanoseconds.
    pub unbooked_ns: AtomicU64,
    /// The thread pointer: static thread-local variables lie below it.
    pub thread_pointer: AtomicU64,
    padding: [u64; 4],
}

impl SlotHeader {
    /// Makes the slot ready for a new thread; the caller owns it.
    pub fn reset(&self) {
        let words = [&self.started, &self.ended, &self.cpu_ns, &self.stack_low, &self.stack_high];
        for word in words.into_iter().chain([
            &self.translated_ns,
            &self.native_ns,
            &self.domain,
            &self.among_processes,
        ]) {
            word.store(0, Relaxed);
        }
        for word in [&self.ticks, &self.unbooked_ns, &self.thread_pointer] {
            word.store(0, Relaxed);
        }
        for word in self.name.iter().chain(&self.counters).chain(&self.leaves) {
            word.store(0, Relaxed);
        }
        for word in &self.counts {
            word.store(crate::NOT_COUNTED, Relaxed);
        }
        self.head.store(0, Relaxed);
        self.tail.store(0, Relaxed);
    }
}

/// A slot's head as the host reads it from the file: plain numbers that may hold anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotSnapshot {
    /// As [`SlotHeader::state`]; `None` for a state that does not exist.
    pub state: Option<SlotState>,
    /// As [`SlotHeader::serial`].
    pub serial: u32,
    /// As [`SlotHeader::tid`].
    pub tid: u32,
    /// As [`SlotHeader::main`].
    pub main: bool,
    /// As [`SlotHeader::started`].
    pub started: u64,
    /// As [`SlotHeader::ended`].
    pub ended: u64,
    /// As [`SlotHeader::cpu_ns`].
    pub cpu_ns: u64,
    /// As [`SlotHeader::stack_low`].
    pub stack_low: u64,
    /// As [`SlotHeader::stack_high`].
    pub stack_high: u64,
    /// As [`SlotHeader::name`], lossily as text.
    pub name: String,
    /// As [`SlotHeader::head`].
    pub head: u64,
    /// As [`SlotHeader::tail`].
    pub tail: u64,
    /// As [`SlotHeader::counters`].
    pub counters: [u64; Counter::COUNT],
    /// As [`SlotHeader::counts`].
    pub counts: [u64; Count::COUNT],
    /// As [`SlotHeader::translated_ns`].
    pub translated_ns: u64,
    /// As [`SlotHeader::native_ns`].
    pub native_ns: u64,
    /// As [`SlotHeader::leaves`].
    pub leaves: [u64; Leave::COUNT],
    /// As [`SlotHeader::domain`].
    pub domain: u64,
    /// As [`SlotHeader::among_processes`].
    pub among_processes: u64,
    /// As [`SlotHeader::ticks`].
    pub ticks: u64,
    /// As [`SlotHeader::unbooked_ns`].
    pub unbooked_ns: u64,
    /// As [`SlotHeader::thread_pointer`].
    pub thread_pointer: u64,
}

/// Bytes of a slot's head.
pub const SLOT_HEADER_BYTES: usize = size_of::<SlotHeader>();

/// Where [`SlotHeader::state`] lies in a slot.
pub const STATE_OFFSET: usize = offset_of!(SlotHeader, state);

/// Where [`SlotHeader::tail`] lies in a slot.
pub const TAIL_OFFSET: usize = offset_of!(SlotHeader, tail);

impl SlotSnapshot {
    /// Reads a slot's head.
    pub fn parse(bytes: &[u8; SLOT_HEADER_BYTES]) -> Self {
        let word =
            |at: usize| bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
        let half = |at: usize| word(at) as u32;
        let name_at = offset_of!(SlotHeader, name);
        let name = bytes.get(name_at..name_at + 16).unwrap_or_default();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        Self {
            state: SlotState::from_u32(half(STATE_OFFSET)),
            serial: half(offset_of!(SlotHeader, serial)),
            tid: half(offset_of!(SlotHeader, tid)),
            main: half(offset_of!(SlotHeader, main)) != 0,
            started: word(offset_of!(SlotHeader, started)),
            ended: word(offset_of!(SlotHeader, ended)),
            cpu_ns: word(offset_of!(SlotHeader, cpu_ns)),
            stack_low: word(offset_of!(SlotHeader, stack_low)),
            stack_high: word(offset_of!(SlotHeader, stack_high)),
            name: String::from_utf8_lossy(name).into_owned(),
            head: word(offset_of!(SlotHeader, head)),
            tail: word(TAIL_OFFSET),
            counters: std::array::from_fn(|i| word(offset_of!(SlotHeader, counters) + i * 8)),
            counts: std::array::from_fn(|i| word(offset_of!(SlotHeader, counts) + i * 8)),
            translated_ns: word(offset_of!(SlotHeader, translated_ns)),
            native_ns: word(offset_of!(SlotHeader, native_ns)),
            leaves: std::array::from_fn(|i| word(offset_of!(SlotHeader, leaves) + i * 8)),
            domain: word(offset_of!(SlotHeader, domain)),
            among_processes: word(offset_of!(SlotHeader, among_processes)),
            ticks: word(offset_of!(SlotHeader, ticks)),
            unbooked_ns: word(offset_of!(SlotHeader, unbooked_ns)),
            thread_pointer: word(offset_of!(SlotHeader, thread_pointer)),
        }
    }
}

/// Bytes of one slot: header and ring.
pub const SLOT_BYTES: usize = size_of::<SlotHeader>() + RING_WORDS * 8;

/// Where slot `index` begins in its segment file.
pub const fn slot_offset(index: usize) -> usize {
    size_of::<SegmentHeader>() + index * SLOT_BYTES
}

const _: () = assert!(size_of::<SegmentHeader>() == 64);
const _: () = assert!(size_of::<SlotHeader>() == 640);
const _: () = assert!(RING_WORDS.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NOT_COUNTED;

    /// The header as the bytes that the host reads: every field is a little-endian atomic, in order.
    fn bytes(header: &SlotHeader) -> [u8; SLOT_HEADER_BYTES] {
        let mut bytes = Vec::new();
        for half in [&header.state, &header.serial, &header.tid, &header.main] {
            bytes.extend(half.load(Relaxed).to_le_bytes());
        }
        let mut words = vec![&header.started, &header.ended, &header.cpu_ns];
        words.extend([&header.stack_low, &header.stack_high]);
        words.extend(header.name.iter().chain([&header.head, &header.tail]).chain(&header.counters));
        words.extend(header.counts.iter().chain([&header.translated_ns, &header.native_ns]));
        words.extend(header.leaves.iter().chain([&header.domain, &header.among_processes]));
        words.extend([&header.ticks, &header.unbooked_ns, &header.thread_pointer]);
        words.iter().for_each(|word| bytes.extend(word.load(Relaxed).to_le_bytes()));
        bytes.resize(SLOT_HEADER_BYTES, 0);
        bytes.try_into().unwrap()
    }

    #[test]
    fn counts_are_read_where_they_are_written() {
        let header = SlotHeader::default();
        header.counts[Count::Instructions as usize].store(1_000, Relaxed);
        header.counts[Count::BranchesTaken as usize].store(NOT_COUNTED, Relaxed);
        header.counts[Count::SystemCalls as usize].store(7, Relaxed);
        header.translated_ns.store(90, Relaxed);
        header.native_ns.store(10, Relaxed);
        header.leaves[Leave::Other as usize].store(3, Relaxed);
        header.domain.store(2, Relaxed);
        header.among_processes.store(5, Relaxed);
        header.ticks.store(4, Relaxed);
        header.unbooked_ns.store(6, Relaxed);
        header.thread_pointer.store(8, Relaxed);
        let read = SlotSnapshot::parse(&bytes(&header));
        assert_eq!(read.counts, [1_000, 0, 0, 0, 0, 0, NOT_COUNTED, 0, 0, 0, 7]);
        assert_eq!((read.translated_ns, read.native_ns), (90, 10));
        assert_eq!(read.leaves, [0, 0, 0, 0, 0, 0, 0, 3, 0, 0]);
        assert_eq!((read.domain, read.among_processes, read.ticks, read.unbooked_ns), (2, 5, 4, 6));
        header.reset();
        assert_eq!(
            SlotSnapshot::parse(&bytes(&header)).counts,
            [NOT_COUNTED; Count::COUNT],
            "nothing was counted in the next thread so far"
        );
    }
}
