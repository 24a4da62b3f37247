//! Lanes: where each translated thread has its state and its stack, and its counters beside each arena.
//!
//! ```text
//!   lane (1 MiB)   | slots, xsave: 16 KiB | watches: 136 KiB | buffer: 64 KiB | no access ... | engine's stack: 128 KiB |
//!                  ^ X = GS base                                                      the stack grows down <-- ^
//!   window (1 MiB) | counter 0, 1, 2, ...  (8 bytes each)                                              |
//!                  ^ X + V, V being the same for all threads of one arena
//! ```
//!
//! So that `gs:[rip + d]` with `rip + d = V + 8 * id` is the thread's own counter `id`.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{
    MemoryError, Prefer, REACH,
    reservation::{Reservation, Wish},
    windows::{Windows, windows_within},
};

/// How many threads can be translated at a time.
pub const LANES: usize = 1024;

/// From one lane to the next, and from one window to the next.
pub const LANE_BYTES: u64 = 1 << 20;

/// Slots and xsave area, at the start of a lane.
const SLOTS_BYTES: u64 = 16 << 10;

/// The tables of watched places, behind them.
pub const WATCHED_OFFSET: u64 = SLOTS_BYTES;
pub const WATCHED_BYTES: u64 = 136 << 10;

/// The buffer of accesses, behind that, and its size: half of it in a first-level cache, all of it in the second.
pub const BUFFER_OFFSET: u64 = WATCHED_OFFSET + WATCHED_BYTES;
pub const BUFFER_BYTES: u64 = 64 << 10;

/// All of that. What is not used has no memory.
pub const STATE_BYTES: u64 = BUFFER_OFFSET + BUFFER_BYTES;

/// The engine's stack, at the end of a lane. Below it nothing is accessible.
pub const STACK_BYTES: u64 = 128 << 10;

/// Where the lanes lie if nothing else does.
pub const LANES_START: u64 = 512 << 20;

/// All lanes, and all windows of an arena.
pub(super) const ALL_LANES_BYTES: u64 = LANE_BYTES * LANES as u64;

/// Where they lie in nearly all programs. Counters are as far above their arena's reach as the lanes are above zero, so
/// lanes are low, and all of a position-independent program's address space stays untouched.
const LANES_WITHIN: Range<u64> = 64 << 20..REACH - LANE_BYTES;

/// Where they lie if a position-dependent program's heap is in the middle of that.
const LANES_ELSE_WITHIN: Range<u64> = REACH..64 << 30;

const WHAT: &str = "lanes";

/// A lane: one translated thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u16);

impl LaneId {
    /// Its number, less than [`LANES`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// From the first lane to it, and from the first window of an arena to its own.
    pub(super) fn offset(self) -> u64 {
        u64::from(self.0) * LANE_BYTES
    }
}

/// All lanes, and the windows that belong to them.
///
/// Lanes are opened in ascending order and stay open, so opening one is at most two system calls and one for each
/// arena; open windows merge into one mapping, lanes into two for each of them.
///
/// Dropping it unmaps everything: no thread may use a lane then.
#[derive(Debug)]
pub struct Lanes {
    region: Reservation,
    /// Lanes below this one are accessible, in use or not.
    opened: usize,
    used: [bool; LANES],
    windows: Vec<Reservation>,
}

impl Lanes {
    /// Reserves address space for all lanes: 1 GiB, without memory.
    ///
    /// # Errors
    /// Limits on memory ([`MemoryError`]), or no hole of 1 GiB at low addresses.
    pub fn reserve() -> Result<Self, MemoryError> {
        let reserve = |within: Range<u64>| {
            let prefer = Prefer::Near(LANES_START);
            Reservation::find(&Wish { what: WHAT, bytes: ALL_LANES_BYTES, align: LANE_BYTES, within, prefer })
        };
        let region = match reserve(LANES_WITHIN) {
            Err(MemoryError::NoHole { .. }) => reserve(LANES_ELSE_WITHIN)?,
            found => found?,
        };
        Ok(Self { region, opened: 0, used: [false; LANES], windows: Vec::new() })
    }

    /// Where GS bases lie.
    pub fn range(&self) -> Range<u64> {
        self.region.range()
    }

    /// The GS base of a lane.
    pub fn base(&self, lane: LaneId) -> u64 {
        self.region.range().start + lane.offset()
    }

    /// Where the engine's stack of a lane begins: its highest address, a multiple of 16.
    pub fn stack_top(&self, lane: LaneId) -> u64 {
        self.base(lane) + LANE_BYTES
    }

    /// The lanes in use.
    #[cfg(test)]
    pub fn in_use(&self) -> impl Iterator<Item = LaneId> {
        (0u16..).zip(&self.used).filter(|&(_, &used)| used).map(|(lane, _)| LaneId(lane))
    }

    /// Takes the lowest free lane. State, stack and counters are zero.
    ///
    /// # Errors
    /// [`MemoryError::NoLane`], or limits on memory.
    pub fn take(&mut self) -> Result<LaneId, MemoryError> {
        let full = MemoryError::NoLane { most: LANES };
        let Some(index) = self.used.iter().position(|&used| !used) else { return Err(full) };
        let lane = LaneId(index as u16);
        if index >= self.opened {
            for part in parts(lane) {
                self.region.open(part)?;
            }
            for window in &self.windows {
                window.open(lane.offset()..lane.offset() + LANE_BYTES)?;
            }
            self.opened = index + 1;
        }
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
        Ok(lane)
    }

    /// Gives a lane back, its memory to the kernel: it reads as zero for the next owner. It stays accessible.
    ///
    /// The caller is not on this lane's stack, and GS is not in it any more.
    ///
    /// # Errors
    /// The kernel does not take the memory back; the lane stays in use then, so that nobody sees its contents.
    pub fn release(&mut self, lane: LaneId) -> Result<(), MemoryError> {
        for part in parts(lane) {
            self.region.discard(part)?;
        }
        for window in &self.windows {
            window.discard(lane.offset()..lane.offset() + LANE_BYTES)?;
        }
        if let Some(used) = self.used.get_mut(lane.index()) {
            *used = false;
        }
        Ok(())
    }

    /// Reserves windows (1 GiB of address space) such that every counter is in reach of every byte of `near`.
    ///
    /// # Errors
    /// No hole, or limits on memory.
    pub fn open_windows(&mut self, near: Range<u64>) -> Result<Windows, MemoryError> {
        let lanes_start = self.region.range().start;
        let windows = Reservation::find(&Wish {
            what: "counters",
            bytes: ALL_LANES_BYTES,
            align: LANE_BYTES,
            within: windows_within(&near, lanes_start),
            // Above code there is less that grows: the kernel maps downwards, the heap has room of its own.
            prefer: Prefer::High,
        })?;
        windows.open(0..self.opened as u64 * LANE_BYTES)?;
        let start = windows.range().start;
        self.windows.push(windows);
        Ok(Windows::at(start, lanes_start))
    }

    /// The counters of an arena are zero again. No thread counts there.
    ///
    /// # Errors
    /// The kernel does not take the memory back; the counters stay as they are.
    pub fn clear_windows(&self, windows: Windows) -> Result<(), MemoryError> {
        let same = |window: &&Reservation| window.range().start == windows.start();
        let window = self.windows.iter().find(same);
        window.map_or(Ok(()), |window| window.discard(0..self.opened as u64 * LANE_BYTES))
    }

    /// Unmaps the windows of an arena whose code runs no more.
    #[cfg(test)]
    pub fn close_windows(&mut self, windows: Windows) {
        self.windows.retain(|window| window.range().start != windows.start());
    }
}

/// What is accessible of a lane, as offsets in the region.
fn parts(lane: LaneId) -> [Range<u64>; 2] {
    let (start, end) = (lane.offset(), lane.offset() + LANE_BYTES);
    [start..start + STATE_BYTES, end - STACK_BYTES..end]
}
