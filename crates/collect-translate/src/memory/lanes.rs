//! Lanes: where each translated thread has its state and its stack, and its counters beside each arena.
//!
//! ```text
//!   lane (1 MiB)   | slots, xsave: 16 KiB | watches: 136 KiB | buffer: 64 KiB | nothing ...   | engine's stack: 128 KiB |
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
    MemoryError, Prefer,
    claim::{Claim, Part},
    maps,
    placement::{Layout, Site},
    reservation::Wish,
    windows::{Windows, windows_within},
};

/// How many threads can be translated at a time, where there is room for so many.
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

/// The engine's stack, at the end of a lane. Below it nothing is mapped.
pub const STACK_BYTES: u64 = 128 << 10;

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
/// Lanes are opened in ascending order and stay open, so opening one is a few system calls and as many for each
/// arena; open windows merge into one mapping.
///
/// Dropping it unmaps everything: no thread may use a lane then.
#[derive(Debug)]
pub struct Lanes {
    region: Claim,
    layout: Layout,
    /// Lanes below this one are accessible, in use or not.
    opened: usize,
    uses: [Use; LANES],
    windows: Vec<Claim>,
}

impl Lanes {
    /// Chooses address space for all lanes: 1 GiB in most programs, of which nothing is mapped yet.
    ///
    /// # Errors
    /// No hole that is large enough.
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

    /// Where nothing grows, as near to the libraries as that goes.
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

    /// What a lane has in memory, to be given back to the kernel before the lane is [`free`](Self::free). It stays accessible.
    ///
    /// The caller is not on this lane's stack, and GS is not in it any more.
    pub fn leave(&self, lane: LaneId) -> Left {
        let windows = self.windows.iter().map(|window| window.at(lane.offset()..lane.offset() + LANE_BYTES));
        Left(parts(lane).map(|part| self.region.at(part)).into_iter().chain(windows).collect())
    }

    /// The next thread may have it, whose memory was given back.
    pub fn free(&mut self, lane: LaneId) {
        self.set(lane, Use::Free);
    }

    /// The next thread may have it, once its memory was given back.
    pub fn abandon(&mut self, lane: LaneId) {
        self.set(lane, Use::Abandoned);
    }

    fn set(&mut self, lane: LaneId, now: Use) {
        if let Some(used) = self.uses.get_mut(lane.index()) {
            *used = now;
        }
    }

    /// Chooses windows (as much address space as the lanes have) such that every counter is in reach of every byte of `near`.
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
            // Above code there is less that grows: the kernel maps downwards, the heap has room of its own.
            prefer: Prefer::High,
        };
        let mut windows = Claim::find(&wish, self.windows.iter().chain([&self.region]))?;
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
        let same = |window: &&Claim| window.range().start == windows.start();
        let window = self.windows.iter().find(same);
        window.map_or(Ok(()), |window| window.discard(0..self.opened as u64 * LANE_BYTES))
    }

    /// Unmaps the windows of an arena whose code runs no more.
    #[cfg(test)]
    pub fn close_windows(&mut self, windows: Windows) {
        self.windows.retain(|window| window.range().start != windows.start());
    }
}

/// What becomes of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// All of it reads as zero.
    Free,
    /// It has what a thread left there that does not exist any more.
    Abandoned,
    Taken,
}

/// The memory of a lane that nobody uses.
#[derive(Debug)]
pub struct Left(Vec<Part>);

impl Left {
    /// Gives it to the kernel: it reads as zero for the next owner.
    ///
    /// # Errors
    /// The kernel does not take it; nobody may see its contents.
    pub fn give_back(&self) -> Result<(), MemoryError> {
        self.0.iter().try_for_each(Part::discard)
    }
}

/// What is accessible of a lane, as offsets in the region.
fn parts(lane: LaneId) -> [Range<u64>; 2] {
    let (start, end) = (lane.offset(), lane.offset() + LANE_BYTES);
    [start..start + STATE_BYTES, end - STACK_BYTES..end]
}
