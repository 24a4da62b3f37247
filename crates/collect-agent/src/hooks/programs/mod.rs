//! New programs: exec and posix_spawn. With any environment, a new program is followed where it can be profiled, and
//! started without our library where it cannot.
//!
//! **Rules.** All of this runs in `vfork` children, in the parent's memory, and in forked children of programs
//! with many threads: no heap, no locks, no cancellation points; errno is kept. Everything that needs the
//! loader or the heap happens in [`prepare`].
//!
//! Not seen: `system`, `popen` and `wordexp`, which start a shell inside the C library with the program's own
//! environment. The shell is followed unless the program has removed our entries from there.

mod environment;
mod launch;
mod look;
mod needed;
mod reach;
mod tracer;
mod variadic;

use std::{
    ffi::{CStr, CString, c_char, c_int},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::OnceLock,
};

use carom_base_wire::SESSION_VARIABLE;
use environment::{Environment, Ours};
use launch::{Program, launch, launch_fd, launch_file, launch_path, readable};

use super::next::next;

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
    unsafe { environ }
}

static OURS: OnceLock<Ours> = OnceLock::new();

/// Finds what the hooks need, while the loader and the heap may still be used. New programs join the session
/// in `dir`.
pub fn prepare(dir: &Path) {
    tracer::prepare();
    for next in [&EXECVE, &EXECVPE, &FEXECVE, &EXECVEAT, &POSIX_SPAWN, &POSIX_SPAWNP] {
        next.address();
    }
    let session_name = SESSION_VARIABLE.len() + 1;
    let entry = [SESSION_VARIABLE.as_bytes(), b"=", dir.as_os_str().as_bytes()].concat();
    // The directory comes from the environment, so it holds no null.
    let Ok(entry) = CString::new(entry) else { return };
    let library = library();
    reach::prepare(library, dir);
    OURS.get_or_init(|| Ours { library, session: Box::leak(entry.into_boxed_c_str()), session_name });
}

/// The path by which the loader has found this library.
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

/// # Safety
/// As execve(2).
#[cfg_attr(feature = "static-link", unsafe(export_name = "__wrap_execve"))]
#[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
pub unsafe extern "C" fn execve(path: *const c_char, argv: Arguments, envp: Environment) -> c_int {
    // SAFETY: the caller's arguments.
    let start = |envp| unsafe { next_execve(path, argv, envp) };
    // SAFETY: the caller's arguments.
    unsafe { launch_path(path, false, envp, start) }
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
    let start = |envp| unsafe { next_execvpe(file, argv, envp) };
    // SAFETY: the caller's arguments.
    unsafe { launch_file(file, false, envp, start) }
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
    let start = |envp| unsafe { next_fexecve(fd, argv, envp) };
    // SAFETY: the caller's arguments.
    unsafe { launch_fd(fd, envp, start) }
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
    // SAFETY: the caller's arguments.
    let Some(name) = (unsafe { readable(path) }) else { return start(envp) };
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
    let start = |envp| unsafe { next_posix_spawn(pid, path, actions, attributes, argv, envp) };
    // SAFETY: the caller's arguments.
    unsafe { launch_path(path, true, envp, start) }
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
    let start = |envp| unsafe { next_posix_spawnp(pid, file, actions, attributes, argv, envp) };
    // SAFETY: the caller's arguments.
    unsafe { launch_file(file, true, envp, start) }
}
