//! Options.

use std::path::PathBuf;

use clap::Args;

use crate::options::{ObjectArgs, ProgramArgs};

const EXAMPLES: &str = "Examples:
  carom trace ./app
  carom trace -o trace.carom --after 1s --for 200ms ./app
  carom simulate trace.carom
  carom trace --check trace.carom
  carom trace --print trace.carom > accesses.txt

The program's output and exit status stay its own; what was kept is told on standard error.";

/// `carom trace`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArgs {
    /// Check a recorded profile instead: whether all that it keeps can be read and fits together
    #[arg(long, value_name = "DIR", conflicts_with_all = ["print", "program"])]
    pub check: Option<PathBuf>,
    /// Print the accesses that a profile keeps as text instead, in the order of time
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    pub print: Option<PathBuf>,
    /// Say nothing of what was kept
    #[arg(short, long)]
    pub quiet: bool,
    /// Which heap objects are named.
    #[command(flatten)]
    pub objects: ObjectArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}
