//! The questions, one line each.

use clap::{Args, Subcommand};

use crate::{
    count::{CountArgs, CountJoin, CountLayout},
    failure::{End, Failure},
    phases::{PhasesArgs, PhasesLayout},
    question::{Join, Question, Recorder},
    reuse::{ReuseArgs, ReuseJoin, ReuseLayout},
    share::{ShareArgs, ShareJoin, ShareLayout},
    simulate::{SimulateArgs, SimulateLayout},
    widths::{WidthsArgs, WidthsLayout},
};

macro_rules! questions {
    ($($(#[$text:meta])* $name:ident($args:ty), $field:ident: $layout:ty $(, joins: $join:ty)?;)*) => {
        /// The subcommands that record.
        #[derive(Debug, Subcommand)]
        pub enum Record {
            $($(#[$text])* $name($args),)*
        }

        impl Record {
            /// See [`Recorder::run`].
            pub fn run(&self) -> Result<End, Failure> {
                match self {
                    $(Self::$name(args) => args.run(),)*
                }
            }
        }

        /// How every question is reported on.
        #[derive(Debug, Args)]
        pub struct Layouts {
            $(#[command(flatten)] pub $field: $layout,)*
        }

        impl Layouts {
            /// Every question.
            pub fn all(&self) -> Vec<&dyn Question> {
                vec![$(&self.$field),*]
            }
        }

        /// How questions join `carom profile`.
        #[derive(Debug, Args)]
        pub struct Joins {
            $($(#[command(flatten)] pub $field: $join,)?)*
        }

        impl Joins {
            /// The names of the questions that join.
            pub const NAMES: &'static [&'static str] = &[$($(joining!($field, $join),)?)*];

            /// Every question that joins, with its name.
            pub fn all(&self) -> Vec<(&'static str, &dyn Join)> {
                vec![$($((joining!($field, $join), &self.$field as &dyn Join),)?)*]
            }
        }
    };
}

/// A question's name.
macro_rules! joining {
    ($field:ident, $join:ty) => {
        stringify!($field)
    };
}

// A question that `carom profile` asks too `joins` it.
questions! {
    /// Which threads bounce which cache lines: true and false sharing, by line, variable and source line
    Share(ShareArgs), share: ShareLayout, joins: ShareJoin;
    /// How far apart accesses to the same data are, and what caches of each size would miss
    Reuse(Box<ReuseArgs>), reuse: ReuseLayout, joins: ReuseJoin;
    /// How many instructions, loads, stores, bytes, jumps, calls and system calls each thread executes, exactly
    Count(CountArgs), count: CountLayout, joins: CountJoin;
    /// The phases of a run, by how its memory grows over time
    Phases(PhasesArgs), phases: PhasesLayout;
    /// Which source lines miss, and which take cache lines from each other, on a simulated machine
    Simulate(Box<SimulateArgs>), simulate: SimulateLayout;
    /// How wide the program's accesses are: the example of docs/adding-a-study.md
    #[command(hide = true)]
    Widths(WidthsArgs), widths: WidthsLayout;
}
