//! Memory that processes share: its lines have the same addresses in all of them, and boards of their own, which all of
//! them map.
//!
//! A byte of memory that is mapped shared (`MAP_SHARED` files and anonymous memory, `shm_open`, `memfd_create`, System
//! V) has one *shared address* in all processes: the number of its segment and the offset in it (`base/src/shared.rs`),
//! in a form that no virtual address has. Device and inode tell segments apart; they are numbered in the session file
//! `common`, which every agent maps. The agent turns the address of each sample into the shared one by a table of this
//! process's shared mappings, which it renews from `/proc/self/maps` when translated code maps something, and now and
//! then. Detector, store and study treat shared addresses like others, with three exceptions. The detector publishes
//! shared lines on boards in `common` (`Board::with_common`), under the threads' numbers among all processes, and
//! checks everything that it reads from there. A line to be watched is turned back into an address of the process. The
//! study keeps shared lines by recording instead of by process (`ThreadEntry::keeper`).

mod look;
mod ranges;

use std::ops::Range;

use carom_base::{Access, Addr, Line, Nanos};
use carom_base_detect::WatchPlan;

pub use look::after_fork;

use crate::{
    session::{CommonBoards, Session},
    thread::State,
    translated,
};

static RANGES: ranges::Ranges = ranges::Ranges::new();

/// Whether this process has a line of shared memory mapped. Signal-safe.
pub fn reaches(line: Line) -> bool {
    RANGES.local(line.start()).is_some()
}

/// The access with its shared address, where it has one; else the access itself. For handlers.
pub fn common(state: &mut State, common: Option<CommonBoards>, access: Access, now: Nanos) -> Access {
    let Some(common) = common else { return access };
    look::where_due(state.session, common.header, now);
    let found = RANGES.common(access.addr);
    // Translated code reports its mappings.
    let stale =
        found.is_some_and(|addr| !translated::is_on() && !look::holds(common.header, access.addr, addr));
    if stale {
        look::at_once(state.session, common.header);
    }
    let Some(addr) = (if stale { RANGES.common(access.addr) } else { found }) else { return access };
    let own = state.of.share.as_mut();
    if let Some(number) = own.and_then(|own| own.number_among_processes(|| common.next_number())) {
        state.slot.number_among_processes(number);
    }
    Access { addr, ..access }
}

/// Writes the shared mappings as the process ends: there may have been no look before. Signal-safe, but for errno.
pub fn announce(session: &Session) {
    if let Some(common) = session.common {
        look::at_once(session, common.header);
    }
}

/// The address in this process of `addr`, which may be a shared one. `None` where it is not mapped here. Signal-safe.
pub fn local(addr: Addr) -> Option<Addr> {
    if addr.segment().is_some() { RANGES.local(addr) } else { Some(addr) }
}

/// The plan in addresses of this process. Signal-safe.
pub fn local_plan(plan: &WatchPlan) -> Option<WatchPlan> {
    let start = local(plan.line.start())?;
    let moved = |chunk: Addr| Addr(start.0.wrapping_add(chunk.offset_in_line()));
    Some(WatchPlan { line: start.line(), chunks: plan.chunks.map(moved), count: plan.count })
}

/// The program has changed the mapping at `bytes`. `shared`: other processes may see the memory that is there now.
pub fn mapping_changed(bytes: Option<&Range<u64>>, shared: bool) {
    if shared || bytes.is_some_and(|bytes| RANGES.overlap(bytes)) {
        look::note_change(bytes);
    }
}
