//! The observer, to which the engine reports.

use std::{
    ops::Range,
    sync::{OnceLock, atomic::Ordering::Relaxed},
};

use carom_base::Access;
use carom_base_insn::Registers;

use crate::{
    lane::registers::number::RSP,
    probes::{
        batch::Batch,
        strata::DrawnAs,
        timed,
        totals::{Counts, Totals},
    },
    threads::{
        calls::Obstacle,
        stamp,
        thread::{Noticed, Thread},
    },
};

/// What the engine reports to the embedder. Called in the thread concerned, with all signals blocked or deferred
/// ([`defer_signal`](crate::defer_signal)), on the engine's stack: it must not call the C library beyond async-signal-safe functions. All methods but
/// [`sampled`](Self::sampled), [`touched`](Self::touched), [`streamed`](Self::streamed) and [`timed`](Self::timed)
/// are called under the engine's lock and must not call the engine.
pub trait Observer: Sync {
    /// An access is about to happen and was sampled as `drawn` says. For a repeated string instruction, all its
    /// sampled iterations are reported together, in front of it, or after it where a comparison may end it. `weight`:
    /// the answer of [`weighs`](Self::weighs).
    fn sampled(&self, registers: &Registers<'_>, access: &Access, drawn: DrawnAs, weight: f32);

    /// This many accesses of the calling thread were drawn and are about to happen. Returns the factor of their
    /// weight if they are to be [`sampled`](Self::sampled); `None` if not, which takes half the time. Asked before
    /// anything else is known about them.
    fn weighs(&self, _drawn: usize) -> Option<f32> {
        Some(1.0)
    }

    /// Accesses of the calling thread were drawn that stand for this many, whether they are to be [`sampled`](Self::sampled) or not.
    /// Called without the engine's lock.
    fn drawn(&self, _accesses: u64) {}

    /// Whether [`sampled`](Self::sampled) may be called when the block of the access begins, some instructions ahead,
    /// where the address is known there. The registers are then those of that moment, except those that locate the
    /// frame, which have their later values. If an instruction in between faults, the access does not happen. Takes
    /// half the time.
    fn takes_samples_early(&self) -> bool {
        false
    }

    /// An access is about to happen to a line whose byte in the thread's table is set for this kind of access
    /// ([`Watches`](crate::Watches)); it may be another line with the same entry. Called before
    /// [`sampled`](Self::sampled). For a repeated string instruction: the first access to each such line, or after it
    /// where a comparison may end it.
    fn touched(&self, _registers: &Registers<'_>, _access: &Access) {}

    /// The thread with this name has made these accesses, after those of earlier calls. Mostly called by the thread
    /// itself; by another one in [`flush_streams`](crate::flush_streams) and when the process ends, but never by two
    /// at once for the same thread. It must not wait for anything that a thread holds while it calls the engine.
    fn streamed(&self, _thread: u64, _batch: &Batch<'_>) {}

    /// The thread with this name has timed these loads ([`Mode::Time`](crate::Mode::Time),
    /// [`Batch::for_each_timed`]); called as [`streamed`](Self::streamed). `at`: the program's registers after them,
    /// where they were drawn one execution at a time and the thread has just left their block.
    fn timed(&self, _thread: u64, _loads: &Batch<'_>, _at: Option<&Registers<'_>>) {}

    /// The process is about to end, or to try to execute another program. `threads` has what each thread has
    /// executed, by the name that was given to [`attach`](crate::attach).
    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>);

    /// What the process has executed since the last call, by the addresses of instructions: called before
    /// [`ending`](Self::ending), where [`count_by_instruction`](crate::count_by_instruction) asked for it. All calls together have
    /// what all threads have executed.
    fn executed(&self, _instructions: &mut dyn Iterator<Item = (u64, Counts)>) {}

    /// The calling thread is about to end by a system call of the program, after executing this much. It is no longer
    /// attached.
    fn thread_ending(&self, _thread: u64, _totals: &Totals) {}

    /// The calling thread is about to map something over what is `at` these addresses, to unmap or to move it, or to change its
    /// rights.
    fn mapping_changes(&self, _at: &Range<u64>) {}

    /// The calling thread has mapped, unmapped or moved memory. What was `at` these addresses may be gone; `shared`:
    /// other processes may see what is mapped now.
    fn mapping_changed(&self, _at: Option<&Range<u64>>, _shared: bool) {}

    /// The program is about to make this system call: returns why the process could not be observed afterwards, if
    /// so. The arguments are in the kernel's order. Called without the engine's lock.
    fn obstacle(&self, _number: i64, _arguments: [u64; 6]) -> Option<Obstacle> {
        None
    }

    /// The process steps aside for an [`obstacle`](Self::obstacle): after this it runs natively, and the observer,
    /// which has been told the counts, is called no more. Returns further signals for the calling thread to block.
    fn stepping_aside(&self, _obstacle: Obstacle) -> u64 {
        0
    }

    /// The process is about to fork, in the calling thread. Other threads must not be in the middle of anything that
    /// the child needs: take locks here, including that of the allocator, and release them in
    /// [`forked`](Self::forked).
    fn forking(&self) {}

    /// The process has forked, or failed to. In the `child` the calling thread is the only one, and has executed
    /// nothing; its name is still the parent's ([`set_name`]).
    fn forked(&self, _child: bool) {}

    /// The process is about to make a child process with memory of its own, by a system call that is not that of the C library's
    /// `fork`: no function that is registered with `pthread_atfork` is called in it. Whether the engine is to follow it if it can; if not,
    /// it runs natively. [`forking`](Self::forking) follows.
    fn follows_clone(&self) -> bool {
        true
    }
}

/// The observer, for callers without the lock.
static OBSERVER: OnceLock<&'static dyn Observer> = OnceLock::new();

/// Sets the observer, once and for all.
pub fn tell_it_to(observer: &'static dyn Observer) {
    OBSERVER.get_or_init(|| observer);
}

/// Asks the observer about a system call that the program is about to make.
pub fn obstacle(number: i64, arguments: [u64; 6]) -> Option<Obstacle> {
    OBSERVER.get()?.obstacle(number, arguments)
}

/// Reports what a thread has noticed.
pub fn tell_noticed(thread: &mut Thread) {
    let Some(observer) = OBSERVER.get() else { return };
    let mut noticed = std::mem::take(&mut thread.noticed);
    let mut purpose = std::mem::take(&mut thread.purpose);
    for Noticed { access, drawn_as, weight, ahead, sp } in noticed.drain(..) {
        thread.ahead.store(ahead, Relaxed);
        let mut registers = thread.registers(access.ip.0);
        registers.gpr[RSP] = registers.gpr[RSP].wrapping_add(sp);
        match drawn_as {
            Some(drawn) => {
                purpose.samples(drawn.doublings);
                if let Some(weight) = weight.or_else(|| observer.weighs(1)) {
                    observer.sampled(&registers, &access, drawn, weight);
                }
            }
            None => {
                purpose.touches();
                observer.touched(&registers, &access);
            }
        }
    }
    thread.ahead.store(0, Relaxed);
    let drawn = purpose.take_drawn();
    if drawn > 0 {
        observer.drawn(drawn);
    }
    (thread.noticed, thread.purpose) = (noticed, purpose);
}

/// Reports what a thread has streamed.
pub fn tell_streamed(name: u64, batch: &Batch<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer.streamed(name, batch);
        if timed::is_used() {
            observer.timed(name, batch, None);
        }
    }
}

/// Reports what the calling thread has timed since the last report.
pub fn tell_timed(thread: &mut Thread) {
    let Some(observer) = OBSERVER.get() else { return };
    let (name, pc, words) = (thread.name, thread.slots().pc, thread.streamed().to_vec());
    observer.timed(name, &Batch::new(&words, stamp::now()), Some(&thread.registers(pc)));
}
