//! Memory that processes share: its lines have addresses that are the same in all of them, and boards of their own, which all
//! of them map.
//!
//! A byte of memory that is mapped shared (`MAP_SHARED` files and anonymous memory, `shm_open`, `memfd_create`, System V) has one
//! *shared address* in all processes: the number of its segment and the offset in it (`base/src/shared.rs`), in a form that no
//! virtual address has. Device and inode tell segments apart; they are numbered in the session file `common`, which every agent maps.
//! The agent turns the address of each sample into the shared one by a table of this process's shared mappings, which it
//! renews from `/proc/self/maps` when translated code maps something, and now and then. Everything behind it, detector, store and
//! study, treats shared addresses like others: no case is made of them but three. The detector publishes such lines on
//! boards in `common` (`Board::with_common`), under numbers that threads have among all processes; what is read from there is
//! looked at before it is believed. A line to be watched is turned back into an address of the process. And the study keeps
//! these lines by recording, not by process (`ThreadEntry::keeper`).

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

/// The access as all processes know it, where it goes to memory that they may share; else the access itself. For handlers.
pub fn common(state: &mut State, common: Option<CommonBoards>, access: Access, now: Nanos) -> Access {
    let Some(common) = common else { return access };
    look::where_due(state.session, common.header, now);
    let found = RANGES.common(access.addr);
    // Translated code tells what it maps.
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

/// Writes down what is mapped, as the process ends: nobody may have looked before. Signal-safe, but for errno.
pub fn announce(session: &Session) {
    if let Some(common) = session.common {
        look::at_once(session, common.header);
    }
}

/// The address of this process that stands for `addr`, which may be a shared one. `None` where it is not mapped here.
/// Signal-safe.
pub fn local(addr: Addr) -> Option<Addr> {
    if addr.segment().is_some() { RANGES.local(addr) } else { Some(addr) }
}

/// The plan in addresses of this process. Signal-safe.
pub fn local_plan(plan: &WatchPlan) -> Option<WatchPlan> {
    let start = local(plan.line.start())?;
    let moved = |chunk: Addr| Addr(start.0.wrapping_add(chunk.offset_in_line()));
    Some(WatchPlan { line: start.line(), chunks: plan.chunks.map(moved), count: plan.count })
}

/// The program has mapped something at `bytes`, or unmapped what was there; `shared`: others may see what is there now.
pub fn mapping_changed(bytes: Option<&Range<u64>>, shared: bool) {
    if shared || bytes.is_some_and(|bytes| RANGES.overlap(bytes)) {
        look::note_change(bytes);
    }
}
