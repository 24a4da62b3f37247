//! The ways out that run no exit handlers.

use std::ffi::c_void;

use super::next::next;
use crate::{ending, session, translated};

next!(EXIT_NOW, c"_exit", __real__exit, fn next_exit(status: libc::c_int) -> ());

/// # Safety
/// As _exit(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap__exit"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn _exit(status: libc::c_int) -> ! {
    end();
    // SAFETY: the program's argument.
    unsafe { next_exit(status) };
    std::process::abort()
}

/// The process is about to end.
fn end() {
    // A `vfork` child has its parent's session before it, and must not end it.
    if let Some(session) = session::current()
        && session.is_of_this_process()
    {
        translated::life::write_all();
        translated::life::end_process(None);
        ending::end(session);
    } else {
        session::unprofiled_child_ends();
    }
}

unsafe extern "C" {
    fn __cxa_at_quick_exit(function: extern "C" fn(*mut c_void), library: *mut c_void) -> libc::c_int;
}

/// quick_exit(3) calls neither exit handlers nor, by that name, `_exit`. What was registered first is called last.
pub fn register_quick_exit() {
    // SAFETY: a function of the right type that lives as long as the process.
    unsafe { __cxa_at_quick_exit(on_quick_exit, std::ptr::null_mut()) };
}

extern "C" fn on_quick_exit(_argument: *mut c_void) {
    end();
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
