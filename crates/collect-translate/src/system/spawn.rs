//! Threads and processes that share the program's memory: the child runs natively. It begins with its parent's GS,
//! and must clear it before it uses anything behind it. A signal in between finds a thread that is not attached,
//! because the state there belongs to another thread.

use crate::{
    blocks::code::Code,
    encode::{
        Emitter,
        marks::{Marks, Undo},
    },
    engine::Engine,
    lane::exit::Exit,
    probes::coverage::Leave,
    threads::{calls::finish, next::go_on, thread::Thread},
};

/// Makes the system call in code of its own, after which parent and child diverge.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    thread.clock.note(Leave::ThreadStart);
    let known = engine.cache.translations.spawn(exit.back);
    let entry = known.or_else(|| {
        let next = engine.cache.mark(exit.back + SYSCALL.len() as u64)?.pc;
        let code = engine.cache.arenas.at_mut(exit.back)?;
        emit(code, &exit, next)
    });
    match entry {
        Some(entry) => {
            engine.cache.translations.add_spawn(exit.back, entry);
            go_on(thread, entry, exit.pc);
        }
        None => finish(thread, exit, Err(libc::EAGAIN)),
    }
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];
const XCHG_RAX_RCX: [u8; 2] = [0x48, 0x91];
const JRCXZ: u8 = 0xe3;
const JMP: u8 = 0xe9;
const JMP_REL32: u8 = 5;
const WRGSBASE_RCX: [u8; 5] = [0xf3, 0x48, 0x0f, 0xae, 0xd9];
const JMP_RIP: [u8; 2] = [0xff, 0x25];

/// The parent, or the caller if the child could not be made, continues after the call in the cache; the child
/// continues at `next` in native code. RCX is free after a system call, the flags are not.
fn emit(arena: &mut Code, exit: &Exit, next: u64) -> Option<u64> {
    let literal = arena.literal(next);
    let mut code = Emitter::at(arena.next_cold());
    let mut marks = Marks::new(code.start(), exit.pc);
    let mut append = |bytes: &[u8], undo| {
        code.raw(bytes);
        marks.push(code.here(), next, undo);
    };
    append(&SYSCALL, Undo::Nothing);
    append(&XCHG_RAX_RCX, Undo::NumberInRcx);
    append(&[JRCXZ, XCHG_RAX_RCX.len() as u8 + JMP_REL32], Undo::NumberInRcx);
    append(&XCHG_RAX_RCX, Undo::Nothing);
    code.raw(&[JMP]);
    near(&mut code, exit.back + SYSCALL.len() as u64);
    marks.push(code.here(), next, Undo::NumberInRcx);
    // RCX is 0.
    code.raw(&WRGSBASE_RCX);
    code.raw(&XCHG_RAX_RCX);
    marks.push(code.here(), next, Undo::Nothing);
    code.raw(&JMP_RIP);
    near(&mut code, literal);
    arena.add_piece(&code, marks)
}

/// The displacement that ends an instruction.
fn near(code: &mut Emitter, to: u64) {
    let end = code.here() + 4;
    code.raw(&(to.wrapping_sub(end) as u32).to_le_bytes());
}
