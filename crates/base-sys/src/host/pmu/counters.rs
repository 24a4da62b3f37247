//! Counters of PMU events for a program.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use perf_event_open_sys::bindings as perf;

use super::{PmuError, PmuEvent, event::Code};
use crate::{
    door::{Call, call},
    error::SysError,
};

/// What an event has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PmuReading {
    /// Its count, as the counters had it.
    pub count: u64,
    /// Nanoseconds for which it was to count, over all threads or processors.
    pub enabled_ns: u64,
    /// Those of them for which it had a counter.
    pub running_ns: u64,
}

impl PmuReading {
    fn sum(self, other: Self) -> Self {
        Self {
            count: self.count.wrapping_add(other.count),
            enabled_ns: self.enabled_ns.saturating_add(other.enabled_ns),
            running_ns: self.running_ns.saturating_add(other.running_ns),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            count: self.count.wrapping_sub(before.count),
            enabled_ns: self.enabled_ns.saturating_sub(before.enabled_ns),
            running_ns: self.running_ns.saturating_sub(before.running_ns),
        }
    }
}

/// For whom, and until when, counters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The calling thread, from now on.
    ThisThread,
    /// The next program that the calling thread starts, with its children.
    NextChild,
}

/// Open counters. Those of the machine count at once.
#[derive(Debug, Default)]
pub struct PmuCounters(Vec<Counter>);

#[derive(Debug)]
struct Counter {
    event: PmuEvent,
    /// With what each had counted at the beginning.
    files: Vec<(File, PmuReading)>,
}

impl PmuCounters {
    /// Opens events that count together, all the time or never: they fit the counters (see [`groups`](super::groups)).
    ///
    /// # Errors
    /// [`PmuError::Refused`].
    pub fn group(events: &[PmuEvent]) -> Result<Self, PmuError> {
        Self::open(events, Whom::NextChild, true)
    }

    /// Opens events that take turns where there are more of them than counters.
    ///
    /// # Errors
    /// [`PmuError::Refused`].
    pub fn in_turns(events: &[PmuEvent]) -> Result<Self, PmuError> {
        Self::open(events, Whom::NextChild, false)
    }

    pub(super) fn open(events: &[PmuEvent], whom: Whom, together: bool) -> Result<Self, PmuError> {
        let mut first = BTreeMap::new();
        let mut counters = Vec::new();
        for event in events {
            let refused = |source| PmuError::Refused {
                name: event.name.clone(),
                source,
                of_machine: event.is_of_machine(),
            };
            let mut files = Vec::new();
            for (code, cpu) in event.codes.iter().flat_map(places) {
                let group = first.get(&(unit(code.kind), cpu)).copied().filter(|_| together);
                let file = open_one(code, cpu, whom, group).map_err(refused)?;
                first.entry((unit(code.kind), cpu)).or_insert(file.as_raw_fd());
                files.push((file, PmuReading::default()));
            }
            counters.push(Counter { event: event.clone(), files });
        }
        Ok(Self(counters))
    }

    /// Lets the first events of groups begin, in [`Whom::ThisThread`]; the others follow them.
    pub(super) fn enable(&self) -> Result<(), SysError> {
        for (file, _) in self.0.iter().flat_map(|counter| &counter.files) {
            call(Call::Ioctl { fd: file.as_raw_fd(), request: perf::ENABLE, argument: 0 })?;
        }
        Ok(())
    }

    /// The program starts now: what the machine did until here is not counted. Counters in threads begin by themselves.
    pub fn begin(&mut self) {
        for (file, before) in self.0.iter_mut().flat_map(|counter| &mut counter.files) {
            *before = read(file).unwrap_or_default();
        }
    }

    /// What each event has counted since, where the kernel says.
    pub fn read(&mut self) -> Vec<(PmuEvent, PmuReading)> {
        let of = |counter: &mut Counter| {
            let mut sum = PmuReading::default();
            for (file, before) in &mut counter.files {
                sum = sum.sum(read(file)?.since(*before));
            }
            Some((counter.event.clone(), sum))
        };
        self.0.iter_mut().filter_map(of).collect()
    }
}

/// Where a code is counted.
fn places(code: &Code) -> Vec<(&Code, i32)> {
    match code.cpus.as_slice() {
        [] => vec![(code, -1)],
        cpus => cpus.iter().map(|cpu| (code, *cpu as i32)).collect(),
    }
}

/// The PMU of an event type: the processor's has three of them.
const fn unit(kind: u32) -> u32 {
    match kind {
        perf::PERF_TYPE_HARDWARE | perf::PERF_TYPE_HW_CACHE => perf::PERF_TYPE_RAW,
        kind => kind,
    }
}

/// In a group, the first event decides when all count.
fn open_one(code: &Code, cpu: i32, whom: Whom, group: Option<i32>) -> Result<File, SysError> {
    let mut attr = code.attr();
    attr.read_format = u64::from(perf::PERF_FORMAT_TOTAL_TIME_ENABLED | perf::PERF_FORMAT_TOTAL_TIME_RUNNING);
    let of_machine = cpu >= 0;
    attr.set_disabled(u64::from(group.is_none() && !(of_machine && whom == Whom::NextChild)));
    if !of_machine && whom == Whom::NextChild {
        attr.set_inherit(1);
        attr.set_enable_on_exec(u64::from(group.is_none()));
    }
    let thread = if of_machine { -1 } else { 0 };
    let fd = call(Call::Open { attr: &mut attr, thread, cpu, group: group.unwrap_or(-1) })?;
    // SAFETY: opened just now, owned by nobody else.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

fn read(file: &mut File) -> Option<PmuReading> {
    let mut words = [[0; 8]; 3];
    file.read_exact(words.as_flattened_mut()).ok()?;
    let [count, enabled_ns, running_ns] = words.map(u64::from_ne_bytes);
    Some(PmuReading { count, enabled_ns, running_ns })
}
