//! One thread under ptrace: its registers, its memory, how it continues and why it stops.

use std::io;
use std::mem::MaybeUninit;

use libc::{c_int, pid_t, user_regs_struct};

/// The extended state's note type, `NT_X86_XSTATE` of elf.h.
const NT_X86_XSTATE: usize = 0x202;
/// More than the extended state takes on any processor without AMX; AMX is nothing that counting looks at.
const MOST_EXTENDED_STATE: usize = 16 << 10;
const PAGE: u64 = 4096;

/// A stopped thread of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tracee(pub pid_t);

/// Why a thread was reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A step was made, or a breakpoint met.
    Trap,
    /// It made this thread.
    Clone(Tracee),
    /// It replaced the program.
    Exec,
    /// This signal is about to be delivered.
    Signal(c_int),
    /// It ended with this status.
    Exited(c_int),
    /// It was killed by this signal.
    Killed(c_int),
}

/// How a stopped thread goes on.
#[derive(Clone, Copy)]
pub enum Resume {
    /// For one instruction.
    Step,
    /// Until something happens.
    Run,
}

impl Tracee {
    fn request(self, request: libc::c_uint, addr: usize, data: usize) -> io::Result<()> {
        // SAFETY: where `data` is a pointer, the caller's method made it from a value that outlives the call.
        let result = unsafe { libc::ptrace(request, self.0, addr, data) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Continues, receiving `signal` if it is not 0.
    pub fn resume(self, how: Resume, signal: c_int) -> io::Result<()> {
        let request = match how {
            Resume::Step => libc::PTRACE_SINGLESTEP,
            Resume::Run => libc::PTRACE_CONT,
        };
        match self.request(request, 0, signal as usize) {
            // Killed meanwhile, by another thread's exit; the next wait reports it.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    /// Makes ptrace follow the thread and those that it creates; they die with this process.
    pub fn follow(self) -> io::Result<()> {
        let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEEXEC;
        self.request(libc::PTRACE_SETOPTIONS, 0, options as usize)
    }

    /// Detaches from the thread.
    pub fn detach(self) -> io::Result<()> {
        self.request(libc::PTRACE_DETACH, 0, 0)
    }

    pub fn registers(self) -> io::Result<user_regs_struct> {
        let mut registers = MaybeUninit::<user_regs_struct>::zeroed();
        self.request(libc::PTRACE_GETREGS, 0, registers.as_mut_ptr() as usize)?;
        // SAFETY: zeroed, then written by the kernel; integers have no invalid values.
        Ok(unsafe { registers.assume_init() })
    }

    pub fn set_registers(self, registers: &user_regs_struct) -> io::Result<()> {
        self.request(libc::PTRACE_SETREGS, 0, std::ptr::from_ref(registers) as usize)
    }

    /// The extended state in the layout of `xsave`.
    pub fn extended_state(self) -> io::Result<Vec<u8>> {
        let mut state = vec![0; MOST_EXTENDED_STATE];
        let mut vector = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
        self.request(libc::PTRACE_GETREGSET, NT_X86_XSTATE, &raw mut vector as usize)?;
        state.truncate(vector.iov_len);
        Ok(state)
    }

    /// The bytes from `address` on, up to `buffer`'s length or the first unmapped page.
    pub fn read(self, address: u64, buffer: &mut [u8]) -> &[u8] {
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // In two pieces: a page that is not mapped must not hide the one before it.
        let first = ((PAGE - address % PAGE) as usize).min(buffer.len());
        let piece = |address: u64, iov_len| libc::iovec { iov_base: address as *mut _, iov_len };
        let remote = [piece(address, first), piece(address.wrapping_add(first as u64), buffer.len() - first)];
        // SAFETY: `local` describes `buffer`; the kernel checks the remote addresses.
        let read = unsafe { libc::process_vm_readv(self.0, &raw const local, 1, remote.as_ptr(), 2, 0) };
        buffer.get(..read.max(0) as usize).unwrap_or_default()
    }

    /// The eight bytes at `address`.
    pub fn word(self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        if self.read(address, &mut bytes).len() < bytes.len() {
            return Err(io::Error::other(format!("cannot read the program's memory at {address:#x}")));
        }
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes them, code included.
    pub fn set_word(self, address: u64, word: u64) -> io::Result<()> {
        self.request(libc::PTRACE_POKEDATA, address as usize, word as usize)
    }

    /// The thread that it has just created.
    fn made(self) -> io::Result<Self> {
        let mut id: libc::c_ulong = 0;
        self.request(libc::PTRACE_GETEVENTMSG, 0, &raw mut id as usize)?;
        Ok(Self(id as pid_t))
    }
}

/// Waits until any thread of the program has something to report.
pub fn wait() -> io::Result<(Tracee, Event)> {
    let mut status = 0;
    // SAFETY: `status` is alive during the call.
    let id = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
    if id == -1 {
        return Err(io::Error::last_os_error());
    }
    let tracee = Tracee(id);
    let event = if libc::WIFEXITED(status) {
        Event::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Event::Killed(libc::WTERMSIG(status))
    } else {
        match (libc::WSTOPSIG(status), status >> 16) {
            (libc::SIGTRAP, libc::PTRACE_EVENT_CLONE) => Event::Clone(tracee.made()?),
            (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => Event::Exec,
            (libc::SIGTRAP, _) => Event::Trap,
            (signal, _) => Event::Signal(signal),
        }
    };
    Ok((tracee, event))
}
