//! Reduced traces: what is kept, from the options.

use std::{collections::BTreeSet, path::Path};

use carom_base::{AccessKind, Keep, Reduction};
use carom_base_stream::frame::Content;
use carom_base_sys::{
    latency::hit_ticks,
    machine::{CacheKind, Machine},
};
use carom_collect::CodeAddress;
use carom_store::{Recording, StreamFrame};

use super::args::{LossyModel, Mode, TraceArgs};
use crate::failure::Failure;

/// A buffer that fits into the second level, and not into the first: half of it.
const PART_OF_SECOND: u64 = 2;

/// The same of the third: so many times the second level, and no more than a part of the third, since other programs use it,
/// too.
const TIMES_SECOND: u64 = 4;
const PART_OF_THIRD: u64 = 4;

/// Where caches are not known: few second levels are smaller.
const USUAL_SECOND: u64 = 256 << 10;

impl TraceArgs {
    /// Refuses options that belong to another mode.
    ///
    /// # Errors
    /// One sentence, with the option.
    pub fn check_mode(&self) -> Result<(), Failure> {
        let (lossy, targeted) = (self.mode == Mode::Lossy, self.mode == Mode::Targeted);
        let wrong = [
            ("--latency", self.latency.is_some() && self.mode == Mode::Full, "--mode lossy or targeted"),
            ("--sample", self.sample.is_some() && !lossy, "--mode lossy"),
            ("--lossy-model", self.lossy_model.is_some() && !lossy, "--mode lossy"),
            ("--stores", self.stores.is_some() && !targeted, "--mode targeted"),
            ("--targets", self.targets.is_some() && !targeted, "--mode targeted"),
        ];
        match wrong.iter().find(|(_, is, _)| *is) {
            Some((option, _, needs)) => Err(Failure::new(format!("{option} needs {needs}"))),
            None => Ok(()),
        }
    }

    /// What is kept; `None`: everything.
    pub fn reduction(&self) -> Option<Reduction> {
        let keep = match self.mode {
            Mode::Full => return None,
            Mode::Lossy => Keep::Lossy {
                sample: self.sample.unwrap_or(1),
                itanium: self.lossy_model == Some(LossyModel::Itanium),
            },
            Mode::Targeted => Keep::Targeted { stores: self.stores.unwrap_or(1.0) },
        };
        Some(Reduction { latency: self.latency.unwrap_or_else(|| usual_latency(self.mode)), keep })
    }
}

/// What a hit takes on this machine, in ticks: in the second level, or in the third for targeted traces.
fn usual_latency(mode: Mode) -> u32 {
    let caches = Machine::here().caches;
    let size = |level| {
        let of_level =
            caches.iter().filter(|cache| cache.level == level && cache.kind != CacheKind::Instruction);
        of_level.map(|cache| cache.bytes).min()
    };
    let second = size(2).unwrap_or(USUAL_SECOND);
    let of_second = second / PART_OF_SECOND;
    let bytes = match (mode, size(3)) {
        (Mode::Targeted, Some(third)) => (TIMES_SECOND * second).min(third / PART_OF_THIRD).max(of_second),
        _ => of_second,
    };
    hit_ticks(bytes).unwrap_or_default()
}

/// The instructions whose loads a profile keeps, by the files that they are in.
///
/// # Errors
/// Some of it cannot be read.
pub fn targets(dir: &Path) -> Result<Vec<CodeAddress>, Failure> {
    let recording = Recording::open(dir).map_err(Failure::new)?;
    let manifest = recording.manifest();
    let mut found = BTreeSet::new();
    for row in recording.rows::<StreamFrame>() {
        let Ok(frame) = row.map_err(Failure::new)?.decode() else { continue };
        let Content::Batch { accesses, .. } = frame.content else { continue };
        let process = manifest.threads.get(frame.thread.0 as usize).map(|thread| thread.process);
        let loads = accesses.iter().filter(|streamed| streamed.access.kind != AccessKind::Store);
        found.extend(loads.map(|streamed| (process, streamed.access.ip.0)));
    }
    let address = |(process, ip): (Option<carom_base::ProcessId>, u64)| {
        let modules = &manifest.processes.get(process?.0 as usize)?.modules;
        let module = modules.iter().find(|module| (module.low..module.high).contains(&ip))?;
        Some(CodeAddress { path: module.path.clone(), address: ip.wrapping_sub(module.bias) })
    };
    let targets: BTreeSet<CodeAddress> = found.into_iter().filter_map(address).collect();
    Ok(targets.into_iter().collect())
}
