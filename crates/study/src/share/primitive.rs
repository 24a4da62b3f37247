//! Locks, reference counts and their like, recognised by the functions that touch them and by the names of their fields.
//!
//! The bytes of a lock belong together: all its threads use all of them. So nothing inside one is false sharing, and no advice
//! takes it apart.

use super::known_code::{helps, is_of_openmp, of_function};
use crate::symbols::{Frame, Layer, layer};

/// What threads use to take turns or to count their references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// A mutex.
    Mutex,
    /// A critical section of OpenMP.
    Critical,
    /// A lock that readers share.
    RwLock,
    /// A lock that is waited for by trying again.
    Spinlock,
    /// A lock that the program has made itself.
    OwnLock,
    /// A condition variable.
    Condition,
    /// A barrier or a latch.
    Barrier,
    /// A semaphore.
    Semaphore,
    /// A flag that something was done once.
    Once,
    /// What the streams of a language's library lock: `FILE`, `std::cout`, Rust's `Stdout`.
    Stream,
    /// What a memory allocator locks.
    Allocator,
    /// A queue of a language's library, by which threads send to each other.
    Channel,
    /// What an interpreter locks: all its objects.
    Interpreter,
    /// What OpenMP's runtime keeps for a team of threads: iterations and tasks to hand out, and who waits.
    OpenMp,
    /// What a language's library keeps for all threads, other than the above: the numbers of `rand`, the time zone.
    LibraryState,
    /// The number of those that hold an object: `shared_ptr`, `Arc`.
    ReferenceCount,
}

impl Primitive {
    /// Whether data beside it may belong to it: what is only touched by who holds it.
    pub const fn protects(self) -> bool {
        matches!(
            self,
            Self::Mutex
                | Self::Critical
                | Self::RwLock
                | Self::Spinlock
                | Self::OwnLock
                | Self::Stream
                | Self::Allocator
                | Self::Interpreter
        )
    }

    /// Whether it is all of an object of a library, in whose fields the program's author has no interest.
    pub const fn is_of_library(self) -> bool {
        matches!(
            self,
            Self::Stream
                | Self::Allocator
                | Self::Channel
                | Self::Interpreter
                | Self::OpenMp
                | Self::LibraryState
        )
    }
}

use Primitive::{Condition, Mutex, OpenMp, RwLock, Spinlock};

/// The primitive whose code makes an access with this call path (innermost function first). A mutex that is part of a stream or
/// of an allocator is that one's.
pub(super) fn of_path(path: &[Frame]) -> Option<Primitive> {
    let mut within = path.iter().skip_while(|frame| helps(frame)).map_while(of_function);
    let Some(innermost) = within.next() else {
        return path.first().filter(|frame| is_of_openmp(frame)).map(|_| OpenMp);
    };
    Some(within.find(|outer| outer.is_of_library()).unwrap_or(innermost))
}

/// The function of the program that uses the primitive: the first that belongs neither to it nor to a language's library.
pub(super) fn user(path: &[Frame]) -> Option<&Frame> {
    path.iter().find(|frame| {
        frame.function.is_some()
            && !helps(frame)
            && of_function(frame).is_none()
            && layer(frame) == Layer::Program
    })
}

/// The function of a library that the program calls in this path.
pub(super) fn called(path: &[Frame]) -> Option<&str> {
    let user = user(path)?;
    let library =
        path.iter().take_while(|frame| *frame != user).filter(|frame| layer(frame) == Layer::Library);
    library.filter_map(|frame| frame.function.as_deref()).last()
}

/// Whether the function that makes the access gives a lock back. Where it is taken is what people look for.
pub(super) fn gives_back(path: &[Frame]) -> bool {
    const WORDS: [&str; 4] = ["unlock", "post", "critical_end", "end_critical"];
    let Some(frame) = path.iter().find(|frame| !helps(frame)) else { return false };
    let name = frame.function.as_deref().unwrap_or_default();
    // Objects that are counted are released, too.
    let released = || name.contains("release") && of_function(frame) == Some(Primitive::OwnLock);
    WORDS.iter().any(|word| name.contains(word)) || released()
}

/// The primitive that a field belongs to, with the name of the whole: `lock.__data.__owner` is part of the mutex `lock`.
pub(super) fn of_field(name: &str) -> Option<(Primitive, &str)> {
    // Fields of glibc's types (nptl/bits/pthreadtypes.h and what it includes).
    if let Some((whole, field)) = name.split_once(".__data.") {
        let begins = |names: &[&str]| names.iter().any(|name| field.starts_with(name));
        let primitive = match () {
            () if begins(&["__readers", "__writers", "__wrphase", "__cur_writer"]) => RwLock,
            () if begins(&["__wseq", "__g1", "__g_", "__wrefs"]) => Condition,
            () => Mutex,
        };
        return Some((primitive, whole));
    }
    // `atomic_flag` of GCC's and Clang's stdatomic.h.
    name.strip_suffix(".__val").or_else(|| name.strip_suffix("._Value")).map(|whole| (Spinlock, whole))
}

/// The name of the whole that a field is of, of types whose fields do not tell which lock they are: those of glibc that are unions of
/// bytes (`sem_t`, `pthread_barrier_t`), those of Rust's standard library.
pub(super) fn whole(field: &str) -> &str {
    const PARTS: [&str; 5] = [".__size", ".__align", ".inner.futex", ".inner.state", ".inner.writer_notify"];
    PARTS.iter().find_map(|part| field.split_once(part)).map_or(field, |(whole, _)| whole)
}

#[cfg(test)]
mod tests {
    use super::Primitive::*;
    use super::*;

    fn path(functions: &[(&str, &str)]) -> Vec<Frame> {
        let frame = |(function, file): &(&str, &str)| Frame {
            function: Some((*function).to_owned()),
            file: Some((*file).to_owned()),
            ..Frame::default()
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn the_innermost_function_tells_the_primitive_and_the_program_uses_it() {
        let mutex = path(&[("__lll_lock_wait", ""), ("___pthread_mutex_lock", ""), ("push", "queue.c")]);
        assert_eq!(of_path(&mutex), Some(Mutex));
        assert_eq!(user(&mutex).and_then(|frame| frame.function.as_deref()), Some("push"));
        let print = path(&[
            ("lock", "/rustc/0123/library/std/src/sys/sync/mutex/futex.rs"),
            ("lock", "/rustc/0123/library/std/src/sync/reentrant_lock.rs"),
            ("_print", "/rustc/0123/library/std/src/io/stdio.rs"),
            ("report", "src/main.rs"),
        ]);
        assert_eq!(of_path(&print), Some(Stream));
        // A condition variable releases the mutex: these accesses are the mutex's.
        let within =
            path(&[("__pthread_mutex_unlock_usercnt", ""), ("pthread_cond_wait", ""), ("pop", "queue.c")]);
        assert_eq!(of_path(&within), Some(Mutex));
        assert!(gives_back(&within) && !gives_back(&mutex));
        let own = |function| path(&[(function, "src/locks.rs"), ("push", "src/queue.rs")]);
        assert!(gives_back(&own("release")) && !gives_back(&own("acquire")));
        assert!(!gives_back(&path(&[("OrderRef::release()", "src/order.cpp"), ("push", "src/queue.cpp")])));
        // What a function does itself while it holds a lock is data.
        assert_eq!(of_path(&path(&[("push", "queue.c"), ("main", "main.c")])), None);
    }

    #[test]
    fn openmp_hands_out_iterations_and_tasks() {
        let next = path(&[
            ("gomp_iter_dynamic_next", ""),
            ("GOMP_loop_nonmonotonic_dynamic_next", ""),
            ("sum", "sum.c"),
        ]);
        assert_eq!(of_path(&next), Some(OpenMp));
        let task = path(&[("gomp_mutex_lock_slow", ""), ("GOMP_task", ""), ("sort", "sort.c")]);
        assert_eq!(of_path(&task), Some(OpenMp));
        let idle = path(&[("gomp_barrier_handle_tasks", ""), ("gomp_team_barrier_wait_end", "")]);
        assert_eq!(of_path(&idle), Some(OpenMp));
        // Debian's library has the names that it exports.
        let stripped = |caller: (&str, &str)| {
            let mut path = path(&[("function at 0xe700", ""), caller]);
            path[0].module = Some("/usr/lib/libgomp.so.1".into());
            of_path(&path)
        };
        assert_eq!(stripped(("sum", "sum.c")), Some(OpenMp));
        assert_eq!(stripped(("GOMP_critical_start", "")), Some(Critical));
    }

    #[test]
    fn the_function_that_the_program_calls_is_the_outermost_of_the_library() {
        let libc = |function: &str| Frame {
            module: Some("/lib/libc.so.6".into()),
            ..path(&[(function, "random.c")]).remove(0)
        };
        let rand: Vec<Frame> =
            [libc("__random"), libc("rand")].into_iter().chain(path(&[("throw", "dice.c")])).collect();
        assert_eq!(called(&rand), Some("rand"));
        assert_eq!(called(&path(&[("throw", "dice.c")])), None);
    }

    /// What native code does that an interpreter has called is its own.
    #[test]
    fn what_interpreters_do_is_done_by_whoever_holds_their_lock() {
        let within = |module: &str, function: &str| Frame {
            module: Some(module.into()),
            ..path(&[(function, "")]).remove(0)
        };
        let evaluate = || within("/usr/bin/python3.11", "_PyEval_EvalFrameDefault");
        let count = vec![within("/usr/lib/libpython3.11.so.1.0", "Py_INCREF"), evaluate()];
        assert_eq!((of_path(&count), user(&count)), (Some(Interpreter), None));
        let sum = vec![within("/usr/lib/python3/umath.so", "DOUBLE_add"), evaluate()];
        assert_eq!(of_path(&sum), None);
    }

    #[test]
    fn inlined_functions_are_known_by_their_sources() {
        let counts = path(&[
            ("__exchange_and_add", "/usr/include/c++/12/ext/atomicity.h"),
            ("_M_release", "/usr/include/c++/12/bits/shared_ptr_base.h"),
            ("~shared_ptr", "/usr/include/c++/12/bits/shared_ptr.h"),
            ("work", "sp.cpp"),
        ]);
        assert_eq!(of_path(&counts), Some(ReferenceCount));
        assert_eq!(user(&counts).and_then(|frame| frame.function.as_deref()), Some("work"));
        let rust = path(&[
            ("compare_exchange", "/rustc/0123/library/core/src/sync/atomic.rs"),
            ("lock", "/rustc/0123/library/std/src/sys/sync/mutex/futex.rs"),
            ("deposit", "src/main.rs"),
        ]);
        assert_eq!(of_path(&rust), Some(Mutex));
    }

    #[test]
    fn stripped_libraries_keep_the_names_that_they_export() {
        let nameless = Frame { module: Some("/lib/libc.so.6".into()), ..Frame::default() };
        let path: Vec<Frame> = [nameless].into_iter().chain(path(&[("pthread_rwlock_rdlock", "")])).collect();
        assert_eq!(of_path(&path), Some(RwLock));
    }

    #[test]
    fn fields_tell_where_a_lock_begins() {
        assert_eq!(of_field("cache.mu_.__data.__owner"), Some((Mutex, "cache.mu_")));
        assert_eq!(of_field("lock.__data.__lock..__count"), Some((Mutex, "lock")));
        assert_eq!(of_field("table.rw.__data.__readers"), Some((RwLock, "table.rw")));
        assert_eq!(of_field("ready.__data.__wseq"), Some((Condition, "ready")));
        assert_eq!(of_field("busy.__val"), Some((Spinlock, "busy")));
        assert_eq!(of_field("stats.hits"), None);
        let wholes = ["pong.__size[0]..[7]", "total.lock", "PRICES.inner.state"].map(whole);
        assert_eq!(wholes, ["pong", "total.lock", "PRICES"]);
    }
}
