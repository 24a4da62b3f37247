//! `carom reuse`: record, then report.

mod domains;
mod peers;
mod settings;

use carom_base_sys::{
    machine::Machine,
    probe::{Facts, Probes},
};

pub use domains::{Groups, parse as parse_domains};
pub use peers::Peers;

use crate::{
    cli::ReuseArgs,
    failure::{End, Failure},
    load::Choices,
    output::{self, Layout},
    record::{self, Job},
};

/// Records the program and reports.
///
/// # Errors
/// Before the program runs: it cannot be profiled, options contradict each other, or a report cannot be written where
/// it should go.
pub fn run(args: &ReuseArgs) -> Result<End, Failure> {
    output::check(&args.report)?;
    let peers = Peers::of(&args.layout)?;
    let method = settings::method(args).map_err(Failure::new)?;
    let means = settings::Means::of(&args.program, &Probes::judge(&Facts::to_choose()));
    let groups = match &args.cache_domains {
        Some(groups) => groups.clone(),
        None => Groups::of_machine(&Machine::here().caches),
    };
    let plan = settings::plan(args, method, &means, groups.domains()).map_err(Failure::new)?;
    record::run_several(
        Job {
            command: "reuse",
            program: &args.program,
            settings: plan.settings,
            reason: plan.reason,
            output: &args.report,
            layout: Layout { lines: args.top, ..Layout::default() },
            choices: Choices { reuse: args.layout.options(), peers },
            time_memory: args.layout.advise.is_some(),
        },
        args.runs,
    )
}
