//! A thread's *books*: the part of its state that other threads read or change, all under the engine's lock.
//!
//! It lies apart from the rest, and is reached by a pointer each time: a thread may be anywhere in its dispatcher,
//! using its own [`Thread`](crate::threads::thread::Thread), while another one holds the lock.

use std::{
    cell::Cell,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use super::{spent::Spending, turn::Turn};
use crate::{
    blocks::{code::Code, passages, place::Place},
    lane::slots::Slots,
    memory::{LaneId, program},
    probes::{
        by_instruction::ByInstruction,
        countdown::Countdowns,
        coverage::Clock,
        mode::Version,
        totals::{Counts, Totals},
    },
};

/// A native function that was called from the cache and has not returned yet.
#[derive(Clone, Copy, Debug)]
pub struct NativeCall {
    /// Where on the program's stack the return address lies.
    pub at: u64,
    /// The return address that the program put there.
    pub back: u64,
}

/// The part of a thread's state that other threads use.
pub struct Books {
    pub lane: LaneId,
    /// The thread's name for the observer.
    pub name: u64,
    pub slots: NonNull<Slots>,
    /// Counts that are not in counters: bytes that depend on registers, and corrections for blocks that were left
    /// half way.
    pub extra: Counts,
    /// The same by instruction since that was last told, without what was folded; `None` where nobody asks.
    pub corrections: Option<Box<ByInstruction>>,
    /// By arena.
    pub countdowns: Vec<Countdowns>,
    /// How many arenas had been retired when the thread was last known to be in none of them (`engine::room`).
    pub seen: u64,
    pub native_calls: Vec<NativeCall>,
    /// Accesses that are counted and still to come, while the observer is called for one of them, without the
    /// engine's lock.
    pub ahead: AtomicI64,
    /// Whose turn it is to hand over the thread's stream.
    pub turn: Arc<Turn>,
    /// Its time in the cache and outside.
    pub clock: Clock,
    /// What observation takes of it.
    pub spending: Spending,
    /// The number of an episode, and the accesses that plain code has counted until it.
    plain: Cell<(u64, i64)>,
    /// The thread's CPU time when another one last asked for its accesses, and their number.
    asked: Cell<(u64, u64)>,
}

impl Books {
    /// New books for the calling thread.
    pub fn begin(lane: LaneId, name: u64, slots: NonNull<Slots>) -> Self {
        Self {
            lane,
            name,
            slots,
            extra: Counts::default(),
            corrections: None,
            countdowns: Vec::new(),
            seen: 0,
            native_calls: Vec::new(),
            ahead: AtomicI64::new(0),
            turn: Arc::default(),
            clock: Clock::start(),
            spending: Spending::default(),
            plain: Cell::default(),
            asked: Cell::default(),
        }
    }

    /// Makes native functions that were called from the cache return to where they were called. Signals must be
    /// blocked.
    pub fn give_back(&mut self) {
        for call in std::mem::take(&mut self.native_calls) {
            give_back(call);
        }
    }

    /// Makes its exits lead to `passage`, and native functions return to where they were called. Signals must be
    /// blocked.
    pub fn lead_out(&mut self, passage: u64) {
        let called_from = self.native_calls.last().map_or(0, |call| call.back);
        self.give_back();
        let slots = self.slots.as_ptr();
        // SAFETY: the lane is the thread's until it detaches.
        let place = unsafe { &raw mut (*slots).called_from };
        // SAFETY: as above.
        let exits = unsafe { &raw mut (*slots).dispatch };
        for (place, word) in [(place, called_from), (exits, passage)] {
            // SAFETY: as above; words that its code reads.
            unsafe { place.write_volatile(word) };
        }
    }

    /// Whether the thread is on its way through the dispatcher, where the engine makes system calls.
    pub fn is_inside(&self) -> bool {
        let slots = self.slots.as_ptr();
        // SAFETY: the lane is the thread's until it detaches.
        let place = unsafe { &raw const (*slots).inside };
        // SAFETY: as above; a word that its passages write.
        unsafe { place.read_volatile() != 0 }
    }

    /// Where the native function whose return address lies at `at` was called from.
    pub fn goes_back_to(&self, at: u64) -> Option<u64> {
        self.native_calls.iter().find(|call| call.at == at).map(|call| call.back)
    }

    /// Loads and stores, without those that are counted and still to come.
    ///
    /// During the `episode` with that number, only watching versions of code are added up, as soon as the thread
    /// [executes nothing else](Self::note_episode).
    pub fn accesses(&self, codes: &[Code], episode: u64) -> u64 {
        let loaded = self.countdowns.iter().map(Countdowns::loaded_accesses);
        let (of, known) = self.plain.get();
        let is_known = episode != 0 && of == episode;
        let plain = if is_known { known } else { self.accesses_in(codes, Version::Plain) };
        let counted = [plain, self.accesses_in(codes, Version::Watching)];
        let known = self.extra.loads.wrapping_add(self.extra.stores).wrapping_sub(self.ahead.load(Relaxed));
        loaded.chain(counted).fold(known, i64::wrapping_add).max(0) as u64
    }

    /// The same where another thread asks, as often as it likes: a thread that has not run since has made none. That is told by the
    /// kernel's clock of the thread, which counts nanoseconds where the scheduler does (x86 with a usable time stamp counter).
    pub fn accesses_by_others(&self, codes: &[Code], episode: u64) -> u64 {
        // Before the counters are read: those of a thread that runs meanwhile are read again the next time.
        let now = self.clock.cpu_ns();
        let (then, known) = self.asked.get();
        if now == then && now != 0 {
            return known;
        }
        let accesses = self.accesses(codes, episode);
        self.asked.set((now, accesses));
        accesses
    }

    /// Accesses by the counters of this version of code.
    fn accesses_in(&self, codes: &[Code], version: Version) -> i64 {
        let codes = codes.iter().filter(|code| code.version == version);
        codes.map(|code| code.accesses(self.lane)).fold(0, i64::wrapping_add)
    }

    /// The thread has left a watching version during the `episode` with that number, and executes such alone until it ends.
    pub fn note_episode(&self, codes: &[Code], episode: u64) {
        if self.plain.get().0 != episode {
            self.plain.set((episode, self.accesses_in(codes, Version::Plain)));
        }
    }

    /// The thread executes plain code in spite of the episode.
    pub fn forget_plain(&self) {
        self.plain.set((0, 0));
    }

    /// What the thread has executed.
    pub fn totals(&self, codes: &[Code]) -> Totals {
        let mut counts = self.extra;
        for (arena, code) in codes.iter().enumerate() {
            for (id, counter) in (0..).zip(code.counters()) {
                // A thread executes few of a program's blocks.
                match self.units(Place { arena, code, id }) {
                    0 => {}
                    units => counter.add(units, &mut counts),
                }
            }
            counts.branches_taken -= code.falls(self.lane).sum::<i64>();
        }
        Totals { counts, coverage: self.clock.coverage() }
    }

    /// Changes what the instruction at `ip` has counted beyond its counters.
    pub fn correct(&mut self, ip: u64, change: &Counts) {
        self.extra.join(change);
        if let Some(corrections) = &mut self.corrections {
            corrections.at(ip).join(change);
        }
    }

    /// The branch in front of `behind` was counted as taken, and has fallen through this often.
    pub fn fall(&mut self, behind: u64, times: i64) {
        self.extra.branches_taken -= times;
        if let Some(corrections) = &mut self.corrections {
            corrections.fall(behind, times);
        }
    }

    /// The number of units that a counter stands for.
    pub fn units(&self, place: Place<'_>) -> i64 {
        let counter = place.code.counters().get(place.id as usize);
        match counter.and_then(|counter| counter.rest_of) {
            Some(of) => self.units(Place { id: of.into(), ..place }).wrapping_sub(self.counted(place)),
            None => self.counted(place),
        }
    }

    /// The number of units that a counter has counted.
    pub fn counted(&self, place: Place<'_>) -> i64 {
        let countdown = self.countdowns.get(place.arena).and_then(|countdowns| countdowns.get(place.id));
        let loaded = countdown.map_or(0, |countdown| countdown.loaded as i64);
        loaded.wrapping_sub(place.code.windows().value(self.lane, place.id as usize))
    }

    /// An arena is about to be reused: moves its counts to those that are not in counters.
    pub fn fold(&mut self, arena: usize, code: &Code) {
        for (id, counter) in (0..).zip(code.counters()) {
            counter.add(self.units(Place { arena, code, id }), &mut self.extra);
        }
        self.extra.branches_taken -= code.falls(self.lane).sum::<i64>();
        if let Some(countdowns) = self.countdowns.get_mut(arena) {
            *countdowns = Countdowns::default();
        }
        self.forget_plain();
    }
}

fn give_back(call: NativeCall) {
    let ours = passages::native_return as *const () as u64;
    // The memory of calls that a jump has left may belong to others by now, or be unmapped.
    if program::read(call.at) == Some(ours) {
        program::write(call.at, call.back);
    }
}
