//! The identity of the calling process and thread. All signal-safe.

use super::raw::call;

/// The id of this process.
pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::getpid() as u32 }
}

/// The real user and group of this process.
pub fn user_and_group() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: no arguments.
    let user = unsafe { libc::getuid() };
    // SAFETY: no arguments.
    (user, unsafe { libc::getgid() })
}

/// The effective user, as whom this process opens files.
pub fn effective_user() -> libc::uid_t {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() }
}

/// The name of the calling thread, filled up with zeroes.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: PR_GET_NAME writes 16 bytes.
    let _ =
        unsafe { call(libc::SYS_prctl, [libc::PR_GET_NAME as u64, name.as_mut_ptr() as u64, 0, 0, 0, 0]) };
    name
}
