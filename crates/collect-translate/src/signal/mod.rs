//! Signals of the program.
//!
//! ```text
//!   kernel --signal--> deliver::entry: the machine as the program would have it, into the kernel's frame (context)
//!                          |
//!                      the program's handler, in the cache, on that frame
//!                          |
//!                      rt_sigreturn: the frame leads on in the cache (gate) --> kernel --> switch::resume
//! ```
//!
//! For every signal that the program handles the kernel has [`deliver::entry`], which begins with all signals blocked,
//! so that none arrives while the engine works. A signal finds a thread in native code, in a fragment (the marks say
//! what added code has in hand), or on the short straight ways between the cache and the dispatcher (`passage`).

mod actions;
mod context;
mod counts;
mod deliver;
mod kernel;
mod passage;
mod streamed;

pub use actions::{adopt, changed_natively, ends_the_process, reserve_signals};
pub use context::{Original, original_registers};
pub use kernel::Action;

use libc::{SYS_rt_sigreturn, ucontext_t};

use crate::{
    dispatch, dispatch::go_on, engine::Engine, exit::Exit, state::number, switch, system, thread::Thread,
};

/// Signals are numbered from 1 to this.
const MOST: usize = 64;

/// The bit of a signal in a kernel's set.
const fn bit(signal: u64) -> u64 {
    if signal == 0 || signal > MOST as u64 { 0 } else { 1 << (signal - 1) }
}

/// Loads and stores that a thread has counted, and not made where a signal has interrupted it.
pub fn ahead(engine: &mut Engine, thread: &mut Thread, context: &ucontext_t) -> i64 {
    let found = context::find(&engine.cache, thread, Original::of(context));
    counts::ahead(engine, &found, context)
}

/// A system call about signals left the cache.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    if thread.slots().regs[number::RAX] as i64 == SYS_rt_sigreturn {
        return handler_returns(engine, thread, exit);
    }
    let [signal, new, old, set_bytes, ..] = system::arguments(thread);
    // A signal's number has 32 bits.
    match actions::change(u64::from(signal as u32), new, old, set_bytes) {
        Some(result) => system::finish(thread, exit, result.map(|()| 0)),
        None => go_on(thread, exit.back, exit.pc),
    }
}

/// A handler has returned: the frame, which names original addresses, is made to lead into the cache.
fn handler_returns(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    // The kernel's frame begins 8 bytes lower, with the address that the handler returned to.
    let place = thread.slots().regs[number::RSP].wrapping_add(context::RIP_OFFSET);
    if let Some(pc) = kernel::read::<u64>(place) {
        dispatch::enter(engine, thread, pc);
        let next = thread.slots().next;
        if next != pc && kernel::write(place, switch::resume as *const () as u64) {
            thread.slots().resume = next;
            thread.slots().resume_pc = pc;
        }
    }
    // The call sets the program's mask itself. Until then no signal may come, which would find a changed frame.
    thread.slots().mask = u64::MAX;
    go_on(thread, exit.back, exit.pc);
}
