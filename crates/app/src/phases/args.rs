//! Options.

use std::time::Duration;

use carom_base_sys::host::kernel_counters::KernelEvent;
use carom_study::phases::{Memory, PhasesStudy};
use clap::{Args, ValueEnum};

use crate::options::{OutputArgs, ProgramArgs};

const EXAMPLES: &str = "Examples:
  carom phases ./app
  carom phases --phases 2 --memory reserved ./app     ramp-up and computation
  carom phases --html phases.html python3 train.py
  carom phases -e page-faults,context-switches ./app          what the kernel counts in each phase

The program's output and exit status stay its own; the report goes to standard error.";

/// `carom phases`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PhasesArgs {
    /// Time between two readings of the memory: a number with us, ms or s
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = interval)]
    pub interval: Duration,
    /// Read these counters of the kernel with the memory: page-faults, minor-faults, major-faults, context-switches, migrations,
    /// alignment-faults, emulation-faults, task-clock, or tracepoints, such as sched:sched_wakeup
    #[arg(short, long, value_name = "EVENTS", value_delimiter = ',', value_parser = counter)]
    pub events: Vec<String>,
    /// How phases are told.
    #[command(flatten)]
    pub layout: PhasesLayout,
    /// Where the report goes.
    #[command(flatten)]
    pub report: OutputArgs,
    /// What to run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// How phases are told from each other.
#[derive(Debug, Args)]
pub struct PhasesLayout {
    /// Tell this many phases [default: as many as the data support]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub phases: Option<u32>,
    /// The memory that tells them
    #[arg(long, value_enum, default_value_t = MemoryChoice::Resident, value_name = "WHICH")]
    pub memory: MemoryChoice,
    /// The shortest phase: a number with us, ms or s [default: a fiftieth of the run]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub shortest: Option<Duration>,
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryChoice {
    /// What is in main memory (VmRSS)
    Resident,
    /// Reserved addresses (VmSize)
    Reserved,
}

impl PhasesLayout {
    /// The study that was asked for.
    pub fn study(&self) -> PhasesStudy {
        PhasesStudy {
            memory: match self.memory {
                MemoryChoice::Resident => Memory::Resident,
                MemoryChoice::Reserved => Memory::Reserved,
            },
            number: self.phases.map(|phases| phases as usize),
            shortest_s: self.shortest.map(|shortest| shortest.as_secs_f64()),
        }
    }
}

/// The name of a software event, or one that may be that of a tracepoint.
fn counter(name: &str) -> Result<String, String> {
    match KernelEvent::from_name(name) {
        Some(event) => Ok(event.name().to_owned()),
        None if name.contains(':') => Ok(name.to_owned()),
        None => {
            let all = KernelEvent::ALL.map(KernelEvent::name).join(", ");
            Err(format!("the kernel's counters are {all}, and tracepoints as subsystem:event"))
        }
    }
}

/// From 100 us to a minute.
fn interval(text: &str) -> Result<Duration, String> {
    // In nanoseconds all bounds are whole numbers: 100 times 1e-6 is less than 1e-4.
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)))
        .ok_or("needs a unit: us, ms or s")?;
    let ns = number.trim().parse::<f64>().map_err(|_| "not a number".to_owned())? * scale;
    if (1e5..=6e10).contains(&ns) {
        Ok(Duration::from_nanos(ns as u64))
    } else {
        Err("must be between 100us and 60s".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_known_or_tracepoints() {
        assert_eq!(counter("page-faults"), Ok("page-faults".to_owned()));
        assert_eq!(counter("cpu-migrations"), Ok("migrations".to_owned()));
        assert_eq!(counter("sched:sched_switch"), Ok("sched:sched_switch".to_owned()));
        assert!(counter("cycles").is_err_and(|text| text.contains("context-switches")));
    }

    #[test]
    fn intervals_have_units_and_bounds() {
        assert_eq!(interval("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(interval("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(interval("2s"), Ok(Duration::from_secs(2)));
        for bad in ["1", "1us", "2h", "x ms", "61s"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
