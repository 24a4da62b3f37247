//! `carom share`: record, then report.

mod engine;
mod means;
mod periods;

use std::cell::LazyCell;

use carom_base_sys::probe::{DeliveryKind, Facts, Probes};
use carom_collect::{ControlSettings, DeliveryChoice, Engine, Trial};

use self::{
    means::Means,
    periods::{DEFAULT_PERIOD_NS, Periods},
};
use crate::{
    cli::ShareArgs,
    failure::{End, Failure},
    load::Choices,
    output::{self, Layout},
    record::{self, Job},
    translatable::translatable,
};

/// What sampling may add to the program's CPU time by default, in percent.
const DEFAULT_BUDGET: f64 = 5.0;

/// Records the program and reports.
///
/// # Errors
/// Before the program runs: it cannot be profiled, options contradict each other, or a report cannot be written where
/// it should go.
pub fn run(args: &ShareArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    let probes = LazyCell::new(|| Probes::judge(&Facts::to_choose()));
    let choice = engine::choose(args, || translatable(&args.program, &probes));
    let periods = periods::periods(args, choice.engine).map_err(Failure::new)?;
    let means = means::choose(args, &periods, choice.reason, &probes).map_err(Failure::new)?;
    record::run(Job {
        command: "share",
        program: &args.program,
        settings: settings(args, &periods, &means),
        reason: means.reason,
        output: &args.report,
        layout: Layout { lines: args.layout.top, directed: args.layout.directed, ..Layout::default() },
        choices: Choices::default(),
        time_memory: false,
    })
}

fn settings(args: &ShareArgs, periods: &Periods, means: &Means) -> ControlSettings {
    let (engine, period_ns, load_period, store_period) = match *periods {
        Periods::Time { ns } => (Engine::Burst, ns, 0, 0),
        // The period in time serves processes in which code cannot be translated.
        Periods::Accesses { loads, stores } => (Engine::Translate, DEFAULT_PERIOD_NS, loads, stores),
    };
    ControlSettings {
        engine,
        load_period,
        store_period,
        period_ns,
        budget_ppm: (args.budget.unwrap_or(DEFAULT_BUDGET) * 1e4).round() as u32,
        max_steps: args.max_steps,
        watchpoints: means.watchpoints,
        watch: means.watch,
        trial: Trial::Counts,
        board_slots: args.board,
        delivery: match means.delivery {
            DeliveryKind::Sigtrap => DeliveryChoice::Sigtrap,
            DeliveryKind::Setsig => DeliveryChoice::Setsig,
            DeliveryKind::PosixTimer => DeliveryChoice::PosixTimer,
        },
        objects: args.objects.then_some(args.objects_from),
        window: args.window.window(),
        reuse: None,
    }
}
