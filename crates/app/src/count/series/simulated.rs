//! Runs whose accesses caches are simulated with.

use std::{path::Path, slice, thread};

use carom_base_sys::machine::Machine;
use carom_collect::{ReuseMethod, ReuseSettings, Settings};
use carom_store::{Recording, replace_accesses};
use carom_study::{count::simulate_caches, recording::Recordings};

use crate::{count::CountArgs, failure::Failure, reuse::Groups};

/// A counted run that keeps every access.
pub fn settings(args: &CountArgs) -> Settings {
    let domains = Groups::of_machine(&Machine::here().caches).domains();
    Settings {
        reuse: Some(ReuseSettings { method: ReuseMethod::Kept, domains }),
        ..super::super::settings(args)
    }
}

/// Simulates with the accesses of the run in `dir`, and keeps the counts in their place.
///
/// # Errors
/// The run cannot be read or written, or the machine cannot be simulated.
pub fn simulate(dir: &Path) -> Result<(), Failure> {
    let run = Recording::open(dir).map_err(Failure::new)?;
    let processors = thread::available_parallelism().ok();
    let found = simulate_caches(&mut Recordings::new(slice::from_ref(&run)), processors);
    let found =
        found.map_err(|error| Failure::new(format!("this machine's caches cannot be simulated: {error}")))?;
    replace_accesses(dir, found.info, &found.threads, &found.places).map_err(Failure::new)
}
