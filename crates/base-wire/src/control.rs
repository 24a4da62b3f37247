use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::VERSION;

/// Name of the control file in the session directory.
pub const CONTROL_FILE: &str = "control";

/// In place of an error number: the program made the child by `clone`, of which its C library does not tell.
pub const MADE_BY_CLONE: i32 = 1 << 16;

/// `"carom-c\0"`.
const CONTROL_MAGIC: u64 = u64::from_le_bytes(*b"carom-c\0");

/// The control page: what changes while programs run. All fields are atomics because host and agents have it open at once.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Control {
    magic: AtomicU64,
    version: AtomicU32,
    /// Set when recording ends, by the host or by an agent that has kept enough: agents stop sampling at their next sample.
    pub stop: AtomicU32,
    /// 1 while one agent calibrates, 2 once the costs below are there.
    pub calibrated: AtomicU32,
    /// Cost of one timer sample in nanoseconds, without decoding.
    pub timer_ns: AtomicU64,
    /// Cost of one single step in nanoseconds.
    pub step_ns: AtomicU64,
    /// Cost of one watchpoint trap in nanoseconds.
    pub trap_ns: AtomicU64,
    /// Cost of moving one watchpoint in nanoseconds. No budget is charged with it: it is part of a handler's own time.
    pub modify_ns: AtomicU64,
    /// Threads of any process that could not be profiled.
    pub unprofiled_threads: AtomicU64,
    /// Children of any process that could not be profiled, having been forked.
    pub unprofiled_children: AtomicU64,
    /// CPU time of those threads and children, in nanoseconds, of those that have ended in an orderly way.
    pub unprofiled_ns: AtomicU64,
    /// The error number of the latest of them, or [`MADE_BY_CLONE`].
    pub unprofiled_errno: AtomicU64,
    /// How often the periods are doubled now ([`Settings::doublings`](crate::Settings::doublings)).
    pub doublings: AtomicU32,
    /// CPU time of translated threads since that was last decided, in nanoseconds.
    pub ran_ns: AtomicU64,
    /// What samples would have taken of it, had no period been doubled, in nanoseconds.
    pub sampling_ns: AtomicU64,
    /// What watching took of it, in nanoseconds.
    pub watching_ns: AtomicU64,
    /// What observation took beyond the budget before, less what it left of it, in nanoseconds.
    pub owed_ns: AtomicU64,
    /// Accesses that were kept, of all processes, and those beyond [`Settings::most_kept`](crate::Settings::most_kept).
    pub kept: AtomicU64,
}

impl Control {
    /// The page's bytes when a session begins.
    pub fn bytes() -> [u8; size_of::<Self>()] {
        let mut bytes = [0; size_of::<Self>()];
        let head = CONTROL_MAGIC.to_le_bytes().into_iter().chain(VERSION.to_le_bytes());
        bytes.iter_mut().zip(head).for_each(|(place, byte)| *place = byte);
        bytes
    }

    /// Whether the page is one of this version.
    pub fn is_valid(&self) -> bool {
        self.magic.load(Relaxed) == CONTROL_MAGIC && self.version.load(Relaxed) == VERSION
    }

    /// Where [`Control::stop`] lies in the file, in bytes.
    pub const fn stop_offset() -> u64 {
        std::mem::offset_of!(Self, stop) as u64
    }

    /// Where [`Control::kept`] lies in the file, in bytes.
    pub const fn kept_offset() -> u64 {
        std::mem::offset_of!(Self, kept) as u64
    }

    /// Where the four costs and the count of unprofiled threads lie in the file, in bytes:
    /// `timer_ns, step_ns, trap_ns, modify_ns, unprofiled_threads`.
    pub const fn results_offset() -> u64 {
        std::mem::offset_of!(Self, timer_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_with_what_it_is() {
        let bytes = Control::bytes();
        let page = Control::default();
        assert!(!page.is_valid(), "a page of zeroes is none");
        page.magic.store(u64::from_le_bytes(bytes[..8].try_into().unwrap()), Relaxed);
        page.version.store(u32::from_le_bytes(bytes[8..12].try_into().unwrap()), Relaxed);
        assert!(page.is_valid());
        assert_eq!(bytes[Control::stop_offset() as usize..], [0; size_of::<Control>() - 12]);
    }
}
