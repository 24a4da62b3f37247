//! What another thread of this process is doing: `/proc/self/task/TID/syscall` (proc(5)).

use std::ffi::CString;

use super::sys::File;

/// Where the thread with this number will continue after the system call in which it is blocked. `None` where it is
/// not blocked in one, or the kernel does not tell.
pub fn waits_at(tid: u32) -> Option<u64> {
    let path = CString::new(format!("/proc/self/task/{tid}/syscall")).ok()?;
    let mut buffer = [0; 256];
    let read = File::open(&path).and_then(|file| file.read(&mut buffer)).ok()?;
    parse(str::from_utf8(buffer.get(..read)?).ok()?)
}

/// The text is "running", or numbers of which the last two are the stack pointer and the program counter.
fn parse(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_ascii_whitespace().last()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_waiting_thread_has_a_place() {
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse(""), None);
        let text = "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd58 0x7f5c1234\n";
        assert_eq!(parse(text), Some(0x7f5c_1234));
        assert_eq!(parse("-1 0x7ffd58 0x7f5c1234"), Some(0x7f5c_1234));
    }

    const SYSCALL: [u8; 2] = [0x0f, 0x05];

    /// A thread that sleeps in `pause` is blocked behind a `syscall` instruction.
    #[test]
    fn a_sleeping_thread_is_found_behind_its_system_call() {
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            // SAFETY: no arguments.
            tell.send(unsafe { libc::gettid() } as u32).unwrap();
            std::thread::park();
        });
        let tid = told.recv().unwrap();
        // On its way there it may block elsewhere, for a page or for a processor.
        let waits_behind_a_call = || {
            // SAFETY: the two bytes of code in front of where the thread goes on.
            waits_at(tid).is_some_and(|at| unsafe { ((at - 2) as *const [u8; 2]).read() } == SYSCALL)
        };
        while !waits_behind_a_call() {
            std::thread::yield_now();
        }
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    }
}
