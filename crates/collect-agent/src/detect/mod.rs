//! What engines see, and what is made of it.
//!
//! An engine (`handler` for burst, `translated` for translate) knows accesses and threads; a *detector* knows a question
//! that is asked of them. They meet in [`Detector`]: a detector says what it [`Needs`] of the engine, and is told what
//! happens. A session holds a set of them, each in a folder of its own here, made by a line of [`DETECTORS`].

mod needs;
pub mod per_thread;
pub mod reuse;
pub mod share;
mod trial;

use std::sync::atomic::{AtomicPtr, Ordering::*};

use carom_base::{Access, AccessKind, Population, Skip};
use carom_base_insn::Registers;
use carom_base_sys::clock;
use carom_base_wire::{Counter, SlotHeader};
use carom_collect_translate::Batch;

pub use self::needs::Needs;
use crate::{account, scene::Scene, session::Session, thread::State};

/// Makes the detector that a session asks for; `None` where it asks for none, or it cannot be had, which the session's
/// journal says then.
type Make = fn(&Session) -> Option<Box<dyn Detector>>;

/// All detectors, in the order in which they are told.
const DETECTORS: [Make; 4] =
    [share::Share::make, reuse::Sampled::make, reuse::Exact::make, trial::Trials::make];

/// A sampled access of translated code, which is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The access.
    pub access: Access,
    /// What it was drawn as: a read-modify-write may be either.
    pub kind: AccessKind,
    /// By how much more it weighs for being followed; `None` where the budget does not allow that it is.
    pub followed: Option<f32>,
}

/// One question that is asked of the program's accesses.
///
/// Detectors are told in the thread concerned, with all signals blocked, in handlers or between two instructions of the
/// program: what is told of accesses and of debug registers must not allocate.
pub trait Detector: Sync {
    /// What it needs of the engine.
    fn needs(&self) -> Needs;

    /// Whether there is anything to report on of this process. Signal-safe.
    fn has_met_data(&self, _rings_are_empty: bool) -> bool {
        false
    }

    /// The calling thread is observed from now on.
    fn thread_begins(&self, _state: &mut State) {}

    /// The calling thread runs in the code cache from now on, and writes into the slot of this head. Under no lock.
    fn thread_is_translated(&self, _slot: &SlotHeader) {}

    /// The calling thread is about to give back what the engine has lent it.
    fn thread_leaves_cache(&self, _state: &mut State) {}

    /// The thread of this slot, mostly the calling one, has left the cache for good.
    fn thread_was_translated(&self, _slot: &SlotHeader) {}

    /// The calling thread ends, having made so many accesses where they are counted.
    fn thread_ends(&self, _state: &mut State, _accesses: u64) {}

    /// The timer (burst) has found the thread at `ip`, or somewhere in front of it: in front of these accesses, or of none
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

    /// Whether an access that translated code tells of may be about something that this detector watches.
    fn concerns(&self, _state: &State, _access: &Access) -> bool {
        false
    }

    /// An access is about to happen that [`concerns`](Self::concerns) it.
    fn touched(&self, _state: &mut State, _registers: &Registers<'_>, _access: &Access) {}

    /// An access was told of that concerns no detector.
    fn touched_for_nothing(&self, _state: &mut State, _access: &Access) {}

    /// Whether the debug registers are this detector's.
    fn has_registers(&self) -> bool {
        false
    }

    /// A debug register of the thread has trapped, the thread having made `accesses`, where that is counted. `late`: the
    /// trap had to wait.
    fn trapped(&self, _scene: &mut Scene<'_>, _index: usize, _accesses: Option<u64>, _late: bool) {}

    /// The thread that writes into this slot has made these accesses.
    fn streamed(&self, _slot: &SlotHeader, _batch: &Batch<'_>) {}

    /// The session's window is not open: nothing is to be watched.
    fn window_is_closed(&self, _state: &mut State) {}

    /// What is known is to be written down: this may be the last that is heard of the process.
    fn write(&self) {}

    /// The process ends. `totals`: what each thread, by its name, has accessed in all, where that is counted.
    fn process_ends(&self, _state: &mut State, _totals: Option<&[(u64, u64)]>) {}

    /// In a forked child, first of all: other threads may have been changing what is kept at that instant.
    fn forked(&self) {}

    /// In a forked child, in its only thread: what is kept of the parent's threads is over.
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

/// The detectors that `session` asks for are those of this process from now on; `None`: none are.
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

    /// So many accesses were drawn, and are to come. By how much more they weigh if they are told; `None`: they are not.
    pub fn weighs(&self, state: &mut State, drawn: usize) -> Option<f32> {
        if !self.needs.samples_can_be_left_out {
            return Some(1.0);
        }
        let weight = account::follows(state, clock::now());
        if weight.is_none() {
            state.slot.count(Counter::UsesSkipped, drawn as u64);
        }
        weight
    }

    /// An access of translated code was sampled, which weighs so much more as [`Self::weighs`] has said.
    pub fn sampled(
        &'static self,
        state: &mut State,
        registers: &Registers<'_>,
        access: Access,
        kind: AccessKind,
        weight: f32,
    ) {
        let followed = if self.needs.samples_can_be_left_out || !self.needs.budget {
            Some(weight)
        } else {
            account::follows(state, clock::now())
        };
        let sample = Sample { access, kind, followed };
        self.iter().for_each(|detector| detector.sampled(state, registers, &sample));
    }

    /// Translated code is about to make an access to something that may be watched.
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

/// How many of the engine's most frequent samples one stands for that was drawn from accesses of `period`.
fn relative_weight(period: f64, loads: u64, stores: u64) -> f32 {
    let shortest = [loads, stores].into_iter().filter(|period| *period != 0).min().unwrap_or(1);
    (period / shortest as f64) as f32
}
