//! The memory of the engine: where code, counters, stacks and look-up tables lie, and which of the program's memory
//! is code.
//!
//! ```text
//!   34 GiB                  tables (1.5 MiB)
//!   40 GiB                  lanes (1 MiB in each of 1024 rows of 16: state and stack of one thread each; GS = its lane)
//!   near the program's code arenas (16 MiB of translated code each)
//!   40 GiB above arenas     windows (1024 rows, too, with 1 MiB of counters for each of 16 arenas)
//! ```
//!
//! The program is least likely to look for room in these places (`placement`).
//!
//! Arenas and tables are reserved as address space first and get memory as it is used. Lanes and windows are mapped
//! when a thread needs them. All system calls are made without the C library, so `errno` does not change and none is
//! a cancellation point.

mod arena;
mod bank;
mod claim;
mod diagnosis;
mod error;
pub mod functions;
mod holes;
mod lanes;
mod maps;
pub mod opened;
mod placement;
pub mod program;
mod regions;
mod reservation;
mod shared_page;
mod table;
mod task;
mod windows;

use carom_base_sys::raw as sys;

pub use arena::{Arena, ArenaCopy, CODE_NAME};
pub use error::MemoryError;
pub use holes::{Prefer, find_hole};
pub use lanes::{
    BUFFER_BYTES, BUFFER_OFFSET, LANE_BYTES, LANES, LaneId, Lanes, STACK_BYTES, WATCHED_BYTES, WATCHED_OFFSET,
};
pub use maps::{Mapping, MappingKind};
pub use regions::Regions;
pub use reservation::Reservation;
pub use shared_page::{PAGE_WORDS, SharedPage};
pub use sys::{Errno, call};
pub use table::{TableKind, Tables};
pub use task::waits_at;
pub use windows::{COUNTERS_PER_ARENA, Windows};

/// The end of user addresses: the last page below 2^47 is never mapped (x86-64, `TASK_SIZE_MAX`).
pub const USER_END: u64 = (1 << 47) - PAGE_BYTES;

/// The size of a page.
pub const PAGE_BYTES: u64 = 4 << 10;

/// The engine maps nothing below this address. The kernel keeps the lowest pages (`vm.mmap_min_addr`) unmapped so
/// that null pointers fault, and addresses close to null should fault too.
pub(crate) const FLOOR: u64 = 1 << 20;

/// The reach of a signed 32-bit displacement.
pub(crate) const REACH: u64 = 2 << 30;

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static LOW_MEMORY: Mutex<()> = Mutex::new(());

    /// There may be room for only one set of lanes: tests that reserve some take turns.
    pub(crate) fn low_memory() -> MutexGuard<'static, ()> {
        LOW_MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `child` in a forked process and returns its exit status, or the signal that ended it, negative.
    pub(crate) fn forked(child: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child calls nothing but `child` and ends without cleaning up.
        match unsafe { libc::fork() } {
            0 => {
                let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(99);
                // SAFETY: ends the child.
                unsafe { libc::_exit(status) }
            }
            pid => {
                let mut status = 0;
                // SAFETY: our child, and a valid place.
                unsafe { libc::waitpid(pid, &raw mut status, 0) };
                if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
            }
        }
    }
}
