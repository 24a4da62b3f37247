//! Signals that a thread sends its own process to die of, as `abort` does: what was counted is told before.

use crate::{
    engine::Engine,
    lane::exit::Exit,
    memory,
    signal::actions,
    threads::{
        calls::{arguments, in_place},
        thread::Thread,
    },
};

/// kill, tkill or tgkill.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit, number: i64) {
    let [target, second, third, ..] = arguments(thread).map(|word| word as i32);
    let signal = if number == libc::SYS_tgkill { third } else { second };
    let own = if number == libc::SYS_tkill { own(libc::SYS_gettid) } else { own(libc::SYS_getpid) };
    let reaches_us = target == own || number == libc::SYS_kill && target <= 0;
    if reaches_us && actions::ends_the_process(signal as u64, thread.slots().mask) {
        // If it goes on after all, it is told of more later.
        engine.ending();
    }
    in_place(thread, exit);
}

/// An identifier that the kernel has for the calling thread or its process.
fn own(number: i64) -> i32 {
    // SAFETY: no arguments.
    unsafe { memory::call(number, [0; 6]) }.map_or(0, |id| id as i32)
}
