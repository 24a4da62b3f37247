//! Reduced traces: what is kept, from the options.

use std::{collections::BTreeSet, path::Path};

use carom_base::{AccessKind, Keep, Reduction};
use carom_base_stream::frame::Content;
use carom_base_sys::{
    latency::{hit_ticks, tick_step},
    machine::{CacheKind, Machine},
};
use carom_collect::CodeAddress;
use carom_store::{Recording, StreamFrame};

use super::args::{LossyModel, Mode, TraceArgs};
use crate::{failure::Failure, options::OutputArgs};

/// A buffer that fits into the second level, and not into the first: half of it.
const PART_OF_SECOND: u64 = 2;

/// The same of the third: so many times the second level, and no more than a part of the third, since other programs use it,
/// too.
const TIMES_SECOND: u64 = 4;
const PART_OF_THIRD: u64 = 4;

/// Where caches are not known: few second levels are smaller.
const USUAL_SECOND: u64 = 256 << 10;

/// What hits of a level take, in ticks of the time-stamp counter. (Intel 64 and IA-32 Architectures Optimization Reference Manual,
/// parameters of the caches of Skylake Server: 14 cycles of L2, 50 to 70 of L3. Large meshes take twice that; counters tick more or
/// less often than cores, and some in steps of 25, so that a hit of L2 takes one or many.)
struct Level {
    name: &'static str,
    /// What is measured outside of these is no hit: other programs use the cache, or the processor, too.
    least: u32,
    most: u32,
    /// What is taken in its place.
    usual: u32,
}

const SECOND: Level = Level { name: "L2", least: 1, most: 40, usual: 20 };
const THIRD: Level = Level { name: "L3", least: 15, most: 150, usual: 70 };

impl TraceArgs {
    /// Refuses options that belong to another mode.
    ///
    /// # Errors
    /// One sentence, with the option.
    pub fn check_mode(&self) -> Result<(), Failure> {
        let (lossy, targeted) = (self.mode == Mode::Lossy, self.mode == Mode::Targeted);
        let OutputArgs { json, html, sarif, csv, verbose, .. } = &self.report;
        let reports = json.is_some() || html.is_some() || sarif.is_some() || csv.is_some() || *verbose;
        let wrong = [
            (
                "a report",
                reports && self.simulate.is_none(),
                "--simulate; carom simulate PROFILE reports on a trace",
            ),
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
        Some(Reduction { latency: self.latency.unwrap_or_else(|| self.usual_latency()), keep })
    }

    /// What a hit takes on this machine, in ticks: in the second level, or in the third for targeted traces.
    fn usual_latency(&self) -> u32 {
        let caches = Machine::here().caches;
        let size = |level| {
            let of_level =
                caches.iter().filter(|cache| cache.level == level && cache.kind != CacheKind::Instruction);
            of_level.map(|cache| cache.bytes).min()
        };
        let second = size(2).unwrap_or(USUAL_SECOND);
        let of_second = second / PART_OF_SECOND;
        let (level, bytes) = match (self.mode, size(3)) {
            (Mode::Targeted, Some(third)) => {
                (THIRD, (TIMES_SECOND * second).min(third / PART_OF_THIRD).max(of_second))
            }
            _ => (SECOND, of_second),
        };
        // Where the counter ticks in long steps, a hit of the first level may seem to take one, which may be one longer.
        let (latency, doubt) = level.judge(hit_ticks(bytes), tick_step() + 1);
        if let Some(doubt) = doubt.filter(|_| !self.report.quiet) {
            eprintln!("carom: {doubt}");
        }
        latency
    }
}

impl Level {
    /// What is taken for a hit's latency where this was measured, and why, where it is no usual latency. `shortest`: what can
    /// be told from none.
    fn judge(&self, measured: Option<u32>, shortest: u32) -> (u32, Option<String>) {
        let Self { name, least, most, usual } = *self;
        let usual = usual.max(shortest);
        let measured = match measured {
            Some(ticks) if (least..=most).contains(&ticks) => return (ticks.max(shortest), None),
            Some(ticks) => format!("were measured as {ticks} cycles, where {least} to {most} are usual"),
            None => "could not be measured".into(),
        };
        let doubt = format!(
            "loads that hit {name} {measured}; is the machine busy? {usual} cycles are taken for them; --latency CYCLES says \
             otherwise"
        );
        (usual, Some(doubt))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_hit_is_not_taken_for_one() {
        assert_eq!(THIRD.judge(Some(49), 1), (49, None));
        assert_eq!(SECOND.judge(Some(14), 1), (14, None));
        // The counter ticks in steps of 24: what is said is what is taken.
        assert_eq!(SECOND.judge(Some(14), 25), (25, None));
        let (latency, doubt) = SECOND.judge(Some(60), 25);
        assert_eq!(latency, 25);
        assert!(doubt.unwrap().contains("25 cycles are taken"));
        for (measured, said) in
            [(Some(588), "588 cycles, where 15 to 150"), (Some(0), "0 cycles"), (None, "could not")]
        {
            let (latency, doubt) = THIRD.judge(measured, 25);
            assert_eq!(latency, 70);
            assert!(doubt.unwrap().contains(said));
        }
    }
}
