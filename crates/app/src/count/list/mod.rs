//! `--list`: the events, those that this machine's kernel has names for, and those of other models.

mod models;

use carom_base_sys::{
    host::tracepoints::tracepoints,
    machine::{Root, kernel_events},
    probe::{Facts, Probes, Support},
};
use carom_study::count::{Basis, Quantity};

use crate::{
    failure::{End, Failure},
    output,
};

/// Columns of a name and of what stands beside it.
const NAME: usize = 24;
const BESIDE: usize = 14;

/// Prints the events with this in their name or description, in any case; all where it is empty. With `pmu`, those of that model.
///
/// # Errors
/// There are none, or they cannot be printed.
pub fn list(pattern: &str, pmu: Option<&str>) -> Result<End, Failure> {
    let text = match pmu {
        Some(pmu) => models::list(pattern, pmu)?,
        None => of_carom(pattern)?,
    };
    output::print(&text)?;
    Ok(End::Success)
}

fn of_carom(pattern: &str) -> Result<String, Failure> {
    let lines: String = matching(pattern).map(line).collect();
    let kernel = of_kernel(pattern);
    let (passed, hint) = of_tracefs(pattern);
    if lines.is_empty() && kernel.is_empty() && passed.is_empty() {
        return Err(Failure::new(format!(
            "no event has {pattern:?} in it: carom count --list has all; {}{}",
            hint.replace('\n', "; "),
            hardware().unwrap_or_default()
        )));
    }
    let head = "counted: exactly, in runs under carom; simulated: by simulated caches, with the accesses of such runs; native: by the \
                kernel, in runs without carom in the program";
    let kernel = if kernel.is_empty() { String::new() } else { format!("\n{KERNEL}\n\n{kernel}") };
    let hardware = hardware().map_or_else(String::new, |why| format!("{why}\n"));
    Ok(format!("{head}\n\n{lines}{passed}{kernel}\n{hint}{hardware}{}\n", models::hint()))
}

/// The kernel's tracepoints, and what there is to say of them. There are thousands: without a pattern, only how many.
fn of_tracefs(pattern: &str) -> (String, String) {
    let all = match tracepoints(&Root::system()) {
        Ok(all) => all,
        Err(error) => return (String::new(), format!("{error}\n")),
    };
    if pattern.is_empty() {
        let hint =
            format!("{} tracepoints of the kernel: --list sched: lists those of a subsystem\n", all.len());
        return (String::new(), hint);
    }
    let wanted = all.iter().filter_map(|name| Quantity::from_name(name));
    (wanted.filter(|quantity| has(pattern, [quantity.name()])).map(line).collect(), String::new())
}

const KERNEL: &str = "events of this machine's PMUs that the kernel has names for, each with its terms (-e takes either, and PMU/TERMS/u for user mode alone):";

/// Those of the kernel's PMUs: processor, uncore, RAPL.
fn of_kernel(pattern: &str) -> String {
    let line = |name: &str, terms: &str, unit: &str| format!("{name:<NAME$}{terms:<BESIDE$}{unit}\n");
    let events = kernel_events(&Root::system()).into_iter();
    let wanted = events.filter(|event| has(pattern, [event.name.as_str(), event.terms.as_str()]));
    wanted.map(|event| line(&event.name, &event.terms, event.unit.as_deref().unwrap_or_default())).collect()
}

fn matching(pattern: &str) -> impl Iterator<Item = Quantity> {
    Quantity::all().filter(move |quantity| has(pattern, [quantity.name(), quantity.describe()]))
}

/// Whether one of the texts has the pattern in it, in any case.
fn has<'a>(pattern: &str, texts: impl IntoIterator<Item = &'a str>) -> bool {
    let wanted = pattern.to_lowercase();
    texts.into_iter().any(|text| text.to_lowercase().contains(&wanted))
}

fn line(quantity: Quantity) -> String {
    let how = match quantity.basis() {
        Basis::Counted => "counted",
        Basis::Simulated => "simulated",
        Basis::Native | Basis::Machine => "native",
    };
    format!("{:<NAME$}{:<BESIDE$}{how:<11}{}\n", quantity.name(), quantity.unit(), quantity.describe())
}

/// Why cycles, cache misses and their like are not counted here, where they are not.
pub fn hardware() -> Option<String> {
    match Probes::judge(&Facts::here()).counters.support {
        Support::Yes => None,
        Support::No { cause, .. } | Support::Unknown { cause } => Some(format!(
            "cycles, cache misses and other events of the processor are not counted: {cause}; carom doctor says what to do"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parts_of_names_and_descriptions() {
        let names = |pattern: &str| matching(pattern).map(Quantity::name).collect::<Vec<_>>();
        assert_eq!(names("FAULTS"), ["minor-faults", "major-faults", "alignment-faults", "emulation-faults"]);
        // By its description.
        assert_eq!(names("entries into"), ["system-calls"]);
        assert_eq!(names("").len(), Quantity::all().count());
        assert!(names("cycles").is_empty());
    }
}
