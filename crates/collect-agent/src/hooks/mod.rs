//! Interposed functions of the C library. Each forwards at once where nothing is being recorded.
//!
//! A preloaded library finds the real function behind it by `dlsym(RTLD_NEXT)`; a statically linked one is
//! told by `ld --wrap` (feature `static-link`, see `carom link-flags`).

mod alternate_stack;
mod confining;
mod exit;
mod fork;
pub mod heap;
#[cfg(not(feature = "static-link"))]
mod libraries;
#[cfg(not(feature = "static-link"))]
mod main_function;
mod next;
mod programs;
pub mod signals;
mod synchronisation;
mod threads;

#[cfg(not(feature = "static-link"))]
pub use confining::prepare as prepare_confining_calls;
pub use exit::register_quick_exit;
pub use fork::register as register_fork_handlers;
pub use programs::prepare as prepare_programs;
pub use threads::{begin_main, prepare as prepare_threads};

use std::ffi::c_void;

use crate::{led_on, session::Session, translated::observer::FromCache};

/// How translated code treats the hooks.
#[cfg(not(feature = "static-link"))]
pub fn seen_from_cache(session: &Session) -> FromCache {
    // The engine sees system calls when they leave the cache. The work of the program's heap is counted as the
    // program's.
    let mut leading_on: Vec<_> = confining::ways_to_library().collect();
    let followed = session.settings.objects.is_some();
    leading_on.extend(heap::ways_on(followed).into_iter().flatten());
    leading_on.extend(followed.then(heap::operators).into_iter().flatten());
    leading_on
        .extend(synchronisation::is_wanted(session).then(synchronisation::ways_on).into_iter().flatten());
    let addresses =
        |(hook, library): (*const c_void, *const c_void)| (hook.addr() as u64, library.addr() as u64);
    FromCache { leading_on: leading_on.into_iter().map(addresses).collect(), careful: led_on::code() }
}

/// As above; statically linked programs are not translated.
#[cfg(feature = "static-link")]
pub fn seen_from_cache(_session: &Session) -> FromCache {
    FromCache { leading_on: Vec::new(), careful: led_on::code() }
}
