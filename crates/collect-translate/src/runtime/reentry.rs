//! An independent check of where threads are, and the way back into the cache for those that are outside.

use crate::{
    blocks::passages,
    encode::marks::{Spilled, Undo},
    engine::{self, Engine, calling},
    lane::slots::Scratch,
    probes::{coverage::Leave, mode::Mode},
    signal::steps,
    threads::thread::Thread,
};

/// Where a thread was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// In the cache, or in code of the engine or the embedder, which works for it.
    Inside,
    /// In native code from which it returns to the cache by itself: a function that was called from the cache, or
    /// anything that this function has called.
    Called,
    /// In native code.
    Outside,
}

/// A timer of the embedder has interrupted the calling thread at `context`, as it does every `tick_ns` of the
/// thread's CPU time. If it finds the thread outside although the books have it inside, that time counts as outside.
/// A thread that runs natively continues in the cache if possible; one in the cache may visit the dispatcher. All signals must be blocked. Returns whether the
/// thread will continue in the cache.
///
/// The embedder must know that the thread was not interrupted in code of the embedder that holds a lock, nor in a
/// function of the C library that such code had called: the engine's own calls may wait for that lock.
pub fn witness(context: &mut libc::ucontext_t, tick_ns: u64) -> bool {
    let Some(thread) = calling::current() else { return false };
    // SAFETY: the calling thread's own; it is used by the dispatcher, which has all signals blocked, and here.
    let thread = unsafe { &mut *thread };
    let [Some(pc), Some(sp)] =
        [libc::REG_RIP, libc::REG_RSP].map(|place| context.uc_mcontext.gregs.get(place as usize).copied())
    else {
        return false;
    };
    let (pc, sp) = (pc as u64, sp as u64);
    let (mut back, mut visits) = (false, None);
    engine::with(|engine| {
        let booked = thread.clock.outside();
        let found = find(engine, thread, pc, sp);
        let stays = booked == Some(Leave::ProgramGs) || booked.is_none() && found != Found::Outside;
        let passes = passages::passages().contains(&pc);
        // Whether there is code to translate is up to the dispatcher, which may allocate.
        let steps = steps::continues_in(context);
        back = !stays && !passes && !steps && engine.cache.mode() != Mode::Off;
        thread.clock.tick(match found {
            _ if booked.is_some() => 0,
            Found::Inside => 0,
            // It left at any time since the last tick, and comes back with this one.
            Found::Outside if back => tick_ns / 2,
            Found::Called | Found::Outside => tick_ns,
        });
        engine.turns.tick();
        if engine.turns.pending && !steps {
            visits = begins(engine, pc);
        }
    });
    if let Some(pc) = visits.or(back.then_some(pc)) {
        lead_back(thread, context, pc);
    }
    back
}

/// Where a thread is that the books have inside.
fn find(engine: &Engine, thread: &Thread, pc: u64, sp: u64) -> Found {
    if passages::passages().contains(&pc)
        || engine.cache.arenas.at(pc).is_some()
        || engine.cache.source.is_native(pc)
    {
        return Found::Inside;
    }
    // Calls with lower addresses were left by a jump.
    if thread.native_calls.iter().any(|call| call.at >= sp) { Found::Called } else { Found::Outside }
}

/// The block at whose very beginning in the cache a thread is, at `at`: its registers are the program's, and nothing of it was counted.
fn begins(engine: &Engine, at: u64) -> Option<u64> {
    let mark = engine.cache.mark(at)?;
    let begins = mark.undo == Undo::Nothing
        && mark.spilled == Spilled::None
        && mark.counting.is_none()
        && engine.cache.translations.get(mark.pc) == Some(at);
    begins.then_some(mark.pc)
}

/// The thread continues at `pc` by way of the dispatcher.
fn lead_back(thread: &mut Thread, context: &mut libc::ucontext_t, pc: u64) {
    let slots = thread.slots();
    slots.target = pc;
    let [rax, rip] = [libc::REG_RAX, libc::REG_RIP].map(|place| place as usize);
    let registers = &mut context.uc_mcontext.gregs;
    if let (Some(&rax), Some(place)) = (registers.get(rax), slots.scratch.get_mut(Scratch::A as usize)) {
        *place = rax as u64;
    }
    if let Some(rip) = registers.get_mut(rip) {
        *rip = passages::reenter as *const () as i64;
    }
}
