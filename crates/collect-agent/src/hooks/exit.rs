//! The ways out that run no exit handlers.

use super::next::next;
use crate::{session, thread};

next!(EXIT_NOW, c"_exit", __real__exit, fn next_exit(status: libc::c_int) -> ());

/// # Safety
/// As _exit(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap__exit"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn _exit(status: libc::c_int) -> ! {
    // A `vfork` child has its parent's session before it, and must not end it.
    if let Some(session) = session::current()
        && session.is_of_this_process()
    {
        thread::close();
        session.end();
    }
    // SAFETY: the program's argument.
    unsafe { next_exit(status) };
    std::process::abort()
}

/// C's own name for [`_exit`], a symbol of its own in glibc.
///
/// # Safety
/// As _Exit(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap__Exit"))]
#[cfg_attr(not(feature = "static-link"), unsafe(export_name = "_Exit"))]
pub unsafe extern "C" fn exit_c(status: libc::c_int) -> ! {
    // SAFETY: the program's argument.
    unsafe { _exit(status) }
}
