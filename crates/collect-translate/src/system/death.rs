//! Signals by which a thread ends its own process, as `abort` does: counts are reported before.

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
        // If the process goes on after all, further counts are reported later.
        engine.ending();
    }
    in_place(thread, exit);
}

/// The kernel's identifier of the calling thread or its process.
fn own(number: i64) -> i32 {
    // SAFETY: no arguments.
    unsafe { memory::call(number, [0; 6]) }.map_or(0, |id| id as i32)
}
