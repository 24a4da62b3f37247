//! Detectors, and how engines call them.
//!
//! An engine (`handler` for burst, `translated` for translate) observes accesses and threads. A *detector* answers one
//! question about them. They meet in the trait [`Detector`]: a detector states what it [`Needs`] of the engine, and the
//! engine calls it for each event. A session holds several detectors. Each has a folder here and a line in
//! [`DETECTORS`].

mod needs;
pub mod per_thread;
pub mod reuse;
pub mod share;
mod trial;

use std::sync::atomic::{AtomicPtr, Ordering::*};

use carom_base::{Access, AccessKind, Nanos, Population, Skip};
use carom_base_insn::Registers;
use carom_base_sys::clock;
use carom_base_wire::{Counter, SlotHeader};
use carom_collect_translate::{Batch, DrawnAs};

pub use self::needs::Needs;
use crate::{account, lock, scene::Scene, session::Session, thread::State};

/// Makes the detector that a session asks for. `None` where it asks for none, or where it cannot be made, which is then
/// noted in the journal.
type Make = fn(&Session) -> Option<Box<dyn Detector>>;

/// All detectors, in the order in which they are called.
const DETECTORS: [Make; 4] =
    [share::Share::make, reuse::Sampled::make, reuse::Exact::make, trial::Trials::make];

/// A sampled access of translated code, which is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The access.
    pub access: Access,
    /// When it was sampled.
    pub time: Nanos,
    /// The kind as which it was drawn: a read-modify-write may be a load or a store.
    pub kind: AccessKind,
    /// The factor by which it weighs more because it is followed: the engine's `weight`, and `Input::watch` of the
    /// detector of sharing. `None` where the budget forbids to follow it.
    pub followed: Option<f32>,
    /// How often its period was doubled: it stands for 2^`doublings` times as many accesses.
    pub doublings: u8,
}

impl Sample {
    /// The samples of the session's period that it stands for.
    fn periods(&self) -> f32 {
        (1u64 << self.doublings.min(carom_base::Sample::MOST_DOUBLINGS)) as f32
    }
}

/// One question that is asked of the program's accesses.
///
/// Detectors are called in the thread concerned, with all signals blocked: in handlers, or between two instructions of
/// the program. The functions for accesses and debug registers must not allocate.
pub trait Detector: Sync {
    /// What the detector needs of the engine.
    fn needs(&self) -> Needs;

    /// Whether there is anything to report on of this process. Signal-safe.
    fn has_met_data(&self, _rings_are_empty: bool) -> bool {
        false
    }

    /// The calling thread is observed from now on.
    fn thread_begins(&self, _state: &mut State) {}

    /// The calling thread runs in the code cache from now on, and writes into the slot of this head. Under no lock.
    fn thread_is_translated(&self, _slot: &SlotHeader) {}

    /// The calling thread is about to give its tables back to the engine.
    fn thread_leaves_cache(&self, _state: &mut State) {}

    /// The thread of this slot, mostly the calling one, has left the cache for good.
    fn thread_was_translated(&self, _slot: &SlotHeader) {}

    /// The calling thread ends, after this number of accesses where they are counted.
    fn thread_ends(&self, _state: &mut State, _accesses: u64) {}

    /// Whether samples are of any use now, where they [can be left out](Needs::samples_can_be_left_out).
    fn takes_samples(&self) -> bool {
        true
    }

    /// Accesses were drawn that stand for this many, whether they will be sampled or not.
    fn drawn(&self, _state: &mut State, _accesses: u64) {}

    /// Called after [`drawn`](Self::drawn), where memory may be allocated.
    fn samples_are_told(&self) {}

    /// The timer has interrupted the calling thread in translated code, or on its way.
    fn ticked(&self, _state: &mut State) {}

    /// The timer (burst) has interrupted the thread at `ip` or before it, in front of these accesses, or of none
    /// because of `skip`.
    fn interrupted(
        &self,
        _scene: &mut Scene<'_>,
        _population: Population,
        _ip: u64,
        _accesses: &[Access],
        _skip: Option<Skip>,
    ) {
    }

    /// An access was sampled (translate).
    fn sampled(&self, _state: &mut State, _registers: &Registers<'_>, _sample: &Sample) {}

    /// Whether an access that translated code reports may be to data that this detector watches.
    fn concerns(&self, _state: &State, _access: &Access) -> bool {
        false
    }

    /// An access that [`concerns`](Self::concerns) it is about to happen.
    fn touched(&self, _state: &mut State, _registers: &Registers<'_>, _access: &Access) {}

    /// Translated code has reported an access that concerns no detector.
    fn touched_for_nothing(&self, _state: &mut State, _access: &Access) {}

    /// Whether the debug registers are this detector's.
    fn has_registers(&self) -> bool {
        false
    }

    /// A debug register of the thread has trapped, after `accesses` of its accesses, where they are counted. `late`:
    /// the trap had to wait.
    fn trapped(&self, _scene: &mut Scene<'_>, _index: usize, _accesses: Option<u64>, _late: bool) {}

    /// The process has these modules now: when the engine (translate) has started, and when libraries have come or gone.
    /// Signals are blocked.
    fn modules_changed(&self) {}

    /// The thread that writes into this slot has made these accesses.
    fn streamed(&self, _slot: &SlotHeader, _batch: &Batch<'_>) {}

    /// The session's window is not open, so nothing may be watched.
    fn window_is_closed(&self, _state: &mut State) {}

    /// Everything known must be written now: the process may end without another call.
    fn write(&self) {}

    /// The process ends. `totals`: the number of accesses of each thread, by its name, where they are counted.
    fn process_ends(&self, _state: &mut State, _totals: Option<&[(u64, u64)]>) {}

    /// In a forked child, before anything else: other threads of the parent may have been in the middle of a change.
    fn forked(&self) {}

    /// In a forked child, in its only thread: forget the parent's threads.
    fn forget_parent(&self, _state: &mut State) {}
}

/// The detectors of a session.
pub struct Detectors {
    all: Vec<Box<dyn Detector>>,
    needs: Needs,
}

static CURRENT: AtomicPtr<Detectors> = AtomicPtr::new(std::ptr::null_mut());

/// The detectors of this process, if it is being recorded. Signal-safe.
pub fn current() -> Option<&'static Detectors> {
    // SAFETY: detectors are leaked, so the pointer is null or valid for ever.
    unsafe { CURRENT.load(Acquire).as_ref() }
}

/// Each detector of this process. Signal-safe.
pub fn each() -> impl Iterator<Item = &'static dyn Detector> {
    current().into_iter().flat_map(Detectors::iter)
}

/// Makes the detectors that `session` asks for the current ones; `None` ends them.
pub fn begin(session: Option<&Session>) {
    let detectors =
        session.map_or(std::ptr::null_mut(), |session| Box::into_raw(Box::new(Detectors::make(session))));
    CURRENT.store(detectors, Release);
}

impl Detectors {
    fn make(session: &Session) -> Self {
        let mut detectors = Self { all: Vec::new(), needs: Needs::default() };
        for detector in DETECTORS.iter().filter_map(|make| make(session)) {
            match detectors.needs.and(detector.needs()) {
                Ok(needs) => {
                    detectors.needs = needs;
                    detectors.all.push(detector);
                }
                Err(conflict) => session.trouble("not-together", conflict),
            }
        }
        detectors
    }

    /// What they need together.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Each of them.
    pub fn iter(&'static self) -> impl Iterator<Item = &'static dyn Detector> {
        self.all.iter().map(|detector| &**detector)
    }

    /// Decides on `drawn` samples whose accesses are still to come. Returns the factor by which they weigh more;
    /// `None`: they are left out.
    pub fn weighs(&'static self, state: &mut State, drawn: usize) -> Option<f32> {
        if !self.needs.samples_can_be_left_out {
            return Some(1.0);
        }
        if !self.iter().any(Detector::takes_samples) {
            return None;
        }
        let weight = account::follows(state, clock::now());
        if weight.is_none() {
            state.slot.count(Counter::UsesSkipped, drawn as u64);
        }
        weight
    }

    /// Accesses were drawn that stand for this many.
    pub fn drawn(&'static self, state: &mut State, accesses: u64) {
        self.iter().for_each(|detector| detector.drawn(state, accesses));
    }

    /// An access of translated code was sampled. `weight`: the answer of [`Self::weighs`].
    pub fn sampled(
        &'static self,
        state: &mut State,
        registers: &Registers<'_>,
        access: Access,
        drawn: DrawnAs,
        weight: f32,
    ) {
        let now = clock::now();
        let followed = if self.needs.samples_can_be_left_out || !self.needs.budget {
            Some(weight)
        } else {
            account::follows(state, now)
        };
        let DrawnAs { kind, doublings } = drawn;
        let sample = Sample { access, time: now, kind, followed, doublings };
        self.iter().for_each(|detector| detector.sampled(state, registers, &sample));
        account::sampled(state, now, doublings);
        let slot = state.slot;
        slot.make_room(&mut state.paused, lock::sleep);
    }

    /// Translated code is about to make an access to data that may be watched.
    pub fn touched(&'static self, state: &mut State, registers: &Registers<'_>, access: &Access) {
        let mut concerned = false;
        for detector in self.iter() {
            if detector.concerns(state, access) {
                concerned = true;
                detector.touched(state, registers, access);
            }
        }
        if !concerned {
            self.iter().for_each(|detector| detector.touched_for_nothing(state, access));
        }
    }

    /// A debug register of the thread has trapped.
    pub fn trapped(&'static self, scene: &mut Scene<'_>, index: usize, accesses: Option<u64>, late: bool) {
        if let Some(detector) = self.iter().find(|detector| detector.has_registers()) {
            detector.trapped(scene, index, accesses, late);
        }
    }
}

/// The weight of a sample of period `period`, relative to the most frequent samples.
fn relative_weight(period: f64, loads: u64, stores: u64) -> f32 {
    let shortest = [loads, stores].into_iter().filter(|period| *period != 0).min().unwrap_or(1);
    (period / shortest as f64) as f32
}
