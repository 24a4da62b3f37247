//! Starts a program with the environment that it should have.

use std::{
    ffi::{CStr, c_char, c_int},
    io::Write,
};

use carom_base_sys::{descriptor, file, signal, user_memory::Reader};

use super::{
    OURS,
    environment::Environment,
    look::{self, Refusal},
    reach, tracer,
};
use crate::{aside, journal::Text, registry, session, session::Session, threads, translated};

/// A program about to be started, as far as it is known.
pub struct Program<'a> {
    /// Its path is relative to this directory.
    pub dir: c_int,
    /// Where it is.
    pub path: &'a CStr,
    /// `execve` becomes the program; `posix_spawn` stays and returns an error number.
    pub spawned: bool,
}

/// Starts a program by `start` with the environment that it should have instead of `environment`.
///
/// # Safety
/// What can be read of `environment` stays as it is meanwhile.
pub unsafe fn launch(
    program: &Program<'_>,
    environment: Environment,
    start: impl Fn(Environment) -> c_int,
) -> c_int {
    let Some(ours) = OURS.get() else { return start(environment) };
    if aside::has_stepped() || session::current().is_none() && reach::lost().is_some() {
        // The new program runs under the same filter, or cannot open the library.
        // SAFETY: the caller's promise.
        return unsafe { ours.with(environment, false, start) };
    }
    let Some(session) = session::current() else { return start(environment) };
    let before = signal::errno();
    let refusal = refusal(session, program);
    if !program.spawned {
        last_words(session);
        note(session, program, refusal);
    }
    let start = |environment| {
        descriptor::settle_limit();
        signal::set_errno(before);
        with_its_mask(|| start(environment))
    };
    // SAFETY: the caller's promise.
    let result = unsafe { ours.with(environment, refusal.is_none(), start) };
    if refusal.is_none() && is_too_long(program, result) {
        if !program.spawned {
            note(session, program, Some(Refusal::NoRoom));
        }
        // SAFETY: the caller's promise.
        let result = unsafe { ours.with(environment, false, start) };
        return ended(session, program, Some(Refusal::NoRoom), before, result);
    }
    ended(session, program, refusal, before, result)
}

/// Whether the program has failed to start because arguments and environment are too long, perhaps because of our
/// entries.
fn is_too_long(program: &Program<'_>, result: c_int) -> bool {
    if program.spawned { result == libc::E2BIG } else { result == -1 && signal::errno() == libc::E2BIG }
}

/// The call has come back, as it does where a program was spawned or could not be started.
fn ended(
    session: &Session,
    program: &Program<'_>,
    refusal: Option<Refusal>,
    errno: c_int,
    result: c_int,
) -> c_int {
    if program.spawned && result == 0 {
        note(session, program, refusal);
        signal::set_errno(errno);
    }
    if !program.spawned && session.is_of_this_process() {
        session.stays();
    }
    result
}

/// Starts a program, which gets the mask that this one believes it has.
fn with_its_mask(start: impl FnOnce() -> c_int) -> c_int {
    let hidden = registry::current().map_or(0, |thread| thread.signals().hidden());
    if hidden == 0 {
        return start();
    }
    let before = signal::set_mask(libc::SIG_BLOCK, hidden);
    let result = start();
    let errno = signal::errno();
    signal::set_mask(libc::SIG_UNBLOCK, hidden & !before);
    signal::set_errno(errno);
    result
}

/// Why the program is to run unprofiled, if it is.
fn refusal(session: &Session, program: &Program<'_>) -> Option<Refusal> {
    // A spawned one runs in a process that does not exist yet.
    if !program.spawned && tracer::has_come() {
        return Some(Refusal::Traced);
    }
    let refusal = look::look(program.dir, program.path);
    let lost = || reach::lost().map(Refusal::OutOfReach);
    refusal.filter(|refusal| refusal.holds_for(session.settings.engine)).or_else(lost)
}

/// As [`launch`], for a program that `execve` finds at `path`.
///
/// # Safety
/// What can be read of `path` and `environment` stays as it is meanwhile.
pub unsafe fn launch_path(
    path: *const c_char,
    spawned: bool,
    environment: Environment,
    start: impl Fn(Environment) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(path) = (unsafe { readable(path) }) else { return start(environment) };
    // SAFETY: the caller's promise.
    unsafe { launch(&Program { dir: libc::AT_FDCWD, path, spawned }, environment, start) }
}

/// The path that the program names. `None` where the kernel takes none from there, which it will say itself.
///
/// # Safety
/// It stays as it is while the answer is in use.
pub unsafe fn readable<'a>(path: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    unsafe { Reader::default().string(path, libc::PATH_MAX as usize) }
}

/// As [`launch`], for a program that `execvp` looks for.
///
/// # Safety
/// What can be read of `file` and `environment` stays as it is meanwhile.
pub unsafe fn launch_file(
    file: *const c_char,
    spawned: bool,
    environment: Environment,
    start: impl Fn(Environment) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { readable(file) };
    let mut place = [0; libc::PATH_MAX as usize];
    let path = name.and_then(|name| search(name, &mut place));
    // SAFETY: a string, or the caller's promise.
    unsafe { launch_path(path.map_or(file, CStr::as_ptr), spawned, environment, start) }
}

/// As [`launch`], for an open file.
///
/// # Safety
/// What can be read of `environment` stays as it is meanwhile.
pub unsafe fn launch_fd(fd: c_int, environment: Environment, start: impl Fn(Environment) -> c_int) -> c_int {
    /// As long as the longest number.
    const LINK_BYTES: usize = "/proc/self/fd/-2147483648\0".len();
    let mut link = [0; LINK_BYTES];
    // The place is long enough.
    let _ = write!(link.as_mut_slice(), "/proc/self/fd/{fd}\0");
    // SAFETY: a string, and the caller's promise.
    unsafe { launch_path(link.as_ptr().cast(), false, environment, start) }
}

/// The file that `execvp` would most likely take for `name`, in `place`. `None` where there is none.
fn search<'a>(name: &'a CStr, place: &'a mut [u8]) -> Option<&'a CStr> {
    let bytes = name.to_bytes_with_nul();
    if bytes.contains(&b'/') {
        return Some(name);
    }
    // SAFETY: a valid name. The C library's `execvp` reads the variable in the same way.
    let variable = unsafe { libc::getenv(c"PATH".as_ptr()) };
    let path = if variable.is_null() {
        c"/bin:/usr/bin"
    } else {
        // SAFETY: not null, so a string.
        unsafe { CStr::from_ptr(variable) }
    };
    let is_program = |path: &CStr| {
        let status = file::status(libc::AT_FDCWD, path);
        status.is_some_and(|s| s.st_mode & libc::S_IFMT == libc::S_IFREG && s.st_mode & 0o111 != 0)
    };
    for dir in path.to_bytes().split(|&byte| byte == b':') {
        let parts: [&[u8]; 3] = if dir.is_empty() { [b"", b"", bytes] } else { [dir, b"/", bytes] };
        let found = join(parts, place).is_some_and(is_program);
        if found {
            return CStr::from_bytes_until_nul(place).ok();
        }
    }
    None
}

/// The parts, of which the last ends with null, as one string in `place`.
fn join<'a>(parts: [&[u8]; 3], place: &'a mut [u8]) -> Option<&'a CStr> {
    let mut length = 0;
    for part in parts {
        place.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    CStr::from_bytes_until_nul(place).ok()
}

/// Writes name and CPU time of the thread: the host cannot see them once the program has been replaced.
fn last_words(session: &Session) {
    // A `vfork` child finds its parent's thread, which lives on.
    if let Some(thread) = registry::current().filter(|_| session.is_of_this_process()) {
        thread.visit(|state| threads::note_progress(&state.slot));
        translated::life::write_all();
    }
}

/// Tells the report about a program that runs unprofiled. An exec that fails after all leaves a note too many.
fn note(session: &Session, program: &Program<'_>, refusal: Option<Refusal>) {
    /// Enough for any readable path.
    const LINE_BYTES: usize = 1024;
    let Some(refusal) = refusal else { return };
    if let Refusal::OutOfReach(errno) = refusal {
        // This process cannot open the journal either.
        if program.spawned || !session.is_of_this_process() {
            return session.unprofiled_child(errno);
        }
        return session.gives_way(errno);
    }
    let mut target = [0; LINE_BYTES / 2];
    let path = program.path.to_bytes();
    let link = path.starts_with(b"/proc/self/fd/").then(|| file::link_target(program.path, &mut target));
    let name = link.flatten().map_or(path, |target| target);
    let mut text = Text::<LINE_BYTES>::new();
    session.append(text.line("unprofiled").name(name).name(refusal.reason().as_bytes()));
}
