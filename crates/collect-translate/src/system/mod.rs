//! System calls that concern the translator.
//!
//! - A fork copies the arenas, under the lock that serialises translation, so that the child has its own code
//!   ([`fork`]). Facts that are the same in parent and child (modules, arguments, how samples are delivered, the
//!   thread's tools) are not looked up again. Children that share memory (`vfork`, a raw `clone`) run natively, with
//!   GS cleared ([`spawn`]).
//! - Calls that map, unmap or protect go through the dispatcher ([`mapping`]). Fragments made from those pages are
//!   forgotten before the call, which is made without the lock. Until it returns, nothing is translated there.
//! - Before a call that would forbid what engine or embedder need, the whole process continues natively ([`aside`]).

pub mod aside;
pub mod birth;
pub mod death;
pub mod ending;
pub mod fork;
pub mod mapping;
pub mod segment;
pub mod spawn;

use crate::{
    blocks::gate,
    engine::Engine,
    lane::exit::Exit,
    signal,
    threads::{
        calls::{in_place, number},
        thread::Thread,
    },
};

/// A system call has left the cache.
pub fn call(engine: &mut Engine, thread: &mut Thread, exit: Exit) {
    let number = number(thread);
    match number {
        libc::SYS_exit => ending::exit(engine, thread, exit),
        libc::SYS_exit_group | libc::SYS_execve | libc::SYS_execveat => {
            signal::show_mask(thread);
            // If the program could not be executed, further counts are reported later.
            engine.ending();
            in_place(thread, exit);
        }
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => {
            birth::call(engine, thread, exit, number);
        }
        libc::SYS_mmap
        | libc::SYS_munmap
        | libc::SYS_mremap
        | libc::SYS_mprotect
        | libc::SYS_pkey_mprotect
        | libc::SYS_shmat
        | libc::SYS_shmdt => mapping::prepare(engine, thread),
        libc::SYS_rt_sigaction
        | libc::SYS_rt_sigprocmask
        | libc::SYS_sigaltstack
        | libc::SYS_rt_sigreturn => signal::call(engine, thread, exit, number),
        _ if gate::MASKING.contains(&number) => signal::waits::begin(thread, exit, number),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => death::call(engine, thread, exit, number),
        libc::SYS_arch_prctl => segment::call(engine, thread, exit),
        _ if gate::RESTRICTING.contains(&number) => aside::call(engine, thread, exit),
        _ => in_place(thread, exit),
    }
}
