//! Where the program begins: its `main`, called from the cache where the engine translates.

use std::{
    arch::naked_asm,
    ffi::{c_char, c_int, c_void},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use carom_base_sys::signal;

use super::next::next;
use crate::threads;

type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Function = Option<extern "C" fn()>;

next!(LIBC_START_MAIN, c"__libc_start_main", __real___libc_start_main,
    fn real_start(
        main: Main,
        argc: c_int,
        argv: *mut *mut c_char,
        init: Function,
        fini: Function,
        linker_fini: Function,
        stack_end: *mut c_void
    ) -> c_int);

/// The program's `main`.
static MAIN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// # Safety
/// As the C library's start-up code calls it (LSB 4.1, `__libc_start_main`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Function,
    fini: Function,
    linker_fini: Function,
    stack_end: *mut c_void,
) -> c_int {
    MAIN.store(main as *mut c_void, Relaxed);
    let ours = if carom_collect_translate::is_started() { begin_main } else { main };
    // SAFETY: the caller's arguments, but for what to run.
    unsafe { real_start(ours, argc, argv, init, fini, linker_fini, stack_end) }
}

/// Becomes `main`, in the cache where the thread can run there. No frame of ours stays on the stack.
#[unsafe(naked)]
extern "C" fn begin_main(_argc: c_int, _argv: *mut *mut c_char, _environment: *mut *mut c_char) -> c_int {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "call {begin}",
        "mov ecx, eax",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "mov rax, [rip + {main}]",
        "test ecx, ecx",
        "jz 2f",
        "jmp {enter}",
        "2:",
        "jmp rax",
        begin = sym begin,
        main = sym MAIN,
        enter = sym carom_collect_translate::enter,
    )
}

extern "C" fn begin() -> c_int {
    c_int::from(signal::with_errno_kept(threads::translate))
}
