//! `carom count`: exact totals, by the translate engine.

use carom_collect::{ControlSettings, DeliveryChoice, Engine, Trial, WatchChoice};

use crate::{
    cli::CountArgs,
    failure::{End, Failure},
    load::Choices,
    output::{self, Layout},
    record::{self, Job},
};

/// Counts what the program does, and reports.
///
/// # Errors
/// Before the program runs: it cannot be profiled, or a report cannot be written where it should go.
pub fn run(args: &CountArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    record::run(Job {
        command: "count",
        program: &args.program,
        settings: settings(args),
        reason: match args.trial.trial() {
            Trial::Counts => "the only engine in this version that counts exactly".into(),
            Trial::Translation => "a trial: code is translated, and nothing is counted".into(),
            Trial::Stream => "a trial: counts, and every access written down for nobody".into(),
            Trial::Checksums => "a trial: counts, and every access written down and added up".into(),
            Trial::Samples => "a trial: counts, and samples taken for nobody".into(),
        },
        output: &args.report,
        layout: Layout { per_thread: args.layout.per_thread, ..Layout::default() },
        choices: Choices::default(),
        time_memory: false,
    })
}

/// Counting alone: no sample is kept, so nothing is published, watched or timed.
fn settings(args: &CountArgs) -> ControlSettings {
    let trial = args.trial.trial();
    let period = if trial == Trial::Samples { args.trial_period } else { 0 };
    ControlSettings {
        engine: Engine::Translate,
        load_period: period,
        store_period: period,
        period_ns: 0,
        budget_ppm: 0,
        max_steps: 0,
        watchpoints: 0,
        watch: WatchChoice::Registers,
        trial,
        board_slots: 0,
        delivery: DeliveryChoice::Auto,
        objects: None,
        window: args.window.window(),
        reuse: None,
    }
}
