//! A forked child begins a session of its own before it records anything.

use std::sync::atomic::Ordering::Relaxed;

use carom_base_sys::{descriptor, signal};
use carom_collect_translate::Stack;

use crate::{
    aside,
    detect::{self, Detector},
    extent::Extent,
    handler_stack, lock, mappings, modules,
    own_heap::HEAP,
    registry, session,
    session::Session,
    shared, threads, translated,
};

/// Has [`in_child`] called in every child that `fork` makes. A `vfork` child shares its parent's memory for a
/// moment, has no events of its own and is left alone.
pub fn register() {
    // SAFETY: a function of the right type that lives as long as the process.
    unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
}

unsafe extern "C" fn after_fork_in_child() {
    signal::with_errno_kept(in_child);
}

fn in_child() {
    if aside::has_stepped() {
        return;
    }
    lock::forget_others();
    signal::after_fork();
    descriptor::settle_limit_in_child();
    HEAP.begin_in_child();
    carom_collect_translate::after_fork();
    translated::set_slot(None);
    // A child by `clone` has none, although a program may call what is registered for forks there, too (Firefox does).
    let Some(parent) = session::current() else { return };
    super::signals::keep_in_child();
    let before = signal::quietly(|| begin(parent));
    // Where the child cannot be recorded (on a full disk), signals and stack are the program's own again.
    if registry::current().is_none()
        && let Some(Before { hidden, program_stack, .. }) = before
    {
        handler_stack::install(program_stack);
        signal::set_mask(libc::SIG_BLOCK, hidden);
    }
}

/// The child's only thread as it was in the parent.
struct Before {
    /// The signals that it believes it blocks although the kernel does not.
    hidden: signal::Mask,
    program_stack: Stack,
    /// Its own stack; `None` where the fork has interrupted code that uses the thread's state.
    stack: Option<Extent>,
}

/// Begins the child's own session.
fn begin(parent: &'static Session) -> Option<Before> {
    let thread = registry::current();
    // The parent's events stay the parent's, and go on; the child's copies of their descriptors are closed.
    let before = thread.map(|thread| {
        let stack = thread.visit(|state| {
            state.sampler.abandon();
            detect::each().for_each(|detector| detector.forget_parent(state));
            let header = state.slot.header();
            Extent::Known(header.stack_low.load(Relaxed), header.stack_high.load(Relaxed))
        });
        Before { hidden: thread.signals().hidden(), program_stack: thread.signals().stack(), stack }
    });
    detect::each().for_each(Detector::forked);
    registry::clear();
    modules::after_fork();
    mappings::after_fork();
    shared::after_fork();
    crate::objects::after_fork();
    threads::after_fork();
    // The program's stack may be small.
    let forked = match thread {
        Some(thread) => thread.handler_stack().with_room(|| parent.fork(modules::lines())),
        None => parent.fork(modules::lines()),
    };
    let child = match forked {
        Ok(child) => Some(child),
        Err(error) => {
            session::child_is_unprofiled(parent, error.errno);
            None
        }
    };
    session::publish(child);
    detect::begin(child);
    if let Some(child) = child {
        let stack = before.as_ref().and_then(|before| before.stack);
        super::threads::begin_in_child(
            child,
            stack.unwrap_or(Extent::Unknown),
            thread.filter(|_| stack.is_some()),
        );
        translated::set_slot(registry::current().and_then(|thread| thread.visit(|state| state.slot)));
        if translated::is_on() {
            threads::detect();
        }
    }
    // The thread belongs to another process now. Its signals and stacks are unchanged.
    if let (Some(thread), Some(before)) = (registry::current(), &before) {
        thread.signals().set_hidden(before.hidden);
        thread.signals().set_stack(before.program_stack);
    }
    before
}
