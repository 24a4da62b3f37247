//! The phases of a program, by how its memory grows, and what the kernel counted in each.

mod counters;

use carom_base::Nanos;
use carom_store::{CounterRow, FootprintRow};
use carom_study_stats::{Number, segments};

pub use counters::Counter;

use crate::Study;
use crate::recording::{Recordings, Window};

/// Which memory, and how many phases.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhasesStudy {
    /// The memory that tells.
    pub memory: Memory,
    /// How many; `None` for as many as the data support.
    pub number: Option<usize>,
    /// The shortest, in seconds; `None` for a fiftieth of the run.
    pub shortest_s: Option<f64>,
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// What is in main memory (VmRSS).
    #[default]
    Resident,
    /// Reserved addresses (VmSize).
    Reserved,
}

/// The phases of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhasesFindings {
    /// When the memory was read first.
    pub started: Nanos,
    /// The memory that told.
    pub memory: Memory,
    /// Each moment at which the memory was read, in seconds from the first on, with resident and reserved bytes.
    pub trace: Vec<(f64, u64, u64)>,
    /// The phases, in their order.
    pub phases: Vec<Phase>,
    /// What was counted in them.
    pub counters: Vec<Counter>,
}

/// A time in which memory grows at one speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Its beginning, in seconds.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// The line's value at the beginning, in bytes.
    pub first_bytes: f64,
    /// How fast it grows, in bytes per second.
    pub slope_bytes_per_s: f64,
    /// How far from the line memory is: the root of the mean square, in bytes.
    pub deviation_bytes: f64,
}

impl Phase {
    /// The line's value at the end, in bytes.
    pub fn last_bytes(&self) -> f64 {
        self.first_bytes + self.slope_bytes_per_s * (self.end_s - self.start_s)
    }
}

impl PhasesFindings {
    /// The phases as parts of the run, each time of which is in one of them: the first has what came before the memory was read,
    /// too, and the last what came until the program had ended.
    pub fn windows(&self) -> Vec<Window> {
        let at = |seconds: f64| Nanos(self.started.0.saturating_add((seconds * 1e9).round() as u64));
        let begins =
            std::iter::once(Nanos(0)).chain(self.phases.iter().skip(1).map(|phase| at(phase.start_s)));
        let ends = self.phases.iter().skip(1).map(|next| Some(at(next.start_s))).chain([None]);
        let all = self.phases.iter().zip(begins.zip(ends));
        all.map(|(phase, (from, until))| Window { from, until, seconds: phase.end_s - phase.start_s })
            .collect()
    }
}

/// More phases than a reader can follow are not looked for.
const MOST: usize = 8;

/// Readings of the shortest phase: a line through fewer says little.
const FEWEST: usize = 5;

/// The shortest phase as a part of the run.
const SHORTEST: f64 = 0.02;

impl Study for PhasesStudy {
    type Findings = PhasesFindings;

    fn study(&self, recordings: &mut Recordings<'_>) -> PhasesFindings {
        let rows: Vec<FootprintRow> = recordings.rows().collect();
        let counts: Vec<CounterRow> = recordings.rows().collect();
        let found = self.of(&rows);
        let names = recordings.manifests().first().map_or(&[][..], |(manifest, _)| &manifest.counters);
        let counters = counters::counters(names, &counts, start(&rows), &found.phases);
        PhasesFindings { counters, ..found }
    }
}

impl PhasesStudy {
    fn of(&self, rows: &[FootprintRow]) -> PhasesFindings {
        let start = start(rows);
        let mut trace: Vec<(f64, u64, u64)> =
            rows.iter().map(|row| ((row.time.0 - start) as f64 / 1e9, row.resident, row.reserved)).collect();
        trace.sort_by(|a, b| a.0.total_cmp(&b.0));
        let t: Vec<f64> = trace.iter().map(|(t, ..)| *t).collect();
        let y: Vec<f64> = trace
            .iter()
            .map(|(_, resident, reserved)| match self.memory {
                Memory::Resident => *resident as f64,
                Memory::Reserved => *reserved as f64,
            })
            .collect();
        let length = t.last().copied().unwrap_or_default();
        let part = self.shortest_s.map_or(SHORTEST, |shortest| shortest / length.max(f64::MIN_POSITIVE));
        let shortest = ((part.min(1.0) * t.len() as f64).ceil() as usize).max(FEWEST);
        let number = self.number.map_or(Number::AtMost(MOST), Number::Exactly);
        let at = |index: usize| t.get(index).copied().unwrap_or(length);
        let phases = segments(&t, &y, shortest, number)
            .into_iter()
            .map(|segment| Phase {
                start_s: at(segment.begin),
                end_s: at(segment.end),
                first_bytes: segment.first,
                slope_bytes_per_s: segment.slope,
                deviation_bytes: segment.deviation,
            })
            .collect();
        PhasesFindings { started: Nanos(start), memory: self.memory, trace, phases, counters: Vec::new() }
    }
}

/// The first moment at which the memory was read, in nanoseconds.
fn start(rows: &[FootprintRow]) -> u64 {
    rows.iter().map(|row| row.time.0).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 ms in which 1 MiB comes in each millisecond, then 700 ms without a change; addresses are reserved at once.
    fn rows() -> Vec<FootprintRow> {
        (0..1000)
            .map(|ms: u64| FootprintRow {
                time: Nanos(5_000_000_000 + ms * 1_000_000),
                resident: ms.min(300) << 20,
                reserved: 1 << 30,
            })
            .collect()
    }

    #[test]
    fn growth_and_rest_are_two_phases() {
        let found = PhasesStudy::default().of(&rows());
        let [ramp, rest] = &found.phases[..] else { panic!("{:?}", found.phases) };
        assert!((ramp.end_s - 0.3).abs() < 0.002 && ramp.end_s == rest.start_s, "{ramp:?}");
        assert!((ramp.slope_bytes_per_s / (1000.0 * 1_048_576.0) - 1.0).abs() < 0.01, "{ramp:?}");
        assert!(
            rest.slope_bytes_per_s.abs() < 1e5 && (rest.last_bytes() / (300 << 20) as f64 - 1.0).abs() < 0.01
        );
    }

    #[test]
    fn one_memory_may_rest_while_the_other_grows() {
        let reserved = PhasesStudy { memory: Memory::Reserved, ..PhasesStudy::default() };
        assert_eq!(reserved.of(&rows()).phases.len(), 1);
        let three = PhasesStudy { number: Some(3), ..PhasesStudy::default() };
        assert_eq!(three.of(&rows()).phases.len(), 3);
        assert!(PhasesStudy::default().of(&[]).phases.is_empty());
    }

    #[test]
    fn every_moment_is_in_one_phase() {
        let found = PhasesStudy::default().of(&rows());
        let windows = found.windows();
        let [ramp, rest] = windows[..] else { panic!("{windows:?}") };
        assert_eq!((ramp.from, ramp.until, rest.until), (Nanos(0), Some(rest.from), None));
        assert!(ramp.has(Nanos(5_290_000_000)) && rest.has(Nanos(5_310_000_000)), "{windows:?}");
        assert!((ramp.seconds + rest.seconds - 0.999).abs() < 1e-9, "{windows:?}");
        assert!(PhasesFindings::default().windows().is_empty());
    }
}
