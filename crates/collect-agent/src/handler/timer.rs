//! The timer interrupt: a last-instruction sample, and perhaps the start of a step sample.

use std::sync::atomic::Ordering::Relaxed;

use carom_base::Population;
use carom_base_wire::Counter;

use super::{burst, interrupted, restart};
use crate::{
    modules,
    scene::{Scene, memory},
    threads,
};

/// How often, in timer samples, name and CPU time are written, in case the thread is killed.
const PROGRESS_EVERY: u64 = 64;

/// How often, in timer samples, the period is varied. Programming the timer costs 10 us on a virtual machine, as
/// much as the sample itself.
const JITTER_EVERY: u64 = 8;

/// Takes a timer interrupt. `late` where it waited while blocked: then it says nothing about the code that
/// runs now.
pub fn on_timer(mut scene: Scene<'_>, late: bool, posix: bool) {
    let slot = scene.state.slot;
    let elapsed = scene.state.programmed_ns;
    scene.state.budget.earn(elapsed);
    scene.state.samples = scene.state.samples.wrapping_add(1);
    slot.count(Counter::TimerSamples, 1);
    if posix {
        restart::restart_interrupted_call(&mut scene);
    }
    if scene.state.session.control().stop.load(Relaxed) != 0 {
        scene.state.burst = None;
        scene.context.end_steps();
        scene.state.sampler.stop();
        return;
    }
    if scene.state.samples % PROGRESS_EVERY == 1 {
        threads::note_progress(&slot);
    }
    if scene.state.samples.is_multiple_of(JITTER_EVERY) {
        vary_period(&mut scene);
    }
    // A burst that is still going on was left by a jump out of a signal handler, or is being stepped now.
    if late || scene.state.burst.is_some() {
        let stale = scene.state.burst.take().is_some();
        if stale {
            scene.context.end_steps();
        }
        return;
    }
    let time = scene.time;
    if !super::keep_to_window(scene.state, time) {
        return;
    }
    let unloads = modules::unloads();
    if scene.state.unloads != unloads {
        scene.state.unloads = unloads;
        scene.state.decoder.forget_code();
    }
    sample_last_instruction(&mut scene);
    let random = scene.state.random();
    if scene.state.budget.affords(random) {
        burst::begin(&mut scene);
    } else {
        slot.count(Counter::BudgetSkipped, 1);
    }
}

/// Makes the time between the next samples random with the period as its mean, so that samples do not stay in step with
/// the program's rhythm, or with another thread's samples.
fn vary_period(scene: &mut Scene<'_>) {
    let period = scene.state.budget.next_period();
    let varied = period / 2 + scene.state.random() % period.max(1);
    scene.state.programmed_ns = varied;
    scene.state.sampler.set_period(varied);
}

/// The instruction just before the interrupted one: interrupts land behind the slow ones.
fn sample_last_instruction(scene: &mut Scene<'_>) {
    let ip = scene.context.ip();
    let start = scene.modules.and_then(|modules| modules.function_start(ip));
    let memory = memory(&scene.context, scene.modules, &scene.state.stack);
    match scene.state.decoder.predecessor(ip, start, &memory) {
        Ok(last) => {
            let registers = scene.context.registers(scene.fs_base);
            let operands = scene.state.decoder.operands_after(&registers, last, &memory);
            interrupted(scene, Population::LastInstruction, last, operands.accesses(), operands.skip());
        }
        Err(skip) => interrupted(scene, Population::LastInstruction, ip, &[], Some(skip)),
    }
}
