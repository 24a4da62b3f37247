//! What happens when a thread leaves the cache: the decisions, one per reason.

#[cfg(debug_assertions)]
use crate::threads::vectors::Unsaved;
use crate::{
    blocks::landings::Landing,
    engine::{
        self, Engine,
        enter::{LATER, cannot_translate, enter},
        observer,
    },
    lane::{
        exit::{Exit, Reason},
        registers::number,
    },
    memory,
    observe::{
        draw::{begin_countdowns, take_samples},
        hold, hooks, streams, timing,
    },
    probes::mode::Version,
    signal,
    system::{self, aside, ending, mapping, segment},
    threads::{calls, next::go_on, thread::Thread},
};

/// Called by `arrive::dispatch` with all signals blocked or deferred, on the engine's stack, with the program's registers
/// in the slots. Decides where the thread continues.
pub extern "C" fn dispatch_exit(thread: *mut Thread, exit: *const Exit) {
    // SAFETY: the thread's own state; only its dispatcher uses it, one exit at a time.
    let thread = unsafe { &mut *thread };
    // SAFETY: records are never changed once code refers to them.
    let exit = unsafe { *exit };
    // Before anything can use them.
    thread.save_vectors_for(exit.reason);
    #[cfg(debug_assertions)]
    let unsaved = Unsaved::now();
    handle(thread, exit);
    #[cfg(debug_assertions)]
    unsaved.check(thread);
}

fn handle(thread: &mut Thread, mut exit: Exit) {
    // The program's system calls are running time.
    let defers = thread.defers();
    let held = hold::begin((exit.reason != Reason::SystemCall).then_some(thread.lane), defers);
    hand_over_before(thread, &exit);
    if exit.reason == Reason::SystemCall {
        aside::prepare(thread);
    }
    for trial in 0..=MOST_WAITS {
        engine::with_thread(thread, |engine, thread| {
            engine.visit.may_wait = trial < MOST_WAITS && is_repeatable(exit.reason);
            dispatch(engine, thread, exit);
        });
        if thread.slots().next != LATER {
            break;
        }
        // The arena that it has left may have been reused by then.
        exit.detail = 0;
        let moment = (&raw const A_MOMENT) as u64;
        // SAFETY: a valid duration. Called without the lock, so that other threads can enter the dispatcher; an
        // interrupted sleep does no harm.
        let _ = unsafe { memory::call(libc::SYS_nanosleep, [moment, 0, 0, 0, 0, 0]) };
    }
    match thread.slots().next {
        ending::END => ending::end(thread),
        mapping::UNLOCKED => {
            let result = mapping::make(thread);
            engine::with_thread(thread, |engine, thread| {
                (engine.visit.may_wait, engine.visit.pinned) = (false, exit.back);
                mapping::made(engine, thread, exit, result);
                settle(engine, thread);
            });
        }
        _ => {}
    }
    if exit.reason == Reason::SystemCall && thread.obstacle.is_some() {
        aside::go_on_natively();
    }
    // Without the lock: processing a sample takes longer than taking it, and other threads have samples too.
    observer::tell_noticed(thread);
    timing::tell(thread);
    let purpose = std::mem::take(&mut thread.purpose);
    thread.spending.book(held.end(), purpose);
}

/// How often, and for how long each time, a thread waits for others to leave an arena before it runs natively.
const MOST_WAITS: u32 = 20;
static A_MOMENT: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };

/// Whether an exit that found no room can be dispatched once more.
const fn is_repeatable(reason: Reason) -> bool {
    matches!(reason, Reason::Link | Reason::Return | Reason::Call | Reason::Jump | Reason::Enter)
}

/// Hands over what must be handed over before an exit is handled, because there is no room, or because the exit may
/// take long.
fn hand_over_before(thread: &mut Thread, exit: &Exit) {
    match exit.reason {
        // Samples are taken in modes that record nothing, or after a copy has timed loads.
        Reason::Full | Reason::Sample => streams::hand_over(thread),
        Reason::SystemCall => {
            // The kernel uses only the lower half of RAX.
            let number = i64::from(thread.slots().regs[number::RAX] as i32);
            streams::hand_over(thread);
            if number == libc::SYS_exit {
                thread.turn.wait();
            }
            let given = calls::arguments(thread);
            if matches!(number, libc::SYS_exit_group | libc::SYS_execve | libc::SYS_execveat)
                || aside::may_end_here(number, given)
            {
                streams::flush_streams();
            }
        }
        Reason::Hook if thread.is_nearly_full() => streams::hand_over(thread),
        _ => {}
    }
}

fn dispatch(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    thread.clock.come_back();
    signal::hide_mask(thread);
    engine.visit.pinned = exit.back;
    engine.make_superblocks();
    if thread.restarts != 0 {
        engine.cache.note_published(thread.restarts);
    }
    let episode = engine.cache.episode();
    if episode != 0
        && matches!(exit.reason, Reason::Sample | Reason::Hook)
        && engine
            .cache
            .arenas
            .at(thread.slots().exit)
            .is_some_and(|(_, code)| code.version == Version::Watching)
    {
        thread.note_episode(engine.cache.arenas.all(), episode);
    }
    match exit.reason {
        Reason::Link => link(engine, thread, exit),
        Reason::Sample => take_samples(engine, thread, exit),
        Reason::Hook => {
            hooks::run(engine, thread, exit);
            let copy = hooks::watching_copy(&mut engine.cache, exit);
            go_on(thread, copy.unwrap_or(exit.back), exit.pc);
        }
        Reason::SystemCall => system::call(engine, thread, exit),
        Reason::Instruction => segment::leave_for_instruction(engine, thread, exit),
        Reason::Return => arrive(engine, thread, Landing::RETURN),
        Reason::Call => arrive(engine, thread, Landing::CALL),
        Reason::Jump => arrive(engine, thread, Landing::JUMP),
        Reason::Enter => {
            let target = thread.slots().target;
            enter(engine, thread, target);
        }
        Reason::Back => {
            if let Some(target) = thread.returned() {
                enter(engine, thread, target);
            }
        }
        Reason::Switch => {
            let watching = watching(engine, exit.pc);
            if watching.is_none() {
                thread.forget_plain();
            }
            go_on(thread, watching.unwrap_or(exit.back), exit.pc);
        }
        // Now there is room.
        Reason::Full => go_on(thread, exit.back, exit.pc),
    }
    settle(engine, thread);
}

/// The thread's next address is known.
fn settle(engine: &mut Engine, thread: &mut Thread) {
    begin_countdowns(engine, thread);
    thread.make_stamp_due();
    // If its system call is still to be made, it returns to the code that it has left.
    if thread.slots().next != mapping::UNLOCKED {
        note_where(engine, thread);
    }
}

/// Notes where the thread, which was in the dispatcher, continues.
fn note_where(engine: &Engine, thread: &mut Thread) {
    let next = thread.slots().next;
    if !engine.cache.arenas.is_retired(next) {
        thread.seen = engine.cache.arenas.retirements();
    }
}

fn link(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let Some(cache) = engine.cache.get(exit.pc) else {
        return cannot_translate(engine, thread, exit.pc, true);
    };
    if let Some(code) = engine.cache.arenas.at_mut(exit.detail) {
        code.link(exit.pc, exit.detail, cache);
    }
    engine.cache.ahead.note(None, exit.pc);
    go_on(thread, cache, exit.pc);
}

/// The watching version of the block at `pc`, during an episode.
fn watching(engine: &mut Engine, pc: u64) -> Option<u64> {
    if engine.cache.episode() == 0 {
        return None;
    }
    if let Some(known) = engine.cache.watching(pc) {
        return Some(known);
    }
    engine.make_room(pc, Version::Watching);
    engine.cache.watching(pc)
}

fn arrive(engine: &mut Engine, thread: &mut Thread, landing: Landing) {
    let target = thread.slots().target;
    match engine.cache.land(landing, target) {
        Some(cache) => {
            engine.cache.ahead.note(Some(landing.table), target);
            go_on(thread, cache, target);
        }
        None => cannot_translate(engine, thread, target, landing.table != Landing::RETURN.table),
    }
}
