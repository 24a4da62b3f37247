//! What the kernel counts in native runs: tracepoints, and events of PMUs in groups that fit their counters.

use carom_base_sys::{
    host::{
        pmu::{self, Catalogue, PmuError, PmuEvent},
        tracepoints::Tracepoints,
    },
    machine::Root,
};
use carom_collect::KernelEvents;
use carom_study::count::Quantity;

use super::plan::Kind;
use crate::{
    count::{args::SeriesArgs, list},
    failure::Failure,
};

/// What the kernel is to count.
pub struct KernelPlan {
    /// For each native run of a round; one at least.
    pub groups: Vec<KernelEvents>,
    /// Events that PMUs have names for, and that they do not count here.
    refused: Vec<PmuError>,
}

impl KernelPlan {
    /// # Errors
    /// An event that was asked for is not counted here.
    pub fn of(args: &SeriesArgs) -> Result<Self, Failure> {
        let wanted = args.wanted();
        let passed = wanted.iter().filter(|event| matches!(event, Quantity::Passed(_)));
        let tracepoints: Vec<String> = passed.map(|event| event.name().to_owned()).collect();
        Tracepoints::for_next_child(tracepoints.iter().map(String::as_str)).map_err(Failure::new)?;
        let Catalogue { events, refused } = pmu_events(args, &wanted)?;
        if args.multiplex && events.is_empty() {
            return Err(Failure::new(
                "--multiplex is about events of PMUs: name some by -e, or use --all where there are some",
            ));
        }
        let mut groups = pmu::groups(events).map_err(Failure::new)?;
        if args.multiplex || groups.is_empty() {
            groups = vec![groups.concat()];
        }
        let group = |pmu| KernelEvents { tracepoints: tracepoints.clone(), pmu, multiplex: args.multiplex };
        Ok(Self { groups: groups.into_iter().map(group).collect(), refused })
    }

    /// Says how many runs of so many commands there will be, where that is not what the options say.
    pub fn announce(&self, args: &SeriesArgs, commands: usize, runs: &[(usize, Kind)]) {
        if !args.all && self.groups.len() < 2 {
            return;
        }
        eprintln!("carom: {}", self.runs(commands, runs));
        if args.all {
            eprintln!(
                "carom: --all leaves out tracepoints, of which there are thousands (name some by -e){}",
                if args.simulate_caches {
                    ""
                } else {
                    ", and what simulated caches count (--simulate-caches)"
                }
            );
            list::hardware().iter().for_each(|why| eprintln!("carom: {why}"));
        }
        if let Some(first) = self.refused.first() {
            let others = self.refused.len() - 1;
            let others =
                if others == 0 { String::new() } else { format!(" (and {others} more are not counted)") };
            eprintln!("carom: {first}{others}");
        }
    }

    /// `15 runs: 1 to begin with, 2 counted exactly, and 12 measured without carom, for 40 events of PMUs in 6 groups`
    fn runs(&self, commands: usize, runs: &[(usize, Kind)]) -> String {
        let native = runs.iter().filter(|(_, kind)| matches!(kind, Kind::Native(_))).count();
        let counted = match runs.len() - native {
            0 => String::new(),
            counted => format!("{counted} counted exactly, "),
        };
        let pmu = match (self.groups.iter().map(|group| group.pmu.len()).sum::<usize>(), self.groups.len()) {
            (0, _) => String::new(),
            (1, _) => ", for one event of a PMU".to_owned(),
            (events, 1) => format!(", for {events} events of PMUs at once"),
            (events, groups) => {
                format!(", for {events} events of PMUs in {groups} groups that fit the counters")
            }
        };
        let all = commands + runs.len();
        format!("{all} runs: {commands} to begin with, {counted}and {native} measured without carom{pmu}")
    }
}

/// All that are counted here, or those that were asked for.
fn pmu_events(args: &SeriesArgs, wanted: &[Quantity]) -> Result<Catalogue, Failure> {
    let root = Root::system();
    if args.all {
        return Ok(pmu::catalogue(&root));
    }
    let named = wanted.iter().filter(|event| matches!(event, Quantity::Pmu(_)));
    let events: Result<Vec<PmuEvent>, PmuError> =
        named.map(|event| pmu::event(&root, event.name())).collect();
    Ok(Catalogue { events: events.map_err(Failure::new)?, refused: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_runs_is_told_with_what_they_are_for() {
        let group = |events: usize| KernelEvents {
            pmu: (0..events)
                .map(|_| pmu::event(&Root::system(), "msr/tsc/"))
                .filter_map(Result::ok)
                .collect(),
            ..KernelEvents::default()
        };
        let told = |groups: Vec<KernelEvents>, kinds: &[Kind]| {
            let runs: Vec<(usize, Kind)> = kinds.iter().map(|kind| (0, *kind)).collect();
            KernelPlan { groups, refused: Vec::new() }.runs(1, &runs)
        };
        let [counted, first, second] = [Kind::Counted, Kind::Native(0), Kind::Native(1)];
        assert_eq!(
            told(vec![group(0)], &[counted, first]),
            "3 runs: 1 to begin with, 1 counted exactly, and 1 measured without carom"
        );
        if group(1).pmu.is_empty() {
            println!("skipped: processor: no PMU msr");
            return;
        }
        assert_eq!(
            told(vec![group(4), group(3)], &[first, second, first, second]),
            "5 runs: 1 to begin with, and 4 measured without carom, for 7 events of PMUs in 2 groups that fit the counters"
        );
    }
}
