//! New programs: exec and posix_spawn. Whatever environment the caller passes, the new program is followed where
//! it can be profiled, and spared our library where it cannot.
//!
//! **Rules.** All of this runs in `vfork` children, in the parent's memory, and in forked children of programs
//! with many threads: no heap, no locks, no cancellation points; errno is kept. Everything that needs the
//! loader or the heap happens in [`prepare`].
//!
//! Not seen: `system`, `popen` and `wordexp`, which start a shell inside the C library with the program's own
//! environment. The shell is followed unless the program has removed our entries from there.

mod environment;
mod look;
mod variadic;

use std::{
    ffi::{CStr, CString, c_char, c_int},
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::OnceLock,
};

use carom_base_sys::signal;
use carom_base_wire::SESSION_VARIABLE;
use environment::{Environment, Ours};
use look::Refusal;

use super::next::next;
use crate::{journal::Text, raw, registry, session, session::Session, thread};

next!(EXECVE, c"execve", __real_execve,
    fn next_execve(path: *const c_char, argv: Arguments, envp: Environment) -> c_int);
next!(EXECVPE, c"execvpe", __real_execvpe,
    fn next_execvpe(file: *const c_char, argv: Arguments, envp: Environment) -> c_int);
next!(FEXECVE, c"fexecve", __real_fexecve,
    fn next_fexecve(fd: c_int, argv: Arguments, envp: Environment) -> c_int);
next!(EXECVEAT, c"execveat", __real_execveat,
    fn next_execveat(
        dir: c_int,
        path: *const c_char,
        argv: Arguments,
        envp: Environment,
        flags: c_int
    ) -> c_int);
next!(POSIX_SPAWN, c"posix_spawn", __real_posix_spawn,
    fn next_posix_spawn(
        pid: *mut libc::pid_t,
        path: *const c_char,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
        argv: Arguments,
        envp: Environment
    ) -> c_int);
next!(POSIX_SPAWNP, c"posix_spawnp", __real_posix_spawnp,
    fn next_posix_spawnp(
        pid: *mut libc::pid_t,
        file: *const c_char,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
        argv: Arguments,
        envp: Environment
    ) -> c_int);

/// What `execve` calls `argv`.
type Arguments = *const *const c_char;

unsafe extern "C" {
    static mut environ: Environment;
}

fn own_environment() -> Environment {
    // SAFETY: the C library's variable; what `execv` itself would read.
    unsafe { (&raw const environ).read() }
}

static OURS: OnceLock<Ours> = OnceLock::new();

/// Finds what the hooks need, while the loader and the heap may still be used. New programs join the session
/// in `dir`.
pub fn prepare(dir: &Path) {
    for next in [&EXECVE, &EXECVPE, &FEXECVE, &EXECVEAT, &POSIX_SPAWN, &POSIX_SPAWNP] {
        next.address();
    }
    let session_name = SESSION_VARIABLE.len() + 1;
    let entry = [SESSION_VARIABLE.as_bytes(), b"=", dir.as_os_str().as_bytes()].concat();
    // The directory comes from the environment, so it holds no null.
    let Ok(entry) = CString::new(entry) else { return };
    OURS.get_or_init(|| Ours {
        library: library(),
        session: Box::leak(entry.into_boxed_c_str()),
        session_name,
    });
}

/// This library as the loader was told to load it.
fn library() -> Option<&'static [u8]> {
    #[cfg(feature = "static-link")]
    return None;
    #[cfg(not(feature = "static-link"))]
    {
        // SAFETY: all zeroes is a valid place for the answer.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: any address may be asked about.
        let found = unsafe { libc::dladdr(prepare as *const libc::c_void, &raw mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: a name that stays for as long as this library is loaded.
        let name = unsafe { CStr::from_ptr(info.dli_fname) };
        // A relative name would mean another file in another directory.
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let path = std::path::absolute(path).ok()?;
        Some(Box::leak(path.into_os_string().into_encoded_bytes().into_boxed_slice()))
    }
}

/// A program about to be started, as far as it can be told beforehand.
struct Program<'a> {
    /// Its path is relative to this directory.
    dir: c_int,
    path: &'a CStr,
    /// `execve` becomes the program; `posix_spawn` stays and returns an error number.
    spawned: bool,
}

/// Starts a program by `start` with the environment that it should have instead of `environment`.
///
/// # Safety
/// `environment` is as execve(2) wants it.
unsafe fn launch(
    program: &Program<'_>,
    environment: Environment,
    start: impl Fn(Environment) -> c_int,
) -> c_int {
    let (Some(session), Some(ours)) = (session::current(), OURS.get()) else { return start(environment) };
    let before = signal::errno();
    let refusal = look::look(program.dir, program.path);
    if !program.spawned {
        last_words(session);
        note(session, program, refusal);
    }
    // SAFETY: the caller's promise.
    let result = unsafe {
        ours.with(environment, refusal.is_none(), |environment| {
            signal::set_errno(before);
            start(environment)
        })
    };
    if program.spawned && result == 0 {
        note(session, program, refusal);
        signal::set_errno(before);
    }
    result
}

/// As [`launch`], for a program that `execve` finds at `path`.
///
/// # Safety
/// `path` is null or a string; `environment` is as execve(2) wants it.
unsafe fn launch_path(
    path: *const c_char,
    spawned: bool,
    environment: Environment,
    start: impl Fn(Environment) -> c_int,
) -> c_int {
    if path.is_null() {
        return start(environment);
    }
    // SAFETY: not null, so a string.
    let path = unsafe { CStr::from_ptr(path) };
    // SAFETY: the caller's promise.
    unsafe { launch(&Program { dir: libc::AT_FDCWD, path, spawned }, environment, start) }
}

/// As [`launch`], for a program that `execvp` looks for.
///
/// # Safety
/// `file` is null or a string; `environment` is as execve(2) wants it.
unsafe fn launch_file(
    file: *const c_char,
    spawned: bool,
    environment: Environment,
    start: impl Fn(Environment) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let name = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) });
    let mut place = [0; libc::PATH_MAX as usize];
    let path = name.and_then(|name| search(name, &mut place));
    // SAFETY: a string or null, and the caller's promise.
    unsafe { launch_path(path.map_or(file, CStr::as_ptr), spawned, environment, start) }
}

/// As [`launch`], for an open file.
///
/// # Safety
/// `environment` is as execve(2) wants it.
unsafe fn launch_fd(fd: c_int, environment: Environment, start: impl Fn(Environment) -> c_int) -> c_int {
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
        let status = raw::status(libc::AT_FDCWD, path);
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

/// This may be the last that is heard of the thread: what the host cannot see afterwards is written down.
fn last_words(session: &Session) {
    // A `vfork` child finds its parent's thread, which lives on.
    if let Some(thread) = registry::current().filter(|_| session.is_of_this_process()) {
        thread.visit(|state| thread::note_progress(&state.slot));
    }
}

/// Tells the report about a program that runs unprofiled. An exec that fails after all leaves a note too many.
fn note(session: &Session, program: &Program<'_>, refusal: Option<Refusal>) {
    /// Enough for any path that somebody would read.
    const LINE_BYTES: usize = 1024;
    let Some(refusal) = refusal else { return };
    let mut target = [0; LINE_BYTES / 2];
    let path = program.path.to_bytes();
    let link = path.starts_with(b"/proc/self/fd/").then(|| raw::link_target(program.path, &mut target));
    let name = link.flatten().map_or(path, |target| &*target);
    let mut text = Text::<LINE_BYTES>::new();
    session.append(text.line("unprofiled").name(name).name(refusal.reason().as_bytes()));
}

/// # Safety
/// As execve(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_execve"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn execve(path: *const c_char, argv: Arguments, envp: Environment) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { launch_path(path, false, envp, |envp| next_execve(path, argv, envp)) }
}

/// # Safety
/// As execv(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_execv"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn execv(path: *const c_char, argv: Arguments) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { execve(path, argv, own_environment()) }
}

/// # Safety
/// As execvpe(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_execvpe"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn execvpe(file: *const c_char, argv: Arguments, envp: Environment) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { launch_file(file, false, envp, |envp| next_execvpe(file, argv, envp)) }
}

/// # Safety
/// As execvp(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_execvp"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn execvp(file: *const c_char, argv: Arguments) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { execvpe(file, argv, own_environment()) }
}

/// # Safety
/// As fexecve(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_fexecve"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn fexecve(fd: c_int, argv: Arguments, envp: Environment) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { launch_fd(fd, envp, |envp| next_fexecve(fd, argv, envp)) }
}

/// # Safety
/// As execveat(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_execveat"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn execveat(
    dir: c_int,
    path: *const c_char,
    argv: Arguments,
    envp: Environment,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    let start = |envp| unsafe { next_execveat(dir, path, argv, envp, flags) };
    if path.is_null() {
        return start(envp);
    }
    // SAFETY: not null, so a string.
    let name = unsafe { CStr::from_ptr(path) };
    if name.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        // SAFETY: the caller's arguments.
        return unsafe { launch_fd(dir, envp, start) };
    }
    // SAFETY: the caller's arguments.
    unsafe { launch(&Program { dir, path: name, spawned: false }, envp, start) }
}

/// # Safety
/// As posix_spawn(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_posix_spawn"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_spawn(
    pid: *mut libc::pid_t,
    path: *const c_char,
    actions: *const libc::posix_spawn_file_actions_t,
    attributes: *const libc::posix_spawnattr_t,
    argv: Arguments,
    envp: Environment,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        launch_path(path, true, envp, |envp| next_posix_spawn(pid, path, actions, attributes, argv, envp))
    }
}

/// # Safety
/// As posix_spawnp(3).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_posix_spawnp"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_spawnp(
    pid: *mut libc::pid_t,
    file: *const c_char,
    actions: *const libc::posix_spawn_file_actions_t,
    attributes: *const libc::posix_spawnattr_t,
    argv: Arguments,
    envp: Environment,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        launch_file(file, true, envp, |envp| next_posix_spawnp(pid, file, actions, attributes, argv, envp))
    }
}
