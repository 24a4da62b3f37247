//! What the kernel counts of a program from outside of it: software events of perf, and the calls by which it read and wrote.

use std::{
    fs::File,
    io::Read,
    os::fd::{FromRawFd, OwnedFd},
};

use perf_event_open_sys::bindings as perf;
use perf_event_open_sys::bindings::perf_event_attr;

use crate::{
    door::{Call, call},
    error::SysError,
};

/// A software event of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEvent {
    /// CPU time in nanoseconds.
    TaskClock,
    /// Moves to another processor.
    Migrations,
    /// Accesses that the kernel had to align.
    AlignmentFaults,
    /// Instructions that the kernel had to emulate.
    EmulationFaults,
    /// Page faults.
    PageFaults,
    /// Those without input or output.
    MinorFaults,
    /// Those that waited for a device.
    MajorFaults,
    /// Changes to another thread, or to none.
    ContextSwitches,
}

impl KernelEvent {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::PageFaults,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::ContextSwitches,
        Self::Migrations,
        Self::AlignmentFaults,
        Self::EmulationFaults,
        Self::TaskClock,
    ];

    /// Those that `getrusage` does not tell of a process that has ended.
    const BESIDE_USAGE: [Self; 4] =
        [Self::TaskClock, Self::Migrations, Self::AlignmentFaults, Self::EmulationFaults];

    /// The stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TaskClock => "task-clock",
            Self::Migrations => "migrations",
            Self::AlignmentFaults => "alignment-faults",
            Self::EmulationFaults => "emulation-faults",
            Self::PageFaults => "page-faults",
            Self::MinorFaults => "minor-faults",
            Self::MajorFaults => "major-faults",
            Self::ContextSwitches => "context-switches",
        }
    }

    /// The event of this name. `perf` has another one for migrations.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "cpu-migrations" { Self::Migrations.name() } else { name };
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// From `linux/perf_event.h`.
    const fn config(self) -> u64 {
        (match self {
            Self::TaskClock => perf::PERF_COUNT_SW_TASK_CLOCK,
            Self::Migrations => perf::PERF_COUNT_SW_CPU_MIGRATIONS,
            Self::AlignmentFaults => perf::PERF_COUNT_SW_ALIGNMENT_FAULTS,
            Self::EmulationFaults => perf::PERF_COUNT_SW_EMULATION_FAULTS,
            Self::PageFaults => perf::PERF_COUNT_SW_PAGE_FAULTS,
            Self::MinorFaults => perf::PERF_COUNT_SW_PAGE_FAULTS_MIN,
            Self::MajorFaults => perf::PERF_COUNT_SW_PAGE_FAULTS_MAJ,
            Self::ContextSwitches => perf::PERF_COUNT_SW_CONTEXT_SWITCHES,
        }) as u64
    }
}

/// Counters that the next program which the calling thread starts inherits, and that begin when it is executed. They count in
/// its children too.
#[derive(Debug)]
pub struct KernelCounters(Vec<(KernelEvent, File)>);

impl KernelCounters {
    /// Opens every event that may be opened: none in most containers, where perf_event_open is denied.
    pub fn for_next_child() -> Self {
        let open = |event: KernelEvent| Some((event, open_event(event).ok()?));
        Self(KernelEvent::BESIDE_USAGE.into_iter().filter_map(open).collect())
    }

    /// The count of the children that were started since, where it was counted.
    pub fn read(&mut self, event: KernelEvent) -> Option<u64> {
        let (_, file) = self.0.iter_mut().find(|(known, _)| *known == event)?;
        let mut count = [0; 8];
        file.read_exact(&mut count).ok()?;
        Some(u64::from_ne_bytes(count))
    }
}

/// A counter of a software event.
pub(super) fn open_event(event: KernelEvent) -> Result<File, SysError> {
    open(perf::PERF_TYPE_SOFTWARE, event.config()).map(File::from)
}

/// A counter of the calling thread's next child, which begins when a program is executed.
pub(super) fn open(type_: u32, config: u64) -> Result<OwnedFd, SysError> {
    let mut attr =
        perf_event_attr { type_, size: size_of::<perf_event_attr>() as u32, config, ..Default::default() };
    attr.set_disabled(1);
    attr.set_inherit(1);
    attr.set_enable_on_exec(1);
    // These events happen in the kernel. Without it they would be 0, and not unknown.
    let fd = call(Call::Open { attr: &mut attr, thread: 0, cpu: -1, group: -1 })?;
    // SAFETY: opened just now, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Calls that read and write files, pipes and sockets, whether devices were asked or not (proc_pid_io(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InOut {
    /// Calls that read.
    pub read_calls: u64,
    /// Calls that wrote.
    pub write_calls: u64,
    /// Bytes that they read.
    pub bytes_read: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
}

/// How much the process, and the children that it waited for, had read and written at some time.
#[derive(Clone, Copy, Debug)]
pub struct InOutMark {
    total: InOut,
    /// Bytes that were read to know this, which the kernel counts too.
    own: u64,
}

impl InOutMark {
    /// Now; `None` where the kernel does not count it.
    pub fn now() -> Option<Self> {
        let mut text = [0; 512];
        // One call, whose cost is known.
        let read = File::open("/proc/self/io").ok()?.read(&mut text).ok()?;
        let text = std::str::from_utf8(text.get(..read)?).ok()?;
        Some(Self { total: parse(text)?, own: read as u64 })
    }

    /// What was read and written since, by children that were waited for and by the process itself.
    pub fn since(&self) -> Option<InOut> {
        let now = Self::now()?.total;
        let from = |now: u64, then: u64| now.saturating_sub(then);
        Some(InOut {
            read_calls: from(now.read_calls, self.total.read_calls + 1),
            write_calls: from(now.write_calls, self.total.write_calls),
            bytes_read: from(now.bytes_read, self.total.bytes_read + self.own),
            bytes_written: from(now.bytes_written, self.total.bytes_written),
        })
    }
}

fn parse(text: &str) -> Option<InOut> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(InOut {
        read_calls: value("syscr:")?,
        write_calls: value("syscw:")?,
        bytes_read: value("rchar:")?,
        bytes_written: value("wchar:")?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::child;

    /// The test runs in a process of its own (cargo-nextest), so nobody else reads or writes; with `cargo test`, others may.
    #[test]
    fn what_a_child_reads_and_writes_is_counted_with_its_children() {
        let before = InOutMark::now().unwrap();
        // 7 MiB through a pipe: written once and read once more than from the device.
        let program = "head -c 7340032 /dev/zero | tail -c 1 >/dev/null";
        child::wait(Command::new("sh").args(["-c", program]).spawn().unwrap()).unwrap();
        let used = before.since().unwrap();
        assert!((14_680_064..16_000_000).contains(&used.bytes_read), "{used:?}");
        assert!((7_340_032..8_000_000).contains(&used.bytes_written), "{used:?}");
        assert!(used.read_calls > 2 && used.write_calls > 1, "{used:?}");
    }

    #[test]
    fn cpu_time_is_that_of_the_child_and_of_its_children() {
        let mut counters = KernelCounters::for_next_child();
        // Of this thread, in which the counters do not run.
        (0..2_000_000_u64).map(std::hint::black_box).for_each(drop);
        let program = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; (i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done)";
        let (_, usage) = child::wait(Command::new("sh").args(["-c", program]).spawn().unwrap()).unwrap();
        let Some(ns) = counters.read(KernelEvent::TaskClock) else {
            println!("skipped: perf-events: no software events here");
            return;
        };
        let all = usage.user_ns + usage.system_ns;
        // Before it is executed a child runs for a moment, and the kernel may count CPU time by ticks of 4 ms.
        assert!(ns.abs_diff(all) < all / 4 + 8_000_000, "{ns} {all}");
        assert!(counters.read(KernelEvent::Migrations).is_some());
    }
}
