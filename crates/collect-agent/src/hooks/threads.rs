//! Threads come (`pthread_create`, `thrd_create`) and go (a key's destructor, however they end).

use std::{
    arch::naked_asm,
    ffi::c_void,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use super::next::next;
use crate::{
    handler::call_on,
    session::{self, Session},
    thread::{self, Vacancy},
};

type StartRoutine = extern "C" fn(*mut c_void) -> *mut c_void;

next!(PTHREAD_CREATE, c"pthread_create", __real_pthread_create,
    fn real_pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: StartRoutine,
        argument: *mut c_void
    ) -> libc::c_int);

/// What the new thread is to run.
#[repr(C)]
struct Start {
    routine: StartRoutine,
    argument: *mut c_void,
}

/// Runs our beginning, then becomes the program's start routine.
///
/// # Safety
/// As pthread_create(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_pthread_create"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: StartRoutine,
    argument: *mut c_void,
) -> libc::c_int {
    if session::current().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { real_pthread_create(thread, attributes, routine, argument) };
    }
    let start = Box::into_raw(Box::new(Start { routine, argument }));
    // SAFETY: the caller's arguments but for what to run.
    let result = unsafe { real_pthread_create(thread, attributes, begin_thread, start.cast()) };
    if result != 0 {
        // SAFETY: no thread was made, so nobody else has it.
        drop(unsafe { Box::from_raw(start) });
    }
    result
}

/// The start routine of every profiled thread: no frame of ours stays on its stack, so backtraces, exceptions,
/// `pthread_exit` and cancellation see what they would see natively.
#[unsafe(naked)]
extern "C" fn begin_thread(_start: *mut c_void) -> *mut c_void {
    naked_asm!(
        "sub rsp, 8",
        "call {begin}",
        "add rsp, 8",
        // `Start` comes back in RAX and RDX.
        "mov rdi, rdx",
        "jmp rax",
        begin = sym unpack_and_begin,
    )
}

extern "C" fn unpack_and_begin(start: *mut c_void) -> Start {
    // SAFETY: made by `pthread_create` above for this thread alone.
    let start = *unsafe { Box::from_raw(start.cast::<Start>()) };
    if let Some(session) = session::current() {
        let errno = carom_base_sys::signal::errno();
        begin_on_handler_stack(session, false);
        carom_base_sys::signal::set_errno(errno);
    }
    start
}

/// Begins sampling the main thread, or the only one of a forked child.
pub fn begin_main(session: &'static Session) {
    begin_on_handler_stack(session, true);
}

struct Beginning {
    session: &'static Session,
    main: bool,
    vacancy: Vacancy,
}

fn begin_on_handler_stack(session: &'static Session, main: bool) {
    let Ok(vacancy) = Vacancy::find() else { return session.unprofiled_thread() };
    let mut beginning = Beginning { session, main, vacancy };
    // SAFETY: the vacancy's stack is in nobody's hands but ours.
    unsafe { call_on(vacancy.stack_top(), begin, (&raw mut beginning).cast()) };
    watch_end();
}

extern "C" fn begin(beginning: *mut c_void) {
    // SAFETY: the `Beginning` of `begin_on_handler_stack`, which waits for us.
    let Beginning { session, main, vacancy } = *unsafe { &*beginning.cast_const().cast::<Beginning>() };
    thread::begin(session, main, vacancy);
}

/// The key whose destructor ends sampling. `u32::MAX` before [`prepare`].
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Makes the key. Called once, before the program can use up all keys.
pub fn prepare() {
    let mut key = 0;
    // SAFETY: a valid place and a destructor of the right type.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(on_thread_end)) } == 0 {
        KEY.store(key, Relaxed);
    }
}

fn watch_end() {
    let key = KEY.load(Relaxed);
    if key != u32::MAX {
        // Any value but null has the destructor called.
        // SAFETY: an existing key.
        unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(&KEY).cast()) };
    }
}

/// Runs after `thread_local` destructors of C++ and Rust, also on `pthread_exit` and cancellation.
unsafe extern "C" fn on_thread_end(_value: *mut c_void) {
    thread::end();
}
