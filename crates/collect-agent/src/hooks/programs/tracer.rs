//! Debuggers. A program that a debugger has started runs natively: the debugger would stop at each of our signals, and
//! its breakpoints would be copied into the code cache.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use carom_base_sys::file;

/// The tracer of this process when the agent was loaded; 0: none.
static AT_FIRST: AtomicU32 = AtomicU32::new(0);

/// Notes the tracer of this process.
pub fn prepare() {
    AT_FIRST.store(tracer(), Relaxed);
}

/// Whether this process, about to execute a program, has come under a tracer. A debugger's child does between `fork` and
/// `exec`; the tracer of the whole recording (`strace -f carom ...`) was there before.
pub fn has_come() -> bool {
    let now = tracer();
    now != 0 && now != AT_FIRST.load(Relaxed)
}

fn tracer() -> u32 {
    /// The field is among the first ten, behind the name.
    const STATUS_BYTES: usize = 512;
    let mut status = [0; STATUS_BYTES];
    let file = file::open(libc::AT_FDCWD, c"/proc/self/status");
    let length = file.map_or(0, |file| file.read_at(&mut status, 0));
    parse(status.get(..length).unwrap_or_default())
}

/// The tracer in the text of `/proc/PID/status` (proc_pid_status(5)).
fn parse(status: &[u8]) -> u32 {
    const FIELD: &[u8] = b"TracerPid:";
    let line =
        status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(FIELD)).unwrap_or_default();
    let digits = line.trim_ascii().iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u32, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_found() {
        assert_eq!(parse(b"Name:\tTracerPid: 7\nPid:\t12\nTracerPid:\t345\nUid:\t0\n"), 345);
        assert_eq!(parse(b"Name:\tsh\nTracerPid:\t0\n"), 0);
        assert_eq!(parse(b"Name:\tsh\nTracerPid:\t"), 0);
        assert_eq!(parse(b""), 0);
    }

    #[test]
    fn the_kernel_has_it() {
        let mut status = [0; 512];
        let file = file::open(libc::AT_FDCWD, c"/proc/self/status").unwrap();
        let length = file.read_at(&mut status, 0);
        assert!(status[..length].windows(11).any(|window| window == b"\nTracerPid:"));
    }
}
