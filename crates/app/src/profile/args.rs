//! Options of `carom profile`.

use clap::{Args, builder::PossibleValuesParser};

use crate::{
    options::{LEAST_ACCESSES, ObjectArgs, OutputArgs, ProgramArgs, percent},
    questions::{Joins, Layouts},
};

const EXAMPLES: &str = "Examples:
  carom profile ./app --threads 8
  carom profile --html report.html ./app        one page on all questions
  carom profile --only share,reuse ./app
  carom profile --skip count --after 10 --for 5 ./server

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom profile`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ProfileArgs {
    /// Answer only these questions
    #[arg(long, value_parser = question(), value_name = "QUESTION,…", value_delimiter = ',', conflicts_with = "skip")]
    pub only: Vec<String>,
    /// Answer all questions but these
    #[arg(long, value_parser = question(), value_name = "QUESTION,…", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// Mean number of loads between sampled loads, and of stores between sampled stores
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(LEAST_ACCESSES..))]
    pub period: u64,
    /// Limit on the CPU time that watching sampled data adds to the program, in percent; the cost of translation is not
    /// included
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    pub budget: f64,
    /// Which heap objects are named.
    #[command(flatten)]
    pub objects: ObjectArgs,
    /// What questions bring along for the run.
    #[command(flatten)]
    pub joins: Joins,
    /// How they are reported on.
    #[command(flatten)]
    pub layouts: Layouts,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

impl ProfileArgs {
    /// The names of the questions to answer.
    pub fn asked(&self) -> Vec<&'static str> {
        let wanted = |name: &&str| {
            let named = |names: &[String]| names.iter().any(|each| each == name);
            (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
        };
        Joins::NAMES.iter().copied().filter(wanted).collect()
    }
}

fn question() -> PossibleValuesParser {
    PossibleValuesParser::new(Joins::NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    fn asked(options: &[&str]) -> Vec<&'static str> {
        parsed::<ProfileArgs>(options).asked()
    }

    #[test]
    fn all_are_asked_or_those_that_are_named() {
        assert_eq!(asked(&[]), ["share", "reuse", "count"]);
        assert_eq!(asked(&["--only", "count,share"]), ["share", "count"]);
        assert_eq!(asked(&["--skip", "count"]), ["share", "reuse"]);
        assert!(asked(&["--skip", "share,reuse,count"]).is_empty());
    }

    /// The names are those by which reports find the questions' parts.
    #[test]
    fn names_are_those_of_the_questions() {
        let args: ProfileArgs = parsed(&[]);
        let commands: Vec<_> = args.layouts.all().iter().map(|question| question.command()).collect();
        assert!(Joins::NAMES.iter().all(|name| commands.contains(name)), "{commands:?}");
    }
}
