//! Measures the cost of a trap on this machine, once per session, before the program's first instruction.

use std::sync::atomic::{AtomicBool, Ordering::*};

use carom_base_sys::{
    clock,
    perf::{Event, Watch},
};

use crate::{
    sampler::{CALIBRATION, Mode},
    session::Session,
};

/// Repetitions that are timed together, and the number of such groups: an interrupt does not raise the median of a few
/// means. All take less than 2 ms where traps are expensive.
const ROUNDS: u64 = 8;
const TIMES: usize = 5;

/// Set while single steps are ours although no thread is in a burst.
static STEPPING: AtomicBool = AtomicBool::new(false);

/// True while the calibration single-steps. Signal-safe.
pub fn is_stepping() -> bool {
    STEPPING.load(Relaxed)
}

/// The cost of a watchpoint trap where none can be tried: that of a virtual machine whose debug exceptions leave the
/// guest.
const ASSUMED_TRAP_NS: u64 = 12_000;
/// Moving one watchpoint, likewise.
const ASSUMED_MODIFY_NS: u64 = 2_500;

/// Measures, unless a process of this session has done so or is at it.
pub fn calibrate_once(session: &Session) {
    let control = session.control();
    // ATOMICS: the thread that turns 0 into 1 fills in the costs and then stores 2.
    if control.calibrated.compare_exchange(0, 1, AcqRel, Relaxed).is_err() {
        return;
    }
    let step = measure_step();
    let (trap, modify) = if session.mode == Mode::Sigtrap { measure_watch() } else { None }
        .unwrap_or((ASSUMED_TRAP_NS, ASSUMED_MODIFY_NS));
    control.step_ns.store(step, Relaxed);
    control.trap_ns.store(trap, Relaxed);
    control.modify_ns.store(modify, Relaxed);
    // A timer sample is delivered like a watchpoint trap, but by an interrupt instead of a debug exception.
    control.timer_ns.store(trap, Relaxed);
    control.calibrated.store(2, Release);
}

/// The time of one of the rounds that `rounds` goes through, in CPU time: on a busy machine another thread's time slice
/// would raise the cost a hundredfold.
fn median_mean(mut rounds: impl FnMut()) -> u64 {
    let mean = |_: usize| {
        let before = clock::thread_cpu();
        rounds();
        clock::thread_cpu().saturating_sub(before) / ROUNDS
    };
    let mut means: [u64; TIMES] = std::array::from_fn(mean);
    means.sort_unstable();
    means[TIMES / 2]
}

/// Time of one single step through an installed handler that does nothing.
fn measure_step() -> u64 {
    STEPPING.store(true, Relaxed);
    let step = median_mean(|| {
        // SAFETY: single-steps over instructions that touch nothing; the handler in place finds no thread that is
        // being sampled and returns.
        unsafe {
            std::arch::asm!(
                "pushfq",
                "or qword ptr [rsp], 0x100",
                "popfq",
                ".rept 8",
                "nop",
                ".endr",
                "pushfq",
                "and qword ptr [rsp], ~0x100",
                "popfq",
            );
        }
    });
    STEPPING.store(false, Relaxed);
    step
}

/// Times of one watchpoint trap and of moving one watchpoint.
fn measure_watch() -> Option<(u64, u64)> {
    let word = std::sync::atomic::AtomicU64::new(0);
    let watch = Watch { address: word.as_ptr().addr() as u64, length: 8, reads: true };
    let event = Event::watchpoint(watch, CALIBRATION).ok()?;
    let trap = median_mean(|| (0..ROUNDS).for_each(|round| word.store(round, Relaxed)));
    let modify = median_mean(|| {
        for _ in 0..ROUNDS {
            let _ = event.move_watch(watch, CALIBRATION);
        }
    });
    event.close();
    Some((trap, modify))
}
