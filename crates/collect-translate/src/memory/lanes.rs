//! Lanes: the state, the stack and the counters of each translated thread.
//!
//! ```text
//!   lane (1 MiB)   | slots, xsave: 16 KiB | watches: 136 KiB | buffer: 128 KiB | nothing ...  | engine's stack: 256 KiB |
//!                  ^ X = GS base                                                      the stack grows down <-- ^
//!   window (1 MiB) | counter 0, 1, 2, ...  (8 bytes each)                                              |
//!                  ^ X + V, V being the same for all threads of one arena
//! ```
//!
//! So `gs:[rip + d]` with `rip + d = V + 8 * id` is the thread's own counter `id`.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{
    MemoryError, Prefer,
    claim::{Claim, Part},
    maps,
    placement::{Layout, Site},
    reservation::Wish,
    windows::{Windows, windows_within},
};

/// How many threads can be translated at a time, if there is room for all of them.
pub const LANES: usize = 1024;

/// From one lane to the next, and from one window to the next.
pub const LANE_BYTES: u64 = 1 << 20;

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

    /// Its distance from the first lane, and of its windows from the first ones.
    pub(super) fn offset(self) -> u64 {
        u64::from(self.0) * LANE_BYTES
    }
}

/// All lanes, and the windows that belong to them.
///
/// Lanes are opened in ascending order and stay open. So opening one takes a few system calls, plus a few for each
/// arena, and open windows merge into one mapping.
///
/// Dropping it unmaps everything: no thread may use a lane then.
#[derive(Debug)]
pub struct Lanes {
    region: Claim,
    layout: Layout,
    /// The number of lanes that are accessible, in use or not.
    opened: usize,
    uses: [Use; LANES],
    windows: Vec<Claim>,
}

impl Lanes {
    /// Chooses address space for all lanes: 1 GiB in most programs. Nothing of it is mapped yet.
    ///
    /// # Errors
    /// No hole is large enough.
    pub fn reserve() -> Result<Self, MemoryError> {
        let layout = Layout::of(&maps::read()?);
        let reserve = |Site { lanes, within, prefer }| {
            let bytes = LANE_BYTES * lanes as u64;
            Claim::find(&Wish { what: WHAT, bytes, align: LANE_BYTES, within, prefer }, std::iter::empty())
        };
        let mut region = Err(MemoryError::NoLane { most: 0 });
        for site in layout.sites() {
            region = reserve(site);
            if !matches!(region, Err(MemoryError::NoHole { .. })) {
                break;
            }
        }
        Ok(Self { region: region?, layout, opened: 0, uses: [Use::Free; LANES], windows: Vec::new() })
    }

    /// All lanes, and all windows of an arena.
    fn bytes(&self) -> u64 {
        self.region.range().end - self.region.range().start
    }

    /// How many there are.
    fn count(&self) -> usize {
        (self.bytes() / LANE_BYTES) as usize
    }

    /// Where nothing grows, as near to the libraries as possible.
    pub fn above_libraries(&self) -> Option<u64> {
        self.layout.above_libraries()
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
        (0u16..).zip(&self.uses).filter(|&(_, &used)| used == Use::Taken).map(|(lane, _)| LaneId(lane))
    }

    /// Takes the lowest free lane. State, stack and counters are zero.
    ///
    /// # Errors
    /// [`MemoryError::NoLane`], or limits on memory.
    pub fn take(&mut self) -> Result<LaneId, MemoryError> {
        let full = MemoryError::NoLane { most: self.count() };
        let mut free = self.uses.iter().take(self.count());
        let Some(index) = free.position(|&used| used != Use::Taken) else { return Err(full) };
        let lane = LaneId(index as u16);
        if self.uses.get(index) == Some(&Use::Abandoned) {
            self.leave(lane).give_back()?;
        }
        if index >= self.opened {
            for part in parts(lane) {
                self.region.open(part)?;
            }
            for window in &mut self.windows {
                window.open(lane.offset()..lane.offset() + LANE_BYTES)?;
            }
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
        let windows = self.windows.iter().map(|window| window.at(lane.offset()..lane.offset() + LANE_BYTES));
        Left(parts(lane).map(|part| self.region.at(part)).into_iter().chain(windows).collect())
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

    /// Chooses windows (as much address space as the lanes have) with every counter in reach of every byte of `near`.
    ///
    /// # Errors
    /// No hole, or limits on memory.
    pub fn open_windows(&mut self, near: Range<u64>) -> Result<Windows, MemoryError> {
        let lanes_start = self.region.range().start;
        let wish = Wish {
            what: "counters",
            bytes: self.bytes(),
            align: LANE_BYTES,
            within: windows_within(&near, lanes_start, self.bytes()),
            // Above the code, where less grows: the kernel maps downwards, and the heap has room of its own.
            prefer: Prefer::High,
        };
        let mut windows = Claim::find(&wish, self.windows.iter().chain([&self.region]))?;
        windows.open(0..self.opened as u64 * LANE_BYTES)?;
        let start = windows.range().start;
        self.windows.push(windows);
        Ok(Windows::at(start, lanes_start))
    }

    /// Sets the counters of an arena to zero. No thread may count there.
    ///
    /// # Errors
    /// The kernel does not take the memory back; the counters keep their values.
    pub fn clear_windows(&self, windows: Windows) -> Result<(), MemoryError> {
        let same = |window: &&Claim| window.range().start == windows.start();
        let window = self.windows.iter().find(same);
        window.map_or(Ok(()), |window| window.discard(0..self.opened as u64 * LANE_BYTES))
    }

    /// Unmaps the windows of an arena whose code is no longer run.
    #[cfg(test)]
    pub fn close_windows(&mut self, windows: Windows) {
        self.windows.retain(|window| window.range().start != windows.start());
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

/// The accessible parts of a lane, as offsets in the region.
fn parts(lane: LaneId) -> [Range<u64>; 2] {
    let (start, end) = (lane.offset(), lane.offset() + LANE_BYTES);
    [start..start + STATE_BYTES, end - STACK_BYTES..end]
}
