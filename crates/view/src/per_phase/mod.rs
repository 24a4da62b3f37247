//! From reports on the phases of a run to their part of the report on the whole.

pub(crate) mod model;

use crate::{
    RunInfo,
    csv::Table,
    model::{PhaseAnswer, PhaseAnswers, Real, Report},
    phases::duration,
    section::{Row, Section},
    text::{
        Options,
        page::{Page, Style},
    },
    words::ThreadNames,
};

/// What a report on a part of a run needs to know of the run: as if it had taken these seconds.
pub fn part_of(run: &RunInfo, seconds: f64) -> RunInfo {
    let mut part = run.clone();
    part.program.wall_s = Real(seconds);
    part
}

/// Adds to the report on a whole run that on its phases, and what each of `parts`, in their order, says of one.
pub fn add(whole: &mut Report, phases: Report, parts: Vec<Report>) {
    let found = phases.phases.iter().flat_map(|phases| &phases.phases);
    let answers = found.zip(parts).map(|(phase, part)| PhaseAnswer {
        phase: *phase,
        verdict: part.verdict,
        samples: part.quality.samples,
        events: part.quality.events,
        share: part.share,
        reuse: part.reuse,
    });
    whole.per_phase = Some(PhaseAnswers(answers.collect()));
    whole.phases = phases.phases;
}

impl PhaseAnswer {
    fn sections(&self) -> impl Iterator<Item = &dyn Section> {
        let share = self.share.as_ref().map(|share| share as &dyn Section);
        share.into_iter().chain(self.reuse.as_ref().map(|reuse| reuse as &dyn Section))
    }
}

impl Section for PhaseAnswers {
    fn print(&self, page: &mut Page, report: &Report, names: &ThreadNames, options: &Options) {
        page.heading("In each phase");
        for (number, answer) in (1..).zip(&self.0) {
            let phase = &answer.phase;
            let lead = format!("{number}   {} to {}: ", duration(phase.start_s.0), duration(phase.end_s.0));
            page.indented(Style::Plain, 0, &lead, &answer.verdict);
            for section in answer.sections() {
                for row in section.summary().into_iter().take(options.lines) {
                    page.indented(Style::Plain, 4, "", &row);
                }
                if options.verbose {
                    section.print(page, report, names, options);
                    page.end();
                }
            }
        }
    }

    fn measured(&self, _: &Report) -> Vec<Row> {
        Vec::new()
    }

    fn in_brief(&self, _: &Report) -> Vec<String> {
        Vec::new()
    }

    fn tables(&self, _: &Report, _: &ThreadNames) -> Vec<Row> {
        let mut table = Table::default();
        table.header(&["phase", "start_s", "end_s", "slope_bytes_per_s", "samples", "events", "verdict"]);
        for (number, answer) in (1..).zip(&self.0) {
            let phase = &answer.phase;
            table
                .whole(Some(number))
                .number(phase.start_s)
                .number(phase.end_s)
                .number(phase.slope_bytes_per_s);
            table.whole(Some(answer.samples)).whole(Some(answer.events)).name(&answer.verdict).end();
        }
        vec![("per-phase.csv", table.text)]
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page.js")]
    }
}

#[cfg(test)]
mod tests;
