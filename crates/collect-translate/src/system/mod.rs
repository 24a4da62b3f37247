//! System calls that concern the translator.

pub mod gate;

use crate::{dispatch::go_on, engine::Engine, exit::Exit, state::number, thread::Thread};

/// A system call left the cache. It happens in place, after what must come before it.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    if thread.slots().regs[number::RAX] as i64 == libc::SYS_exit_group {
        engine.ending();
    }
    go_on(thread, exit.back, exit.pc);
}
