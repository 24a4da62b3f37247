//! `carom count`: exact totals, by the translate engine.

use carom_collect::{ControlSettings, DeliveryChoice, Engine, WatchChoice, Window};

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
        settings: settings(args.window.window()),
        reason: "the only engine in this version that counts exactly".into(),
        output: &args.report,
        layout: Layout { per_thread: args.layout.per_thread, ..Layout::default() },
        choices: Choices::default(),
        time_memory: false,
    })
}

/// Counting alone: nothing is sampled, so nothing is published, watched or timed.
fn settings(window: Window) -> ControlSettings {
    ControlSettings {
        engine: Engine::Translate,
        load_period: 0,
        store_period: 0,
        period_ns: 0,
        budget_ppm: 0,
        max_steps: 0,
        watchpoints: 0,
        watch: WatchChoice::Registers,
        board_slots: 0,
        delivery: DeliveryChoice::Auto,
        objects: None,
        window,
        reuse: None,
    }
}
