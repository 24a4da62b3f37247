//! `carom reuse`: record, then report.

mod args;
mod domains;
mod settings;

use carom_base_sys::probe::{Facts, Probes};
use carom_collect::{ReuseMethod, ReuseSettings, Settings, WatchChoice};
use carom_study::recording::Recordings;
use carom_view::model::Report;

pub use args::{ReuseArgs, ReuseJoin, ReuseLayout, bytes};
pub use domains::Groups;

use crate::{
    failure::{End, Failure},
    load,
    options::REUSE_SLOTS,
    output::Layout,
    peers::Peers,
    question::{Join, Means, Question, Recorder},
    record::{self, Job},
};

impl Recorder for ReuseArgs {
    fn run(&self) -> Result<End, Failure> {
        let method = settings::method(self).map_err(Failure::new)?;
        let means = settings::Means::of(&self.program, &Probes::judge(&Facts::to_choose()));
        let plan = settings::plan(self, method, &means, self.caches.domains()).map_err(Failure::new)?;
        record::run(Job {
            layout: Layout { lines: self.top, ..Layout::default() },
            memory: self.phases.interval(&self.program)?,
            ..Job::new(&self.layout, &self.program, &self.report, plan.settings, plan.reason)?
        })
    }
}

impl Question for ReuseLayout {
    fn command(&self) -> &'static str {
        "reuse"
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        load::report_by_phase(recordings, &self.options(), carom_view::reuse::report)
    }
    fn times_memory(&self) -> bool {
        self.advise.is_some()
    }

    fn peers(&self) -> Result<Peers, Failure> {
        Peers::new(self.peers.as_deref(), &self.compare)
    }
}

impl Join for ReuseJoin {
    fn join(&self, settings: &mut Settings, means: Means) {
        settings.load_period = means.period;
        settings.store_period = means.period;
        // Translated code watches at no other question's cost: the debug registers are those of sharing.
        let method = ReuseMethod::Sampled { watch: WatchChoice::Software, slots: REUSE_SLOTS };
        settings.reuse = Some(ReuseSettings { method, domains: self.domains() });
    }
}
