//! Where the frames on a thread's stack lie while it makes another thread. Variables that threads share by their addresses are
//! mostly in these frames, which last until the others have been waited for; the host names them.

use std::{
    arch::asm,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use carom_base_sys::signal;
use framehop::x86_64::UnwindRegsX86_64;

use crate::{
    context::OwnMemory, journal::Text, modules, objects, registry, session::Session, stack::Located,
    thread::State,
};

/// More frames are left out, the outermost ones.
const MOST_FRAMES: usize = 40;

/// Two numbers for each frame.
const LINE_BYTES: usize = 64 + MOST_FRAMES * 36;

/// Lines that a process writes at most.
const MOST_LINES: u32 = 256;
static LINES: AtomicU32 = AtomicU32::new(0);

/// Writes where the frames of the calling thread lie, unless that was written before.
pub fn announce(session: &Session) {
    let names_data = session.settings.share.is_some() || session.settings.reuse.is_some();
    if !names_data || LINES.load(Relaxed) >= MOST_LINES {
        return;
    }
    let errno = signal::errno();
    let (ip, sp, fp): (u64, u64, u64);
    // SAFETY: reads three registers.
    unsafe {
        asm!(
            "lea {ip}, [rip]",
            "mov {sp}, rsp",
            "mov {fp}, rbp",
            ip = out(reg) ip,
            sp = out(reg) sp,
            fp = out(reg) fp,
            options(nomem, nostack, preserves_flags),
        );
    }
    if let Some(thread) = registry::current() {
        thread.visit(|state| write(session, state, ip, UnwindRegsX86_64::new(ip, sp, fp)));
    }
    signal::set_errno(errno);
}

fn write(session: &Session, state: &mut State, ip: u64, registers: UnwindRegsX86_64) {
    if !objects::has_room(state, registers.sp()) {
        return;
    }
    let mut frames = [Located::default(); MOST_FRAMES];
    let depth = modules::with(|modules| {
        let memory = OwnMemory::new(modules, registers.sp()..state.stack.end);
        modules.map_or(0, |modules| state.stacks.locate(ip, registers, modules, &memory, &mut frames))
    });
    let frames = &frames[..depth];
    if depth == 0 || !state.stacks.are_new(frames) {
        return;
    }
    LINES.fetch_add(1, Relaxed);
    let mut text = Text::<LINE_BYTES>::new();
    let line = text.line("frames").number(state.id.0.into(), 10);
    for frame in frames {
        line.number(frame.ip, 16).number(frame.end, 16);
    }
    session.append(&mut text);
}
