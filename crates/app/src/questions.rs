//! The questions, one line each.

use carom_store::Recording;
use carom_view::model::Report;
use clap::{Args, Subcommand};

use crate::{
    count::{CountArgs, CountLayout},
    failure::{End, Failure},
    output::Layout,
    profile::{ProfileArgs, ProfileLayout},
    reuse::{Peers, ReuseArgs, ReuseLayout},
    share::{ShareArgs, ShareLayout},
};

/// The options of a subcommand that records.
pub trait Recorder {
    /// Records the program and reports.
    ///
    /// # Errors
    /// Before the program runs: it cannot be profiled, options contradict each other, or a report cannot be written where
    /// it should go.
    fn run(&self) -> Result<End, Failure>;
}

/// How a question is reported on: the options that `carom report` shares with the subcommand that records.
pub trait Question {
    /// The subcommand's name, as manifests have it.
    fn command(&self) -> &'static str;

    /// Studies recordings as one. `parts`: how other questions are reported on, for one that asks them, too.
    fn report(&self, recordings: &[Recording], parts: &[&dyn Question]) -> Report;

    /// How the text is laid out.
    fn lay_out(&self, layout: &mut Layout);

    /// Files of other tools, to be read before anything runs.
    ///
    /// # Errors
    /// One cannot be read.
    fn peers(&self) -> Result<Peers, Failure> {
        Ok(Peers::default())
    }
}

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
    /// What limits the program's use of memory: sharing, reuse and counts in one run, the worst first
    Profile(Box<ProfileArgs>), profile: ProfileLayout;
    /// Which threads bounce which cache lines: true and false sharing, by line, variable and source line
    Share(ShareArgs), share: ShareLayout;
    /// How many instructions, loads, stores, bytes, jumps, calls and system calls each thread executes, exactly
    Count(CountArgs), count: CountLayout;
    /// How far apart accesses to the same data are, and what caches of each size would miss
    Reuse(Box<ReuseArgs>), reuse: ReuseLayout;
}
