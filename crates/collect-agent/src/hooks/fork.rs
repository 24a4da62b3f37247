//! A forked child begins a session of its own before it records anything.

use crate::{modules, registry, session, session::Session};

/// Has [`in_child`] called in every child that `fork` makes. A `vfork` child shares its parent's memory for a
/// moment, has no events of its own and is left alone.
pub fn register() {
    // SAFETY: a function of the right type that lives as long as the process.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

unsafe extern "C" fn in_child() {
    let Some(parent) = session::current() else { return };
    // The parent's events stay the parent's; their descriptors are copies that only take up numbers. They are
    // closed with the state that is forgotten here.
    if let Some(thread) = registry::current() {
        thread.visit(|state| state.sampler.stop());
    }
    registry::clear();
    modules::after_fork();
    crate::objects::after_fork();
    crate::thread::after_fork();
    let child = Session::open(parent.dir()).ok();
    session::publish(child);
    if let Some(child) = child {
        modules::announce(child);
        super::begin_main(child);
    }
}
