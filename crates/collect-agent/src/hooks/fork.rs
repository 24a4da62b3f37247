//! A forked child begins a session of its own before it records anything.

use carom_base_sys::signal;

use crate::{
    handler_stack, mappings, modules, registry, reuse, session, session::Session, shared, translated, trim,
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
    carom_collect_translate::after_fork();
    super::signals::keep_in_child();
    translated::set_slot(None);
    let Some(parent) = session::current() else { return };
    // The parent's events stay the parent's, and go on; the child's copies of their descriptors are closed.
    let kept = registry::current().map(|thread| {
        thread.visit(|state| {
            state.sampler.abandon();
            if let Some(reuse) = &state.session.reuse {
                reuse.abandon(state);
            }
        });
        (thread.signals().hidden(), thread.signals().stack())
    });
    registry::clear();
    modules::after_fork();
    mappings::after_fork();
    shared::after_fork();
    crate::objects::after_fork();
    crate::thread::after_fork();
    let child = Session::open(parent.dir()).ok();
    session::publish(child);
    reuse::exact::begin_in_child(child);
    if let Some(child) = child {
        modules::announce(child);
        super::begin_main(child);
        translated::set_slot(registry::current().and_then(|thread| thread.visit(|state| state.slot)));
        if translated::is_on() {
            crate::thread::watch_reuse();
        }
        trim::drop_own_code();
    }
    // The thread is another process's now, but its signals and stacks are what they were.
    match (registry::current(), kept) {
        (Some(thread), Some((mask, stack))) => {
            thread.signals().set_hidden(mask);
            thread.signals().set_stack(stack);
        }
        // Nobody hides anything any more where the child cannot be recorded, on a full disk for example.
        (None, Some((mask, stack))) => {
            handler_stack::install(stack);
            signal::set_mask(libc::SIG_BLOCK, mask);
        }
        (_, None) => {}
    }
}
