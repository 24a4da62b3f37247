//! The part of the run in which translated code observes: the session's window, as modes of the engine.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use carom_base_sys::{clock, signal};
use carom_base_wire::Window;
use carom_collect_translate::{self as engine, Mode};

use crate::{session, session::Session, translated};

/// The engine's mode while the window is open.
static MODE: OnceLock<Mode> = OnceLock::new();

/// How often the window has opened and closed, as far as a thread has noticed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The recording has ended before the program: nothing opens the window any more.
static ENDED: AtomicBool = AtomicBool::new(false);

/// The mode between the parts of a run that the program marks: threads stay in the cache, and notice at once.
const UNMARKED: Mode = Mode::Count;

/// The mode in which the engine starts. `mode`: its mode in the window.
pub fn first_mode(session: &Session, mode: Mode) -> Mode {
    if session.settings.window.marked {
        let _ = MODE.set(mode);
        return UNMARKED;
    }
    let changes = session.settings.window.changes(clock::now().0);
    CHANGES.store(changes, Relaxed);
    let _ = MODE.set(mode);
    mode_after(changes, mode)
}

/// Changes the engine's mode where the window has opened or closed, or the recording has ended. For the beginning of handlers
/// of ours, with all signals blocked: it allocates, so not for where that is forbidden.
pub fn follow() {
    let (Some(session), Some(&mode)) = (session::current(), MODE.get()) else { return };
    if session.control().stop.load(Relaxed) != 0 {
        if !ENDED.swap(true, Relaxed) {
            engine::set_mode(Mode::Off);
        }
        return;
    }
    let window = session.settings.window;
    if window == Window::ALWAYS || window.marked {
        return;
    }
    let changes = window.changes(clock::now().0);
    if CHANGES.load(Relaxed) >= changes || CHANGES.fetch_max(changes, Relaxed) >= changes {
        return;
    }
    // Another thread may see a later change meanwhile, and set its mode before this one does.
    let mut set = None;
    while set != Some(CHANGES.load(Relaxed)) {
        let changes = CHANGES.load(Relaxed);
        set = Some(changes);
        engine::set_mode(mode_after(changes, mode));
    }
}

fn mode_after(changes: u64, mode: Mode) -> Mode {
    if Window::is_open_after(changes) { mode } else { Mode::Off }
}

/// The program calls this through `carom.h`: all threads are observed from now on, where that was left to the program.
#[unsafe(no_mangle)]
pub extern "C" fn carom_observe_start() {
    mark(true);
}

/// The same for the end.
#[unsafe(no_mangle)]
pub extern "C" fn carom_observe_stop() {
    mark(false);
}

fn mark(open: bool) {
    let (Some(session), Some(&mode)) = (session::current(), MODE.get()) else { return };
    if session.settings.window.marked && !ENDED.load(Relaxed) {
        signal::with_errno_kept(|| {
            translated::undisturbed(|| engine::set_mode(if open { mode } else { UNMARKED }));
        });
    }
}
