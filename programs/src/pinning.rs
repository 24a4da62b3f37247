//! The CPU on which each thread runs.

use std::collections::HashMap;
use std::fs;

use clap::ValueEnum;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::error::Error;

/// How threads are placed on the CPUs that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    /// Fill one package before the next, each core once before its hardware threads.
    Compact,
    /// Alternate between packages, each core once before its hardware threads.
    Scatter,
    /// Leave the placement to the kernel.
    None,
}

/// The CPU of each thread; more threads than CPUs begin again at the first. Empty for [`Pinning::None`].
///
/// # Errors
/// Where the kernel does not tell which CPUs may be used.
pub fn plan(pinning: Pinning, threads: usize) -> Result<Vec<usize>, Error> {
    if pinning == Pinning::None {
        return Ok(Vec::new());
    }
    let allowed = sched_getaffinity(None).map_err(Error::ReadAffinity)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).map(Place::read).collect();
    Ok(order(pinning, cpus).into_iter().cycle().take(threads).collect())
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// Where the kernel refuses, for example because the CPU went offline.
pub fn pin(cpu: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|source| Error::SetAffinity { cpu, source })
}

/// The place of a CPU.
#[derive(Clone, Copy)]
struct Place {
    cpu: usize,
    package: usize,
    core: usize,
}

impl Place {
    /// Reads the place from sysfs. Without it (some containers) each CPU counts as a core of package 0.
    fn read(cpu: usize) -> Self {
        let number = |file: &str| {
            let text =
                fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{file}")).ok()?;
            text.trim().parse().ok()
        };
        Self {
            cpu,
            package: number("physical_package_id").unwrap_or(0),
            core: number("core_id").unwrap_or(cpu),
        }
    }
}

/// The CPUs in the order in which threads take them.
fn order(pinning: Pinning, mut places: Vec<Place>) -> Vec<usize> {
    places.sort_by_key(|place| place.cpu);
    // Each with the number of its core's hardware threads that come before it.
    let mut of_core: HashMap<(usize, usize), usize> = HashMap::new();
    let mut ranked: Vec<(Place, usize)> = Vec::with_capacity(places.len());
    for place in places {
        let seen = of_core.entry((place.package, place.core)).or_default();
        ranked.push((place, *seen));
        *seen += 1;
    }
    ranked.sort_by_key(|&(place, sibling)| (place.package, sibling, place.core, place.cpu));
    if pinning == Pinning::Scatter {
        let mut of_package: HashMap<usize, usize> = HashMap::new();
        for (place, turn) in &mut ranked {
            let seen = of_package.entry(place.package).or_default();
            *turn = *seen;
            *seen += 1;
        }
        ranked.sort_by_key(|&(place, turn)| (turn, place.package));
    }
    ranked.into_iter().map(|(place, _)| place.cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores with two hardware threads each, numbered as Linux does on Intel servers:
    ///
    /// ```text
    /// package   0        1
    /// core      0   1    0   1
    /// cpus      0   2    1   3
    ///           4   6    5   7
    /// ```
    fn server() -> Vec<Place> {
        (0..8).map(|cpu| Place { cpu, package: cpu % 2, core: cpu / 2 % 2 }).collect()
    }

    #[test]
    fn compact_fills_a_package_cores_first() {
        assert_eq!(order(Pinning::Compact, server()), [0, 2, 4, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn scatter_alternates_between_packages_cores_first() {
        assert_eq!(order(Pinning::Scatter, server()), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn one_package_keeps_the_kernels_order() {
        let places = |n| (0..n).map(|cpu| Place { cpu, package: 0, core: cpu }).collect();
        assert_eq!(order(Pinning::Compact, places(3)), [0, 1, 2]);
        assert_eq!(order(Pinning::Scatter, places(3)), [0, 1, 2]);
    }
}
