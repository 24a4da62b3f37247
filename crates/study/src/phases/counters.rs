//! What counters of the kernel counted in each phase.

use carom_store::CounterRow;

use super::Phase;

/// A counter over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// A software event, or a tracepoint.
    pub name: String,
    /// What it had counted since the program began, at each moment at which that has changed: in seconds from the first reading of
    /// the memory on. Some counts are a little earlier than that.
    pub trace: Vec<(f64, u64)>,
    /// What it counted in each phase: all of them together have all that it counted.
    pub by_phase: Vec<u64>,
}

impl Counter {
    /// What one of it is, and how many counts of the kernel that is.
    pub fn unit(&self) -> (&'static str, f64) {
        match self.name.as_str() {
            // In nanoseconds.
            "task-clock" => ("s", 1e9),
            _ => ("times", 1.0),
        }
    }
}

/// The counters of these names. `start`: the first reading of the memory, in nanoseconds.
pub fn counters(names: &[String], rows: &[CounterRow], start: u64, phases: &[Phase]) -> Vec<Counter> {
    let counter = |(number, name): (u32, &String)| {
        let mut trace: Vec<(f64, u64)> = rows
            .iter()
            .filter(|row| row.counter == number)
            .map(|row| ((row.time.0 as f64 - start as f64) / 1e9, row.count))
            .collect();
        trace.sort_by(|a, b| a.0.total_cmp(&b.0));
        let by_phase = by_phase(&trace, phases);
        Counter { name: name.clone(), trace, by_phase }
    };
    (0..).zip(names).map(counter).collect()
}

/// The first phase has what was counted before it, too, and the last what was counted until the program had ended.
fn by_phase(trace: &[(f64, u64)], phases: &[Phase]) -> Vec<u64> {
    let until = |end: f64| trace.get(..trace.partition_point(|(at, _)| *at <= end)).and_then(<[_]>::last);
    let mut before = 0;
    let ends = phases.iter().skip(1).map(|next| next.start_s).chain([f64::INFINITY]);
    phases
        .iter()
        .zip(ends)
        .map(|(_, end)| {
            let now = until(end).map_or(0, |(_, count)| *count);
            let counted = now.saturating_sub(before);
            before = now.max(before);
            counted
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use carom_base::Nanos;

    use super::*;

    fn phase(start_s: f64, end_s: f64) -> Phase {
        Phase { start_s, end_s, first_bytes: 0.0, slope_bytes_per_s: 0.0, deviation_bytes: 0.0 }
    }

    #[test]
    fn all_phases_together_have_all_that_was_counted() {
        let start: u64 = 7_000_000_000;
        let row = |ms: i64, counter, count| CounterRow {
            time: Nanos(start.saturating_add_signed(ms * 1_000_000)),
            counter,
            count,
        };
        let rows = [
            // A moment before memory was read.
            row(-1, 1, 5),
            row(1, 1, 9),
            row(300, 1, 100),
            row(301, 1, 101),
            // When the program had ended.
            row(1001, 1, 110),
        ];
        let names = ["context-switches", "page-faults"].map(str::to_owned);
        let found = counters(&names, &rows, start, &[phase(0.0, 0.3), phase(0.3, 0.6), phase(0.6, 1.0)]);
        assert_eq!(found[0].by_phase, [0, 0, 0]);
        assert_eq!(found[1].by_phase, [100, 1, 9]);
        assert_eq!((found[1].trace[0], found[1].trace.len()), ((-0.001, 5), 5));
        assert!(counters(&names, &rows, start, &[])[1].by_phase.is_empty());
    }
}
