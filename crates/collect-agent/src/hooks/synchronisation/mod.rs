//! What threads do to wait for each other, noted among the accesses that a trace keeps.
//!
//! Nothing is interposed: in translated code alone, functions of the C library and of the OpenMP runtime that are on the list
//! ([`functions`]) have ours run in their place ([`entries`]), which note what they do ([`notes`]) and call the library's. So
//! there is nothing where nothing is kept, and the program gets the very function that it asked for: of condition variables,
//! which come in two versions, those of the new one are on the list.
//!
//! What lets others go on is noted before the library's function is called, and what waits is noted when that has returned. So
//! the time stamps of what depends on each other are in order.
//!
//! The entries are assembly for the sake of what passes through their frames: exceptions, cancellation, and arguments on the
//! stack.

#[cfg(not(feature = "static-link"))]
mod entries;
#[cfg(not(feature = "static-link"))]
mod functions;
#[cfg(not(feature = "static-link"))]
mod llvm;
mod notes;

#[cfg(not(feature = "static-link"))]
use std::{
    ffi::{CStr, c_void},
    ptr::NonNull,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use carom_base_stream::Act;
#[cfg(not(feature = "static-link"))]
use carom_base_sys::loader;
use carom_base_wire::{ReuseMethod, ReuseSettings};

#[cfg(not(feature = "static-link"))]
use self::functions::{COUNT, FUNCTIONS};
use crate::{registry, session::Session};

/// The library's functions, in the order of the list.
#[cfg(not(feature = "static-link"))]
static LIBRARY: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

/// Whether a session keeps accesses, and so wants to know how threads wait for each other.
pub fn is_wanted(session: &Session) -> bool {
    let keeps = |reuse: &ReuseSettings| {
        matches!(
            reuse.method,
            ReuseMethod::Kept | ReuseMethod::Reduced(_) | ReuseMethod::Exact { keep: true, .. }
        )
    };
    session.settings.reuse.as_ref().is_some_and(keeps)
}

/// What translated code runs in place of the functions of the libraries that the program has begun with, and in place of the
/// ways on to these.
#[cfg(not(feature = "static-link"))]
pub fn ways_on() -> impl Iterator<Item = (*const c_void, *const c_void)> {
    ways_to(loader::function)
}

/// The same for an OpenMP runtime that has come with a library, if one has: all else that the list has, the program has begun with.
/// `keep`: makes the runtime, by its path, stay from now on, and says whether it does.
///
/// # Safety
/// `handle` is that of a library that is loaded.
#[cfg(not(feature = "static-link"))]
pub unsafe fn ways_on_in(
    handle: NonNull<c_void>,
    keep: impl FnOnce(&CStr) -> bool,
) -> impl Iterator<Item = (*const c_void, *const c_void)> {
    // SAFETY: as above.
    let find = move |name: &CStr| unsafe { loader::function_in(handle, name) };
    let runtime = find(c"omp_get_thread_num").and_then(loader::path_of);
    runtime.is_some_and(keep).then(|| ways_to(find)).into_iter().flatten()
}

/// The functions that `find` finds, and those alone that none was found for before.
#[cfg(not(feature = "static-link"))]
fn ways_to(
    find: impl Fn(&CStr) -> Option<NonNull<c_void>>,
) -> impl Iterator<Item = (*const c_void, *const c_void)> {
    FUNCTIONS.iter().zip(&LIBRARY).filter(|(_, place)| place.load(Relaxed).is_null()).flat_map(
        move |(function, place)| {
            let found = find(function.name);
            if let Some(found) = found {
                place.store(found.as_ptr(), Relaxed);
            }
            let both = found.map(|found| {
                let library = found.as_ptr().cast_const();
                [(library, function.entry as *const c_void), (function.way as *const c_void, library)]
            });
            both.into_iter().flatten()
        },
    )
}

/// A new thread is made, which knows itself by this number.
pub fn creates(session: &Session, number: u32) {
    tell(session, Act::Create, number.into());
}

/// The calling thread was made with this number, and is in the code cache.
pub fn starts(session: &Session, number: u32) {
    tell(session, Act::Start, number.into());
}

/// The calling thread is about to end: whoever joins it names it by its thread pointer.
pub fn finishes(session: &Session) {
    tell(session, Act::Finish, registry::thread_pointer());
}

fn tell(session: &Session, act: Act, object: u64) {
    if is_wanted(session) {
        notes::tell(act, object);
    }
}
