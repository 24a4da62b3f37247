//! What happens when a thread leaves the cache: the decisions, one per reason.

use carom_base::{Access, AccessKind};
use carom_base_insn::{Memory, Registers};

use crate::{
    block::{Block, Decoded},
    cache::{self, Cache, Hook, Landing},
    coverage::Leave,
    engine::{self, Engine},
    exit::{Exit, Reason},
    fragment::{self, Hooked},
    memory::Regions,
    mode::Mode,
    repeat, sample, switch, system,
    thread::Thread,
};

/// Called by `switch::dispatch` with all signals blocked, on the engine's stack, the program's registers in the slots.
/// Sets where the thread goes on.
pub extern "C" fn dispatch_exit(thread: *mut Thread, exit: *const Exit) {
    // SAFETY: the thread's own state; only its dispatcher uses it, one exit at a time.
    let thread = unsafe { &mut *thread };
    // SAFETY: records are never changed once code refers to them.
    let exit = unsafe { *exit };
    engine::with(|engine| dispatch(engine, thread, exit));
    // Without the lock: what is made of a sample takes longer than the sample, and other threads have theirs.
    while let Some((access, kind)) = thread.sampled.pop() {
        engine::observe(&thread.registers(access.ip.0), &access, kind);
    }
}

fn dispatch(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    thread.clock.come_back();
    match exit.reason {
        Reason::Link => link(engine, thread, exit),
        Reason::Sample => take_samples(engine, thread, exit),
        Reason::Hook => {
            run_hook(engine, thread, exit);
            go_on(thread, exit.back, exit.pc);
        }
        Reason::SystemCall => system::call(engine, thread, exit),
        Reason::Instruction => leave(thread, exit.pc, Leave::Instruction),
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
    }
    begin_countdowns(engine, thread);
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
        Some(cache) => go_on(thread, cache, pc),
        None => cannot_translate(engine, thread, pc, false),
    }
}

/// Code that is not in the cache and cannot be: ours, made at run time, or the arenas are full.
fn cannot_translate(engine: &mut Engine, thread: &mut Thread, pc: u64, called: bool) {
    let cache = &mut engine.cache;
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
    if cache.find_code(pc)
        && let Some(found) = cache.get(pc)
    {
        return go_on(thread, found, pc);
    }
    let why = if cache.regions.contains(pc).is_some() { Leave::NoRoom } else { Leave::ForeignCode };
    leave(thread, pc, why);
}

fn link(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let Some(cache) = engine.cache.get(exit.pc) else {
        return cannot_translate(engine, thread, exit.pc, true);
    };
    if let Some(code) = engine.cache.codes.iter_mut().find(|code| code.contains(exit.detail)) {
        code.link(exit.pc, exit.detail, cache);
    }
    go_on(thread, cache, exit.pc);
}

fn arrive(engine: &mut Engine, thread: &mut Thread, landing: Landing) {
    let target = thread.slots().target;
    match engine.cache.land(landing, target) {
        Some(cache) => go_on(thread, cache, target),
        None => cannot_translate(engine, thread, target, landing.table != Landing::RETURN.table),
    }
}

/// New counters begin with the executions until the first sample, in the thread that will use them first.
pub fn begin_countdowns(engine: &mut Engine, thread: &mut Thread) {
    let cache = &mut engine.cache;
    let Mode::Sample { loads, stores } = cache.mode else {
        cache.new_counters.clear();
        return;
    };
    for (arena, id) in std::mem::take(&mut cache.new_counters) {
        if let Some(code) = cache.codes.get(arena) {
            thread.begin_countdown(arena, code, id, [loads, stores]);
        }
    }
}

/// A block's countdown is over: run a copy of the block with hooks in front of the accesses to sample, or the block
/// itself again where the countdown had not begun.
fn take_samples(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let Mode::Sample { loads, stores } = engine.cache.mode else { return go_on(thread, exit.back, exit.pc) };
    // The block may have been translated anew, elsewhere and with another counter.
    let record = thread.slots().exit;
    let Some((arena, code)) = engine.cache.code_at(record) else { return enter(engine, thread, exit.pc) };
    let due = thread.due(arena, code, exit.detail, [loads, stores]);
    let cache = sampled_copy(&mut engine.cache, exit.pc, &due);
    match cache {
        Some(cache) => go_on(thread, cache, exit.pc),
        None => leave(thread, exit.pc, Leave::NoRoom),
    }
}

/// The copy of the block at `pc` in which these accesses are sampled.
fn sampled_copy(cache: &mut Cache, pc: u64, due: &sample::Due) -> Option<u64> {
    if let Some(&known) = cache.variants.get(&(pc, due.key())) {
        return Some(known);
    }
    let code = cache.code_after(pc)?;
    let block = Block::decode(pc, code, &mut cache.accesses)?;
    let mut hooked: Vec<Hooked> = Vec::new();
    for (wanted, store) in due.accesses() {
        let mut before = 0;
        for (index, Decoded { instruction, statics, .. }) in block.instructions.iter().enumerate() {
            let here = if store { statics.stores } else { statics.loads };
            if wanted < before + here {
                let hook = cache.add_hook(Hook::Sample { pc: instruction.ip(), nth: wanted - before, store });
                hooked.push(Hooked { instruction: index, hook });
                break;
            }
            before += here;
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
        Some(Hook::Lanes { pc }) => {
            for access in operands(engine, thread, pc) {
                thread.count_access(&access);
            }
        }
        Some(Hook::Repeat(what)) => repeat::before(engine, thread, what),
        Some(Hook::AfterRepeat(what)) => repeat::after(engine, thread, what),
        Some(Hook::Sample { pc, nth, store }) => {
            let wanted = |access: &&Access| if store { access.kind.writes() } else { access.kind.reads() };
            let found = operands(engine, thread, pc);
            if let Some(access) = found.iter().filter(wanted).nth(nth as usize) {
                let kind = if store { AccessKind::Store } else { AccessKind::Load };
                thread.sampled.push((*access, kind));
            }
        }
        None => {}
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
