//! Follows all threads of a program, step by step, to its end.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic};
use libc::user_regs_struct;
use serde::Serialize;

use crate::count::{Counts, Known, Pending};
use crate::tracee::{Event, Resume, Tracee, wait};

const LONGEST_INSTRUCTION: usize = 15;
/// The trap flag, bit 8 of the flags: set while stepping, and hidden from the program.
const TRAP_FLAG: u64 = 1 << 8;
/// The beginnings of the names of files whose code runs in a new thread before its start routine.
const RUNTIME: [&str; 3] = ["libc.", "libc-", "ld-linux"];

/// What `carom-step-count` writes: the counts of every thread, in the order in which they were made.
#[derive(Serialize)]
pub struct Report {
    threads: Vec<ThreadReport>,
    pub exit: Exit,
}

#[derive(Serialize)]
struct ThreadReport {
    tid: i32,
    /// Null for a thread that never left the C library.
    counts: Option<Counts>,
    /// The part up to the return of `main` or of the start routine; null where it does not return.
    until_return: Option<Counts>,
}

/// How the program ended.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// One thread while it is followed.
struct Thread {
    tracee: Tracee,
    counts: Option<Counts>,
    until_return: Option<Counts>,
    /// The stack pointer where counting started.
    stack: u64,
    /// The instruction that the current step executes.
    pending: Option<Pending>,
    ended: bool,
}

struct Process {
    threads: Vec<Thread>,
    known: HashMap<u64, Known>,
    factory: InstructionInfoFactory,
    runtime: Vec<Range<u64>>,
    exit: Exit,
}

/// Steps through the program, whose first thread is stopped before `main`.
///
/// # Errors
/// A request of ptrace fails for another reason than the end of a thread.
pub fn to_the_end(main: Tracee) -> io::Result<Report> {
    let mut first = Thread::new(main);
    first.start(&main.registers()?);
    let mut process = Process {
        threads: vec![first],
        known: HashMap::new(),
        factory: InstructionInfoFactory::new(),
        runtime: runtime(main)?,
        exit: Exit::Code(0),
    };
    process.go_on(0, 0)?;
    while process.threads.iter().any(|thread| !thread.ended) {
        let (tracee, event) = wait()?;
        process.handle(tracee, event, main)?;
    }
    let report = |thread: &Thread| ThreadReport {
        tid: thread.tracee.0,
        counts: thread.counts,
        until_return: thread.until_return,
    };
    Ok(Report { threads: process.threads.iter().map(report).collect(), exit: process.exit })
}

impl Process {
    fn handle(&mut self, tracee: Tracee, event: Event, main: Tracee) -> io::Result<()> {
        let known_before = self.threads.len();
        let place = self.place(tracee);
        match event {
            Event::Trap => {
                self.stepped(place, true)?;
                self.go_on(place, 0)
            }
            // A new thread's first stop, before or after its maker reports it.
            Event::Signal(libc::SIGSTOP)
                if known_before < self.threads.len() || self.threads[place].is_new() =>
            {
                self.go_on(place, 0)
            }
            Event::Signal(signal) => {
                self.stepped(place, false)?;
                self.go_on(place, signal)
            }
            Event::Clone(made) => {
                self.place(made);
                // In the middle of the system call, which remains the pending instruction.
                tracee.resume(Resume::Step, 0)
            }
            Event::Exec => {
                self.end(place);
                tracee.detach()
            }
            Event::Exited(_) | Event::Killed(_) => {
                self.end(place);
                if tracee == main {
                    self.exit = match event {
                        Event::Killed(signal) => Exit::Signal(signal),
                        Event::Exited(code) => Exit::Code(code),
                        _ => self.exit,
                    };
                }
                Ok(())
            }
        }
    }

    /// The index of a thread in the list; a new one is appended.
    fn place(&mut self, tracee: Tracee) -> usize {
        let found = self.threads.iter().rposition(|thread| thread.tracee == tracee && !thread.ended);
        found.unwrap_or_else(|| {
            self.threads.push(Thread::new(tracee));
            self.threads.len() - 1
        })
    }

    /// Counts the pending instruction, if it was executed: certainly after a trap, before a signal only if the
    /// instruction pointer has moved on.
    fn stepped(&mut self, place: usize, surely: bool) -> io::Result<()> {
        let thread = &mut self.threads[place];
        let Some(pending) = thread.pending.take() else { return Ok(()) };
        let after = thread.tracee.registers()?;
        if surely || after.rip != pending.address() || pending.known.is_repeated() {
            thread.count(&pending, &after)?;
        }
        if pending.known.is_system_call() {
            // It may have mapped other code at the same addresses.
            self.known.clear();
        }
        Ok(())
    }

    /// Makes the next step, delivering `signal` if it is not 0.
    fn go_on(&mut self, place: usize, signal: i32) -> io::Result<()> {
        let thread = &mut self.threads[place];
        let before = match thread.tracee.registers() {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
            other => other?,
        };
        if thread.counts.is_none() && !self.runtime.iter().any(|range| range.contains(&before.rip)) {
            thread.start(&before);
        }
        // A signal's handler comes first; the instruction is executed after it.
        if thread.counts.is_some() && signal == 0 {
            let known = *self.known.entry(before.rip).or_insert_with(|| {
                let mut bytes = [0; LONGEST_INSTRUCTION];
                let bytes = thread.tracee.read(before.rip, &mut bytes);
                let instruction = Decoder::with_ip(64, bytes, before.rip, DecoderOptions::NONE).decode();
                Known::new(instruction, &mut self.factory)
            });
            thread.pending = Some(Pending::new(known, thread.tracee, before)?);
        }
        thread.tracee.resume(Resume::Step, signal)
    }

    /// A thread that ends inside a system call has executed it.
    fn end(&mut self, place: usize) {
        let thread = &mut self.threads[place];
        thread.ended = true;
        if let (Some(pending), Some(counts)) = (&thread.pending, &mut thread.counts)
            && pending.known.is_system_call()
        {
            counts.instructions += 1;
            counts.system_calls += 1;
        }
    }
}

impl Thread {
    fn new(tracee: Tracee) -> Self {
        Self { tracee, counts: None, until_return: None, stack: 0, pending: None, ended: false }
    }

    /// Whether nothing of it has been counted yet.
    fn is_new(&self) -> bool {
        self.counts.is_none()
    }

    fn start(&mut self, registers: &user_regs_struct) {
        self.counts = Some(Counts::default());
        self.stack = registers.rsp;
    }

    fn count(&mut self, pending: &Pending, after: &user_regs_struct) -> io::Result<()> {
        let Some(counts) = &mut self.counts else { return Ok(()) };
        counts.add(pending, after);
        // The return address lay where the stack pointer was at the start.
        if self.until_return.is_none() && after.rsp > self.stack {
            self.until_return = Some(*counts);
        }
        if pending.known.instruction.mnemonic() == Mnemonic::Pushfq {
            let flags = self.tracee.word(after.rsp)?;
            self.tracee.set_word(after.rsp, flags & !TRAP_FLAG)?;
        }
        Ok(())
    }
}

/// Where the C library's and the loader's code lies.
fn runtime(tracee: Tracee) -> io::Result<Vec<Range<u64>>> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", tracee.0))?;
    let range = |line: &str| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let name = words.nth(4)?.rsplit('/').next()?;
        let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        RUNTIME.iter().any(|begin| name.starts_with(begin)).then_some(range)
    };
    Ok(maps.lines().filter_map(range).collect())
}
