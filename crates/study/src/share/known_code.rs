//! Functions that are known to lock, to count references, or to make accesses for others.

use std::borrow::Cow;

use super::Primitive::{self};
use super::{c_library, own_count, own_lock};
use crate::symbols::{Frame, Layer, is_only_placed, layer};

use Primitive::{
    Allocator, Barrier, Channel, Condition, Critical, Interpreter, Mutex, Once, OpenMp, OwnLock,
    ReferenceCount, RwLock, Semaphore, Spinlock, Stream,
};

/// Functions by the beginnings of their names, leading underscores left out: of POSIX threads, C11, GNU and LLVM OpenMP, GLib,
/// and of C++ and Rust where symbols have their scopes.
const FUNCTIONS: [(&str, Primitive); 56] = [
    ("pthread_mutex_", Mutex),
    ("mtx_", Mutex),
    ("omp_set_lock", Mutex),
    ("omp_unset_lock", Mutex),
    ("omp_set_nest_lock", Mutex),
    ("omp_unset_nest_lock", Mutex),
    ("GOMP_critical_", Critical),
    ("GOMP_atomic_", Critical),
    ("kmpc_critical", Critical),
    ("kmpc_end_critical", Critical),
    ("kmp_acquire_", Mutex),
    ("kmp_release_", Mutex),
    ("g_mutex_", Mutex),
    ("std::mutex::", Mutex),
    ("std::recursive_mutex::", Mutex),
    ("std::timed_mutex::", Mutex),
    ("std::sys::sync::mutex::", Mutex),
    ("std::sync::mutex::", Mutex),
    ("std::sync::poison::mutex::", Mutex),
    ("parking_lot::raw_mutex::", Mutex),
    ("pthread_rwlock_", RwLock),
    ("g_rw_lock_", RwLock),
    ("std::shared_mutex::", RwLock),
    ("std::shared_timed_mutex::", RwLock),
    ("std::sys::sync::rwlock::", RwLock),
    ("parking_lot::raw_rwlock::", RwLock),
    ("pthread_spin_", Spinlock),
    ("std::atomic_flag::", Spinlock),
    ("pthread_cond_", Condition),
    ("condvar_", Condition),
    ("cnd_", Condition),
    ("g_cond_", Condition),
    ("std::condition_variable", Condition),
    ("std::sys::sync::condvar::", Condition),
    ("GOMP_loop_", OpenMp),
    ("gomp_iter_", OpenMp),
    ("GOMP_task", OpenMp),
    ("gomp_barrier_handle_tasks", OpenMp),
    ("kmpc_dispatch_", OpenMp),
    ("kmpc_omp_task", OpenMp),
    ("pthread_barrier_", Barrier),
    ("gomp_barrier_", Barrier),
    ("gomp_team_barrier_", Barrier),
    ("GOMP_barrier", Barrier),
    ("kmp_barrier", Barrier),
    ("kmpc_barrier", Barrier),
    ("sem_", Semaphore),
    ("new_sem_", Semaphore),
    ("pthread_once", Once),
    ("std::sys::sync::once::", Once),
    ("std::sync::mpsc::", Channel),
    ("std::sync::mpmc::", Channel),
    ("g_object_ref", ReferenceCount),
    ("g_object_unref", ReferenceCount),
    ("std::_Sp_counted_base", ReferenceCount),
    ("std::__shared_count", ReferenceCount),
];

/// Functions by where their sources lie, for those that were inlined: DWARF names these without their scopes. Headers of
/// libstdc++ and libc++, Rust's standard library, parking_lot.
const SOURCES: [(&str, Primitive); 23] = [
    ("/bits/std_mutex.h", Mutex),
    ("/__mutex/", Mutex),
    ("/sys/sync/mutex/", Mutex),
    ("/std/src/sync/mutex.rs", Mutex),
    ("/std/src/sync/poison/mutex.rs", Mutex),
    ("/parking_lot-0.12", Mutex),
    ("/shared_mutex", RwLock),
    ("/sys/sync/rwlock/", RwLock),
    ("/std/src/sync/rwlock.rs", RwLock),
    ("/std/src/sync/poison/rwlock.rs", RwLock),
    ("/condition_variable", Condition),
    ("/sys/sync/condvar/", Condition),
    ("/bits/semaphore_base.h", Semaphore),
    ("/std/src/sync/barrier.rs", Barrier),
    ("/std/src/sync/once", Once),
    ("/std/src/sync/reentrant_lock.rs", Stream),
    ("/std/src/io/stdio.rs", Stream),
    ("/std/src/sync/mpsc", Channel),
    ("/std/src/sync/mpmc/", Channel),
    ("/bits/shared_ptr_base.h", ReferenceCount),
    ("/__memory/shared_", ReferenceCount),
    ("/alloc/src/sync.rs", ReferenceCount),
    ("/alloc/src/rc.rs", ReferenceCount),
];

/// Functions that make an access on behalf of their callers.
const HELPERS: [&str; 12] = [
    "lll_",
    "memcpy",
    "memmove",
    "mempcpy",
    "gomp_mutex_",
    "futex_",
    "gthread_",
    "exchange_and_add",
    "atomic_",
    "core::sync::atomic",
    "std::__atomic",
    "std::atomic<",
];

/// The same by where their sources lie.
const HELPER_SOURCES: [&str; 5] =
    ["/ext/atomicity.h", "/bits/atomic_base.h", "/bits/gthr", "/core/src/sync/atomic.rs", "/lock_api-"];

/// Files of the runtimes of GNU and LLVM.
const OPENMP: [&str; 3] = ["libgomp", "libomp", "libiomp"];

/// Files of CPython and Ruby: programs and libraries.
const INTERPRETERS: [&str; 4] = ["python3", "libpython3", "ruby", "libruby"];

pub(super) fn of_function(frame: &Frame) -> Option<Primitive> {
    let name = frame.function.as_deref().unwrap_or_default().trim_start_matches('_');
    let by_name = FUNCTIONS.iter().find(|(beginning, _)| name.starts_with(beginning));
    let file = frame.file.as_deref().unwrap_or_default();
    let known = by_name.or_else(|| SOURCES.iter().find(|(part, _)| file.contains(part)));
    let own = || match layer(frame) {
        Layer::Program if own_lock::is_function(name, file) => Some(OwnLock),
        Layer::Program if own_count::is_function(name) => Some(ReferenceCount),
        Layer::Program => None,
        Layer::Allocator => Some(Allocator),
        Layer::Library => c_library::primitive(name),
    };
    known.map(|(_, primitive)| *primitive).or_else(|| interpreter(frame)).or_else(own)
}

/// A function that only makes accesses for its caller; in a language's library, also one that has lost its name.
pub(super) fn helps(frame: &Frame) -> bool {
    let file = frame.file.as_deref().unwrap_or_default();
    match frame.function.as_deref().filter(|name| !is_only_placed(name)) {
        Some(name) => {
            let name = name.trim_start_matches('_');
            HELPERS.iter().any(|beginning| name.starts_with(beginning))
                || HELPER_SOURCES.iter().any(|part| file.contains(part))
        }
        None => layer(frame) == Layer::Library,
    }
}

/// A function of an OpenMP runtime, with or without a name.
pub(super) fn is_of_openmp(frame: &Frame) -> bool {
    file_name(frame).is_some_and(|module| OPENMP.iter().any(|beginning| module.starts_with(beginning)))
}

fn file_name(frame: &Frame) -> Option<Cow<'_, str>> {
    Some(frame.module.as_ref()?.file_name()?.to_string_lossy())
}

/// The module has a lock that only one thread holds, and whoever holds it has all objects.
fn interpreter(frame: &Frame) -> Option<Primitive> {
    let module = file_name(frame)?;
    INTERPRETERS.iter().any(|beginning| module.starts_with(beginning)).then_some(Interpreter)
}
