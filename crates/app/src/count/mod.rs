//! `carom count`: exact totals, by the translate engine.

mod args;
mod list;
mod predict;
pub mod series;

use carom_collect::{Engine, Settings, Trial};
use carom_study::{count::CountStudy, recording::Recordings};
use carom_view::model::Report;

use args::CountAction;

pub use args::{CountArgs, CountJoin, CountLayout};

use crate::{
    failure::{End, Failure},
    load,
    output::Layout,
    question::{Join, Means, Question, Recorder},
    record::{self, Job},
};

impl Recorder for CountArgs {
    fn run(&self) -> Result<End, Failure> {
        if let Some(CountAction::Predict(args)) = &self.action {
            return predict::run(args);
        }
        if let Some(pattern) = &self.series.list {
            return list::list(pattern, self.series.pmu.as_deref());
        }
        if self.trial.is_none() && series::is_asked(self) {
            return series::run(self);
        }
        let reason = match self.trial {
            None => "the only engine in this version that counts exactly",
            Some(Trial::Translation) => "a trial: code is translated, and nothing is counted",
            Some(Trial::Stream) => "a trial: counts, and writes down accesses that nobody reads",
            Some(Trial::Checksums) => "a trial: counts, and writes down accesses and adds up their addresses",
            Some(Trial::Samples) => "a trial: counts, and takes samples that nobody keeps",
        };
        record::run(Job::new(&self.layout, &self.program, &self.report, settings(self), reason)?)
    }
}

impl Question for CountLayout {
    fn command(&self) -> &'static str {
        "count"
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        load::report(recordings, &CountStudy, carom_view::count::report)
    }

    fn lay_out(&self, layout: &mut Layout) {
        layout.per_thread = self.per_thread;
    }
}

impl Join for CountJoin {
    fn join(&self, _: &mut Settings, _: Means) {}
}

/// Counting alone: no sample is kept, so nothing is published, watched or timed.
fn settings(args: &CountArgs) -> Settings {
    let period = if args.trial == Some(Trial::Samples) { args.trial_period } else { 0 };
    Settings {
        load_period: period,
        store_period: period,
        window: args.program.window.window(),
        trial: args.trial,
        by_instruction: args.layout.by.is_some(),
        ..Settings::of(Engine::Translate)
    }
}
