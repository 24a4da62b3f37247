//! How threads begin (`pthread_create`, `thrd_create`) and end (in a key's destructor).

use std::{
    arch::naked_asm,
    ffi::c_void,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use carom_base_sys::{SysError, map, signal};

use super::{next::next, synchronisation};
use crate::{
    extent::Extent,
    frames,
    handler_stack::call_on,
    registry,
    session::{self, Session},
    thread::Thread,
    threads::{self, Vacancy},
    translated,
};

type StartRoutine = extern "C" fn(*mut c_void) -> *mut c_void;

next!(PTHREAD_CREATE, c"pthread_create", __real_pthread_create,
    fn real_pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: StartRoutine,
        argument: *mut c_void
    ) -> libc::c_int);

next!(THRD_CREATE, c"thrd_create", __real_thrd_create,
    fn real_thrd_create(
        thread: *mut libc::pthread_t,
        start: StartRoutine,
        argument: *mut c_void
    ) -> libc::c_int);

/// What the new thread is to run.
#[repr(C)]
struct Start {
    routine: StartRoutine,
    argument: *mut c_void,
}

/// A thread that is about to run, and its number in the process.
struct NewThread {
    start: Start,
    serial: u32,
    /// A thread begins with its maker's signal mask, also with the hidden part.
    hidden_mask: signal::Mask,
    stack: Extent,
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
    let Some(session) = session::current() else {
        // SAFETY: the caller's arguments.
        return unsafe { real_pthread_create(thread, attributes, routine, argument) };
    };
    create(session, Start { routine, argument }, Extent::asked(attributes), |new| {
        // SAFETY: the caller's arguments but for what to run.
        unsafe { real_pthread_create(thread, attributes, begin_thread, new) }
    })
}

/// The C11 way, which does not lead through `pthread_create`. The start routine returns an int, in the register
/// in which others return a pointer; `begin_thread` is not there any more by then.
///
/// # Safety
/// As thrd_create(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_thrd_create"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    routine: StartRoutine,
    argument: *mut c_void,
) -> libc::c_int {
    let Some(session) = session::current() else {
        // SAFETY: the caller's arguments.
        return unsafe { real_thrd_create(thread, routine, argument) };
    };
    create(session, Start { routine, argument }, Extent::asked(std::ptr::null()), |new| {
        // SAFETY: the caller's arguments but for what to run.
        unsafe { real_thrd_create(thread, begin_thread, new) }
    })
}

/// Has `make` make a thread that begins with the `NewThread` that it is given; 0 says that it did.
fn create(
    session: &Session,
    start: Start,
    stack: Extent,
    make: impl FnOnce(*mut c_void) -> libc::c_int,
) -> libc::c_int {
    // Numbered here and not when it starts to run: users count threads in the order in which they were made.
    let serial = session.next_serial();
    frames::announce(session);
    let hidden_mask = registry::current().map_or(0, |maker| maker.signals().hidden());
    let new = Box::into_raw(Box::new(NewThread { start, serial, hidden_mask, stack }));
    synchronisation::creates(session, serial);
    // A thread begins with its maker's GS.
    let result = carom_collect_translate::aside(|| make(new.cast()));
    if result != 0 {
        // SAFETY: no thread was made, so nobody else has it.
        drop(unsafe { Box::from_raw(new) });
    }
    result
}

/// The start routine of every profiled thread: no frame of ours stays on its stack, so backtraces, exceptions,
/// `pthread_exit` and cancellation work as natively.
#[unsafe(naked)]
extern "C" fn begin_thread(_start: *mut c_void) -> *mut c_void {
    naked_asm!(
        "sub rsp, 24",
        "lea rsi, [rsp + 8]",
        "call {begin}",
        "mov rcx, [rsp + 8]",
        "add rsp, 24",
        // `Start` comes back in RAX and RDX.
        "mov rdi, rdx",
        "test rcx, rcx",
        "jnz {enter}",
        "jmp rax",
        begin = sym unpack_and_begin,
        enter = sym carom_collect_translate::enter,
    )
}

/// Begins recording the thread. `translate`: 1 where its routine is to run from the code cache, else 0.
extern "C" fn unpack_and_begin(start: *mut c_void, translate: &mut u64) -> Start {
    // SAFETY: made by `pthread_create` above for this thread alone.
    let NewThread { start, serial, hidden_mask, stack } =
        *unsafe { Box::from_raw(start.cast::<NewThread>()) };
    *translate = 0;
    if let Some(session) = session::current() {
        let errno = signal::errno();
        begin_on_handler_stack(session, serial, false, stack, Vacancy::find);
        match registry::current() {
            Some(thread) => thread.signals().set_hidden(hidden_mask),
            // A thread that cannot be recorded has its own signal mask.
            None => {
                signal::set_mask(libc::SIG_BLOCK, hidden_mask);
            }
        }
        *translate = u64::from(threads::translate());
        synchronisation::starts(session, serial);
        signal::set_errno(errno);
    }
    start
}

/// Begins sampling the main thread.
///
/// Until its `main` begins, which runs in the cache, it asks the kernel for its alternate stack. What it sees must be its own: a
/// runtime that has no `main` takes what is there for the one that its signals arrive on (Go, `minitSignalStack`).
pub fn begin_main(session: &'static Session) {
    begin_on_handler_stack(session, session.next_serial(), true, Extent::Unknown, Vacancy::find);
    if let Some(thread) = registry::current().filter(|_| translated::is_on()) {
        thread.handler_stack().take_back(thread.signals());
    }
}

/// Begins sampling the only thread of a forked child, whose stack in the parent was `stack`. `before`: its state there,
/// if that can be used again.
pub fn begin_in_child(session: &'static Session, stack: Extent, before: Option<&'static Thread>) {
    // A handler of the program's may run, and fork, on a stack that we have lent.
    let here = 0u8;
    let sp = (&raw const here).addr() as u64;
    let free = before.filter(|thread| !thread.handler_stack().holds(sp));
    let vacancy = || free.map_or_else(Vacancy::find, |thread| Ok(Vacancy::Used(thread)));
    begin_on_handler_stack(session, session.next_serial(), true, stack, vacancy);
}

struct Beginning {
    session: &'static Session,
    serial: u32,
    main: bool,
    stack: Extent,
    /// An address on that stack.
    sp: u64,
    vacancy: Vacancy,
}

fn begin_on_handler_stack(
    session: &'static Session,
    serial: u32,
    main: bool,
    stack: Extent,
    vacancy: impl FnOnce() -> Result<Vacancy, SysError>,
) {
    if !map::has_room() {
        return session.unprofiled_thread(libc::ENOMEM);
    }
    let vacancy = match vacancy() {
        Ok(vacancy) => vacancy,
        Err(error) => return session.unprofiled_thread(error.errno),
    };
    let here = 0u8;
    let sp = (&raw const here).addr() as u64;
    let mut beginning = Beginning { session, serial, main, stack, sp, vacancy };
    // Opening files is a cancellation point, and there is nothing to unwind to.
    let cancellation = set_cancellation(CANCEL_DISABLE);
    // SAFETY: the vacancy's stack is in nobody's hands but ours.
    unsafe { call_on(vacancy.handler_stack().top(), begin, (&raw mut beginning).cast()) };
    watch_end();
    set_cancellation(cancellation);
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
}

/// `PTHREAD_CANCEL_DISABLE` of glibc's `pthread.h`.
const CANCEL_DISABLE: libc::c_int = 1;

/// Lets the calling thread be cancelled or not, and returns how it was before.
fn set_cancellation(state: libc::c_int) -> libc::c_int {
    let mut before = 0;
    // SAFETY: a valid state and place.
    unsafe { pthread_setcancelstate(state, &raw mut before) };
    before
}

extern "C" fn begin(beginning: *mut c_void) {
    // SAFETY: the `Beginning` of `begin_on_handler_stack`, which waits for us.
    let Beginning { session, serial, main, stack, sp, vacancy } =
        *unsafe { &*beginning.cast_const().cast::<Beginning>() };
    threads::begin(session, serial, main, stack.bounds(sp), vacancy);
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

/// How often the C library goes through the keys of a thread that ends, as long as destructors set values again
/// (`PTHREAD_DESTRUCTOR_ITERATIONS` of glibc's `limits.h`).
const ROUNDS: usize = 4;

fn watch_end() {
    call_at_end(1);
}

/// Has the destructor called with this round.
fn call_at_end(round: usize) {
    let key = KEY.load(Relaxed);
    if key != u32::MAX {
        // SAFETY: an existing key.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(round)) };
    }
}

/// Runs after `thread_local` destructors of C++ and Rust, also on `pthread_exit` and cancellation. Keys of the program,
/// which were mostly made after ours, have their destructors called after this one: the thread goes on until the last
/// round.
unsafe extern "C" fn on_thread_end(round: *mut c_void) {
    if round.addr() < ROUNDS {
        call_at_end(round.addr() + 1);
    } else if registry::current().is_some() {
        session::current().into_iter().for_each(synchronisation::finishes);
        threads::end();
    } else if let Some(session) = session::current() {
        session.unprofiled_thread_ends();
    }
}
