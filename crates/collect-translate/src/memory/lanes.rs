//! Lanes: the state, the stack and the counters of each translated thread.
//!
//! ```text
//!   lane (1 MiB)   | slots, xsave: 16 KiB | watches: 136 KiB | buffer: 128 KiB | nothing ...  | engine's stack: 256 KiB |
//!                  ^ X = GS base                                                      the stack grows down <-- ^
//!   window (1 MiB) | counter 0, 1, 2, ...  (8 bytes each)                                              |
//!                  ^ X + V, V being the same for all threads of one arena
//! ```
//!
//! Lanes are the first column of the first [`bank`](super::bank), and each arena's windows are another column.
//! So `gs:[rip + d]` with `rip + d = V + 8 * id` is the thread's own counter `id`.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{
    MemoryError, Prefer, USER_END,
    bank::{BANK_BYTES, Bank, COLUMN_BYTES, ROW_BYTES},
    claim::{Claim, Part},
    maps,
    placement::{SITES, above_libraries},
    reservation::Wish,
    windows::{Windows, starts_within},
};

/// How many threads can be translated at a time, if there is room for all of them.
pub const LANES: usize = 1024;

/// From the start of a lane to the end of its stack.
pub const LANE_BYTES: u64 = COLUMN_BYTES;

/// Slots and xsave area, at the start of a lane.
const SLOTS_BYTES: u64 = 16 << 10;

/// The tables of watched places, behind them.
pub const WATCHED_OFFSET: u64 = SLOTS_BYTES;
pub const WATCHED_BYTES: u64 = 136 << 10;

/// The buffer of accesses, behind these tables, and its size: it fits into a second-level cache, and what is done once for
/// each full buffer takes little of the time.
pub const BUFFER_OFFSET: u64 = WATCHED_OFFSET + WATCHED_BYTES;
pub const BUFFER_BYTES: u64 = 128 << 10;

/// The sum of these. Unused parts take no memory.
pub const STATE_BYTES: u64 = BUFFER_OFFSET + BUFFER_BYTES;

/// The engine's stack, at the end of a lane. Below it nothing is mapped. The lower half is for signals that were
/// deferred.
pub const STACK_BYTES: u64 = 256 << 10;

const WHAT: &str = "lanes";

/// A lane: one translated thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u16);

impl LaneId {
    /// Its number, less than [`LANES`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Its row in all banks.
    fn row(self) -> u64 {
        u64::from(self.0)
    }

    /// Its distance from the first lane, and of its windows from the first ones.
    pub(super) fn offset(self) -> u64 {
        self.row() * ROW_BYTES
    }
}

/// All lanes, and the windows that belong to them.
///
/// Lanes are opened in ascending order and stay open. So opening one takes a few system calls, plus one for each
/// arena.
///
/// Dropping it unmaps everything: no thread may use a lane then.
#[derive(Debug)]
pub struct Lanes {
    above_libraries: Option<u64>,
    /// The number of lanes that are accessible, in use or not.
    opened: usize,
    uses: [Use; LANES],
    /// The one with the lanes.
    home: Bank,
    /// Others, with windows beside arenas.
    beside: Vec<Bank>,
}

impl Lanes {
    /// Chooses address space for all lanes, 16 GiB. Nothing of it is mapped yet.
    ///
    /// # Errors
    /// No hole is large enough.
    pub fn reserve() -> Result<Self, MemoryError> {
        let find = |within| {
            let wish =
                Wish { what: WHAT, bytes: BANK_BYTES, align: COLUMN_BYTES, within, prefer: Prefer::Low };
            Claim::find(&wish, std::iter::empty())
        };
        let [usual, other] = SITES;
        let claim = match find(usual) {
            Err(MemoryError::NoHole { .. }) => find(other),
            found => found,
        };
        Ok(Self {
            above_libraries: above_libraries(&maps::read()?),
            opened: 0,
            uses: [Use::Free; LANES],
            home: Bank::of_lanes(claim?),
            beside: Vec::new(),
        })
    }

    /// Where nothing grows, as near to the libraries as possible.
    pub const fn above_libraries(&self) -> Option<u64> {
        self.above_libraries
    }

    /// Where GS bases lie.
    pub fn range(&self) -> Range<u64> {
        self.home.claim().range()
    }

    /// The GS base of a lane.
    pub fn base(&self, lane: LaneId) -> u64 {
        self.range().start + lane.offset()
    }

    /// Where the engine's stack of a lane begins: its highest address, a multiple of 16.
    pub fn stack_top(&self, lane: LaneId) -> u64 {
        self.base(lane) + LANE_BYTES
    }

    /// The lanes in use.
    #[cfg(test)]
    pub fn in_use(&self) -> impl Iterator<Item = LaneId> {
        (0u16..).zip(&self.uses).filter(|&(_, &used)| used == Use::Taken).map(|(lane, _)| LaneId(lane))
    }

    /// Takes the lowest free lane. State, stack and counters are zero.
    ///
    /// # Errors
    /// [`MemoryError::NoLane`], or limits on memory.
    pub fn take(&mut self) -> Result<LaneId, MemoryError> {
        let full = MemoryError::NoLane { most: LANES };
        let Some(index) = self.uses.iter().position(|&used| used != Use::Taken) else { return Err(full) };
        let lane = LaneId(index as u16);
        if self.uses.get(index) == Some(&Use::Abandoned) {
            self.leave(lane).give_back()?;
        }
        if index >= self.opened {
            parts(lane).into_iter().try_for_each(|part| self.home.claim_mut().open(part))?;
            self.home.open_row(lane.row())?;
            self.beside.iter_mut().try_for_each(|bank| bank.open_row(lane.row()))?;
            self.opened = index + 1;
        }
        self.set(lane, Use::Taken);
        Ok(lane)
    }

    /// The memory of a lane, which must be given back to the kernel before the lane is [`free`](Self::free). It stays
    /// accessible.
    ///
    /// The caller must not be on this lane's stack, and its GS must not point there any more.
    pub fn leave(&self, lane: LaneId) -> Left {
        let own = parts(lane).map(|part| self.home.claim().at(part));
        Left(own.into_iter().chain(self.banks().flat_map(|bank| bank.row(lane.row()))).collect())
    }

    fn banks(&self) -> impl Iterator<Item = &Bank> {
        std::iter::once(&self.home).chain(&self.beside)
    }

    /// Makes the lane available to the next thread; its memory was given back.
    pub fn free(&mut self, lane: LaneId) {
        self.set(lane, Use::Free);
    }

    /// Makes the lane available to the next thread once its memory is given back.
    pub fn abandon(&mut self, lane: LaneId) {
        self.set(lane, Use::Abandoned);
    }

    fn set(&mut self, lane: LaneId, now: Use) {
        if let Some(used) = self.uses.get_mut(lane.index()) {
            *used = now;
        }
    }

    /// Chooses windows: with every counter in reach of every byte of `near`, or beside the lanes where there is no room.
    ///
    /// # Errors
    /// No hole, or limits on memory.
    pub fn open_windows(&mut self, near: &Range<u64>) -> Result<Windows, MemoryError> {
        let (lanes, rows) = (self.range(), self.opened as u64);
        let within = starts_within(near, lanes.start);
        for bank in std::iter::once(&mut self.home).chain(&mut self.beside) {
            if let Some(start) = bank.open_windows(&within, rows)? {
                return Ok(Windows::at(start, lanes.start));
            }
        }
        let wish = Wish {
            what: "counters",
            bytes: BANK_BYTES,
            align: COLUMN_BYTES,
            within: within.start..(within.end - 1).saturating_add(BANK_BYTES).min(USER_END),
            // In the middle: arenas on both sides are to reach it, too.
            prefer: Prefer::Near(near.start + lanes.start),
        };
        match Claim::find(&wish, self.banks().map(Bank::claim)) {
            Ok(claim) => {
                let mut bank = Bank::of_windows(claim);
                let opened = bank.open_windows(&within, rows);
                self.beside.push(bank);
                if let Some(start) = opened? {
                    return Ok(Windows::at(start, lanes.start));
                }
            }
            Err(MemoryError::NoHole { .. }) => {}
            Err(error) => return Err(error),
        }
        let Range { start: low, end: high } = lanes;
        let no_hole = MemoryError::NoHole { what: wish.what, bytes: COLUMN_BYTES, low, high };
        let start = self.home.open_windows(&lanes, rows)?.ok_or(no_hole)?;
        Ok(Windows::at(start, lanes.start))
    }

    /// Sets the counters of an arena to zero. No thread may count there.
    ///
    /// # Errors
    /// The kernel does not take the memory back; the counters keep their values.
    pub fn clear_windows(&self, windows: Windows) -> Result<(), MemoryError> {
        let rows = self.opened as u64;
        self.banks().flat_map(|bank| bank.windows(windows.start(), rows)).try_for_each(|part| part.discard())
    }
}

/// The state of a lane that is not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// All of it reads as zero.
    Free,
    /// It has the contents of a thread that no longer exists.
    Abandoned,
    Taken,
}

/// The memory of a lane that no thread uses.
#[derive(Debug)]
pub struct Left(Vec<Part>);

impl Left {
    /// Returns it to the kernel: it reads as zero for the next owner.
    ///
    /// # Errors
    /// The kernel does not take it; the next owner must not see its contents.
    pub fn give_back(&self) -> Result<(), MemoryError> {
        self.0.iter().try_for_each(Part::discard)
    }
}

/// The accessible parts of a lane, as offsets in its bank.
fn parts(lane: LaneId) -> [Range<u64>; 2] {
    let (start, end) = (lane.offset(), lane.offset() + LANE_BYTES);
    [start..start + STATE_BYTES, end - STACK_BYTES..end]
}
