//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{
    diff::DiffArgs,
    options::OutputArgs,
    profile::ProfileArgs,
    profiles::{ListArgs, RemoveArgs},
    questions::{Layouts, Record},
    trace::TraceArgs,
};

/// See how a multithreaded program moves its data between threads, caches and memory.
#[derive(Debug, Parser)]
#[command(
    name = "carom",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What limits the program's use of memory: sharing, reuse and counts in one run, the worst problem first
    Profile(Box<ProfileArgs>),
    /// A subcommand that records.
    #[command(flatten)]
    Record(Record),
    /// Keep every load and store of a program, for simulations
    Trace(TraceArgs),
    /// Print recorded profiles again, or several as one
    Report(ReportArgs),
    /// List recorded profiles: when, by which command, of which program
    List(ListArgs),
    /// Remove recorded profiles
    Rm(RemoveArgs),
    /// What a change did to the findings: profiles from before and after it, with an exit status for scripts
    Diff(Box<DiffArgs>),
    /// What carom can do on this machine, and how to enable the rest
    Doctor(crate::doctor::Args),
    /// Print the flags that link the agent into a static program
    #[command(after_help = LINK_EXAMPLES)]
    LinkFlags,
    /// Print the JSON Schema of reports
    Schema {
        /// That of carom diff instead
        #[arg(long)]
        diff: bool,
    },
    /// Print a shell's completions
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    #[command(hide = true)]
    Man {
        /// The directory.
        dir: PathBuf,
    },
}

const LINK_EXAMPLES: &str = "Example:
  cc -static -pthread app.c $(carom link-flags) -o app && carom share ./app

Such programs are sampled by the burst engine.";

const REPORT_EXAMPLES: &str = "Examples:
  carom report app.1.carom
  carom report --html all.html rank0.1.carom rank1.1.carom";

/// `carom report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct ReportArgs {
    /// Profiles; several are merged into one report
    #[arg(required = true, value_name = "DIR")]
    pub profiles: Vec<PathBuf>,
    /// Merge profiles of programs with different names
    #[arg(long)]
    pub different_programs: bool,
    /// How the report is made and laid out.
    #[command(flatten)]
    pub layouts: Layouts,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
