//! Whom the engine tells what it sees.

use std::{
    ops::Range,
    sync::{OnceLock, atomic::Ordering::Relaxed},
};

use carom_base::{Access, AccessKind};
use carom_base_insn::Registers;

use crate::{
    probes::{batch::Batch, timed, totals::Totals},
    threads::{
        calls::Obstacle,
        stamp,
        thread::{Noticed, Thread},
    },
};

/// What the engine tells whoever uses it. Called in the thread concerned, with all signals blocked, on the engine's
/// stack: it must not call the C library beyond async-signal-safe functions. All but [`sampled`](Self::sampled),
/// [`touched`](Self::touched), [`streamed`](Self::streamed) and [`timed`](Self::timed) are called under the engine's lock and must not call the
/// engine.
pub trait Observer: Sync {
    /// An access is about to happen and was sampled as one of its `kind` (a read-modify-write may be either). Of a repeated
    /// string instruction: at once for all of its iterations that were sampled, in front of it; where a comparison may end it,
    /// when it is over. `weight`: as [`weighs`](Self::weighs) has said.
    fn sampled(&self, registers: &Registers<'_>, access: &Access, kind: AccessKind, weight: f32);

    /// So many accesses of the calling thread were drawn, and are to come. By how much more they weigh for being
    /// [`sampled`](Self::sampled); `None`: they are not, which takes half the time. Asked before anything is known of them.
    fn weighs(&self, _drawn: usize) -> Option<f32> {
        Some(1.0)
    }

    /// Whether [`sampled`](Self::sampled) may come when the block begins in which the access lies, some instructions ahead of
    /// it, where its address is known there. The registers are those of that moment then; those that tell the frame hold
    /// what they will. If an instruction in between faults, the access does not happen. That takes half the time.
    fn takes_samples_early(&self) -> bool {
        false
    }

    /// An access is about to happen that goes to a line whose byte in the thread's table is set for what it does
    /// ([`Watches`](crate::Watches)), which may be another line. It is told before it is [`sampled`](Self::sampled). Of a repeated
    /// string instruction: the first access to each such line; where a comparison may end it, when it is over.
    fn touched(&self, _registers: &Registers<'_>, _access: &Access) {}

    /// The thread of this name has made these accesses, behind those that it was said to have made before. Mostly told by
    /// the thread itself; by another one in [`flush_streams`](crate::flush_streams) and when the process ends, which never
    /// are two at once for the same thread. It must not wait for what a thread holds that calls the engine.
    fn streamed(&self, _thread: u64, _batch: &Batch<'_>) {}

    /// The thread of this name has timed these loads ([`Mode::Time`](crate::Mode::Time), [`Batch::for_each_timed`]), told
    /// as with [`streamed`](Self::streamed). `at`: the program's registers behind them, where they were drawn one execution
    /// at a time, and the thread has just come out of the block that they belong to.
    fn timed(&self, _thread: u64, _loads: &Batch<'_>, _at: Option<&Registers<'_>>) {}

    /// The process is about to end, or to try to execute another program, these threads having executed so much. A thread is named by what was given to
    /// [`attach`](crate::attach).
    fn ending(&self, threads: &mut dyn Iterator<Item = (u64, Totals)>);

    /// The calling thread is about to end by a system call of the program, having executed so much. It is not attached
    /// any more.
    fn thread_ending(&self, _thread: u64, _totals: &Totals) {}

    /// The calling thread has mapped something, unmapped or moved it. What was `at` these addresses may be gone; `shared`:
    /// other processes may see what is mapped now.
    fn mapping_changed(&self, _at: Option<&Range<u64>>, _shared: bool) {}

    /// The program is about to make this system call: for what reason the process could not be observed any more. The arguments are in the kernel's order. Without the engine's
    /// lock.
    fn obstacle(&self, _number: i64, _arguments: [u64; 6]) -> Option<Obstacle> {
        None
    }

    /// The process steps aside for an [`obstacle`](Self::obstacle): after this it runs natively, and the observer, which was
    /// told what has been executed, hears nothing more. Signals that the calling thread is to block besides are returned.
    fn stepping_aside(&self, _obstacle: Obstacle) -> u64 {
        0
    }

    /// The process is about to fork, in the calling thread. What is needed in the child must not be left in the
    /// middle by other threads: locks, that of the allocator too, are taken here and given back in
    /// [`forked`](Self::forked).
    fn forking(&self) {}

    /// It has forked, or failed to. In the `child` the calling thread is the only one, and has executed nothing; its
    /// name is still the parent's ([`set_name`]).
    fn forked(&self, _child: bool) {}
}

/// The observer, for those that do not have the lock.
static OBSERVER: OnceLock<&'static dyn Observer> = OnceLock::new();

/// Whom the engine is to tell, once and for all.
pub fn tell_it_to(observer: &'static dyn Observer) {
    OBSERVER.get_or_init(|| observer);
}

/// Asks the observer what it says of a system call that the program is about to make.
pub fn obstacle(number: i64, arguments: [u64; 6]) -> Option<Obstacle> {
    OBSERVER.get()?.obstacle(number, arguments)
}

/// Tells the observer what a thread has noticed.
pub fn tell_noticed(thread: &mut Thread) {
    let Some(observer) = OBSERVER.get() else { return };
    let mut noticed = std::mem::take(&mut thread.noticed);
    for Noticed { access, drawn_as, weight, ahead } in noticed.drain(..) {
        thread.ahead.store(ahead, Relaxed);
        let registers = thread.registers(access.ip.0);
        match drawn_as {
            Some(kind) => {
                if let Some(weight) = weight.or_else(|| observer.weighs(1)) {
                    observer.sampled(&registers, &access, kind, weight);
                }
            }
            None => observer.touched(&registers, &access),
        }
    }
    thread.ahead.store(0, Relaxed);
    thread.noticed = noticed;
}

/// Tells the observer what a thread has streamed.
pub fn tell_streamed(name: u64, batch: &Batch<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer.streamed(name, batch);
        if timed::is_used() {
            observer.timed(name, batch, None);
        }
    }
}

/// Tells the observer what the calling thread has timed and not told yet.
pub fn tell_timed(thread: &mut Thread) {
    let Some(observer) = OBSERVER.get() else { return };
    let (name, pc, words) = (thread.name, thread.slots().pc, thread.streamed().to_vec());
    observer.timed(name, &Batch::new(&words, stamp::now()), Some(&thread.registers(pc)));
}
