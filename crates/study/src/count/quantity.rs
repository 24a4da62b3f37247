//! What a run counts or uses, as one list of quantities: exact counts of the translated program, what simulated caches did with
//! its accesses, and what a run without carom in it took.

use std::collections::{BTreeMap, BTreeSet};

use carom_store::{Manifest, PmuCount, UsageInfo};

use super::{
    CacheEvent, Event,
    pmu::{self, PmuEvent},
    tracepoint::Tracepoint,
};

/// A quantity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Counted exactly, while the program ran from the code cache.
    Counted(Event),
    /// Counted by simulated caches.
    Simulated(CacheEvent),
    /// What a run without carom in it used.
    Used(Use),
    /// How often a run without carom in it passed a tracepoint of the kernel.
    Passed(Tracepoint),
    /// What PMUs counted in a run without carom in it.
    Pmu(PmuEvent),
}

/// How a quantity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Counted exactly in a run under carom.
    Counted,
    /// Modelled: by simulated caches, from the accesses of a run under carom.
    Simulated,
    /// Measured by the kernel in a run without carom in the program.
    Native,
    /// The same, but it is what the whole machine did meanwhile.
    Machine,
}

/// What a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// From start to end.
    Time,
    /// CPU time of all threads, in user mode.
    UserTime,
    /// CPU time of all threads, in the kernel.
    SystemTime,
    /// The largest resident memory of one of its processes.
    PeakMemory,
    /// Page faults without input or output.
    MinorFaults,
    /// Page faults that waited for a device.
    MajorFaults,
    /// How often it waited.
    VoluntarySwitches,
    /// How often others took its processor.
    InvoluntarySwitches,
    /// Read from devices.
    BytesRead,
    /// Written to devices.
    BytesWritten,
    /// CPU time by the scheduler.
    TaskClock,
    /// Moves to another processor.
    Migrations,
    /// Accesses that the kernel aligned.
    AlignmentFaults,
    /// Instructions that the kernel emulated.
    EmulationFaults,
    /// Calls that read.
    ReadCalls,
    /// Calls that wrote.
    WriteCalls,
    /// Bytes that calls read.
    CallBytesRead,
    /// Bytes that calls wrote.
    CallBytesWritten,
}

impl Use {
    const ALL: [Self; 18] = [
        Self::Time,
        Self::UserTime,
        Self::SystemTime,
        Self::PeakMemory,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::BytesRead,
        Self::BytesWritten,
        Self::TaskClock,
        Self::Migrations,
        Self::AlignmentFaults,
        Self::EmulationFaults,
        Self::ReadCalls,
        Self::WriteCalls,
        Self::CallBytesRead,
        Self::CallBytesWritten,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::UserTime => "user-time",
            Self::SystemTime => "system-time",
            Self::PeakMemory => "peak-memory",
            Self::MinorFaults => "minor-faults",
            Self::MajorFaults => "major-faults",
            Self::VoluntarySwitches => "voluntary-switches",
            Self::InvoluntarySwitches => "involuntary-switches",
            Self::BytesRead => "bytes-read",
            Self::BytesWritten => "bytes-written",
            Self::TaskClock => "task-clock",
            Self::Migrations => "migrations",
            Self::AlignmentFaults => "alignment-faults",
            Self::EmulationFaults => "emulation-faults",
            Self::ReadCalls => "read-calls",
            Self::WriteCalls => "write-calls",
            Self::CallBytesRead => "bytes-read-by-calls",
            Self::CallBytesWritten => "bytes-written-by-calls",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Time | Self::UserTime | Self::SystemTime | Self::TaskClock => "s",
            Self::PeakMemory
            | Self::BytesRead
            | Self::BytesWritten
            | Self::CallBytesRead
            | Self::CallBytesWritten => "bytes",
            Self::MinorFaults | Self::MajorFaults | Self::AlignmentFaults | Self::EmulationFaults => "faults",
            Self::Migrations => "moves",
            Self::ReadCalls | Self::WriteCalls => "calls",
            Self::VoluntarySwitches | Self::InvoluntarySwitches => "switches",
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Time => "from start to end",
            Self::UserTime => "CPU time of all threads, in user mode",
            Self::SystemTime => "CPU time of all threads, in the kernel",
            Self::PeakMemory => "largest resident memory of one of its processes",
            Self::MinorFaults => "page faults without input or output",
            Self::MajorFaults => "page faults that waited for a device",
            Self::VoluntarySwitches => "how often it waited",
            Self::InvoluntarySwitches => "how often others took its processor",
            Self::BytesRead => "read from devices, not from the page cache",
            Self::BytesWritten => "written to devices",
            Self::TaskClock => "CPU time of all threads, by the scheduler (perf)",
            Self::Migrations => "moves of a thread to another processor (perf)",
            Self::AlignmentFaults => "accesses that the kernel had to align (perf)",
            Self::EmulationFaults => "instructions that the kernel had to emulate (perf)",
            Self::ReadCalls => "calls that read from files, pipes and sockets",
            Self::WriteCalls => "calls that wrote to files, pipes and sockets",
            Self::CallBytesRead => "read by calls from files, pipes and sockets, also from the page cache",
            Self::CallBytesWritten => "written by calls to files, pipes and sockets, also to the page cache",
        }
    }

    fn of(self, usage: &UsageInfo) -> Option<f64> {
        /// Bytes of a block (getrusage(2)).
        const BLOCK: f64 = 512.0;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let number = |count: Option<u64>| count.map(|count| count as f64);
        Some(match self {
            Self::Time => seconds(usage.elapsed_ns),
            Self::UserTime => seconds(usage.user_ns),
            Self::SystemTime => seconds(usage.system_ns),
            Self::PeakMemory => return usage.peak_resident_bytes.map(|bytes| bytes as f64),
            Self::MinorFaults => usage.minor_faults as f64,
            Self::MajorFaults => usage.major_faults as f64,
            Self::VoluntarySwitches => usage.voluntary_switches as f64,
            Self::InvoluntarySwitches => usage.involuntary_switches as f64,
            Self::BytesRead => usage.blocks_read as f64 * BLOCK,
            Self::BytesWritten => usage.blocks_written as f64 * BLOCK,
            Self::TaskClock => return usage.task_clock_ns.map(seconds),
            Self::Migrations => return number(usage.migrations),
            Self::AlignmentFaults => return number(usage.alignment_faults),
            Self::EmulationFaults => return number(usage.emulation_faults),
            Self::ReadCalls => return number(usage.read_calls),
            Self::WriteCalls => return number(usage.write_calls),
            Self::CallBytesRead => return number(usage.call_bytes_read),
            Self::CallBytesWritten => return number(usage.call_bytes_written),
        })
    }
}

impl Quantity {
    /// All but tracepoints and events of PMUs, in the order in which reports have them.
    pub fn all() -> impl Iterator<Item = Self> {
        let used = Use::ALL.into_iter().map(Self::Used);
        let counted = Event::ALL.into_iter().map(Self::Counted);
        used.chain(counted).chain(CacheEvent::ALL.into_iter().map(Self::Simulated))
    }

    /// All that these runs may tell of, in the order in which reports have them.
    pub fn of_runs<'a>(runs: impl IntoIterator<Item = &'a Manifest>) -> Vec<Self> {
        let usages: Vec<&UsageInfo> = runs.into_iter().filter_map(|run| run.usage.as_ref()).collect();
        let names: BTreeSet<&String> = usages.iter().flat_map(|usage| usage.tracepoints.keys()).collect();
        let passed = names.into_iter().filter_map(|name| Tracepoint::named(name)).map(Self::Passed);
        let counts: BTreeMap<&String, &PmuCount> = usages.iter().flat_map(|usage| &usage.pmu).collect();
        let pmu =
            counts.into_iter().filter_map(|(name, count)| PmuEvent::counted(name, count)).map(Self::Pmu);
        Self::all().chain(passed).chain(pmu).collect()
    }

    /// The quantity of this name. That of a tracepoint or a PMU need not be one of this machine.
    pub fn from_name(name: &str) -> Option<Self> {
        let known = Self::all().find(|quantity| quantity.name() == name);
        let passed = || Tracepoint::named(name).map(Self::Passed);
        known.or_else(passed).or_else(|| PmuEvent::named(name).map(Self::Pmu))
    }

    /// The stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counted(event) => event.name(),
            Self::Simulated(event) => event.name(),
            Self::Used(what) => what.name(),
            Self::Passed(tracepoint) => tracepoint.name(),
            Self::Pmu(event) => event.name(),
        }
    }

    /// What one of it is.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Counted(event) => event.unit(),
            Self::Simulated(event) => event.unit(),
            Self::Used(what) => what.unit(),
            Self::Passed(_) => "times",
            Self::Pmu(event) => event.unit(),
        }
    }

    /// What it is, in a few words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Counted(event) => event.describe(),
            Self::Simulated(event) => event.describe(),
            Self::Used(what) => what.describe(),
            Self::Passed(_) => "passes of a tracepoint of the kernel (perf)",
            Self::Pmu(_) => "event of a PMU (perf)",
        }
    }

    /// How it is known.
    pub const fn basis(self) -> Basis {
        match self {
            Self::Counted(_) => Basis::Counted,
            Self::Simulated(_) => Basis::Simulated,
            Self::Pmu(event) if event.is_of_machine() => Basis::Machine,
            Self::Used(_) | Self::Passed(_) | Self::Pmu(_) => Basis::Native,
        }
    }

    /// The value in one run; `None` where that run does not tell, or was not asked.
    pub fn of(self, run: &Manifest) -> Option<f64> {
        let asked = run.series.as_ref().map_or(&[][..], |series| &series.events);
        if !asked.is_empty() && !asked.iter().any(|name| name == self.name()) {
            return None;
        }
        let threads = run.threads.iter();
        let sum =
            |values: &mut dyn Iterator<Item = u64>| values.reduce(u64::saturating_add).map(|sum| sum as f64);
        match self {
            Self::Used(what) => what.of(run.usage.as_ref()?),
            Self::Passed(tracepoint) => {
                run.usage.as_ref()?.tracepoints.get(tracepoint.name()).map(|&times| times as f64)
            }
            Self::Pmu(event) => PmuEvent::value(run.usage.as_ref()?.pmu.get(event.name())?),
            Self::Counted(event) => sum(&mut threads.filter_map(|thread| event.of(thread.counts.as_ref()?))),
            Self::Simulated(event) => {
                sum(&mut threads.filter_map(|thread| Some(event.of(thread.simulated.as_ref()?))))
            }
        }
    }

    /// Of an event of a PMU, the part of the time for which it had a counter, in all these runs: below 1 its values are
    /// estimates.
    pub fn time_share<'a>(self, runs: impl IntoIterator<Item = &'a Manifest>) -> Option<f64> {
        let Self::Pmu(event) = self else { return None };
        pmu::time_share(runs.into_iter().filter_map(|run| run.usage.as_ref()?.pmu.get(event.name())))
    }

    /// The values in the runs that tell.
    pub fn in_runs<'a>(self, runs: impl IntoIterator<Item = &'a Manifest>) -> Vec<f64> {
        runs.into_iter().filter_map(|run| self.of(run)).collect()
    }
}

#[cfg(test)]
mod tests {
    use carom_store::{ThreadCounts, ThreadInfo};

    use super::*;

    #[test]
    fn a_run_tells_what_it_counted_or_what_it_used() {
        let thread = |loads| ThreadInfo {
            counts: Some(ThreadCounts { loads, ..ThreadCounts::default() }),
            ..ThreadInfo::default()
        };
        let translated =
            Manifest { threads: vec![thread(Some(3)), thread(None), thread(Some(4))], ..Manifest::default() };
        let usage = UsageInfo { elapsed_ns: 1_500_000_000, blocks_read: 2, ..UsageInfo::default() };
        let native = Manifest { usage: Some(usage), ..Manifest::default() };
        let runs = [&translated, &native];
        let values = |name| Quantity::from_name(name).unwrap().in_runs(runs);
        assert_eq!((values("loads"), values("stores")), (vec![7.0], vec![]));
        assert_eq!((values("time"), values("bytes-read")), (vec![1.5], vec![1024.0]));
        // Less than carom's own: not known.
        assert!(values("peak-memory").is_empty());
        assert_eq!(Quantity::from_name("cycles"), None);
    }

    #[test]
    fn runs_tell_of_the_tracepoints_that_they_counted() {
        let run = |name: &str, times| Manifest {
            usage: Some(UsageInfo { tracepoints: [(name.into(), times)].into(), ..UsageInfo::default() }),
            ..Manifest::default()
        };
        let runs = [run("sched:sched_switch", 3), run("irq:irq_entry", 4), run("no tracepoint", 5)];
        let all = Quantity::of_runs(&runs);
        let passed: Vec<&str> =
            all[Quantity::all().count()..].iter().map(|quantity| quantity.name()).collect();
        assert_eq!(passed, ["irq:irq_entry", "sched:sched_switch"]);
        assert_eq!(all.last().unwrap().in_runs(&runs), [3.0]);
    }

    #[test]
    fn runs_tell_of_the_events_of_pmus_that_they_counted() {
        let count = PmuCount {
            count: 8,
            enabled_ns: 4,
            running_ns: 2,
            scale: 0.5,
            unit: Some("Joules".into()),
            of_machine: true,
        };
        let pmu = [("power/energy-pkg/".into(), count)].into();
        let run = Manifest { usage: Some(UsageInfo { pmu, ..UsageInfo::default() }), ..Manifest::default() };
        let all = Quantity::of_runs([&run]);
        let energy = *all.last().unwrap();
        assert_eq!(
            (energy.name(), energy.unit(), energy.basis()),
            ("power/energy-pkg/", "J", Basis::Machine)
        );
        assert_eq!((energy.of(&run), energy.time_share([&run])), (Some(8.0), Some(0.5)));
        // A limit names it before a run says what it is.
        assert_eq!(Quantity::from_name("power/energy-pkg/"), Some(energy));
    }

    #[test]
    fn names_are_unique() {
        for quantity in Quantity::all() {
            assert_eq!(Quantity::from_name(quantity.name()), Some(quantity));
        }
    }
}
