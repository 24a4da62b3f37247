//! Runs functions while loads are timed or accesses streamed, and keeps the reports.

use std::sync::{Mutex, MutexGuard, PoisonError};

use carom_base::Access;
use carom_base_insn::Registers;
use carom_collect_translate::{Batch, DrawnAs, IpSet, Mode, Observer, Timed, Totals, set_filter, set_mode};

use crate::support::{self, Function, heap, unsignalled};

/// The reports of one run.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub timed: Vec<Timed>,
    pub streamed: Vec<Access>,
    pub sampled: Vec<Access>,
    /// Loads that were reported together with registers.
    pub with_registers: usize,
}

/// Functions that are run do not allocate, so that the observer may.
static TOLD: Mutex<Told> =
    Mutex::new(Told { timed: Vec::new(), streamed: Vec::new(), sampled: Vec::new(), with_registers: 0 });

fn told() -> MutexGuard<'static, Told> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Recorder;

impl Observer for Recorder {
    fn sampled(&self, _: &Registers<'_>, access: &Access, _: DrawnAs, _: f32) {
        told().sampled.push(*access);
    }

    fn streamed(&self, _: u64, batch: &Batch<'_>) {
        batch.for_each(|access| told().streamed.push(*access));
    }

    fn timed(&self, _: u64, loads: &Batch<'_>, at: Option<&Registers<'_>>) {
        let mut told = told();
        loads.for_each_timed(|load| {
            told.timed.push(*load);
            told.with_registers += usize::from(at.is_some());
        });
    }

    fn ending(&self, _: &mut dyn Iterator<Item = (u64, Totals)>) {}

    fn forking(&self) {
        heap::HEAP.lock();
    }

    fn forked(&self, _: bool) {
        heap::HEAP.unlock();
    }
}

/// The engine is one for the process, and so is its observer: tests take turns.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    support::begin(Mode::Count, &Recorder);
    turn
}

/// Calls `function(a, b)` in the cache in this mode, those instructions being observed. `name`: the thread's, which seeds
/// its draws.
pub fn run(
    mode: Mode,
    observed: Option<IpSet>,
    name: u64,
    function: Function,
    a: u64,
    b: u64,
) -> (u64, Totals, Told) {
    unsignalled(|| {
        set_mode(mode);
        set_filter(observed);
    });
    *told() = Told::default();
    let (result, totals) = support::run_as(name, function, a, b);
    let told = std::mem::take(&mut *told());
    (result, totals.expect("attached"), told)
}
