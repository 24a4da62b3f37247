//! `carom widths`: the example of `docs/adding-a-study.md`.

mod args;

use carom_collect::{Engine, Settings, ShareSettings, WatchChoice};
use carom_study::{recording::Recordings, widths::WidthsStudy};
use carom_view::model::Report;

pub use args::{WidthsArgs, WidthsLayout};

use crate::{
    failure::{End, Failure},
    load,
    question::{Question, Recorder},
    record::{self, Job},
};

impl Recorder for WidthsArgs {
    fn run(&self) -> Result<End, Failure> {
        let reason = "samples accesses of every width alike";
        record::run(Job::new(&WidthsLayout {}, &self.program, &self.report, settings(self), reason)?)
    }
}

impl Question for WidthsLayout {
    fn command(&self) -> &'static str {
        "widths"
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        load::report(recordings, &WidthsStudy, carom_view::widths::report)
    }
}

/// What `carom share` samples; without debug registers nothing is watched.
fn settings(args: &WidthsArgs) -> Settings {
    Settings {
        load_period: args.period,
        store_period: args.period,
        window: args.program.window.window(),
        share: Some(ShareSettings { watch: WatchChoice::Registers, board_slots: 1 }),
        ..Settings::of(Engine::Translate)
    }
}
