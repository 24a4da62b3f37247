//! From the findings of `carom simulate` to its report.

mod compare;
mod convert;
pub(crate) mod model;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod verdict;
mod what_if;

use carom_study::simulate::{Matched, Order, SimulateFindings};

pub use compare::gate;

use crate::{
    RunInfo,
    model::{Command, Report, SimulatedMisses, SimulatedSharing, Simulation, Warning},
    recording,
    section::{Row, Section},
    text::{Options, page::Page},
    words::{self, ThreadNames},
};

/// Threads that make more accesses than this in a row do not run at the same time.
const LONG_TURN: u64 = 10_000;

/// The report of one recording, or of several as one.
pub fn report(run: &RunInfo, findings: &SimulateFindings) -> Report {
    let mut report = Report::new(Command::Simulate, run, recording::quality(run, &findings.losses));
    let simulation = convert::simulation(findings);
    report.quality.warnings.extend(warnings(findings, &simulation));
    let verdict = verdict::verdict(&report, findings, &simulation);
    report.verdict = recording::of_reduced(&run.engine) + &verdict;
    report.simulate = Some(simulation);
    report
}

/// What limits what the simulation can say.
fn warnings(findings: &SimulateFindings, simulation: &Simulation) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // Where nothing could be read, the verdict says so.
    if let Some(damage) = findings.damage.as_ref().filter(|_| simulation.total.accesses > 0) {
        let text = format!("Some accesses could not be read, and are missing in the simulation: {damage}.");
        warnings.push(Warning { code: "damaged-accesses".into(), text });
    }
    if let Some(turn) = findings.turn.filter(|turn| *turn >= LONG_TURN && findings.order == Order::Recorded) {
        let text = format!(
            "The threads took turns of {} accesses, because they had too few processors to run at the same time, or waited for each \
             other. Lines are taken only between turns, so a machine with more processors may take many more: --order even simulates that, \
             and --order synchronised does with threads that wait for each other where they did.",
            words::thousands(turn),
        );
        warnings.push(Warning { code: "long-turns".into(), text });
    }
    if let Some(text) = findings.matched.as_ref().and_then(unmatched) {
        warnings.push(Warning { code: "unmatched-synchronisation".into(), text });
    }
    let refused = findings.what_if.as_ref().and_then(|found| found.as_ref().err());
    if let Some(reason) = refused {
        let text = format!("The changed layout was not simulated: {reason}.");
        warnings.push(Warning { code: "what-if".into(), text });
    }
    if let Some(text) = simulation.what_if.as_ref().and_then(|found| what_if::warning(simulation, found)) {
        warnings.push(Warning { code: "cut-accesses".into(), text });
    }
    if let (Some(found), Some(comparison)) = (&findings.comparison, &simulation.compare) {
        warnings.extend(compare::warnings(found, comparison));
    }
    let crowded = simulation.cores.iter().filter(|core| core.threads.len() > 1).count();
    if crowded > 0 {
        let text = format!(
            "{} with several threads, which do not take lines from each other there: see --cores.",
            words::count(crowded, "core"),
        );
        warnings.push(Warning { code: "shared-cores".into(), text });
    }
    warnings
}

/// What the order does not know of who waited for whom.
fn unmatched(matched: &Matched) -> Option<String> {
    match *matched {
        Matched { all: 0, .. } => Some(
            "The trace does not tell who waited for whom: it is of an earlier carom, of another tool, or of a program that uses neither \
             POSIX threads nor the GNU OpenMP runtime. The threads ran at the same speed, and waited for nothing."
                .into(),
        ),
        Matched { unmatched: 0, .. } => None,
        Matched { all, unmatched } => Some(format!(
            "Of {} synchronisations of threads {} have no counterpart, or contradict it, as where a recording begins late or ends early: \
             these keep the recorded order.",
            words::thousands(all),
            words::thousands(unmatched),
        )),
    }
}

impl SimulatedSharing {
    /// Both classes.
    const fn total(&self) -> u64 {
        self.true_sharing + self.false_sharing
    }

    /// The part that is false sharing; 0 where there is none.
    fn false_part(&self) -> f64 {
        part(self.false_sharing, self.total())
    }
}

impl SimulatedMisses {
    /// `coherence`, with the part that it is of all; `None` without misses.
    fn main_class(&self) -> Option<(&'static str, f64)> {
        let classes = [
            ("coherence", self.coherence),
            ("capacity", self.capacity),
            ("conflict", self.conflict),
            ("cold", self.cold),
        ];
        let (name, most) = classes.into_iter().rev().max_by_key(|(_, misses)| *misses)?;
        (most > 0).then(|| (name, part(most, self.total)))
    }
}

/// A part of a whole, 0 where there is none.
fn part(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

impl Section for Simulation {
    fn print(&self, page: &mut Page, _: &Report, names: &ThreadNames, options: &Options) {
        text::print(page, self, names, options);
    }

    fn measured(&self, _: &Report) -> Vec<Row> {
        let Some(machine) = &self.machine else { return Vec::new() };
        let implied = match self.implied_accesses {
            0 => String::new(),
            implied => format!(
                "; {} of them are not in the trace: their basic blocks made them just before others to the same lines",
                words::thousands(implied)
            ),
        };
        vec![
            ("accesses", format!("{}, all simulated{implied}", words::thousands(self.total.accesses))),
            ("machine", text::machine(machine)),
            ("order", self.order.clone()),
            ("cycles", "by usual latencies and without overlap: a model, to rank by".into()),
        ]
    }

    fn in_brief(&self, _: &Report) -> Vec<String> {
        let machine = self.machine.as_ref().map(|machine| format!("on {}", machine.name));
        [
            Some(
                words::count(self.total.accesses as usize, "simulated access").replace("accesss", "accesses"),
            ),
            machine,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn tables(&self, _: &Report, names: &ThreadNames) -> Vec<Row> {
        tables::tables(self, names)
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page.js")]
    }
}
