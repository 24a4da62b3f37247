//! Lanes: where each translated thread has its state and its stack, and its counters beside each arena.
//!
//! ```text
//!   lane (1 MiB)   | slots, xsave: 16 KiB | watched lines, buffer: 64 KiB each | no access ... | engine's stack: 128 KiB |
//!                  ^ X = GS base                                                      the stack grows down <-- ^
//!   window (1 MiB) | counter 0, 1, 2, ...  (8 bytes each)                                              |
//!                  ^ X + V, V being the same for all threads of one arena
//! ```
//!
//! So that `gs:[rip + d]` with `rip + d = V + 8 * id` is the thread's own counter `id`.

use std::{
    ops::Range,
    sync::atomic::{AtomicI64, Ordering},
};

use super::{
    FLOOR, MemoryError, Prefer, REACH, USER_END,
    reservation::{Reservation, Wish},
};

/// How many threads can be translated at a time.
pub const LANES: usize = 1024;

/// From one lane to the next, and from one window to the next.
pub const LANE_BYTES: u64 = 1 << 20;

/// Slots and xsave area, at the start of a lane.
const SLOTS_BYTES: u64 = 16 << 10;

/// The table of watched lines, behind them.
pub const WATCHED_OFFSET: u64 = SLOTS_BYTES;
pub const WATCHED_BYTES: u64 = 64 << 10;

/// The buffer of accesses, behind that, and its size: half of it in a first-level cache, all of it in the second.
pub const BUFFER_OFFSET: u64 = WATCHED_OFFSET + WATCHED_BYTES;
pub const BUFFER_BYTES: u64 = 64 << 10;

/// All of that. What is not used has no memory.
pub const STATE_BYTES: u64 = BUFFER_OFFSET + BUFFER_BYTES;

/// The engine's stack, at the end of a lane. Below it nothing is accessible.
pub const STACK_BYTES: u64 = 128 << 10;

/// Counters of one thread for one arena.
pub const COUNTERS_PER_ARENA: usize = (LANE_BYTES / COUNTER_BYTES) as usize;

/// A counter's size.
pub const COUNTER_BYTES: u64 = 8;

/// Where the lanes lie if nothing else does.
pub const LANES_START: u64 = 512 << 20;

const ALL_LANES_BYTES: u64 = LANE_BYTES * LANES as u64;

/// Where they lie in nearly all programs. Counters are as far above their arena's reach as the lanes are above zero, so
/// lanes are low, and all of a position-independent program's address space stays untouched.
const LANES_WITHIN: Range<u64> = 64 << 20..REACH - LANE_BYTES;

/// Where they lie if a position-dependent program's heap is in the middle of that.
const LANES_ELSE_WITHIN: Range<u64> = REACH..64 << 30;

/// How far counters may lie from code. Less than 2 GiB, so that an instruction's length and the counter's own never
/// matter.
const COUNTER_REACH: u64 = REACH - LANE_BYTES;

const WHAT: &str = "lanes";

/// A lane: one translated thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u16);

impl LaneId {
    /// Its number, less than [`LANES`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    fn offset(self) -> u64 {
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

/// The counters beside one arena: a window for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// From a lane to its window (modulo 2^64): counter `id` is `gs:[v + 8 * id]`.
    pub v: u64,
    start: u64,
}

impl Windows {
    /// Where the counter `id` (less than [`COUNTERS_PER_ARENA`]) of a lane is.
    pub fn counter_address(&self, lane: LaneId, id: usize) -> *mut i64 {
        debug_assert!(id < COUNTERS_PER_ARENA);
        let address = self.start + lane.offset() + id as u64 * COUNTER_BYTES;
        std::ptr::with_exposed_provenance_mut(address as usize)
    }

    /// A counter of a lane; 0 for numbers too large.
    ///
    /// The lane is one that was taken, and the windows are open still. Its thread may be counting meanwhile.
    pub fn value(&self, lane: LaneId, id: usize) -> i64 {
        self.counter(lane, id).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// Gives a counter of a lane a value, as [`value`](Self::value) reads it. What its thread counts meanwhile may be
    /// lost, so it is that thread itself that does this, or that thread does not run translated code.
    pub fn set(&self, lane: LaneId, id: usize, value: i64) {
        if let Some(counter) = self.counter(lane, id) {
            counter.store(value, Ordering::Relaxed);
        }
    }

    /// The sum of the first counters of a lane, each times its weight.
    pub fn weighted(&self, lane: LaneId, weights: &[i32]) -> i64 {
        let first = self.counter_address(lane, 0);
        let weights = weights.get(..weights.len().min(COUNTERS_PER_ARENA)).unwrap_or_default();
        let products = weights.iter().enumerate().map(|(id, &weight)| {
            // SAFETY: as in `counter`.
            let counter = unsafe { AtomicI64::from_ptr(first.wrapping_add(id)) };
            counter.load(Ordering::Relaxed).wrapping_mul(i64::from(weight))
        });
        products.fold(0, i64::wrapping_add)
    }

    // ATOMICS: relaxed throughout: a counter orders nothing, and translated code counts with plain instructions.
    fn counter(&self, lane: LaneId, id: usize) -> Option<&AtomicI64> {
        let place = (id < COUNTERS_PER_ARENA).then(|| self.counter_address(lane, id))?;
        // SAFETY: aligned; a lane that was taken once has its windows open until they are closed for good.
        Some(unsafe { AtomicI64::from_ptr(place) })
    }
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
        Ok(Windows { v: start.wrapping_sub(lanes_start), start })
    }

    /// The counters of an arena are zero again. No thread counts there.
    ///
    /// # Errors
    /// The kernel does not take the memory back; the counters stay as they are.
    pub fn clear_windows(&self, windows: Windows) -> Result<(), MemoryError> {
        let same = |window: &&Reservation| window.range().start == windows.start;
        let window = self.windows.iter().find(same);
        window.map_or(Ok(()), |window| window.discard(0..self.opened as u64 * LANE_BYTES))
    }

    /// Unmaps the windows of an arena whose code runs no more.
    #[cfg(test)]
    pub fn close_windows(&mut self, windows: Windows) {
        self.windows.retain(|window| window.range().start != windows.start);
    }
}

/// What is accessible of a lane, as offsets in the region.
fn parts(lane: LaneId) -> [Range<u64>; 2] {
    let (start, end) = (lane.offset(), lane.offset() + LANE_BYTES);
    [start..start + STATE_BYTES, end - STACK_BYTES..end]
}

/// Where a window region may lie: for every offset less than [`LANE_BYTES`] and every byte `a` of `near`,
/// `|v + offset - a| < COUNTER_REACH`. The region begins at `v + lanes_start`.
fn windows_within(near: &Range<u64>, lanes_start: u64) -> Range<u64> {
    let lowest = near.end.saturating_add(lanes_start).saturating_sub(COUNTER_REACH);
    let highest = near.start.saturating_add(lanes_start).saturating_add(COUNTER_REACH - LANE_BYTES);
    lowest.max(FLOOR)..highest.saturating_add(ALL_LANES_BYTES).min(USER_END)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::testing::low_memory, *};

    fn bytes(at: u64, count: u64) -> &'static [u8] {
        // SAFETY: the tests ask for open memory of lanes only, and read before it is unmapped.
        unsafe { std::slice::from_raw_parts(at as *const u8, count as usize) }
    }

    fn fill(at: u64, count: u64) {
        // SAFETY: as above; nobody else has these lanes.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0xa5, count as usize) };
    }

    /// State and stack of a lane, in that order.
    fn open_parts(lanes: &Lanes, lane: LaneId) -> [(u64, u64); 2] {
        [(lanes.base(lane), STATE_BYTES), (lanes.stack_top(lane) - STACK_BYTES, STACK_BYTES)]
    }

    #[test]
    fn lanes_lie_low_and_are_taken_from_the_lowest() {
        let _turn = low_memory();
        let mut lanes = Lanes::reserve().expect("lanes");
        assert!(lanes.region.range().start >= 64 << 20 && lanes.region.range().end < 2 << 30);
        let taken: Vec<_> = (0..3).map(|_| lanes.take().expect("lane")).collect();
        assert_eq!(taken.iter().map(|lane| lane.index()).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(lanes.base(taken[2]), lanes.region.range().start + (2 << 20));
        lanes.release(taken[1]).expect("released");
        assert_eq!(lanes.in_use().collect::<Vec<_>>(), [taken[0], taken[2]]);
        assert_eq!(lanes.take().expect("lane"), taken[1]);
    }

    #[test]
    fn a_released_lane_is_zero_for_its_next_owner() {
        let _turn = low_memory();
        let mut lanes = Lanes::reserve().expect("lanes");
        let windows = lanes.open_windows(0x5555_0000_0000..0x5555_0100_0000).expect("windows");
        let (other, lane) = (lanes.take().expect("lane"), lanes.take().expect("lane"));
        let counters = windows.counter_address(lane, 0) as u64;
        let parts = open_parts(&lanes, lane).into_iter().chain([(counters, LANE_BYTES)]);
        fill(lanes.base(other), STATE_BYTES);
        for (at, count) in parts.clone() {
            assert!(bytes(at, count).iter().all(|&byte| byte == 0), "a new lane is zero");
            fill(at, count);
        }
        lanes.release(lane).expect("released");
        assert_eq!(lanes.take().expect("lane"), lane);
        for (at, count) in parts {
            assert!(bytes(at, count).iter().all(|&byte| byte == 0), "{at:#x} is not zero");
        }
        assert!(
            bytes(lanes.base(other), STATE_BYTES).iter().all(|&byte| byte == 0xa5),
            "the neighbour's stays"
        );
    }

    #[test]
    fn all_lanes_can_be_taken_and_no_more() {
        let _turn = low_memory();
        let mut lanes = Lanes::reserve().expect("lanes");
        let windows = lanes.open_windows(0x5555_0000_0000..0x5555_0100_0000).expect("windows");
        let last = (0..LANES).map(|_| lanes.take().expect("lane")).last().expect("1024 lanes");
        fill(lanes.base(last), STATE_BYTES);
        fill(windows.counter_address(last, COUNTERS_PER_ARENA - 1) as u64, COUNTER_BYTES);
        assert_eq!(
            windows.counter_address(last, COUNTERS_PER_ARENA - 1) as u64,
            windows.start + (1 << 30) - 8
        );
        assert_eq!(lanes.take(), Err(MemoryError::NoLane { most: LANES }));
    }

    #[test]
    fn windows_opened_later_serve_the_lanes_in_use() {
        let _turn = low_memory();
        let mut lanes = Lanes::reserve().expect("lanes");
        let lane = lanes.take().expect("lane");
        let near = 0x5555_0000_0000..0x5555_0100_0000;
        let windows = lanes.open_windows(near.clone()).expect("windows");
        fill(windows.counter_address(lane, 7) as u64, COUNTER_BYTES);
        // The instruction's view of it: GS base + v + 8 * id.
        assert_eq!(
            lanes.base(lane).wrapping_add(windows.v).wrapping_add(56),
            windows.counter_address(lane, 7) as u64
        );
        assert_eq!(windows.value(lane, 7), 0xa5a5_a5a5_a5a5_a5a5_u64 as i64);
        windows.set(lane, 8, -5);
        assert_eq!([6, 8, COUNTERS_PER_ARENA].map(|id| windows.value(lane, id)), [0, -5, 0]);
        let second = lanes.open_windows(near).expect("windows");
        assert_ne!(windows.start, second.start);
        lanes.close_windows(windows);
        assert_eq!(lanes.windows.len(), 1);
        assert_eq!(lanes.windows[0].range().start, second.start);
    }

    #[test]
    fn the_stack_has_a_guard() {
        let _turn = low_memory();
        let mut lanes = Lanes::reserve().expect("lanes");
        let lane = lanes.take().expect("lane");
        let below = lanes.stack_top(lane) - STACK_BYTES - 1;
        let mappings = super::super::maps::read().expect("maps");
        let guard = mappings.iter().find(|mapping| mapping.range().contains(&below)).expect("reserved");
        assert!(!guard.readable && !guard.writable);
        assert_eq!(guard.range(), lanes.base(lane) + STATE_BYTES..below + 1);
    }

    proptest! {
        /// A position-dependent program at 4 MiB: its heap begins up to 1 GiB behind it (arch_randomize_brk,
        /// arch/x86/kernel/process.c) and has grown by then.
        #[test]
        fn there_is_room_beside_any_heap(gap in 0u64..1 << 30, heap in 4096u64..256 << 20) {
            let page = |address: u64| address & !4095;
            let start = page((6 << 20) + gap);
            let end = page(start + heap);
            let text = format!("400000-600000 r-xp 0 0 1 /bin/a\n{start:x}-{end:x} rw-p 0 0 0 [heap]");
            let mappings = super::super::maps::parse(text.as_bytes());
            let find = |within| {
                let prefer = Prefer::Near(LANES_START);
                super::super::find_hole(&mappings, ALL_LANES_BYTES, LANE_BYTES, within, prefer)
            };
            let lanes = find(LANES_WITHIN).or_else(|| find(LANES_ELSE_WITHIN)).expect("room");
            prop_assert!(lanes + ALL_LANES_BYTES <= start || end <= lanes);
        }

        /// The contract of `windows_within`, at its extremes: the first and the last byte of the arena, the first
        /// and the last counter.
        #[test]
        fn every_counter_is_in_reach(start in FLOOR..USER_END - (16 << 20), lanes_start in (64u64 << 20)..1 << 30,
                                     shift in prop::sample::select(vec![0.0, 0.5, 1.0f64])) {
            let near = start..start + (16 << 20);
            let within = windows_within(&near, lanes_start);
            prop_assume!(within.end.saturating_sub(within.start) >= ALL_LANES_BYTES);
            let room = within.end - within.start - ALL_LANES_BYTES;
            let region = within.start + (room as f64 * shift) as u64;
            let v = i128::from(region) - i128::from(lanes_start);
            for address in [near.start, near.end - 1] {
                for offset in [0, LANE_BYTES - 1] {
                    let distance = v + i128::from(offset) - i128::from(address);
                    prop_assert!(distance.unsigned_abs() < u128::from((2u64 << 30) - (1 << 20)), "{distance:#x}");
                }
            }
        }
    }

    #[test]
    fn windows_have_room_on_both_sides() {
        // 4 GiB of places for the start, less the arena's 16 MiB and thrice 1 MiB, and 1 GiB for the last region.
        let within = windows_within(&(0x5555_0000_0000..0x5555_0100_0000), LANES_START);
        assert_eq!(within.end - within.start, (5 << 30) - (16 << 20) - (3 << 20));
    }
}
