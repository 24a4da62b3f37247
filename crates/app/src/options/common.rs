//! Options that every question has.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::window::WindowArgs;

/// Options of every command that records.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Where the profile goes [default: PROGRAM.N.carom]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Run the program this many times, and report on all runs as one [default: 1]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    /// Do not store the names of functions, variables and source lines with the profile: reports then need the program's
    /// files, unchanged
    #[arg(long)]
    pub no_symbols: bool,
    /// When the program is observed.
    #[command(flatten)]
    pub window: WindowArgs,
    /// The program and its arguments: what stands before it is carom's, what follows it is its own
    #[arg(required = true, num_args = 1.., value_names = ["PROGRAM", "ARGS"], trailing_var_arg = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub program: Vec<String>,
}

/// Options of every command that reports.
#[derive(Clone, Debug, Args)]
pub struct OutputArgs {
    /// Write the report as JSON (see `carom schema`)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the report as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the findings as SARIF, which code hosts and editors show at their lines of source
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write the report's tables as CSV files into this directory
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Print no report
    #[arg(short, long)]
    pub quiet: bool,
    /// Print all: more of the code, volumes, histograms, and how it was measured
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
