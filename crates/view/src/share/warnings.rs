//! What a reader of shares and volumes must know.

use carom_study::share::{ShareFindings, Unit};

use crate::{RunInfo, debug_info, model::Warning, named};

/// Warnings that follow from how sharing was looked for.
pub fn of(run: &RunInfo, findings: &ShareFindings) -> Vec<Warning> {
    let frames =
        findings.lines.iter().flat_map(|line| &line.sites).flat_map(|site| &site.frames).map(named::frame);
    let names = debug_info::warning(run, frames);
    unwatched(run, findings).into_iter().chain(names).collect()
}

fn unwatched(run: &RunInfo, findings: &ShareFindings) -> Option<Warning> {
    // By time it is the verdict that says so.
    (findings.unit == Unit::Accesses && run.engine.watchpoints == 0).then(|| Warning {
        code: "no-watchpoints".into(),
        text: "There are no watchpoints, as where perf events are denied: only what two threads were both sampled at \
               was found. Volumes are too low, the more so the smaller the share of a line, rare sharing is missed, \
               and fractions were off by up to 0.04 in simulations. `carom doctor` says what to do."
            .into(),
    })
}
