//! A child under ptrace: its registers, its memory, one step at a time.

use std::cell::Cell;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use carom_base_insn::{Known, Memory, Registers};

const NT_X86_XSTATE: usize = 0x202;

pub struct Tracee {
    child: Child,
    /// A signal that arrived for the program, to be passed on when it runs again.
    signal: Cell<i32>,
}

/// What came of letting the program run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It did what was asked.
    Done,
    /// A signal came first.
    Signal,
    /// The program has ended.
    Ended,
}

/// Everything that one stop shows.
pub struct Stop {
    regs: libc::user_regs_struct,
    xsave: Vec<u8>,
}

/// What an interrupted system call seems to return while the kernel is about to restart it.
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

impl Stop {
    /// True in a system call that will be made again: the next step is not at the instruction pointer.
    pub fn restarts(&self) -> bool {
        self.regs.orig_rax as i64 >= 0 && RESTARTS.contains(&(self.regs.rax as i64))
    }

    pub fn registers(&self) -> Registers<'_> {
        let r = &self.regs;
        Registers {
            gpr: [
                r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12,
                r.r13, r.r14, r.r15,
            ],
            rip: r.rip,
            rflags: r.eflags,
            fs_base: r.fs_base,
            gs_base: Some(r.gs_base),
            xsave: &self.xsave,
            known: Known::ALL,
        }
    }
}

impl Tracee {
    /// Starts a program, stopped at its first instruction.
    pub fn start(program: &str, args: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(program);
        // The kernel writes the processor's number into a registered rseq area whenever it likes.
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let traced = || {
            // SAFETY: no pointers are involved; async-signal-safe, as `pre_exec` requires.
            let result = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0usize, 0usize) };
            if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        // SAFETY: the closure makes one system call.
        unsafe { command.pre_exec(traced) };
        let tracee = Self { child: command.spawn()?, signal: Cell::new(0) };
        tracee.wait(libc::SIGTRAP);
        tracee.request(libc::PTRACE_SETOPTIONS, 0, libc::PTRACE_O_EXITKILL as usize);
        Ok(tracee)
    }

    /// One single-step.
    pub fn step(&self) -> Progress {
        self.request(libc::PTRACE_SINGLESTEP, 0, self.signal.take() as usize);
        self.wait(libc::SIGTRAP)
    }

    /// Runs freely for a while.
    pub fn run(&self, time: Duration) -> Progress {
        self.request(libc::PTRACE_CONT, 0, self.signal.take() as usize);
        std::thread::sleep(time);
        // SAFETY: no pointers are involved; the child is not reaped, so its id is still its own.
        unsafe { libc::kill(self.pid(), libc::SIGSTOP) };
        loop {
            match self.wait(libc::SIGSTOP) {
                Progress::Signal => self.request(libc::PTRACE_CONT, 0, self.signal.take() as usize),
                progress => return progress,
            }
        }
    }

    pub fn stop(&self) -> Stop {
        let mut regs = MaybeUninit::<libc::user_regs_struct>::zeroed();
        self.request(libc::PTRACE_GETREGS, 0, regs.as_mut_ptr() as usize);
        let mut xsave = vec![0u8; 8192];
        let mut iov = libc::iovec { iov_base: xsave.as_mut_ptr().cast(), iov_len: xsave.len() };
        self.request(libc::PTRACE_GETREGSET, NT_X86_XSTATE, &raw mut iov as usize);
        xsave.truncate(iov.iov_len);
        // SAFETY: all bit patterns are valid, and the kernel has filled it.
        Stop { regs: unsafe { regs.assume_init() }, xsave }
    }

    /// Start and end of the mappings whose permissions and size `wanted` accepts, with their file's name.
    pub fn mappings(&self, wanted: impl Fn(&str, u64) -> bool) -> Vec<(u64, u64, u64, String)> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid())).unwrap_or_default();
        let parse = |line: &str| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
            let permissions = words.next()?;
            let offset = u64::from_str_radix(words.next()?, 16).ok()?;
            let name = words.nth(2).unwrap_or_default().to_owned();
            wanted(permissions, end - start).then_some((start, end, offset, name))
        };
        maps.lines().filter_map(parse).collect()
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    fn request(&self, request: libc::c_uint, addr: usize, data: usize) {
        // SAFETY: where `data` is a pointer it points to what the request writes, alive during the call.
        unsafe { libc::ptrace(request, self.pid(), addr, data) };
    }

    /// Waits for a stop by `expected`.
    fn wait(&self, expected: i32) -> Progress {
        let mut status = 0;
        // SAFETY: `status` is alive during the call.
        let waited = unsafe { libc::waitpid(self.pid(), &raw mut status, 0) };
        if waited != self.pid() || !libc::WIFSTOPPED(status) {
            return Progress::Ended;
        }
        match libc::WSTOPSIG(status) {
            signal if signal == expected => Progress::Done,
            // An exec's own trap: nothing to pass on.
            libc::SIGTRAP => Progress::Signal,
            signal => {
                self.signal.set(signal);
                Progress::Signal
            }
        }
    }
}

impl Memory for Tracee {
    fn read(&self, addr: u64, buf: &mut [u8]) -> usize {
        let local = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
        // Two pieces, cut at the page boundary: one that cannot be read must not hide the other.
        let first = (4096 - addr as usize % 4096).min(buf.len());
        let remote = [
            libc::iovec { iov_base: addr as *mut _, iov_len: first },
            libc::iovec { iov_base: addr.wrapping_add(first as u64) as *mut _, iov_len: buf.len() - first },
        ];
        // SAFETY: `local` describes `buf`; the kernel checks the remote addresses.
        let read = unsafe { libc::process_vm_readv(self.pid(), &local, 1, remote.as_ptr(), 2, 0) };
        read.max(0) as usize
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
