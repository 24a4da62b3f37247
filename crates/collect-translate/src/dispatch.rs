//! What happens when a thread leaves the cache: the decisions, one per reason.

use carom_base::{Access, AccessKind};
use carom_base_insn::{Memory, Registers};

use crate::{
    block::Block,
    cache::{self, Cache, Hook},
    countdown::Place,
    coverage::Leave,
    early,
    engine::{self, Engine},
    evict::Room,
    exit::{Exit, Reason},
    fragment::{self, Hooked},
    hold,
    landings::Landing,
    memory::{self, Regions},
    mode::Mode,
    repeat, sample, signal,
    stream::{self, Explicit},
    switch,
    system::{self, mapping},
    thread::Thread,
    timing, vector,
    watch::Watches,
};

/// Called by `switch::dispatch` with all signals blocked, on the engine's stack, the program's registers in the slots.
/// Sets where the thread goes on.
pub extern "C" fn dispatch_exit(thread: *mut Thread, exit: *const Exit) {
    // SAFETY: the thread's own state; only its dispatcher uses it, one exit at a time.
    let thread = unsafe { &mut *thread };
    // SAFETY: records are never changed once code refers to them.
    let mut exit = unsafe { *exit };
    // The program's system calls are its own time.
    let _held = hold::begin((exit.reason != Reason::SystemCall).then_some(thread.lane));
    stream::before_exit(thread, &exit);
    if exit.reason == Reason::SystemCall {
        system::prepare(thread);
    }
    for trial in 0..=MOST_WAITS {
        engine::with_thread(thread, |engine, thread| {
            engine.cache.may_wait = trial < MOST_WAITS && is_repeatable(exit.reason);
            dispatch(engine, thread, exit);
        });
        if thread.slots().next != LATER {
            break;
        }
        // The arena that it has left may be another one's by then.
        exit.detail = 0;
        let moment = (&raw const A_MOMENT) as u64;
        // SAFETY: a valid duration. Without the lock, so that the others come by; whether it is slept to the end is all one.
        let _ = unsafe { memory::call(libc::SYS_nanosleep, [moment, 0, 0, 0, 0, 0]) };
    }
    match thread.slots().next {
        system::END => system::end(thread),
        mapping::UNLOCKED => {
            let result = mapping::make(thread);
            engine::with_thread(thread, |engine, thread| {
                (engine.cache.may_wait, engine.cache.pinned) = (false, exit.back);
                mapping::made(engine, thread, exit, result);
                settle(engine, thread);
            });
        }
        _ => {}
    }
    if exit.reason == Reason::SystemCall && thread.obstacle.is_some() {
        system::let_others_out();
    }
    // Without the lock: what is made of a sample takes longer than the sample, and other threads have theirs.
    engine::tell_noticed(thread);
    timing::tell(thread);
}

/// How often, and how long, a thread waits for others to leave an arena before it runs natively.
const MOST_WAITS: u32 = 20;
static A_MOMENT: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };

/// Where a thread goes on that is to be dispatched once more: no address that a program could go to, as 0 is.
const LATER: u64 = 1 << 63;

/// Whether an exit can be dispatched once more where it found no room.
const fn is_repeatable(reason: Reason) -> bool {
    matches!(reason, Reason::Link | Reason::Return | Reason::Call | Reason::Jump | Reason::Enter)
}

fn dispatch(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    thread.clock.come_back();
    signal::hide_mask(thread);
    engine.cache.pinned = exit.back;
    if thread.restarts != 0 {
        engine.cache.note_published(thread.restarts);
    }
    match exit.reason {
        Reason::Link => link(engine, thread, exit),
        Reason::Sample => take_samples(engine, thread, exit),
        Reason::Hook => {
            run_hook(engine, thread, exit);
            let closer = look_closer(&mut engine.cache, exit);
            go_on(thread, closer.unwrap_or(exit.back), exit.pc);
        }
        Reason::SystemCall => system::call(engine, thread, exit),
        Reason::Instruction => system::leave_for_instruction(engine, thread, exit),
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
        // Now there is room.
        Reason::Full => go_on(thread, exit.back, exit.pc),
    }
    settle(engine, thread);
}

/// Where the thread goes on is known.
fn settle(engine: &mut Engine, thread: &mut Thread) {
    begin_countdowns(engine, thread);
    thread.make_stamp_due();
    // Where its system call is still to be made, it comes back to the code that it has left.
    if thread.slots().next != mapping::UNLOCKED {
        engine.cache.note_where(thread);
    }
}

/// The thread goes on at `cache`, which stands for `pc`.
pub fn go_on(thread: &mut Thread, cache: u64, pc: u64) {
    let slots = thread.slots();
    slots.next = cache;
    slots.pc = pc;
}

/// The thread goes on at `pc` outside the cache.
pub fn leave(thread: &mut Thread, pc: u64, why: Leave) {
    thread.clock.leave(why);
    go_on(thread, pc, pc);
}

/// The thread goes on at `pc`, in the cache where that can be.
pub fn enter(engine: &mut Engine, thread: &mut Thread, pc: u64) {
    match engine.cache.get(pc) {
        Some(cache) => {
            engine.cache.ahead.note(None, pc);
            go_on(thread, cache, pc);
        }
        None => cannot_translate(engine, thread, pc, false),
    }
}

/// Code that is not in the cache and cannot be: ours, made at run time, or the arenas are full.
fn cannot_translate(engine: &mut Engine, thread: &mut Thread, pc: u64, called: bool) {
    let cache = &mut engine.cache;
    if cache.mode == Mode::Off {
        thread.clock.pause();
        return go_on(thread, pc, pc);
    }
    if cache.is_native(pc) {
        if called {
            thread.expect_return();
            return go_on(thread, pc, pc);
        }
        // A native function went on in the cache and is done there: its caller is a step away.
        if pc == switch::native_return as *const () as u64 {
            return go_on(thread, pc, pc);
        }
        return leave(thread, pc, Leave::ForeignCode);
    }
    if cache.sequences.contains(pc) {
        return leave(thread, pc, Leave::Instruction);
    }
    if cache.find_code(pc)
        && let Some(found) = cache.get(pc)
    {
        return go_on(thread, found, pc);
    }
    if cache.regions.contains(pc).is_none() {
        return leave(thread, pc, Leave::ForeignCode);
    }
    match engine.make_room(pc) {
        Room::Soon if engine.cache.may_wait => return go_on(thread, LATER, pc),
        _ => {}
    }
    match engine.cache.get(pc) {
        Some(found) => go_on(thread, found, pc),
        None => leave(thread, pc, Leave::NoRoom),
    }
}

fn link(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let Some(cache) = engine.cache.get(exit.pc) else {
        return cannot_translate(engine, thread, exit.pc, true);
    };
    if let Some(code) = engine.cache.codes.iter_mut().find(|code| code.contains(exit.detail)) {
        code.link(exit.pc, exit.detail, cache);
    }
    engine.cache.ahead.note(None, exit.pc);
    go_on(thread, cache, exit.pc);
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

/// New counters begin with the executions until the first sample, in the thread that will use them first.
pub fn begin_countdowns(engine: &mut Engine, thread: &mut Thread) {
    let cache = &mut engine.cache;
    for (arena, id) in std::mem::take(&mut cache.new_counters) {
        let Some(code) = cache.codes.get(arena) else { continue };
        let place = Place { arena, code, id };
        if let Some(periods) = place.sums().and_then(|sums| cache.mode.countdown(&sums)) {
            thread.begin_countdown(place, periods);
        }
    }
}

/// A block's countdown is over: run a copy of the block with hooks in front of the accesses to sample, or the block
/// itself again where the countdown had not begun.
fn take_samples(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    // The block may have been translated anew, elsewhere and with another counter.
    let record = thread.slots().exit;
    let Some((arena, code)) = engine.cache.code_at(record) else { return enter(engine, thread, exit.pc) };
    let Some(periods) = engine.cache.mode.periods() else {
        // The mode is another one by now: the block is counted again where it is translated for that.
        thread.uncount(code, exit.detail);
        return enter(engine, thread, exit.pc);
    };
    let mut due = sample::Due::default();
    // All in this execution, the one counted last.
    thread.draw(Place { arena, code, id: exit.detail }, periods, |drawn| due.push(drawn.nth, drawn.store));
    let counted = code.counters().get(exit.detail as usize).map_or(0, |counter| counter.sums().instructions);
    if due.count() > 0 {
        match engine.observer.weighs(due.count()) {
            Some(weight) => {
                thread.weight = weight;
                due = early::tell(engine, thread, exit.pc, due, counted as usize);
            }
            None => due = sample::Due::default(),
        }
    }
    if due == sample::Due::default() && exit.back != 0 {
        return go_on(thread, exit.back, exit.pc);
    }
    // Nobody goes back: the arena may be emptied for the copy.
    engine.cache.pinned = 0;
    let cache = sampled_copy(&mut engine.cache, exit.pc, &due, counted as usize);
    match cache {
        Some(cache) => go_on(thread, cache, exit.pc),
        None => {
            // Counted, and it will be again.
            if let Some((_, code)) = engine.cache.code_at(record) {
                thread.uncount(code, exit.detail);
            }
            cannot_translate(engine, thread, exit.pc, false);
        }
    }
}

/// The copy of the block at `pc` of so many instructions in which these accesses are sampled.
fn sampled_copy(cache: &mut Cache, pc: u64, due: &sample::Due, counted: usize) -> Option<u64> {
    if let Some(&known) = cache.variants.get(&(pc, due.key())) {
        return Some(known);
    }
    let code = cache.code_after(pc)?;
    let block = Block::decode(pc, code, &mut cache.accesses)?;
    let mut hooked: Vec<Hooked> = Vec::new();
    for (wanted, store) in due.accesses() {
        if let Some((instruction, hook)) = block.sampled(wanted, store, counted) {
            hooked.push(Hooked { instruction, hook: cache.add_hook(hook) });
        }
    }
    let copy = fragment::variant(cache, pc, &hooked)?;
    cache.variants.insert((pc, due.key()), copy);
    Some(copy)
}

/// The program's code, for the decoder.
struct Code<'a>(&'a Regions);

impl Memory for Code<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize {
        let Some(code) = cache::original(self.0, addr) else { return 0 };
        let bytes = code.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..bytes), code.get(..bytes)) {
            to.copy_from_slice(from);
        }
        bytes
    }
}

fn run_hook(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    match engine.cache.hook(exit.detail) {
        Some(Hook::Lanes(what)) => vector::count(engine, thread, what),
        Some(Hook::DueLanes(what)) => vector::sample(engine, thread, what),
        Some(Hook::Repeat { what, ends_early }) => repeat::before(engine, thread, what, ends_early),
        Some(Hook::AfterRepeat) => repeat::after(engine, thread),
        Some(Hook::DueIterations { what, over }) => repeat::sample(engine, thread, what, over),
        Some(hook @ Hook::Sample { .. }) => notice_sample(engine, thread, hook),
        Some(Hook::Touch { pc, nth, ahead }) => {
            let found = operands(engine, thread, pc);
            thread.notice(&found, nth as usize, None, i64::from(ahead));
        }
        Some(Hook::Accesses { pc, ahead }) => every_access(engine, thread, pc, i64::from(ahead)),
        Some(Hook::Timed { arena, id }) => timing::draw(engine, thread, arena, id),
        Some(Hook::Near { .. }) | None => {}
    }
}

/// The access of a [`Hook::Sample`] was drawn.
fn notice_sample(engine: &mut Engine, thread: &mut Thread, hook: Hook) {
    let Hook::Sample { pc, nth, store, ahead } = hook else { return };
    let kind = if store { AccessKind::Store } else { AccessKind::Load };
    let wanted = |access: &Access| if store { access.kind.writes() } else { access.kind.reads() };
    let found = operands(engine, thread, pc);
    let mut places = found.iter().enumerate().filter(|(_, access)| wanted(access));
    if let Some((index, _)) = places.nth(nth as usize) {
        thread.notice(&found, index, Some(kind), i64::from(ahead));
    }
}

/// Where a block goes on that is about to touch a watched place, if not where it left: in a copy that looks up each
/// access in front of its instruction.
fn look_closer(cache: &mut Cache, exit: Exit) -> Option<u64> {
    let Some(Hook::Near { block }) = cache.hook(exit.detail) else { return None };
    let copy = sampled_copy(cache, block, &sample::Due::default(), 0)?;
    let (_, code) = cache.code_at(copy)?;
    code.place_of(copy, exit.pc)
}

/// The instruction at `pc` is one whose accesses are seen only here.
fn every_access(engine: &mut Engine, thread: &mut Thread, pc: u64, ahead: i64) {
    let found = operands(engine, thread, pc);
    match engine.cache.mode {
        Mode::Stream => thread.stream(&Explicit { ip: pc, times: 1, stride: 0, accesses: &found }),
        Mode::Watch { .. } => {
            let watches = Watches::of(thread.lane);
            for (index, access) in found.iter().enumerate() {
                let (address, kind) = (access.addr.0, access.kind);
                if watches.has_line(address, kind) || watches.has_byte(address, kind) {
                    thread.notice(&found, index, None, ahead);
                }
            }
        }
        _ => {}
    }
}

/// What the instruction at `pc` is about to access.
pub fn operands(engine: &mut Engine, thread: &mut Thread, pc: u64) -> Vec<Access> {
    accesses(&mut engine.cache, &thread.registers(pc))
}

/// What a machine is about to access.
pub fn accesses(cache: &mut Cache, registers: &Registers<'_>) -> Vec<Access> {
    let Cache { accesses, regions, .. } = cache;
    accesses.operands_before(registers, &Code(regions)).accesses().to_vec()
}
