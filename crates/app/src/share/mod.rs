//! `carom share`: record, then report.

mod args;
mod check;
mod engine;
mod means;
mod periods;

use std::cell::LazyCell;

use carom_base_sys::probe::{Facts, Probes};
use carom_collect::{Engine, Settings, ShareSettings, WatchChoice};
use carom_study::{recording::Recordings, share::ShareStudy};
use carom_view::model::Report;

pub use args::{ShareArgs, ShareJoin, ShareLayout};

use self::periods::Periods;
use crate::{
    failure::{End, Failure},
    load,
    options::{BOARD_SLOTS, SHARE_PERIOD_NS},
    output::Layout,
    question::{Join, Means, Question, Recorder},
    record::{self, Job},
    signals::delivery,
    simulate,
    translatable::{generated, translatable},
};

/// What sampling may add to the program's CPU time by default, in percent.
const DEFAULT_BUDGET: f64 = 5.0;

impl Recorder for ShareArgs {
    fn run(&self) -> Result<End, Failure> {
        let probes = LazyCell::new(|| Probes::judge(&Facts::to_choose()));
        let choice = engine::choose(
            self,
            || translatable(&self.program, &probes),
            || generated(&self.program, &probes),
        );
        let periods = periods::periods(self, choice.engine).map_err(Failure::new)?;
        let means = means::choose(self, &periods, choice.reason, &probes).map_err(Failure::new)?;
        let settings = settings(self, &periods, &means);
        let job = Job {
            memory: self.phases.interval(&self.program)?,
            ..Job::new(&self.layout, &self.program, &self.report, settings, means.reason)?
        };
        let Some(most) = self.check_remedy else { return record::run(job) };
        // Refused before the first run.
        simulate::settings(&self.program, &self.objects).map_err(Failure::new)?;
        record::run(Job { completion: Some(&|profile| check::check(self, most, profile)), ..job })
    }
}

impl Question for ShareLayout {
    fn command(&self) -> &'static str {
        "share"
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        load::report_by_phase(recordings, &ShareStudy, carom_view::share::report)
    }

    fn lay_out(&self, layout: &mut Layout) {
        layout.lines = self.top;
        layout.directed = self.directed;
    }
}

impl Join for ShareJoin {
    fn join(&self, settings: &mut Settings, means: Means) {
        // Registers cost less than watching in software, where they are available.
        let watch = if means.registers > 0 { WatchChoice::Registers } else { WatchChoice::Software };
        settings.load_period = means.period;
        settings.store_period = means.period;
        // For processes in which code cannot be translated.
        settings.period_ns = SHARE_PERIOD_NS;
        settings.watchpoints = means.registers;
        settings.share = Some(ShareSettings { watch, board_slots: BOARD_SLOTS });
    }
}

fn settings(args: &ShareArgs, periods: &Periods, means: &means::Means) -> Settings {
    let (engine, period_ns, load_period, store_period, doublings) = match *periods {
        Periods::Time { ns } => (Engine::Burst, ns, 0, 0, 0),
        // The period in time serves processes in which code cannot be translated.
        Periods::Accesses { loads, stores, doublings } => {
            (Engine::Translate, SHARE_PERIOD_NS, loads, stores, doublings)
        }
    };
    Settings {
        load_period,
        store_period,
        doublings,
        period_ns,
        budget_ppm: (args.budget.unwrap_or(DEFAULT_BUDGET) * 1e4).round() as u32,
        max_steps: args.max_steps,
        watchpoints: means.watchpoints,
        delivery: delivery(Some(means.delivery)),
        objects: args.objects.least(),
        window: args.program.window.window(),
        share: Some(ShareSettings { watch: means.watch, board_slots: args.board }),
        ..Settings::of(engine)
    }
}
