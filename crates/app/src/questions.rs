//! The questions, one line each.

use clap::{Args, Subcommand};

use crate::{
    count::{CountArgs, CountLayout},
    failure::{End, Failure},
    profile::{ProfileArgs, ProfileLayout},
    question::{Question, Recorder},
    reuse::{ReuseArgs, ReuseLayout},
    share::{ShareArgs, ShareLayout},
    widths::{WidthsArgs, WidthsLayout},
};

macro_rules! questions {
    ($($(#[$text:meta])* $name:ident($args:ty), $field:ident: $layout:ty;)*) => {
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
    };
}

questions! {
    /// What limits the program's use of memory: sharing, reuse and counts in one run, the worst problem first
    Profile(Box<ProfileArgs>), profile: ProfileLayout;
    /// Which threads bounce which cache lines: true and false sharing, by line, variable and source line
    Share(ShareArgs), share: ShareLayout;
    /// How many instructions, loads, stores, bytes, jumps, calls and system calls each thread executes, exactly
    Count(CountArgs), count: CountLayout;
    /// How far apart accesses to the same data are, and what caches of each size would miss
    Reuse(Box<ReuseArgs>), reuse: ReuseLayout;
    /// How wide the program's accesses are: the example of docs/adding-a-study.md
    #[command(hide = true)]
    Widths(WidthsArgs), widths: WidthsLayout;
}
