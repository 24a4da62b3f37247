//! The signal handler: from SIGTRAP to samples, sharing events and watchpoints.
//!
//! **Rules.** Nothing here allocates, frees, formats, touches thread-local storage or waits for a lock; errno is kept;
//! all signals are blocked meanwhile; everything runs on a stack of ours. The translator's lock may be waited for: whoever
//! holds it has all signals blocked, so that no handler interrupts its holder.
//!
//! **What holds them.** Debug builds abort where the heap is used (*No heap*, below). `clippy.toml` of this crate
//! refuses the locks of `std` and `thread_local!` everywhere in the agent. Nothing checks that our own locks are only
//! tried here (`try_lock`), and that nothing is formatted.
//!
//! # The `burst` engine
//!
//! A timer on each thread's CPU time interrupts it in user mode. Interrupts land behind slow instructions, so one
//! kind of sample cannot serve two purposes. Two are taken and never mixed:
//!
//! - *Last instruction*: the one just before the interrupted address, found by decoding from the function's start
//!   (`.eh_frame_hdr`), its address recomputed from the registers that survived it. Weighted by time: finds and ranks
//!   contended accesses.
//! - *Step*: one of the accesses among the next `--max-steps` instructions, drawn with known odds. Represents executed
//!   instructions: fractions, matrices. A small emulator walks the general-purpose code ahead; only where the way depends
//!   on what it cannot know is the thread really single-stepped.
//!
//! Each kind has its own bulletin board and detector; the four watchpoints belong to step samples.
//!
//! **Budget.** The costs of a timer signal, a single step and a trap are calibrated once a session, because a handler
//! cannot see what its own delivery costs. Each thread keeps an account: its CPU time earns
//! credit at the rate of `--budget`, and pays for all work of the agent. Timer samples go on (at a longer period if
//! they alone break the budget); a step sample follows with a probability that depends on the balance. Under
//! `translate` all samples are taken; the probability decides which of them may set watchpoints (`share`), or are
//! followed at all (`reuse`).
//!
//! **Unbiased detection.** Algorithm 1 of the ComDetective paper, to the letter, pulls ratios toward one half: a slot
//! stays taken for two store samples, and the line to watch is drawn among lines, not among writes. `Scheme::Balanced`
//! lets every store sample overwrite its slot and always examines the latest write of another thread. Simulations of
//! both schemes are in `carom-base-detect`'s tests.
//!
//! # No heap
//!
//! A handler that allocates or frees could deadlock. The allocator of debug builds aborts there
//! ([`Thread::must_not_allocate`](crate::thread::Thread::must_not_allocate)), which the tests run. Each path has a test that
//! fails when the path allocates (in `crates/app/tests/robust`):
//!
//! | path | code | test |
//! | --- | --- | --- |
//! | timer, `burst` | `timer`, `detect/*::interrupted` | `reuse.rs`: `programs_stay_what_they_are_while_interrupts_sample` |
//! | single step | `burst` | `threads.rs`: `exceptions_unwind_across_samples` |
//! | trap of a debug register, `share` | `detect/share/watch` | `translated.rs`: `threads_come_go_and_are_cancelled` |
//! | timer, `translate` | `translated` | `translated.rs`: `threads_come_go_and_are_cancelled` |
//! | trap of a debug register, `reuse` | `detect/reuse/sampled/traps` | `reuse.rs`: `registers_find_it_too` |
//! | sample of translated code | `detect/*::sampled` | `reuse.rs`: `the_only_distance_is_found_by_samples` |
//! | touch of watched data | `detect/*::touched` | `reuse.rs`: `the_only_distance_is_found_by_samples` |
//!
//! Other code of ours may run inside a signal handler of the program, and may allocate: the agent's heap is locked with all
//! signals blocked, so that no handler can interrupt its holder. These are the delivery of signals, which translates handlers on
//! the engine's stack (`translated.rs`: `signals_masks_and_stacks_stay_its_own`), `fork`, `_exit` and other hooks in a handler
//! (`held.rs`: `handlers_fork_and_end_processes_whatever_they_interrupt`), the end of a thread (`threads.rs`:
//! `cancelled_and_leaving_threads_clean_up`), and stepping aside (`aside.rs`:
//! `a_filter_that_forbids_what_carom_needs_is_stepped_aside_for`).

mod burst;
mod entry;
mod foreign;
mod restart;
mod timer;
mod translated;

pub use entry::install;

use carom_base::{Access, Cpu, Nanos, Population, Skip};
use carom_base_sys::{clock, signal};

use crate::{
    calibrate,
    context::Context,
    detect, led_on, modules, registry,
    sampler::{Cause, Origin},
    scene::Scene,
    thread::State,
    window,
};

/// Longer than the handler ever computes: beyond this the thread was preempted in it. (The thread's CPU-time clock
/// would be exact, but two readings cost more than a microsecond.)
const LONGEST_RUN_NS: u64 = 100_000;

/// The least time between a timer sample and the next, without its delivery. A shorter time means that the last sample
/// took longer than the timer's period. Without a pause the thread would never run again.
const NO_RESPITE_NS: u64 = 10_000;

/// Charged for a sample that came too soon, because its true cost is unknown: the period grows until the thread can
/// run.
const CROWDED_COST_NS: u64 = 1_000_000;

/// Handles one SIGTRAP. Returns false where it is the program's own.
fn handle(info: signal::TrapInfo, ucontext: *mut libc::c_void) -> bool {
    let origin = Origin::of(info);
    if origin == Origin::Foreign {
        return false;
    }
    let fs_base = registry::thread_pointer();
    // A signal that was under way when the sampling of its thread ended finds no thread, and is dropped.
    let Some(thread) = registry::find(fs_base) else {
        return origin != Origin::Step || calibrate::is_stepping();
    };
    window::follow();
    let mut ours = true;
    let entered = thread.enter(|state| {
        let started = clock::now();
        let delivery = modules::with(|modules| {
            let cpu = Cpu(clock::current_cpu());
            // SAFETY: the kernel's argument, used for the length of this handler only.
            let context = unsafe { Context::new(ucontext) };
            if crate::translated::is_on() {
                return translated::on_signal(state, context, modules, (fs_base, started, cpu), origin);
            }
            let scene =
                Scene { state: &mut *state, context, modules, fs_base, time: started, cpu, weight: 1.0 };
            dispatch(scene, origin, info)
        });
        match delivery {
            Some(cost) => {
                let left = clock::now().0;
                if state.sampler.cause(origin) == Some(Cause::Timer) {
                    state.left = left;
                }
                let own = left.saturating_sub(started.0).min(LONGEST_RUN_NS);
                state.budget.pay(cost.saturating_add(own));
            }
            None => ours = false,
        }
    });
    if entered.is_none() && origin == Origin::Step {
        // A burst cannot go on where the state is in use.
        ours = thread.signals().is_stepped();
        // SAFETY: as above; the closure that also used it did not run.
        unsafe { Context::new(ucontext) }.end_steps();
    }
    ours
}

/// Handles the signal. Returns the cost of its delivery in nanoseconds, or `None` for a single step that is not ours.
fn dispatch(scene: Scene<'_>, origin: Origin, info: signal::TrapInfo) -> Option<u64> {
    use std::sync::atomic::Ordering::Relaxed;
    let control = scene.state.session.control();
    let (timer, step, trap) =
        (control.timer_ns.load(Relaxed), control.step_ns.load(Relaxed), control.trap_ns.load(Relaxed));
    if origin == Origin::Step {
        return scene.context.is_stepped().then(|| {
            burst::on_step(scene);
            step
        });
    }
    let late = matches!(origin, Origin::Event { late: true, .. });
    match scene.state.sampler.cause(origin) {
        Some(Cause::Timer) => {
            let respite = scene.time.0.saturating_sub(scene.state.left).saturating_sub(timer);
            let crowded = respite < NO_RESPITE_NS;
            timer::on_timer(scene, late, info.code() == signal::SI_TIMER);
            Some(timer.saturating_add(if crowded { CROWDED_COST_NS } else { 0 }))
        }
        Some(Cause::Watch(index)) => {
            let mut scene = scene;
            trapped(&mut scene, index, None, late);
            Some(trap)
        }
        None => Some(0),
    }
}

/// Whether the session's window is open. Where it is not, nothing is watched.
fn keep_to_window(state: &mut State, time: Nanos) -> bool {
    let open = state.session.settings.window.is_open(time.0);
    if !open {
        detect::each().for_each(|detector| detector.window_is_closed(state));
    }
    open
}

/// Passes a sample of `population` to the detectors, with its accesses, or without because of `skip`.
fn interrupted(
    scene: &mut Scene<'_>,
    population: Population,
    ip: u64,
    accesses: &[Access],
    skip: Option<Skip>,
) {
    // Ours, among the program's.
    let ours = led_on::code().contains(&ip);
    let (accesses, skip) = if ours { (&[][..], Some(Skip::NotAnAccess)) } else { (accesses, skip) };
    detect::each().for_each(|detector| detector.interrupted(scene, population, ip, accesses, skip));
}

/// A debug register of the thread has trapped.
fn trapped(scene: &mut Scene<'_>, index: usize, accesses: Option<u64>, late: bool) {
    // The hooks of the allocator read return addresses, which the program has not accessed then.
    let ours = led_on::code().contains(&scene.context.ip());
    if let Some(detectors) = detect::current().filter(|_| !ours) {
        detectors.trapped(scene, index, accesses, late);
    }
}
