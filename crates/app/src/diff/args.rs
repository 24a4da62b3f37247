//! Options of `carom diff`.

use std::path::PathBuf;

use clap::Args;

use crate::{
    options::{Colour, LimitArgs},
    reuse::bytes,
};

const EXAMPLES: &str = "Examples:
  carom diff before.carom after.carom
  carom diff before after                       all of before-1, before-2, … of --runs with all of after-1, …
  carom diff --before a-1 a-2 --after b-1 b-2
  carom diff --fail-if-new --fail-above 5 --json diff.json --markdown diff.md before after

The exit status is 124 where something fails.";

/// `carom diff`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// The profile before the change, and the one after it
    #[arg(num_args = 2, value_names = ["BEFORE", "AFTER"], required_unless_present_all = ["before", "after"])]
    pub profiles: Vec<PathBuf>,
    /// Profiles of several runs before the change
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "after", conflicts_with = "profiles")]
    pub before: Vec<PathBuf>,
    /// Profiles of several runs after it
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "before", conflicts_with = "profiles")]
    pub after: Vec<PathBuf>,
    /// Fail where the share of contended lines, the miss ratio or a finding has grown by more than this many percent of all
    /// accesses
    #[arg(long, value_name = "PERCENT", value_parser = increase)]
    pub fail_above: Option<f64>,
    /// Fail where there is a new finding
    #[arg(long)]
    pub fail_if_new: bool,
    /// What counts may be.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The cache whose misses are compared, such as 256K [default: the largest private one of the machine before]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub cache: Option<u64>,
    /// Findings to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Write the comparison as JSON (schema: carom schema --diff); - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write it as Markdown for a pull request; - is standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write it as one self-contained page; - is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the new findings as SARIF, which code hosts and editors show at their lines of source; - is standard output
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Print no text
    #[arg(short, long)]
    pub quiet: bool,
}

/// Percent of all accesses.
fn increase(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&value) { Ok(value) } else { Err("must be between 0 and 100".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn read(options: &[&str]) -> Option<Box<DiffArgs>> {
        match Cli::try_parse_from([&["carom", "diff"], options].concat()).ok()?.command {
            Command::Diff(args) => Some(args),
            _ => None,
        }
    }

    #[test]
    fn sides_are_two_profiles_or_two_lists() {
        assert_eq!(read(&["a", "b"]).unwrap().profiles.len(), 2);
        let lists = read(&["--before", "a-1", "a-2", "--after", "b-1"]).unwrap();
        assert_eq!((lists.before.len(), lists.after.len()), (2, 1));
        let wrong: [&[&str]; 5] =
            [&[], &["a"], &["a", "b", "c"], &["--before", "a"], &["a", "b", "--after", "c"]];
        for options in wrong {
            assert!(read(options).is_none(), "{options:?}");
        }
    }

    #[test]
    fn increases_have_bounds() {
        assert_eq!(read(&["a", "b", "--fail-above", "2.5%"]).unwrap().fail_above, Some(2.5));
        assert!(read(&["a", "b", "--fail-above", "101"]).is_none());
    }
}
