//! Watched lines: a table of bytes for each thread, which its code looks every access up in ([`Mode::Watch`]).
//!
//! A byte stands for all lines whose numbers have the same low 16 bits. It counts who watches one of them, loads in its lower
//! half, stores in its upper one: so that one who gives up does not disturb others.
//!
//! [`Mode::Watch`]: crate::Mode::Watch

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use carom_base::AccessKind;

use crate::{
    engine::{self, current, with},
    memory::{LaneId, WATCHED_BYTES, WATCHED_OFFSET},
};

/// The table, relative to GS.
pub const TABLE: u32 = WATCHED_OFFSET as u32;

/// log2 of a line's bytes.
const LINE_SHIFT: u32 = 6;

/// Who watches loads, and who stores, in a byte of the table.
const LOADS: u8 = 0x0f;
const STORES: u8 = 0xf0;
const ONE_OF: [(u8, u8); 2] = [(LOADS, 0x01), (STORES, 0x10)];

/// The bits of a byte that an access concerns.
pub const fn bits(kind: AccessKind) -> u8 {
    match kind {
        AccessKind::Load => LOADS,
        AccessKind::Store => STORES,
        AccessKind::ReadModifyWrite => LOADS | STORES,
    }
}

/// The calling thread's table of watched lines.
pub fn watches() -> Option<Watches> {
    // SAFETY: the calling thread's, whose lane does not change.
    current().map(|thread| Watches::of(unsafe { (*thread).lane }))
}

/// That of the thread of that name. Signals must be blocked.
pub fn watches_of(name: u64) -> Option<Watches> {
    let mut watches = None;
    with(|engine| {
        // SAFETY: attached; its lane does not change.
        watches = engine.named(name).map(|thread| Watches::of(unsafe { (*thread).lane }));
    });
    watches
}

/// The table of one thread: a number, to be kept anywhere. When the thread has ended it may be that of another one, whose
/// touches are then told that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watches(u16);

impl Watches {
    /// The table with this number; `None` for numbers that no table has had so far.
    pub fn from_index(index: u16) -> Option<Self> {
        engine::lane_base(index).map(|_| Self(index))
    }

    /// The table of a lane.
    pub(crate) fn of(lane: LaneId) -> Self {
        Self(lane.index() as u16)
    }

    /// Its number.
    pub const fn index(self) -> u16 {
        self.0
    }

    /// The thread is to tell of its accesses to the line of this address. From any thread, also in signal handlers. Each
    /// call is undone by one of [`unwatch`](Self::unwatch) with the same arguments. False, and nothing changed, where 15
    /// watch such a line already.
    ///
    /// The thread notices at its next access after the change has reached its processor. An access goes to the line of its
    /// first byte.
    pub fn watch(self, address: u64, loads: bool, stores: bool) -> bool {
        self.change(address, [loads, stores], |byte, one, field| (byte & field != field).then(|| byte + one))
    }

    /// Undoes [`watch`](Self::watch).
    pub fn unwatch(self, address: u64, loads: bool, stores: bool) {
        self.change(address, [loads, stores], |byte, one, field| (byte & field != 0).then(|| byte - one));
    }

    /// Whether an access of this kind to this address would be told.
    pub(crate) fn has(self, address: u64, kind: AccessKind) -> bool {
        self.byte(address).is_some_and(|byte| byte.load(Relaxed) & bits(kind) != 0)
    }

    fn change(self, address: u64, wanted: [bool; 2], step: impl Fn(u8, u8, u8) -> Option<u8>) -> bool {
        let fields = || wanted.into_iter().zip(ONE_OF).filter(|(wanted, _)| *wanted).map(|(_, field)| field);
        let change = |byte| fields().try_fold(byte, |byte, (field, one)| step(byte, one, field));
        // ATOMICS: relaxed: what is found through a watch is looked up in memory of the embedder's.
        self.byte(address).is_some_and(|byte| byte.fetch_update(Relaxed, Relaxed, change).is_ok())
    }

    fn byte(self, address: u64) -> Option<&'static AtomicU8> {
        let table = engine::lane_base(self.0)? + WATCHED_OFFSET;
        let place = table + (address >> LINE_SHIFT) % WATCHED_BYTES;
        let place = std::ptr::with_exposed_provenance_mut::<u8>(place as usize);
        // SAFETY: a lane that was opened stays open, and nothing but these functions writes to its table.
        Some(unsafe { AtomicU8::from_ptr(place) })
    }
}
