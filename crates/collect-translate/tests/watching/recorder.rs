//! What an observer gets about watched lines and samples, and when.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use carom_base::{Access, AccessKind, Addr, Ip};
use carom_base_insn::Registers;
use carom_collect_translate::{DrawnAs, Observer, Totals, accesses, watches};

use crate::support::{self, Function};

/// One access that was reported.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub access: Access,
    /// `None`: it was to a watched line.
    pub drawn_as: Option<AccessKind>,
    /// Loads and stores before it.
    pub position: u64,
    /// R8 in front of it.
    pub r8: u64,
}

const ROOM: usize = 100_000;
const NOTHING: Told = Told {
    access: Access { ip: Ip(0), addr: Addr(0), width: 1, kind: AccessKind::Load },
    drawn_as: None,
    position: 0,
    r8: 0,
};

/// Observers must not allocate: the program may be doing so. Tests take turns.
static mut TOLD: [Told; ROOM] = [NOTHING; ROOM];
static LENGTH: AtomicU64 = AtomicU64::new(0);

/// Whether the next sample's line is to be watched from then on.
pub static ARM: AtomicBool = AtomicBool::new(false);

pub struct Recorder;

impl Observer for Recorder {
    fn sampled(&self, registers: &Registers<'_>, access: &Access, DrawnAs { kind, .. }: DrawnAs, _: f32) {
        tell(registers, access, Some(kind));
        if ARM.swap(false, Relaxed) {
            assert!(watches().unwrap().watch(access.addr.0, true, true));
        }
    }

    fn touched(&self, registers: &Registers<'_>, access: &Access) {
        tell(registers, access, None);
    }

    fn ending(&self, _: &mut dyn Iterator<Item = (u64, Totals)>) {}
}

fn tell(registers: &Registers<'_>, access: &Access, drawn_as: Option<AccessKind>) {
    let told = Told { access: *access, drawn_as, position: accesses().unwrap(), r8: registers.gpr[8] };
    let index = LENGTH.fetch_add(1, AcqRel) as usize;
    assert!(index < ROOM);
    let first = (&raw mut TOLD).cast::<Told>();
    // SAFETY: in its bounds, and nobody else's.
    unsafe { first.wrapping_add(index).write(told) };
}

/// The number of reports since [`run`] began.
pub fn told_so_far() -> u64 {
    LENGTH.load(Acquire)
}

/// Runs a function in the cache and returns the reports. `prepare` is called in the attached thread.
pub fn run(prepare: impl FnOnce(), function: Function, a: u64, b: u64) -> (Vec<Told>, Totals) {
    LENGTH.store(0, Release);
    support::begin(crate::MODE, &Recorder);
    support::unsignalled(crate::ready);
    let (_, totals) = support::run_prepared(1, prepare, function, a, b);
    let first = (&raw const TOLD).cast::<Told>();
    // SAFETY: written, and the run is over.
    let told = unsafe { std::slice::from_raw_parts(first, told_so_far() as usize) };
    (told.to_vec(), totals.unwrap())
}
