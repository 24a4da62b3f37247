//! Back into the cache, for threads that left it for code that cannot be translated and are long past that.

use crate::{coverage::Leave, engine, state::Scratch, switch};

/// Lets a thread that runs natively, and was interrupted at `context`, go on in the cache where that can be. To be called
/// from a handler of a signal of the embedder's own, with all signals blocked. True where it will.
///
/// The embedder must know that the thread was not interrupted in code of the embedder's, nor in a function of the C
/// library that such code had called: what the engine then calls may wait for a lock that the thread holds itself.
pub fn reenter(context: &mut libc::ucontext_t) -> bool {
    let Some(thread) = engine::current() else { return false };
    // SAFETY: the calling thread's own; it is used by the dispatcher, which has all signals blocked, and here.
    let thread = unsafe { &mut *thread };
    if matches!(thread.clock.outside(), None | Some(Leave::ProgramGs)) {
        return false;
    }
    let registers = &mut context.uc_mcontext.gregs;
    let (Some(&rax), Some(rip)) = (registers.get(RAX), registers.get(RIP).copied()) else { return false };
    let pc = rip as u64;
    // Whether there is code to translate the dispatcher finds out, which may allocate.
    if switch::passages().contains(&pc) {
        return false;
    }
    let slots = thread.slots();
    slots.target = pc;
    if let (Some(place), Some(rip)) = (slots.scratch.get_mut(Scratch::A as usize), registers.get_mut(RIP)) {
        *place = rax as u64;
        *rip = switch::reenter as *const () as i64;
    }
    true
}

const RAX: usize = libc::REG_RAX as usize;
const RIP: usize = libc::REG_RIP as usize;
