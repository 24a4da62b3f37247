//! Events of processors' models, with their encodings, by libpfm4.

use carom_base_sys::host::pfm::{Pfm, PfmError, PmuEvent};

use super::has;
use crate::failure::Failure;

/// Columns of a name and of an encoding.
const NAME: usize = 56;
const CODE: usize = 12;

/// The events of the model with the pattern in their name or description.
///
/// # Errors
/// The library is not there, does not know the model, or there are no such events.
pub fn list(pattern: &str, name: &str) -> Result<String, Failure> {
    let library = Pfm::open().map_err(Failure::new)?;
    let pmu = library.pmu(name).map_err(|error| Failure::new(with_others(&library, name, &error)))?;
    let events = library.events(&pmu);
    let lines: String = events
        .iter()
        .filter(|event| has(pattern, [event.name.as_str(), event.description.as_str()]))
        .filter_map(|event| line(event, &library))
        .collect();
    if lines.is_empty() {
        return Err(Failure::new(format!("no event of {name} has {pattern:?} in it")));
    }
    let here = if pmu.is_present { "this machine has it" } else { "this machine is another" };
    Ok(format!(
        "{name}: {} ({here}; encodings by libpfm4, as perf stat -e takes them)\n\n{lines}",
        pmu.description
    ))
}

/// Nothing for an event that needs a unit mask: its masks follow.
fn line(event: &PmuEvent, library: &Pfm) -> Option<String> {
    let codes = library.encode(&event.name).ok()?;
    let code = format!("r{:x}", codes.first()?);
    Some(format!(
        "{:<NAME$} {code:<CODE$} {}\n",
        event.name,
        event.description.lines().next().unwrap_or_default()
    ))
}

/// The models whose names have this in them, or all without those of single units outside of the cores.
fn with_others(library: &Pfm, name: &str, error: &PfmError) -> String {
    let all: Vec<String> = library.pmus().into_iter().map(|pmu| pmu.name).collect();
    let similar: Vec<&str> = all.iter().map(String::as_str).filter(|known| has(name, [*known])).collect();
    let cores = || all.iter().map(String::as_str).filter(|name| !name.contains("_unc_")).collect();
    let told: Vec<&str> = if similar.is_empty() { cores() } else { similar };
    format!("{error}; it knows {}", told.join(", "))
}

/// How to list those of a model.
pub fn hint() -> String {
    match Pfm::open() {
        Ok(library) => {
            let pmus = library.pmus();
            let present: Vec<&str> =
                pmus.iter().filter(|pmu| pmu.is_present).map(|pmu| pmu.name.as_str()).collect();
            let here =
                if present.is_empty() { String::new() } else { format!(" (here: {})", present.join(", ")) };
            format!(
                "--pmu NAME lists the events of a model with their encodings; libpfm4 knows {}{here}",
                pmus.len()
            )
        }
        Err(error) => format!("--pmu NAME lists the events of a model: {error}"),
    }
}
