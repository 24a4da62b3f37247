//! Loading and unloading of libraries while the program runs.

use std::{
    arch::naked_asm,
    ffi::{CStr, c_char, c_int, c_void},
    ptr::NonNull,
};

use super::{next::next, synchronisation};
use crate::{detect, modules, session, translated};

next!(DLOPEN, c"dlopen", __real_dlopen,
    fn next_dlopen(path: *const c_char, flags: c_int) -> *mut c_void);
next!(DLCLOSE, c"dlclose", __real_dlclose, fn next_dlclose(handle: *mut c_void) -> c_int);

/// Where the search depends on who calls (a bare name: the caller's RUNPATH; `$ORIGIN`; the caller's
/// namespace), becomes the real function, so that the loader sees the real caller. The new library is then
/// noticed at the next opportunity. A plain path is opened from here.
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_dlopen"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen(_path: *const c_char, _flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {choose}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        choose = sym choose_dlopen,
    )
}

/// Which function is to open `path`.
unsafe extern "C" fn choose_dlopen(path: *const c_char, _flags: c_int) -> *const c_void {
    // SAFETY: the program's argument is null or a string.
    let bytes = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes());
    let plain = bytes.is_some_and(|bytes| bytes.contains(&b'/') && !bytes.contains(&b'$'));
    if plain && session::current().is_some() { open_plain as *const c_void } else { DLOPEN.address() }
}

unsafe extern "C" fn open_plain(path: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: the program's arguments.
    let handle = unsafe { next_dlopen(path, flags) };
    if let Some(session) = session::current() {
        modules::refresh(session);
        code_changed();
        if let Some(handle) = NonNull::new(handle).filter(|_| synchronisation::is_wanted(session)) {
            // SAFETY: it was loaded just now, and the program does not know it yet.
            let ways: Vec<_> = unsafe { synchronisation::ways_on_in(handle, keep) }.collect();
            translated::lead_on(&ways);
        }
    }
    handle
}

/// Makes a library that is loaded stay: threads run its functions by their addresses. Returns whether it does.
fn keep(path: &CStr) -> bool {
    const ONLY_KEEP: c_int = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: a valid path; nothing is loaded, so nothing of the library runs.
    !unsafe { next_dlopen(path.as_ptr(), ONLY_KEEP) }.is_null()
}

/// # Safety
/// As dlclose(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_dlclose"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    match session::current() {
        Some(session) => {
            // SAFETY: the program's argument.
            let result = modules::closing(session, || unsafe { next_dlclose(handle) });
            code_changed();
            result
        }
        // SAFETY: the program's argument.
        None => unsafe { next_dlclose(handle) },
    }
}

/// Libraries have come or gone.
fn code_changed() {
    translated::code_changed(|| detect::each().for_each(|detector| detector.modules_changed()));
}
