//! `carom count`: exact totals, by the translate engine.

use carom_collect::{ControlSettings, DeliveryChoice, Engine, Trial, WatchChoice, Window};

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
    let trial = args.trial.trial();
    record::run(Job {
        command: "count",
        program: &args.program,
        settings: settings(args.window.window(), trial),
        reason: match trial {
            Trial::Counts => "the only engine in this version that counts exactly".into(),
            Trial::Translation => "a trial: code is translated, and nothing is counted".into(),
            Trial::Stream => "a trial: counts, and every access written down for nobody".into(),
            Trial::Checksums => "a trial: counts, and every access written down and added up".into(),
        },
        output: &args.report,
        layout: Layout { per_thread: args.layout.per_thread, ..Layout::default() },
        choices: Choices::default(),
        time_memory: false,
    })
}

/// Counting alone: nothing is sampled, so nothing is published, watched or timed.
fn settings(window: Window, trial: Trial) -> ControlSettings {
    ControlSettings {
        engine: Engine::Translate,
        load_period: 0,
        store_period: 0,
        period_ns: 0,
        budget_ppm: 0,
        max_steps: 0,
        watchpoints: 0,
        watch: WatchChoice::Registers,
        trial,
        board_slots: 0,
        delivery: DeliveryChoice::Auto,
        objects: None,
        window,
        reuse: None,
    }
}
