//! `carom-step-count`: counts the instructions and accesses of each thread of a program by single-stepping. Slow
//! (some 30,000 instructions a second) and simple: the reference for faster counters. It shares no code with them
//! except the decoder of instructions.
//!
//! Counting starts at the first instruction of `main`, and in other threads at the first instruction outside the C
//! library and the dynamic loader, which is that of the routine given to `pthread_create`. It ends with the thread.
//! Threads made before `main`, and other processes, are not counted; `execve` ends all counting.

mod count;
mod follow;
mod lanes;
mod start;
mod tracee;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser;

use follow::{Exit, Report};

/// The program could not be started or not be followed, as in `carom`.
const CANNOT_COUNT: u8 = 125;
/// A program that a signal ended is reported as shells do: this and the signal's number.
const BY_SIGNAL: i32 = 128;

/// Counts instructions and accesses of each thread, from `main` on, by single-stepping.
#[derive(Parser)]
#[command(name = "carom-step-count", version)]
struct Cli {
    /// Where the counts go.
    #[arg(long, value_name = "FILE")]
    json: PathBuf,

    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

fn count(cli: &Cli) -> io::Result<Report> {
    let (program, arguments) = cli.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let report = follow::to_the_end(start::at_main(command)?)?;
    serde_json::to_writer_pretty(File::create(&cli.json)?, &report)?;
    Ok(report)
}

fn main() -> ExitCode {
    match count(&Cli::parse()) {
        Ok(Report { exit: Exit::Code(code), .. }) => ExitCode::from(code as u8),
        Ok(Report { exit: Exit::Signal(signal), .. }) => ExitCode::from((BY_SIGNAL + signal) as u8),
        Err(error) => {
            eprintln!("carom-step-count: {error}");
            ExitCode::from(CANNOT_COUNT)
        }
    }
}
