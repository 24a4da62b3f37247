use std::cell::RefCell;
use std::collections::BTreeMap;

use carom_base::Cpu;
use carom_store::{CpuInfo, Manifest, Recording, Row};

use super::{Input, Losses, ThreadEntry};

/// Processors of a machine whose topology is not in the recording: the most that x86-64 kernels support, so
/// that merged machines keep apart.
const MOST_CPUS: u32 = 8192;

/// A recording on disk, whose rows are read anew for each pass.
pub struct Recorded<'a> {
    recording: &'a Recording,
    threads: Vec<ThreadEntry>,
    cores: BTreeMap<Cpu, u32>,
    /// By the kind of row, so that a second pass counts nothing twice.
    unreadable: RefCell<BTreeMap<&'static str, u64>>,
}

impl<'a> Recorded<'a> {
    /// Prepares the study of `recording`.
    pub fn new(recording: &'a Recording) -> Self {
        let manifest = recording.manifest();
        let threads = manifest.threads.iter();
        let threads = threads.map(|thread| ThreadEntry::new(thread.id, thread.process)).collect();
        Self { recording, threads, cores: cores(&manifest.machine.cpus), unreadable: RefCell::default() }
    }

    /// The recording.
    pub(super) fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// Its manifest.
    pub fn manifest(&self) -> &'a Manifest {
        self.recording.manifest()
    }

    /// The core that a logical processor belongs to: equal numbers are hardware threads of one core. `None`
    /// where the recording does not say.
    pub fn core_of(&self, cpu: Cpu) -> Option<u32> {
        self.cores.get(&cpu).copied()
    }

    /// Damaged chunks and unreadable files that were met since the last call. Their rows are missing from the findings,
    /// and the report must say so.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.take().values().sum()
    }

    /// The rows of one kind that can be read; others are counted as unreadable.
    pub fn rows<R: Row>(&self) -> Box<dyn Iterator<Item = R> + '_> {
        let mut met = 0;
        Box::new(self.recording.rows::<R>().filter_map(move |row| {
            if row.is_err() {
                met += 1;
                let mut unreadable = self.unreadable.borrow_mut();
                let known = unreadable.entry(std::any::type_name::<R>()).or_default();
                *known = met.max(*known);
            }
            row.ok()
        }))
    }
}

/// Core numbers repeat from package to package; these do not. At most as many as processors.
fn cores(cpus: &[CpuInfo]) -> BTreeMap<Cpu, u32> {
    let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    cpus.iter()
        .map(|info| {
            let next = numbers.len() as u32;
            (info.cpu, *numbers.entry((info.package, info.core)).or_insert(next))
        })
        .collect()
}

impl Input for Recorded<'_> {
    fn threads(&self) -> &[ThreadEntry] {
        &self.threads
    }

    fn processes(&self) -> u32 {
        self.manifest().processes.len() as u32
    }

    fn cpus(&self) -> u32 {
        self.cores.last_key_value().map_or(MOST_CPUS, |(cpu, _)| cpu.0.saturating_add(1))
    }

    fn machine(&self) -> Option<&str> {
        self.manifest().machine.hostname.as_deref()
    }

    fn seconds(&self) -> f64 {
        self.manifest().wall_s
    }

    fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for thread in &self.manifest().threads {
            losses.counters += thread.counters;
        }
        for process in &self.manifest().processes {
            losses += Losses { unprofiled_threads: process.unprofiled_threads, ..Losses::default() };
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_core_numbers_of_two_packages_are_two_cores() {
        let cpu = |cpu, package| CpuInfo { cpu: Cpu(cpu), core: 0, package, node: 0 };
        let cores = cores(&[cpu(0, 0), cpu(1, 0), cpu(2, 1)]);
        assert_eq!(cores, BTreeMap::from([(Cpu(0), 0), (Cpu(1), 0), (Cpu(2), 1)]));
    }
}
