//! From the findings of `carom phases` to its report.

mod chart;
mod counters;
pub(crate) mod model;

use carom_study::{
    phases::{self, Memory, PhasesFindings},
    recording::Losses,
};

use crate::{
    RunInfo,
    csv::Table,
    model::{Command, Phase, PhaseMemory, Phases, Quality, Real, Report, TracePoint},
    recording,
    section::{Row, Section},
    text::{
        Options,
        page::{Page, Style},
    },
    words::{self, ThreadNames},
};

/// Points of the trace in the report.
const POINTS: usize = 2000;

/// A phase in which memory changes by less than this part of the most there is, is one without a change.
const STEADY: f64 = 0.02;

/// Memory that is further than this part of the most from its line swings.
const SWINGS: f64 = 0.1;

const COLUMN: usize = 14;

/// The report of one recording.
pub fn report(run: &RunInfo, findings: &PhasesFindings) -> Report {
    // From outside all of the run is seen, what comes before `main` as well.
    let quality = Quality { not_covered: Vec::new(), ..recording::quality(run, &Losses::default()) };
    let mut report = Report::new(Command::Phases, run, quality);
    let step = findings.trace.len().div_ceil(POINTS).max(1);
    let point = |&(t, resident, reserved): &(f64, u64, u64)| TracePoint { at_s: Real(t), resident, reserved };
    let told: Vec<Phase> = findings.phases.iter().map(phase).collect();
    let phases = Phases {
        memory: match findings.memory {
            Memory::Resident => PhaseMemory::Resident,
            Memory::Reserved => PhaseMemory::Reserved,
        },
        counters: counters::counters(&findings.counters, &told),
        phases: told,
        trace: findings.trace.iter().step_by(step).map(point).collect(),
        readings: findings.trace.len() as u64,
    };
    report.verdict = format!("{}{}", verdict(&phases), counters::told(&phases));
    report.phases = Some(phases);
    report
}

fn phase(found: &phases::Phase) -> Phase {
    Phase {
        start_s: Real(found.start_s),
        end_s: Real(found.end_s),
        slope_bytes_per_s: Real(found.slope_bytes_per_s),
        first_bytes: Real(found.first_bytes),
        last_bytes: Real(found.last_bytes()),
        deviation_bytes: Real(found.deviation_bytes),
    }
}

impl PhaseMemory {
    /// The word for people.
    const fn name(self) -> &'static str {
        match self {
            Self::Resident => "resident memory",
            Self::Reserved => "reserved memory",
        }
    }
}

impl Phases {
    /// The memory that tells, at one moment.
    fn value(&self, point: &TracePoint) -> u64 {
        match self.memory {
            PhaseMemory::Resident => point.resident,
            PhaseMemory::Reserved => point.reserved,
        }
    }

    fn most(&self) -> u64 {
        self.trace.iter().map(|point| self.value(point)).max().unwrap_or_default()
    }

    /// `grows to 512 MiB (1.4 GiB/s)`, `stays near 121 MiB and swings by 32 MiB`
    fn told(&self, phase: &Phase) -> String {
        let deviation = phase.deviation_bytes.0;
        if deviation < SWINGS * self.most() as f64 {
            return self.trend(phase);
        }
        format!("{} and swings by {}", self.trend(phase), words::approximate_size(deviation))
    }

    /// `grows to 512 MiB (1.4 GiB/s)`
    fn trend(&self, phase: &Phase) -> String {
        let (first, last) = (phase.first_bytes.0.max(0.0), phase.last_bytes.0.max(0.0));
        let speed = words::approximate_size(phase.slope_bytes_per_s.0.abs());
        match last - first {
            change if change.abs() < STEADY * self.most() as f64 => {
                format!("stays near {}", words::approximate_size(f64::midpoint(first, last)))
            }
            change if change > 0.0 => format!("grows to {} ({speed}/s)", words::approximate_size(last)),
            _ => format!("shrinks to {} ({speed}/s)", words::approximate_size(last)),
        }
    }
}

/// `1.2 s`, `35.0 ms`
pub(crate) fn duration(seconds: f64) -> String {
    if seconds >= 1.0 || seconds <= 0.0 {
        words::seconds(seconds)
    } else {
        words::nanoseconds((seconds * 1e9) as u64)
    }
}

/// `Resident memory has 2 phases: for 350.0 ms it grows to 512 MiB (1.4 GiB/s), for 1.2 s it stays near 512 MiB.`
fn verdict(phases: &Phases) -> String {
    /// More phases than these are in the table only.
    const NAMED: usize = 4;
    /// Fewer readings tell nothing.
    const FEW: u64 = 10;
    let memory = phases.memory.name().replacen('r', "R", 1);
    if phases.readings < FEW {
        let readings = words::count(phases.readings as usize, "reading");
        return format!(
            "The program ended after {readings} of its memory: too few to tell phases. `--interval 100us` reads it \
             more often."
        );
    }
    let told = |phase: &Phase| {
        format!("for {} it {}", duration(phase.end_s.0 - phase.start_s.0), phases.told(phase))
    };
    let mut items: Vec<String> = phases.phases.iter().take(NAMED).map(told).collect();
    if phases.phases.len() > NAMED {
        items.push(format!("{} more", phases.phases.len() - NAMED));
    }
    format!("{memory} has {}: {}.", words::count(phases.phases.len(), "phase"), items.join(", "))
}

impl Section for Phases {
    fn print(&self, page: &mut Page, _: &Report, _: &ThreadNames, _: &Options) {
        if self.phases.is_empty() {
            return;
        }
        page.heading(&format!("Phases of {}", self.memory.name()));
        chart::print(page, self);
        page.cell(Style::Dim, "", 4);
        for head in ["from", "to", "memory"] {
            page.cell(Style::Dim, head, COLUMN);
        }
        page.end();
        for (number, phase) in (1..).zip(&self.phases) {
            page.cell(Style::Bold, &number.to_string(), 4);
            page.cell(Style::Plain, &duration(phase.start_s.0), COLUMN);
            page.cell(Style::Plain, &duration(phase.end_s.0), COLUMN);
            page.plain(&self.told(phase)).end();
        }
        counters::print(page, self);
    }

    fn measured(&self, report: &Report) -> Vec<Row> {
        let carom = match report.command {
            Command::Phases => "without carom in the program",
            _ => "the memory of carom in the program included",
        };
        vec![("readings", format!("{} of /proc, {carom}", words::thousands(self.readings)))]
    }

    fn in_brief(&self, _: &Report) -> Vec<String> {
        vec![words::count(self.readings as usize, "reading")]
    }

    fn tables(&self, _: &Report, _: &ThreadNames) -> Vec<Row> {
        let mut phases = Table::default();
        phases.header(&[
            "start_s",
            "end_s",
            "slope_bytes_per_s",
            "first_bytes",
            "last_bytes",
            "deviation_bytes",
        ]);
        for phase in &self.phases {
            phases.number(phase.start_s).number(phase.end_s).number(phase.slope_bytes_per_s);
            phases.number(phase.first_bytes).number(phase.last_bytes).number(phase.deviation_bytes).end();
        }
        let mut trace = Table::default();
        trace.header(&["at_s", "resident", "reserved"]);
        for point in &self.trace {
            trace.number(point.at_s).whole(Some(point.resident)).whole(Some(point.reserved)).end();
        }
        let mut tables = vec![("phases.csv", phases.text), ("memory.csv", trace.text)];
        if !self.counters.is_empty() {
            tables.push(("counters.csv", counters::table(self)));
        }
        tables
    }

    fn scripts(&self) -> &'static [&'static str] {
        &[include_str!("page.js")]
    }
}

#[cfg(test)]
mod tests;
