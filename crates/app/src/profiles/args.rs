//! Options.

use std::path::PathBuf;

use clap::Args;

const LIST_EXAMPLES: &str = "Examples:
  carom list
  carom list --json /tmp/profiles | jq '.profiles[].dir'";

const REMOVE_EXAMPLES: &str = "Examples:
  carom rm app.1.carom app.2.carom
  carom rm --all                                every profile in the current directory

Only files of profiles are removed. Reports that were written beside them stay.";

/// `carom list`.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct ListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
    /// Directories that hold profiles, or profiles
    #[arg(value_name = "DIR", default_value = ".")]
    pub places: Vec<PathBuf>,
}

/// `carom rm`.
#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub struct RemoveArgs {
    /// Remove every profile in these directories [default: the current one]
    #[arg(long)]
    pub all: bool,
    /// Profiles; with --all, directories that hold profiles
    #[arg(value_name = "DIR", required_unless_present = "all")]
    pub places: Vec<PathBuf>,
}
