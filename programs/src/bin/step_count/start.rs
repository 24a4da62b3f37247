//! From the start of a program to the first instruction of its `main`.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, FlowControl};

use crate::tracee::{Event, Resume, Tracee, wait};

/// The program's entry point in the auxiliary vector, `AT_ENTRY` of elf.h.
const AT_ENTRY: u64 = 9;
/// The instruction `int3` in the first byte of a word.
const BREAKPOINT: u64 = 0xcc;
const LONGEST_INSTRUCTION: usize = 15;
/// The C library's `_start` calls within a dozen instructions.
const MOST_START_STEPS: usize = 100;

/// Starts the program; returns its only followed thread, in front of the first instruction of `main`.
///
/// Stripped programs have no symbol `main`. But what runs first, `_start`, makes one call, and passes `main` to
/// it as the first argument (`__libc_start_main`, in all versions of glibc and musl).
///
/// # Errors
/// The program cannot be started or traced, ends before `main`, or does not begin as C programs do.
pub fn at_main(mut command: Command) -> io::Result<Tracee> {
    let traced = || {
        // SAFETY: no pointers are involved; async-signal-safe, as `pre_exec` requires.
        let result = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0_usize, 0_usize) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure makes one system call.
    unsafe { command.pre_exec(traced) };
    let tracee = Tracee(command.spawn()?.id() as i32);
    expect_trap()?;
    run_to(tracee, entry(tracee)?)?;
    let main = first_argument_of_first_call(tracee)?;
    run_to(tracee, main)?;
    tracee.follow()?;
    Ok(tracee)
}

fn entry(tracee: Tracee) -> io::Result<u64> {
    let vector = fs::read(format!("/proc/{}/auxv", tracee.0))?;
    let words = |pair: &[u8]| pair.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    let mut pairs = vector.chunks_exact(16).map(|pair| pair.split_at(8)).map(|(a, b)| (words(a), words(b)));
    pairs
        .find_map(|(key, value)| (key == AT_ENTRY).then_some(value))
        .ok_or_else(|| io::Error::other("the kernel does not say where the program starts"))
}

fn first_argument_of_first_call(tracee: Tracee) -> io::Result<u64> {
    for _ in 0..MOST_START_STEPS {
        let registers = tracee.registers()?;
        let mut bytes = [0; LONGEST_INSTRUCTION];
        let bytes = tracee.read(registers.rip, &mut bytes);
        let instruction = Decoder::with_ip(64, bytes, registers.rip, DecoderOptions::NONE).decode();
        if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
            return Ok(registers.rdi);
        }
        tracee.resume(Resume::Step, 0)?;
        expect_trap()?;
    }
    Err(io::Error::other("the program does not start as C programs do"))
}

/// Runs freely until the instruction at `address` is next.
fn run_to(tracee: Tracee, address: u64) -> io::Result<()> {
    let original = tracee.word(address)?;
    tracee.set_word(address, original & !0xff | BREAKPOINT)?;
    tracee.resume(Resume::Run, 0)?;
    expect_trap()?;
    tracee.set_word(address, original)?;
    let mut registers = tracee.registers()?;
    registers.rip = address;
    tracee.set_registers(&registers)
}

fn expect_trap() -> io::Result<()> {
    match wait()?.1 {
        Event::Trap => Ok(()),
        event => Err(io::Error::other(format!("the program does not reach main: {event:?}"))),
    }
}
