//! `carom reuse`: record, then report.

mod args;
mod domains;
mod settings;

use carom_base_sys::{
    machine::Machine,
    probe::{Facts, Probes},
};
use carom_store::Recording;
use carom_view::model::Report;

pub use args::{ReuseArgs, ReuseLayout};
pub use domains::{Groups, parse as parse_domains};

use crate::{
    failure::{End, Failure},
    load,
    output::Layout,
    peers::Peers,
    question::{Question, Recorder},
    record::{self, Job},
};

impl Recorder for ReuseArgs {
    fn run(&self) -> Result<End, Failure> {
        let peers = self.layout.peers()?;
        let method = settings::method(self).map_err(Failure::new)?;
        let means = settings::Means::of(&self.program, &Probes::judge(&Facts::to_choose()));
        let groups = match &self.cache_domains {
            Some(groups) => groups.clone(),
            None => Groups::of_machine(&Machine::here().caches),
        };
        let plan = settings::plan(self, method, &means, groups.domains()).map_err(Failure::new)?;
        record::run(Job {
            layout: Layout { lines: self.top, ..Layout::default() },
            peers,
            time_memory: self.layout.advise.is_some(),
            ..Job::new(&self.layout, &self.program, &self.report, plan.settings, plan.reason)
        })
    }
}

impl Question for ReuseLayout {
    fn command(&self) -> &'static str {
        "reuse"
    }

    fn report(&self, recordings: &[Recording], _: &[&dyn Question]) -> Report {
        load::report(recordings, &self.options(), carom_view::reuse::report)
    }

    /// The tables are as long as those of sharing.
    fn lay_out(&self, _: &mut Layout) {}

    fn peers(&self) -> Result<Peers, Failure> {
        Peers::new(self.peers.as_deref(), &self.compare)
    }
}
