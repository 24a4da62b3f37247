//! What to do about contention for a lock, or the like, in words.

use carom_study::symbols::{DataObject, function_within};

use super::advice::is_unnamed;
use crate::{
    model::{Contended, Frame, Primitive},
    words,
};

/// Longer names of functions are given without their parameters, of calls and of types.
const LETTERS: usize = 40;

/// Contention for a lock, or the like.
pub fn contend(object: &DataObject, of: &Contended) -> String {
    let what = match of.name.as_deref() {
        Some(name) => of.primitive.named(name, of.several),
        None if of.elsewhere => format!("a {}", of.primitive.noun()),
        None if is_unnamed(object) => format!("a {} in heap memory", of.primitive.noun()),
        None => format!("a {} in `{}`", of.primitive.noun(), object.name),
    };
    let users = match users(&of.users) {
        users if users.is_empty() => String::new(),
        users => format!(" in {users}"),
    };
    if of.elsewhere
        && !matches!(
            of.primitive,
            Primitive::Stream
                | Primitive::Allocator
                | Primitive::Channel
                | Primitive::Interpreter
                | Primitive::OpenMp
                | Primitive::LibraryState
        )
    {
        return format!(
            "Threads use `{}`{users}, where they take {what}. Hold that for less time, use several locks (one for each \
             part of the data), or let each thread collect its updates and take it once for many.",
            object.name
        );
    }
    match of.primitive {
        Primitive::Mutex | Primitive::Spinlock | Primitive::OwnLock => format!(
            "Threads contend for {what}, taken{users}. {} or let each thread collect its updates and take it once for many.",
            match of.several {
                true => "Hold each for less time, use more of them,",
                false => "Hold it for less time, use several locks (one for each part of the data),",
            }
        ),
        Primitive::Critical => format!(
            "Threads contend for a critical section of OpenMP{users}. Make it shorter, let each thread collect its updates \
             and enter it once for many, or use a `reduction`; critical sections without a name are all the same."
        ),
        Primitive::RwLock => format!(
            "Every reader changes {what}, taken{users}. Take it once for many reads, use several locks, or \
             publish a new copy of the data by a pointer that readers load without a lock."
        ),
        Primitive::Condition => format!(
            "Threads wait for each other by {what}, used{users}. Hand over several items at a time, \
             and signal only when somebody waits."
        ),
        Primitive::Semaphore => {
            format!("Threads wait for each other by {what}, used{users}. Hand over several items at a time.")
        }
        Primitive::Barrier => {
            format!("Threads meet at {what}{users}. Let each do more work between two meetings.")
        }
        Primitive::Stream => format!(
            "Threads use the same stream{users}, which has a lock. Let each thread put its text together in a buffer of its \
             own and write that at once, or lock the stream once for many prints."
        ),
        Primitive::Allocator => format!(
            "Threads allocate and free memory{users}, and the allocator's lock and lists move between them. Allocate less \
             often: let each thread keep blocks and use them again, or take an allocator with large caches for each thread \
             (jemalloc, mimalloc, tcmalloc)."
        ),
        Primitive::Channel => {
            format!("Threads send to each other by a channel{users}. Send several items at a time.")
        }
        Primitive::Interpreter => "Threads take turns in the interpreter, and its objects move between them. Use processes, which have \
                                   interpreters of their own, or call code that gives the lock back while it works."
            .into(),
        Primitive::OpenMp => format!(
            "Threads use the runtime of OpenMP{users} for little work each time. Let it hand out larger pieces: of loops by a chunk \
             size (`schedule(dynamic, 1000)`) or `schedule(static)`, of tasks by a larger `grainsize` or fewer levels; and let \
             threads meet less often."
        ),
        Primitive::LibraryState => format!(
            "{} one state for all threads. Call it less often, or take a function that has a state for each thread (as `rand_r` in C, \
             an engine of `<random>` in C++).",
            match of.name.as_deref() {
                Some(name) if users.is_empty() => format!("The library function `{name}` keeps"),
                Some(name) => format!("The library function `{name}`, called{users}, keeps"),
                None => format!("A library function that is called{users} keeps"),
            }
        ),
        Primitive::Once => {
            format!("Every use checks {what}{users}. Check once and keep the result.")
        }
        Primitive::ReferenceCount => format!(
            "Threads count references to the same objects{users}. Pass the objects by reference instead of copying the \
             pointers, or copy each pointer once for each thread."
        ),
    }
}

/// Where the bytes of a lock or a count lie does not matter: all threads use all of them.
pub fn no_padding(of: &Contended) -> &'static str {
    match of.primitive {
        Primitive::Mutex
        | Primitive::Critical
        | Primitive::Spinlock
        | Primitive::OwnLock
        | Primitive::RwLock
        | Primitive::Stream
        | Primitive::Allocator
        | Primitive::Channel
        | Primitive::Interpreter
        | Primitive::OpenMp
        | Primitive::LibraryState
        | Primitive::ReferenceCount => " Padding does not help.",
        Primitive::Condition | Primitive::Semaphore | Primitive::Barrier | Primitive::Once => "",
    }
}

/// ``` `run` (mx.c:6) and `main` (mx.c:9) ```
fn users(users: &[Frame]) -> String {
    let text = |frame: &Frame| {
        let place = words::place(frame.file.as_deref(), frame.line).map(|place| format!(" ({place})"));
        let name = function_within(frame.function.as_deref()?, LETTERS);
        Some(format!("`{name}`{}", place.unwrap_or_default()))
    };
    words::sentence_list(&users.iter().filter_map(text).collect::<Vec<_>>())
}
