//! The part of the run in which translated code observes: the session's window, as modes of the engine.

use std::sync::{
    OnceLock,
    atomic::{AtomicU8, Ordering::Relaxed},
};

use carom_base_sys::clock;
use carom_base_wire::{Phase, Window};
use carom_collect_translate::{self as engine, Mode};

use crate::{session, session::Session};

/// The engine's mode while the window is open.
static MODE: OnceLock<Mode> = OnceLock::new();

/// How far the window has come, as a [`Phase`].
static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);

/// The mode in which the engine starts. `mode`: its mode in the window.
pub fn first_mode(session: &Session, mode: Mode) -> Mode {
    let phase = session.settings.window.phase(clock::now().0);
    PHASE.store(phase as u8, Relaxed);
    let _ = MODE.set(mode);
    mode_in(phase as u8, mode)
}

/// Changes the engine's mode where the window has opened or closed. For the beginning of handlers of ours, with all signals
/// blocked: it allocates, so not for where that is forbidden.
pub fn follow() {
    let (Some(session), Some(&mode)) = (session::current(), MODE.get()) else { return };
    let window = session.settings.window;
    if window == Window::ALWAYS {
        return;
    }
    let phase = window.phase(clock::now().0) as u8;
    if PHASE.load(Relaxed) >= phase || PHASE.fetch_max(phase, Relaxed) >= phase {
        return;
    }
    // Another thread may see a later phase meanwhile, and set its mode before this one does.
    let mut set = None;
    while set != Some(PHASE.load(Relaxed)) {
        let phase = PHASE.load(Relaxed);
        set = Some(phase);
        engine::set_mode(mode_in(phase, mode));
    }
}

fn mode_in(phase: u8, mode: Mode) -> Mode {
    if phase == Phase::Open as u8 { mode } else { Mode::Off }
}
