//! Signals of the program.
//!
//! ```text
//!   kernel --signal--> deliver::entry: the machine as the program would have it (context), in a frame that lies
//!                          |           where the kernel would have put it (frame)
//!                      the program's handler, in the cache, on that frame
//!                          |
//!                      rt_sigreturn: a copy of the frame leads on in the cache (gate) --> kernel --> passages::resume
//! ```
//!
//! The engine keeps actions, masks and alternate stacks as the program believes them to be (`wishes`, `own`). The
//! kernel has others: one handler, an alternate stack of the embedder with room for it, and a mask that does not
//! block the embedder's signals.
//!
//! For every signal that the program handles the kernel has [`deliver::entry`], which begins with all signals
//! blocked, so that none arrives while the engine works. A signal finds a thread in native code, in a fragment (the
//! marks say what added code has changed), or in one of the short passages between the cache and the dispatcher
//! (`passage`). One that arrives while a sample is taken is deferred until then (`defer`).

pub mod actions;
pub mod context;
pub mod counts;
pub mod defer;
pub mod deliver;
pub mod frame;
pub mod kernel;
pub mod masks;
pub mod own;
pub mod passage;
pub mod set;
pub mod stacks;
pub mod steps;
pub mod streamed;
pub mod waits;
pub mod wishes;

use libc::ucontext_t;

use crate::{
    blocks::passages,
    engine::{Engine, enter},
    lane::{exit::Exit, registers::number},
    memory::program,
    probes::coverage::Leave,
    threads::thread::CONTEXT_WORDS,
    threads::{
        calls,
        next::{self, go_on},
        thread::Thread,
    },
};
use context::Original;
use frame::Frame;
use own::{OwnSignals, Stack, own};

/// Loads and stores that a thread has counted but not made when a signal interrupted it.
pub fn ahead(engine: &mut Engine, thread: &mut Thread, context: &ucontext_t) -> i64 {
    let found = context::find(&engine.cache, thread, Original::of(context));
    counts::ahead(engine, &found, context)
}

/// A system call for signals has left the cache.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit, number: i64) {
    match number {
        libc::SYS_rt_sigreturn => handler_returns(engine, thread, exit),
        libc::SYS_rt_sigprocmask => masks::call(thread, exit),
        libc::SYS_sigaltstack => stacks::call(thread, exit),
        _ => change_action(thread, exit),
    }
}

fn change_action(thread: &mut Thread, exit: Exit) {
    let [signal, new, old, set_bytes, ..] = calls::arguments(thread);
    // A signal's number has 32 bits.
    match actions::change(u64::from(signal as u32), new, old, set_bytes) {
        Some(result) => calls::finish(thread, exit, result.map(|()| 0)),
        None => go_on(thread, exit.back, exit.pc),
    }
}

/// The thread is about to execute another program, which inherits its mask: blocks what the program blocks.
pub fn show_mask(thread: &mut Thread) {
    thread.shown = own().map_or(0, OwnSignals::hidden) & !thread.slots().mask;
    thread.slots().mask |= thread.shown;
}

/// That failed: restores the mask.
pub fn hide_mask(thread: &mut Thread) {
    let shown = std::mem::take(&mut thread.shown);
    if shown != 0 {
        thread.block_signals();
        thread.slots().mask &= !shown;
    }
}

const _: () = assert!(CONTEXT_WORDS as u64 * 8 == Frame(0).info() - Frame(0).context());

/// A handler has returned. A copy of its frame, with original addresses translated, leads into the cache, and gives
/// the kernel the state that it must have.
fn handler_returns(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    const RIP: usize = context::RIP_OFFSET as usize / 8;
    const SP: usize = RIP - 1;
    const FLAGS: usize = RIP + 1;
    const STACK: usize = (Frame(0).stack() - Frame(0).context()) as usize / 8;
    let frame = Frame::left(thread.slots().regs[number::RSP]);
    // If it cannot be read here, the kernel cannot read it either.
    if let Some(mut context) = program::read::<[u64; CONTEXT_WORDS]>(frame.context())
        && let Some(stack) = program::read::<Stack>(frame.stack())
    {
        let pc = context[RIP];
        if context[FLAGS] & steps::TRAP == 0 {
            enter::enter(engine, thread, pc);
        } else {
            next::leave(thread, pc, Leave::Instruction);
        }
        let next = thread.slots().next;
        if next != pc {
            context[RIP] = passages::resume as *const () as u64;
            thread.slots().resume = next;
            thread.slots().resume_pc = pc;
        }
        if let Some(own) = own() {
            if stack.low != own.ours().low {
                context[CONTEXT_WORDS - 1] = masks::keep_hidden(context[CONTEXT_WORDS - 1]);
            }
            let kept = stacks::restore(own, stack, context[SP]);
            context[STACK..STACK + 3].copy_from_slice(&[kept.low, u64::from(kept.flags), kept.bytes]);
        }
        thread.left = context;
        thread.slots().regs[number::RSP] = thread.left.as_ptr().expose_provenance() as u64;
    }
    // The call sets the program's mask itself. Until then no signal may arrive, because it would find a changed
    // frame.
    thread.slots().mask = u64::MAX;
    go_on(thread, exit.back, exit.pc);
}
