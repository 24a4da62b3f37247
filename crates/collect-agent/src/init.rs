//! How recording begins and ends in a process.

use std::{env, path::PathBuf};

use carom_base_insn::Decoder;
use carom_base_sys::{SysError, clock, signal};
use carom_base_wire::SESSION_VARIABLE;

use crate::{
    calibrate, detect, ending, handler, hooks, lock, modules, objects, pack, registry, session,
    session::Session, translated, trim,
};

const TRAP: signal::Mask = signal::bit(libc::SIGTRAP);

/// Starts recording in this process: callable in any thread at any time, before `main` or long after.
///
/// # Errors
/// The session cannot be opened, or SIGTRAP cannot be had; then nothing is recorded and nothing was changed.
pub fn start(dir: &std::path::Path) -> Result<(), SysError> {
    lock::expect_quiet();
    let session = Session::open(dir)?;
    let before = handler::install()?;
    hooks::signals::keep(&before);
    // The program may have been started with it blocked.
    let hidden = signal::set_mask(libc::SIG_UNBLOCK, TRAP) & TRAP;
    hooks::prepare_threads();
    hooks::prepare_programs(dir);
    #[cfg(not(feature = "static-link"))]
    hooks::prepare_confining_calls();
    hooks::register_fork_handlers();
    hooks::register_quick_exit();
    session::publish(Some(session));
    detect::begin(Some(session));
    modules::refresh(session);
    // The first decoder has iced build its tables.
    drop(pack::packed(Decoder::new));
    if session.settings.period_ns != 0 || session.settings.watchpoints != 0 {
        calibrate::calibrate_once(session);
    }
    translated::observer::start(session, &hooks::seen_from_cache(session));
    if !translated::is_on() {
        // Nobody would see the program unmap the vDSO.
        clock::leave_the_vdso();
    }
    hooks::begin_main(session);
    match registry::current() {
        Some(thread) => thread.signals().set_hidden(hidden),
        None => {
            signal::set_mask(libc::SIG_BLOCK, hidden);
        }
    }
    if let Some(least) = session.settings.objects {
        objects::start(least);
    }
    trim::drop_own_code();
    Ok(())
}

/// Runs when the library is loaded.
extern "C" fn on_load() {
    let Some(dir) = env::var_os(SESSION_VARIABLE).map(PathBuf::from) else { return };
    // A program begins with an errno of 0 (C17, 7.5). A program that cannot be recorded runs on; the host sees that
    // there is no journal.
    let _ = signal::with_errno_kept(|| start(&dir));
}

/// Runs after the program's exit handlers and destructors.
extern "C" fn on_unload() {
    session::unprofiled_child_ends();
    if let Some(session) = session::current()
        && session.is_of_this_process()
    {
        objects::stop();
        translated::life::write_all();
        if translated::life::runs_to_the_end() {
            return;
        }
        translated::life::end_process(None);
        ending::end(session);
        session::publish(None);
    }
}

// Named for `ld --undefined`: nothing else refers to them, and a linker takes only needed members of an archive.
#[used]
#[unsafe(link_section = ".init_array")]
#[cfg_attr(feature = "static-link", unsafe(export_name = "carom_agent_on_load"))]
static ON_LOAD: extern "C" fn() = on_load;

#[used]
#[unsafe(link_section = ".fini_array")]
#[cfg_attr(feature = "static-link", unsafe(export_name = "carom_agent_on_unload"))]
static ON_UNLOAD: extern "C" fn() = on_unload;
