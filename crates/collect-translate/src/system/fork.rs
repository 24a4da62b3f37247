//! Forks: processes that the program creates and that share no memory with it. The child continues in its own cache, if it is followed.

use crate::{
    engine::{Engine, process},
    lane::{exit::Exit, registers::number},
    memory::{self, ArenaCopy},
    probes::coverage::Leave,
    signal::actions,
    threads::{
        calls::{Arguments, finish},
        next::leave,
        thread::Thread,
    },
};

/// The child that is to be.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// Its stack pointer; 0: the parent's.
    pub stack: u64,
    /// It continues in its own cache; otherwise natively.
    pub is_followed: bool,
}

/// Makes the system call, and continues after it in both processes.
pub fn call(
    engine: &mut Engine,
    thread: &mut Thread,
    exit: Exit,
    number: i64,
    arguments: Arguments,
    child: Child,
) {
    let Child { stack, is_followed } = child;
    // The copy is what the child sees, because no thread translates before the call has returned.
    let mut copy = || -> Option<Vec<ArenaCopy>> {
        engine.cache.translate_ahead();
        engine.cache.arenas.iter_mut().map(|code| code.memory_mut().copy().ok()).collect()
    };
    let copies = if is_followed { copy() } else { None };
    engine.observer.forking();
    // SAFETY: the program asked for it, but for the stack, which the child gets below; both go on from here, each with
    // memory of its own.
    let result = unsafe { memory::call(number, arguments) };
    let is_child = result == Ok(0);
    engine.observer.forked(is_child);
    finish(thread, exit, result);
    if is_child {
        actions::after_fork();
        if stack != 0 {
            thread.slots().regs[number::RSP] = stack;
        }
        engine.forget_others(thread);
        if !is_followed {
            // Nobody begins anew there: it is to find nothing of ours, its handlers for example.
            actions::give_back();
            actions::give_back_reserved();
        }
        begin(engine, thread, copies);
    }
}

/// In the child. Without a copy of the code, it runs natively.
fn begin(engine: &mut Engine, thread: &mut Thread, copies: Option<Vec<ArenaCopy>>) {
    if replace_code(engine, copies).is_none() {
        process::stop();
        thread.give_back();
        let next = thread.slots().pc;
        return leave(thread, next, Leave::NoMemory);
    }
    thread.begin_in_child(engine.cache.arenas.all());
    engine.divide_anew();
    engine.cache.ahead.begin_in_child();
}

fn replace_code(engine: &mut Engine, copies: Option<Vec<ArenaCopy>>) -> Option<()> {
    for (code, copy) in engine.cache.arenas.iter_mut().zip(copies?) {
        code.memory_mut().after_fork(copy).ok()?;
    }
    Some(())
}
