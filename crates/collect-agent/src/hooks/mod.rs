//! Interposed functions of the C library. Each forwards at once where nothing is being recorded.
//!
//! A preloaded library finds the real function behind it by `dlsym(RTLD_NEXT)`; a statically linked one is
//! told by `ld --wrap` (feature `static-link`, see `carom link-flags`).

mod alternate_stack;
mod confining;
mod exit;
mod fork;
mod heap;
#[cfg(not(feature = "static-link"))]
mod libraries;
#[cfg(not(feature = "static-link"))]
mod main_function;
mod next;
mod programs;
mod signals;
mod threads;

#[cfg(not(feature = "static-link"))]
pub use confining::{prepare as prepare_confining_calls, ways_to_library as ways_to_confining_calls};
pub use exit::register_quick_exit;
pub use fork::register as register_fork_handlers;
pub use heap::follow_heap;
#[cfg(not(feature = "static-link"))]
pub use heap::{careful_code, ways_to_library};
pub use programs::prepare as prepare_programs;
pub use signals::{keep as keep_signals, library_set, real_sigaction, stop_keeping as stop_keeping_signals};
pub use threads::{begin_in_child, begin_main, prepare as prepare_threads};
