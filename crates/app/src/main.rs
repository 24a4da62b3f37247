//! The `carom` command.
//!
//! Arguments become a configuration, the configuration runs, the outcome becomes an exit status. Only this crate prints
//! or exits.
#![forbid(unsafe_code)]

mod cli;
mod count;
mod diff;
mod doctor;
mod failure;
mod load;
mod options;
mod output;
mod peers;
mod phases;
mod profile;
mod profiles;
mod progress;
mod question;
mod questions;
mod record;
mod report;
mod reuse;
mod share;
mod signals;
mod simulate;
mod tools;
mod trace;
mod translatable;
mod widths;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    cli::{Cli, Command},
    question::Recorder,
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Profile(args) => args.run(),
        Command::Record(question) => question.run(),
        Command::Trace(args) => trace::run(&args),
        Command::Report(args) => report::run(&args),
        Command::List(args) => profiles::list(&args),
        Command::Rm(args) => profiles::remove(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Doctor(args) => tools::doctor(&args),
        Command::LinkFlags => tools::link_flags(),
        Command::Schema { diff } => tools::schema(diff),
        Command::Completions { shell } => tools::completions(shell),
        Command::Man { dir } => tools::man(&dir),
    };
    match done {
        Ok(end) => end.leave(),
        Err(failure) => {
            eprintln!("carom: {failure}");
            failure.status()
        }
    }
}
